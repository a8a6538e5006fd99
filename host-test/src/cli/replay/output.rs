//! Prints rows as they come (JSON), or all at once (a table).

use anyhow::Context as _;
use comfy_table::{Cell, CellAlignment, Color, ContentArrangement, Table, presets};
use serde::Deserialize;

use super::super::Format;
use crate::replay::Row;

/// Rules named in one cell of the table; more are counted.
const RULES_SHOWN: usize = 4;

pub(super) struct Output {
    /// `None` for JSON.
    table: Option<Table>,
    /// allow, flag, block.
    counts: [usize; 3],
}

/// A report as the table shows it.
#[derive(Deserialize)]
struct Shown {
    verdict: String,
    score: f64,
    turn_scores: Vec<f64>,
    reasons: Vec<Reason>,
    issues: Vec<Issue>,
}

#[derive(Deserialize)]
struct Reason {
    rule: String,
    turn: Option<u32>,
}

#[derive(Deserialize)]
struct Issue {
    issue: String,
}

impl Output {
    pub(super) fn new(format: Format) -> Self {
        let table = (format == Format::Table).then(|| {
            let mut table = Table::new();
            table.load_style(presets::UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Dynamic);
            table.set_header(["id", "turns", "score", "verdict", "rules (at message)", "issues"]);
            for column in [1, 2] {
                if let Some(column) = table.column_mut(column) {
                    column.set_cell_alignment(CellAlignment::Right);
                }
            }
            table
        });
        Self { table, counts: [0; 3] }
    }

    /// Takes one row; `id` and `report` are JSON.
    pub(super) fn row(&mut self, id: &str, report: &str) -> anyhow::Result<()> {
        let Some(table) = &mut self.table else {
            let row = Row::new(id, report).context("the plugin's report lacks a part")?;
            return Ok(super::super::print(&serde_json::to_string(&row)?)?);
        };
        let shown: Shown = serde_json::from_str(report).context("the plugin's report lacks a part")?;
        let (at, color) = match shown.verdict.as_str() {
            "allow" => (0, Color::Reset),
            "flag" => (1, Color::Yellow),
            _ => (2, Color::Red),
        };
        self.counts[at] += 1;
        let id = serde_json::from_str::<String>(id).unwrap_or_else(|_| id.to_owned());
        table.add_row([
            Cell::new(id),
            Cell::new(shown.turn_scores.len()),
            Cell::new(format!("{:.4}", shown.score)),
            Cell::new(&shown.verdict).fg(color),
            Cell::new(rules(&shown.reasons)),
            Cell::new(shown.issues.iter().map(|issue| issue.issue.as_str()).collect::<Vec<_>>().join(", ")),
        ]);
        Ok(())
    }

    /// Prints the table, if it is one, with the counts below.
    pub(super) fn finish(self, bad: usize) -> anyhow::Result<()> {
        let Some(table) = self.table else { return Ok(()) };
        let [allow, flag, block] = self.counts;
        super::super::print(&format!("{table}\n{allow} allow, {flag} flag, {block} block; {bad} lines not judged"))?;
        Ok(())
    }
}

fn rules(reasons: &[Reason]) -> String {
    let mut names: Vec<String> = reasons
        .iter()
        .take(RULES_SHOWN)
        .map(|reason| match reason.turn {
            Some(turn) => format!("{} ({turn})", reason.rule),
            None => reason.rule.clone(),
        })
        .collect();
    if reasons.len() > RULES_SHOWN {
        names.push(format!("and {} more", reasons.len() - RULES_SHOWN));
    }
    names.join("\n")
}
