//! A report as one HTML page that needs nothing else: its style and plots are in it, and it runs no script.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::drawing::{colour, svg};
use super::{Block, Cell, Document, Plot, Section, Table};

const STYLE: &str = "
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; color: #1b2733; background: #fff }
h1 { font-size: 1.7rem } h2 { font-size: 1.25rem; margin-top: 2.5rem; border-bottom: 1px solid #cfd8e0; padding-bottom: .2rem }
pre { background: #f2f5f7; padding: .7rem; overflow-x: auto } nav a { margin-right: 1rem }
figure { margin: 1rem 0 } svg { max-width: 100%; height: auto } figcaption, caption { color: #4a5a68; text-align: left; font-size: .92rem }
.wide { overflow-x: auto; margin: 1rem 0 } table { border-collapse: collapse; font-size: .88rem } caption { padding-bottom: .4rem }
th, td { padding: .25rem .6rem; text-align: left; border-bottom: 1px solid #e2e8ed; vertical-align: top } th { background: #f2f5f7 }
td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap } td.missed { color: #b00020; font-weight: 600 }
ul.legend { list-style: none; padding: 0; margin: .2rem 0 0 3rem; font-size: .88rem } ul.legend li { display: inline-block; margin-right: 1.2rem }
ul.legend span { display: inline-block; width: .9rem; height: .6rem; margin-right: .4rem } ul.legend span.level { height: 0; border-top: 2px dashed #8c8c8c; vertical-align: middle }
dt { font-weight: 600 } dd { margin: 0 0 .3rem 1rem }
";

impl Document {
    /// The report as HTML.
    ///
    /// # Errors
    /// When a plot cannot be drawn.
    pub fn page(&self) -> anyhow::Result<String> {
        let sections = self.sections.iter().map(section).collect::<anyhow::Result<Vec<_>>>()?;
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width";
                    title { (self.title) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    h1 { (self.title) }
                    pre { (self.command) }
                    dl { @for fact in &self.facts { dt { (fact.name) } dd { (fact.value) } } }
                    nav {
                        @for section in &self.sections { a href={ "#" (section.id) } { (section.title) } }
                        a href="#data" { "Data" }
                    }
                    @for section in sections { (section) }
                    section id="data" { h2 { "Data" } (table(&self.data_table())) }
                }
            }
        };
        Ok(page.into_string())
    }
}

fn section(section: &Section) -> anyhow::Result<Markup> {
    let blocks = section.blocks.iter().map(|block| {
        Ok(match block {
            Block::Text { text } => html! { p { (text) } },
            Block::Table(found) => table(found),
            Block::Plot(found) => plot(found)?,
        })
    });
    let blocks = blocks.collect::<anyhow::Result<Vec<_>>>()?;
    Ok(html! { section id=(section.id) { h2 { (section.title) } @for block in blocks { (block) } } })
}

fn plot(plot: &Plot) -> anyhow::Result<Markup> {
    let drawn = PreEscaped(svg(plot)?);
    Ok(html! {
        figure id=(plot.id) {
            figcaption { (plot.title) }
            (drawn)
            ul.legend {
                @for (at, series) in plot.series.iter().enumerate() { li { span style={ "background: " (colour(at)) } {} (series.name) } }
                @for level in &plot.levels { li { span.level {} (level.name) " (" (level.at) ")" } }
            }
        }
    })
}

fn table(table: &Table) -> Markup {
    html! {
        div.wide {
            table {
                caption { (table.caption) }
                thead { tr { @for column in &table.columns { th { (column) } } } }
                tbody { @for cells in &table.rows { tr { @for cell in cells { td class=[class(cell)] { (cell.shown()) } } } } }
            }
        }
    }
}

fn class(cell: &Cell) -> Option<&'static str> {
    match cell {
        Cell::Text(text) if text.starts_with(super::MISSED) => Some("missed"),
        Cell::Text(_) => None,
        Cell::Count(_) | Cell::Number { .. } | Cell::Share { .. } => Some("n"),
    }
}
