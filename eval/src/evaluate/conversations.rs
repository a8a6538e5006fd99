//! Whole conversations and agent runs as a gateway would treat them: flagged and blocked, by set, number of turns, rule and template.

use std::collections::BTreeMap;

use super::run::Run;
use crate::data::Label;
use crate::report::{Cell, Section, Table};
use crate::stats::Share;

/// Upper borders of the bands of turns, and their names.
const BANDS: [(usize, &str); 6] = [(2, "1"), (4, "2 to 3"), (7, "4 to 6"), (13, "7 to 12"), (25, "13 to 24"), (usize::MAX, "25 and more")];

/// Shares of some group of runs.
#[derive(Default)]
pub(super) struct Group {
    pub flagged: Share,
    pub blocked: Share,
}

impl Group {
    fn count(&mut self, unit: &str, run: &Run) {
        self.flagged.count(unit, run.outcome.flagged);
        self.blocked.count(unit, run.outcome.blocked);
    }

    fn cells(&self) -> [Cell; 4] {
        [self.blocked.records().into(), self.blocked.units().into(), (&self.flagged).into(), (&self.blocked).into()]
    }
}

/// Runs in groups. Benign ones count by their task, attacks by what is injected.
pub(super) fn groups<'r, K: Ord>(runs: impl IntoIterator<Item = &'r Run>, key: impl Fn(&Run) -> K) -> BTreeMap<K, Group> {
    let mut groups: BTreeMap<K, Group> = BTreeMap::new();
    for run in runs {
        groups.entry(key(run)).or_default().count(&run.unit, run);
    }
    groups
}

/// The section; `None` where the data hold no conversation or run.
pub(super) fn section(runs: &[Run]) -> Option<Section> {
    if runs.is_empty() {
        return None;
    }
    let mut section = Section::new("conversations", "Conversations and agent runs");
    section.text(
        "Each request of a conversation is judged with the history up to it, as a gateway sees it; a conversation counts as flagged or blocked when any of its \
         requests is. Intervals by Wilson at the effective number of independent conversations (Kish): what they are worth if those of one unit are all alike. \
         Sets that run few tasks many times have wide ones, whatever the number of runs. Attacked runs that never met their attack are left out.",
    );
    let columns = ["conversations", "units", "flagged", "blocked"];
    let benign = || runs.iter().filter(|run| run.label == Label::Benign);
    let attacks = || runs.iter().filter(|run| run.is_attack() == Some(true));
    let mut add = |id, caption: &str, names: &[&str], groups: BTreeMap<Vec<String>, Group>| {
        let mut table = Table::new(id, caption, &[names, &columns].concat());
        for (names, group) in &groups {
            table.row(names.iter().map(|name| Cell::from(name.as_str())).chain(group.cells()));
        }
        if !groups.is_empty() {
            section.table(table);
        }
    };
    add(
        "benign-sets",
        "Benign, by set: all of this is wrong.",
        &["set", "file"],
        groups(benign(), |run| vec![run.set.clone(), run.file.clone()]),
    );
    add(
        "benign-turns",
        "Benign, by number of turns (user messages and tool results).",
        &["turns"],
        groups(benign(), |run| vec![band(run.turns)]),
    );
    let blocked = || benign().filter(|run| run.outcome.blocked);
    let rules = groups(blocked(), |run| vec![run.outcome.rule.clone().unwrap_or_default(), run.set.clone()]);
    add("benign-rules", "Benign ones that are blocked, by the rule that decided the first such request.", &["rule", "set"], rules);
    let of_template = |run: &Run| vec![run.set.clone(), run.file.clone(), run.template.clone().unwrap_or_default()];
    add("attack-templates", "Attacks, by template.", &["set", "file", "template"], groups(attacks(), of_template));
    add("attack-turns", "Attacks, by number of turns.", &["turns"], groups(attacks(), |run| vec![band(run.turns)]));
    Some(section)
}

/// The band of a number of turns, with a letter before it that sorts.
fn band(turns: usize) -> String {
    let at = BANDS.iter().position(|(below, _)| turns < *below).unwrap_or(BANDS.len() - 1);
    format!("{}: {}", char::from(b'a' + at as u8), BANDS[at].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_hold_their_borders() {
        assert_eq!([1, 2, 3, 4, 24, 25].map(band), ["a: 1", "b: 2 to 3", "b: 2 to 3", "c: 4 to 6", "e: 13 to 24", "f: 25 and more"]);
    }
}
