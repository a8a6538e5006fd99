//! A report as data: sections of texts, tables and plots, which each output shows in its own way.
//!
//! ```text
//! sections -> Document -> terminal (tables), markdown (docs/), JSON (everything), page (one HTML file; drawing: its plots)
//! ```

mod cell;
mod drawing;
mod goal;
mod markdown;
mod page;
mod plot;
mod terminal;

use serde::Serialize;

use crate::data::{DataFile, NOT_NAMED};

pub use cell::{Cell, Interval};
pub use goal::{Goal, MISSED};
pub use plot::{Axis, Level, Mark, Plot, Series};

/// A whole report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Document {
    /// Its title.
    pub title: String,
    /// The command that makes it again.
    pub command: String,
    /// What it was made with: names and values.
    pub facts: Vec<Fact>,
    /// Its parts.
    pub sections: Vec<Section>,
    /// The files that were read.
    pub data: Vec<Origin>,
}

/// Something that a report was made with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// What.
    pub name: &'static str,
    /// Its value.
    pub value: String,
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Origin {
    /// Set and file.
    pub file: String,
    /// Records that were judged.
    pub records: u64,
    /// Lines that were passed over as broken.
    pub broken: u64,
    /// Its licence.
    pub licence: String,
    /// Where it comes from.
    pub source: String,
}

/// A part of a report under a heading of its own.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Section {
    /// Its name in files: small letters and dashes.
    pub id: &'static str,
    /// Its heading.
    pub title: String,
    /// What it holds, in order.
    pub blocks: Vec<Block>,
}

/// A piece of a section.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Block {
    /// A paragraph.
    Text {
        /// Its words, without marks of any kind.
        text: String,
    },
    /// A table.
    Table(Table),
    /// A plot; outputs of text alone leave it out.
    Plot(Plot),
}

/// A table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table {
    /// Its name in files.
    pub id: &'static str,
    /// What it shows, and how its numbers were taken.
    pub caption: String,
    /// Names of its columns.
    pub columns: Vec<String>,
    /// Cells of its rows, one for each column.
    pub rows: Vec<Vec<Cell>>,
}

impl Section {
    /// An empty section.
    pub fn new(id: &'static str, title: impl Into<String>) -> Self {
        Section { id, title: title.into(), blocks: Vec::new() }
    }

    /// Adds a paragraph.
    pub fn text(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Text { text: text.into() });
    }

    /// Adds a table.
    pub fn table(&mut self, table: Table) {
        self.blocks.push(Block::Table(table));
    }

    /// Adds a plot.
    pub fn plot(&mut self, plot: Plot) {
        self.blocks.push(Block::Plot(plot));
    }
}

impl Table {
    /// A table without rows.
    pub fn new(id: &'static str, caption: impl Into<String>, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|&column| column.to_owned()).collect();
        Table { id, caption: caption.into(), columns, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let cells: Vec<Cell> = cells.into_iter().collect();
        debug_assert_eq!(cells.len(), self.columns.len(), "a cell for each column of {}", self.id);
        self.rows.push(cells);
    }
}

impl Origin {
    /// A file of which so many records were judged.
    pub fn new(file: &DataFile, records: u64, broken: usize) -> Self {
        Origin {
            file: format!("{}/{}", file.set, file.name),
            records,
            broken: broken as u64,
            licence: file.licence.clone(),
            source: file.source.clone(),
        }
    }
}

impl Origin {
    /// Whether it is of a data folder that names where its sets come from, so that a set is known by its name; a user's own may be named alike.
    pub fn is_public(&self) -> bool {
        self.records > 0 && self.source != NOT_NAMED
    }
}

impl Document {
    /// The files as a table.
    fn data_table(&self) -> Table {
        let columns = ["file", "records judged", "lines passed over", "licence", "source"];
        let mut table = Table::new("data", "What was read.", &columns);
        for Origin { file, records, broken, licence, source } in &self.data {
            table.row([file.as_str().into(), (*records).into(), (*broken).into(), licence.as_str().into(), source.as_str().into()]);
        }
        table
    }
}
