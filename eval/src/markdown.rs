//! Reports in Markdown: tables, cells with shares and intervals, and the list of data.

use std::fmt::Write as _;

use crate::data::DataFile;
use crate::stats::Share;

/// A file, and how many of its records were judged.
pub struct Origin {
    /// The file.
    pub file: DataFile,
    /// Of its records.
    pub judged: u32,
}

/// The head of a table.
pub fn table(text: &mut String, columns: &[&str]) {
    let _ = writeln!(text, "| {} |", columns.join(" | "));
    let _ = writeln!(text, "|{}", " --- |".repeat(columns.len()));
}

/// A row of a table. The cells are Markdown.
pub fn row<T: AsRef<str>>(text: &mut String, cells: &[T]) {
    let cells: Vec<&str> = cells.iter().map(AsRef::as_ref).collect();
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

/// A text that may hold what ends a cell, or what would be markup where the page is shown.
pub fn cell_text(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace(['\n', '\r'], " ")
}

/// Number of records that count, their share and its interval.
pub fn cell(share: &Share) -> String {
    match (share.value(), share.interval()) {
        (Some(value), Some((low, high))) => {
            format!("{} ({}; {} to {})", share.hits(), percent(value), percent(low).trim_end_matches(" %"), percent(high))
        }
        _ => "-".to_owned(),
    }
}

/// A share of 0 to 1 in percent.
pub fn percent(share: f64) -> String {
    let hundred = share * 100.0;
    // What rounds to all or nothing is neither.
    if hundred > 0.0 && hundred < 10.0 || hundred > 99.0 && hundred < 100.0 { format!("{hundred:.2} %") } else { format!("{hundred:.0} %") }
}

/// The section that names the data.
pub fn data(text: &mut String, origins: &[Origin]) {
    text.push_str("\n## Data\n\n");
    table(text, &["file", "records judged", "licence", "source"]);
    for Origin { file, judged } in origins {
        let _ = writeln!(text, "| {}/{} | {judged} | {} | {} |", file.set, file.name, file.licence, cell_text(&file.source));
    }
}
