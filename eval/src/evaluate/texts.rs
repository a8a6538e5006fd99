//! Single texts: what is found of each source and kind of attack, and what is wrongly found in honest texts.

use std::collections::BTreeMap;

use floodmark_core::detector::Levels;

use super::ranked::{CELLS, Ranked, Scores, histogram, roc_plot};
use super::run::Single;
use crate::events::Label;
use crate::report::{Cell, Level, Section, Table};
use crate::stats::{Plan, Share};

/// What is counted of some group of texts.
#[derive(Default)]
pub(super) struct Group {
    pub flagged: Share,
    pub blocked: Share,
    pub event_block: Share,
    pub tau: Share,
    pub scores: Scores,
}

impl Group {
    fn count(&mut self, single: &Single, levels: &Levels) {
        let Single { unit, event, outcome, .. } = single;
        self.flagged.count(unit, outcome.flagged);
        self.blocked.count(unit, outcome.blocked);
        if let Some(event) = event {
            self.event_block.count(unit, event.score >= levels.event_block);
            self.tau.count(unit, event.score >= levels.tau_event);
            self.scores.push(event.score, unit);
        }
    }

    /// The groups of the texts that `wanted` holds.
    pub(super) fn of<'s, K: Ord>(
        singles: impl IntoIterator<Item = &'s Single>,
        levels: &Levels,
        key: impl Fn(&Single) -> K,
    ) -> BTreeMap<K, Group> {
        let mut groups: BTreeMap<K, Group> = BTreeMap::new();
        for single in singles {
            groups.entry(key(single)).or_default().count(single, levels);
        }
        groups
    }

    fn cells(&self) -> [Cell; 6] {
        [
            self.flagged.records().into(),
            self.flagged.units().into(),
            (&self.flagged).into(),
            (&self.blocked).into(),
            (&self.event_block).into(),
            (&self.tau).into(),
        ]
    }
}

/// The section; `None` where the data hold no single text.
pub(super) fn section(singles: &[Single], levels: &Levels, plan: Plan) -> Option<Section> {
    if singles.is_empty() {
        return None;
    }
    let mut section = Section::new("texts", "Single texts");
    section.text(format!(
        "Each text is judged alone and behind a user's question; flagged and blocked count either, and in mode monitor what would have been. Its score is the detector's, where it was \
         asked. event_block is {}, tau_event {}. Shares have \
         intervals by Wilson at the effective number of independent texts (Kish, from the units that the set names); AUC (ties at one half) and recall at a \
         false-positive rate are against all benign texts here, with clustered bootstraps (BCa, {} samples of units; recalls of fewer than five units, or where no sample differs, by Wilson).",
        levels.event_block, levels.tau_event, plan.draws
    ));
    let (attacks, benign): (Vec<_>, Vec<_>) = singles.iter().partition(|single| single.label == Label::Attack);
    let all_benign = Group::of(benign.iter().copied(), levels, |_| ()).remove(&()).unwrap_or_default();
    let sources = Group::of(attacks.iter().copied(), levels, |single| [single.set.clone(), single.source.clone()]);
    let shares = ["texts", "units", "flagged", "blocked", "at event_block", "at tau_event"];
    let of_attacks = [&["set", "source"][..], &shares, &CELLS].concat();
    let mut table = Table::new("text-sources", "Attacks by source. Units are those of the source.", &of_attacks);
    let ranked = |group: &Group| Ranked::cells(Ranked::new(&group.scores, &all_benign.scores, plan));
    for ([set, source], group) in &sources {
        table.row([set.as_str().into(), source.as_str().into()].into_iter().chain(group.cells()).chain(ranked(group)));
    }
    let all_attacks = Group::of(attacks.iter().copied(), levels, |_| ()).remove(&()).unwrap_or_default();
    if !attacks.is_empty() {
        table.row(["*all*".into(), "*pooled*".into()].into_iter().chain(all_attacks.cells()).chain(ranked(&all_attacks)));
        section.table(table);
        let kinds = Group::of(attacks.iter().copied(), levels, |single| [single.set.clone(), single.kind.clone()]);
        let mut table = Table::new("text-kinds", "Attacks by kind (template).", &[&["set", "kind"][..], &shares].concat());
        for ([set, kind], group) in &kinds {
            table.row([set.as_str().into(), kind.as_str().into()].into_iter().chain(group.cells()));
        }
        section.table(table);
    }
    let mut table = Table::new("text-benign", "Honest texts by source: all of this is wrong.", &[&["set", "source"][..], &shares].concat());
    for ([set, source], group) in &Group::of(benign, levels, |single| [single.set.clone(), single.source.clone()]) {
        table.row([set.as_str().into(), source.as_str().into()].into_iter().chain(group.cells()));
    }
    section.table(table);
    if let Some(all) = Ranked::new(&all_attacks.scores, &all_benign.scores, plan) {
        let mut curves = vec![all.curve("all sources")];
        // The sources with the most texts; the rest would be steps of a few.
        let mut large: Vec<_> = sources.iter().collect();
        large.sort_by_key(|(_, group)| std::cmp::Reverse(group.scores.values.len()));
        for ([_, source], group) in large.into_iter().take(4) {
            curves.extend(Ranked::new(&group.scores, &all_benign.scores, plan).map(|ranked| ranked.curve(source.as_str())));
        }
        section.plot(roc_plot("text-roc", "Single texts: recall of the detector against its false positives", curves));
    }
    let lines = [("tau_event", levels.tau_event), ("event_block", levels.event_block)];
    let lines = lines.map(|(name, at)| Level { name: name.to_owned(), at, upright: true }).to_vec();
    let groups = [("benign", &all_benign.scores), ("attacks", &all_attacks.scores)];
    section.plot(histogram("text-scores", "Scores of single texts", &groups, lines));
    Some(section)
}
