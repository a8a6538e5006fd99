//! A report as data: sections of texts, tables and plots, which each output shows in its own way.

mod cell;
mod goal;
mod plot;

use serde::Serialize;

pub use cell::{Cell, Interval};
pub use goal::{Goal, MISSED};
pub use plot::{Axis, Level, Mark, Plot, Series};

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
