//! The demo's table.

use comfy_table::{CellAlignment, Table};

use super::{Case, Outcome};

/// One row for each conversation. `turns` are user messages and tool results, which are the ones that are scored.
///
/// # Errors
/// When the turns cannot be counted.
pub fn table(rows: &[(&Case, Outcome)]) -> anyhow::Result<Table> {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::UTF8_FULL_CONDENSED);
    table.set_header(["conversation", "turns", "score", "verdict", "status", "upstream received", "time added"]);
    for (case, outcome) in rows {
        table.add_row([
            case.id.clone(),
            case.turns()?.to_string(),
            outcome.score.map_or_else(|| "-".to_owned(), |s| format!("{s:.4}")),
            outcome.verdict.clone().unwrap_or_else(|| "-".to_owned()),
            outcome.status.to_string(),
            outcome.seen.to_string(),
            outcome.time.map_or_else(|| "-".to_owned(), added),
        ]);
    }
    for column in [1, 2, 4, 6] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    Ok(table)
}

fn added((with, without): (std::time::Duration, std::time::Duration)) -> String {
    let us = |d: std::time::Duration| d.as_secs_f64() * 1e6;
    format!("{:+.0} us", us(with) - us(without))
}
