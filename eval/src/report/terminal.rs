//! Sections in the terminal: texts and tables, as wide as it is.

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{ContentArrangement, Table as Drawn};

use super::{Block, Section, Table};

impl Section {
    /// The section as text for a terminal.
    pub fn terminal(&self) -> String {
        let mut text = format!("{}\n", self.title);
        for block in &self.blocks {
            match block {
                Block::Text { text: words } => text += &format!("\n{words}\n"),
                Block::Table(table) => text += &format!("\n{}\n{}\n", table.caption, drawn(table)),
                Block::Plot(_) => {}
            }
        }
        text
    }
}

fn drawn(table: &Table) -> Drawn {
    let mut drawn = Drawn::new();
    drawn.load_style(UTF8_HORIZONTAL_ONLY).set_content_arrangement(ContentArrangement::Dynamic).set_header(&table.columns);
    for cells in &table.rows {
        drawn.add_row(cells.iter().map(super::Cell::shown));
    }
    drawn
}
