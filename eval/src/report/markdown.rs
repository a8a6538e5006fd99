//! A report as Markdown, for pages that are kept. Plots are left out: their numbers are in the JSON.

use super::{Block, Document, Section, Table};
use crate::markdown::{cell_text, row, table};

impl Document {
    /// The report as Markdown.
    pub fn markdown(&self) -> String {
        let mut text = format!("# {}\n\nWritten by this command; do not edit.\n\n```sh\n{}\n```\n\n", self.title, self.command);
        for fact in &self.facts {
            text += &format!("- {}: {}\n", fact.name, fact.value);
        }
        for section in &self.sections {
            section.markdown(&mut text);
        }
        let mut data = Section::new("data", "Data");
        data.table(self.data_table());
        data.markdown(&mut text);
        text
    }
}

impl Section {
    /// Adds the section.
    pub fn markdown(&self, text: &mut String) {
        *text += &format!("\n## {}\n", self.title);
        for block in &self.blocks {
            match block {
                Block::Text { text: words } => *text += &format!("\n{words}\n"),
                Block::Table(table) => table.markdown(text),
                Block::Plot(_) => {}
            }
        }
    }
}

impl Table {
    fn markdown(&self, text: &mut String) {
        *text += &format!("\n{}\n\n", self.caption);
        let columns: Vec<String> = self.columns.iter().map(|column| cell_text(column)).collect();
        table(text, &columns.iter().map(String::as_str).collect::<Vec<_>>());
        for cells in &self.rows {
            row(text, &cells.iter().map(|cell| cell_text(&cell.shown())).collect::<Vec<_>>());
        }
    }
}
