//! What is to hold, and whether it does: the report's first section, with the goals of all others.

use super::conversations::groups;
use super::precision::benign;
use super::run::Run;
use crate::report::{Block, Cell, Goal, Section, Table};

/// Of benign conversations, in every set.
const BLOCKED: Goal = Goal::AtMost(0.005);

/// How the names of tables end that say what is to hold.
const GOALS: &str = "-goals";

/// The first section. The goals of the others are taken out of them, so that they stand together.
pub(super) fn section(runs: &[Run], others: &mut [Section]) -> Section {
    let mut section = Section::new("summary", "Summary");
    let columns = ["set", "units", "benign conversations blocked", "is to be", "result"];
    let mut table = Table::new(
        "benign-goals",
        "Benign conversations and agent runs that are blocked. Goals are those of the project's issues; intervals by Wilson, 95 %, at the effective number of independent conversations.",
        &columns,
    );
    for (set, group) in &groups(benign(runs), |run| run.set.clone()) {
        let share = &group.blocked;
        table.row([
            set.as_str().into(),
            share.units().into(),
            Cell::from(share),
            BLOCKED.to_string().into(),
            BLOCKED.verdict_within(share.value(), share.wilson()).into(),
        ]);
    }
    if !table.rows.is_empty() {
        section.table(table);
    }
    for other in others {
        section.blocks.extend(other.blocks.extract_if(.., |block| matches!(block, Block::Table(table) if table.id.ends_with(GOALS))));
    }
    section
}
