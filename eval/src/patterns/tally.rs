//! What was counted, by set and by kind of attack.

use std::collections::{BTreeMap, BTreeSet};

use crate::stats::Share;

/// What became of one record.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// The patterns hit in any of its requests.
    pub rules: BTreeSet<String>,
    /// Some request had a verdict above `allow`.
    pub flagged: bool,
    /// Some request was blocked.
    pub blocked: bool,
    /// Some request would be blocked though repeated requests counted nothing.
    pub blocked_by_patterns: bool,
}

/// Shares of some group of records.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub hit: Share,
    pub flagged: Share,
    pub blocked: Share,
    pub blocked_by_patterns: Share,
}

/// Honest records that one pattern hit.
#[derive(Debug, Default)]
pub(super) struct FalseHits {
    pub conversations: u32,
    pub texts: u32,
    /// Set and unit.
    pub units: BTreeSet<(String, String)>,
}

/// Everything that was counted.
#[derive(Debug, Default)]
pub(super) struct Tallies {
    /// By set.
    pub benign_conversations: BTreeMap<String, Tally>,
    /// By set and source.
    pub benign_texts: BTreeMap<(String, String), Tally>,
    /// By set and template.
    pub attack_conversations: BTreeMap<(String, String), Tally>,
    /// By set and template.
    pub attack_texts: BTreeMap<(String, String), Tally>,
    /// Attacked runs that never met the attack, by set: left out.
    pub never_met: BTreeMap<String, u32>,
    /// By rule.
    pub false_hits: BTreeMap<String, FalseHits>,
}

impl Tally {
    fn count(&mut self, unit: &str, outcome: &Outcome) {
        self.hit.count(unit, !outcome.rules.is_empty());
        self.flagged.count(unit, outcome.flagged);
        self.blocked.count(unit, outcome.blocked);
        self.blocked_by_patterns.count(unit, outcome.blocked_by_patterns);
    }

    /// Adds another group's records.
    pub fn add(&mut self, other: &Tally) {
        self.hit.add(&other.hit);
        self.flagged.add(&other.flagged);
        self.blocked.add(&other.blocked);
        self.blocked_by_patterns.add(&other.blocked_by_patterns);
    }
}

impl Tallies {
    pub(super) fn never_met(&mut self, set: &str) {
        *self.never_met.entry(set.to_owned()).or_default() += 1;
    }

    pub(super) fn benign_conversation(&mut self, set: &str, unit: &str, outcome: &Outcome) {
        self.benign_conversations.entry(set.to_owned()).or_default().count(unit, outcome);
        for hits in self.false_hits(set, unit, outcome) {
            hits.conversations += 1;
        }
    }

    pub(super) fn benign_text(&mut self, set: &str, source: &str, unit: &str, outcome: &Outcome) {
        self.benign_texts.entry((set.to_owned(), source.to_owned())).or_default().count(unit, outcome);
        for hits in self.false_hits(set, unit, outcome) {
            hits.texts += 1;
        }
    }

    pub(super) fn attack_conversation(&mut self, set: &str, template: &str, unit: &str, outcome: &Outcome) {
        self.attack_conversations.entry((set.to_owned(), template.to_owned())).or_default().count(unit, outcome);
    }

    pub(super) fn attack_text(&mut self, set: &str, template: &str, unit: &str, outcome: &Outcome) {
        self.attack_texts.entry((set.to_owned(), template.to_owned())).or_default().count(unit, outcome);
    }

    /// The false hits of every pattern that the record held, this unit counted.
    fn false_hits(&mut self, set: &str, unit: &str, outcome: &Outcome) -> Vec<&mut FalseHits> {
        for rule in &outcome.rules {
            self.false_hits.entry(rule.clone()).or_default().units.insert((set.to_owned(), unit.to_owned()));
        }
        self.false_hits.iter_mut().filter(|(rule, _)| outcome.rules.contains(*rule)).map(|(_, hits)| hits).collect()
    }
}
