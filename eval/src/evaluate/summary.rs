//! What is to hold, and whether it does: the report's first section.

use super::conversations::groups;
use super::precision::benign;
use super::run::Run;
use crate::report::{Cell, Goal, Section, Table};

/// Of benign conversations, in every set.
const BLOCKED: Goal = Goal::AtMost(0.005);

/// The first section, to which others add what they have.
pub(super) fn section(runs: &[Run]) -> Section {
    let mut section = Section::new("summary", "Summary");
    let columns = ["what", "measured", "is to be", "result"];
    let mut table = Table::new("goals", "Goals are those of the project's issues; intervals are 95 %, at the units named below.", &columns);
    for (set, group) in &groups(benign(runs), |run| run.set.clone()) {
        let share = &group.blocked;
        let what = format!("benign conversations of {set} that are blocked ({} units)", share.units());
        table.row([what.into(), Cell::from(share), BLOCKED.to_string().into(), BLOCKED.verdict(share.value()).into()]);
    }
    section.table(table);
    section
}
