//! Whole conversations and agent runs as a gateway would treat them: flagged and blocked, by set, number of turns, rule and template.

use std::collections::BTreeMap;

use super::run::{Outcome, Run};
use crate::report::{Cell, Section, Table};
use crate::stats::Share;

/// Upper borders of the bands of turns, and their names.
const BANDS: [(usize, &str); 6] = [(2, "1"), (4, "2 to 3"), (7, "4 to 6"), (13, "7 to 12"), (25, "13 to 24"), (usize::MAX, "25 and more")];

/// Shares of some group of runs.
#[derive(Default)]
pub(super) struct Group {
    pub flagged: Share,
    pub blocked: Share,
    /// Of those whose parts are all held out alike.
    strict: Share,
}

impl Group {
    /// Counts what became of something of a unit.
    pub(super) fn take(&mut self, unit: &str, outcome: &Outcome) {
        self.flagged.count(unit, outcome.flagged);
        self.blocked.count(unit, outcome.blocked);
    }

    fn count(&mut self, unit: &str, run: &Run) {
        self.take(unit, &run.outcome);
        if run.strict {
            self.strict.count(unit, run.outcome.blocked);
        }
    }

    pub(super) fn cells(&self) -> [Cell; 4] {
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

/// Benign runs, or attacked ones that met their attack.
pub(super) fn of_kind(runs: &[Run], attack: bool) -> impl Iterator<Item = &Run> {
    runs.iter().filter(move |run| run.is_attack() == Some(attack))
}

/// The names of columns of shares.
const SHARES: [&str; 4] = ["conversations", "units", "flagged", "blocked"];

/// The section; `None` where the data hold no conversation or run.
pub(super) fn section(runs: &[Run]) -> Option<Section> {
    if runs.is_empty() {
        return None;
    }
    let mut section = Section::new("conversations", "Conversations and agent runs");
    section.text(
        "Each request of a conversation is judged with the history up to it, as a gateway sees it; a conversation counts as flagged or blocked when any of its \
         requests is, and in mode monitor when any would have been. Intervals by Wilson at the effective number of independent conversations (Kish): what they are worth if \
         those of one unit are all alike. Sets that run few tasks many times have wide ones, whatever the number of runs. Attacked runs that never met their \
         attack are left out.",
    );
    let (benign, attacks) = (|| of_kind(runs, false), || of_kind(runs, true));
    let names = |run: &Run| [run.set.clone(), run.file.clone(), run.source.clone()];
    add(&mut section, "benign-sets", "Benign: all of this is wrong.", &["set", "file", "source"], &groups(benign(), names), false);
    let caption = "Benign, by number of turns (user messages and tool results).";
    add(&mut section, "benign-turns", caption, &["turns"], &groups(benign(), |run| [band(run.turns)]), false);
    let rules = groups(benign().filter(|run| run.outcome.blocked), |run| [run.outcome.rule.clone().unwrap_or_default(), run.set.clone()]);
    let mut table = Table::new(
        "benign-rules",
        "Benign ones that are blocked, by the rule that decided the first such request.",
        &["rule", "set", "conversations", "units"],
    );
    for ([rule, set], group) in &rules {
        table.row([rule.as_str().into(), set.as_str().into(), group.blocked.records().into(), group.blocked.units().into()]);
    }
    if !rules.is_empty() {
        section.table(table);
    }
    let of_template = |run: &Run| [run.set.clone(), run.file.clone(), run.template.clone().unwrap_or_default()];
    let caption = "Attacks, by template. The last column is of those whose task, injection and template all stand in no part that is less held out: of the others the gateway's \
                   detector may have been trained on what is injected, in another task.";
    add(&mut section, "attack-templates", caption, &["set", "file", "template"], &groups(attacks(), of_template), true);
    add(&mut section, "attack-turns", "Attacks, by number of turns.", &["turns"], &groups(attacks(), |run| [band(run.turns)]), true);
    Some(section)
}

/// Adds a table of groups, if there are any.
fn add<const N: usize>(
    section: &mut Section,
    id: &'static str,
    caption: &str,
    names: &[&str; N],
    groups: &BTreeMap<[String; N], Group>,
    strict: bool,
) {
    let last = if strict { &["blocked, all parts held out"][..] } else { &[] };
    let mut table = Table::new(id, caption, &[names, &SHARES[..], last].concat());
    for (names, group) in groups {
        let strict = strict.then(|| Cell::from(&group.strict));
        table.row(names.iter().map(|name| Cell::from(name.as_str())).chain(group.cells()).chain(strict));
    }
    if !groups.is_empty() {
        section.table(table);
    }
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
