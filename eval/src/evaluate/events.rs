//! Events of conversations and agent runs: each user message, tool result and call on its own.

use std::collections::BTreeMap;

use floodmark_core::detector::Levels;

use super::ranked::{CELLS, DECIMALS, Ranked, Scores};
use super::run::{Run, Scored};
use crate::events::Label;
use crate::report::{Cell, Section, Table};
use crate::stats::{Plan, Share, median};

/// What is counted of some group of events.
#[derive(Default)]
struct Group {
    event_block: Share,
    tau: Share,
    scores: Scores,
}

impl Group {
    fn count(&mut self, unit: &str, event: Scored, levels: &Levels) {
        self.event_block.count(unit, event.score >= levels.event_block);
        self.tau.count(unit, event.score >= levels.tau_event);
        self.scores.push(event.score, unit);
    }

    fn cells(&self) -> [Cell; 5] {
        let units = self.tau.units();
        [
            self.tau.records().into(),
            units.into(),
            (&self.event_block).into(),
            (&self.tau).into(),
            Cell::number(median(&self.scores.values), DECIMALS),
        ]
    }
}

/// The section; `None` where the data hold no conversation or run.
pub(super) fn section(runs: &[Run], levels: &Levels, plan: Plan) -> Option<Section> {
    let mut benign: BTreeMap<[&str; 2], Group> = BTreeMap::new();
    let mut attacks: BTreeMap<[&str; 3], Group> = BTreeMap::new();
    for run in runs {
        for event in &run.events {
            let (set, channel) = (run.set.as_str(), event.channel.name());
            match event.label {
                // What stands before the injection is the task's.
                Label::Benign => benign.entry([set, channel]).or_default().count(&run.task, *event, levels),
                Label::Attack => {
                    let template = run.template.as_deref().unwrap_or("-");
                    attacks.entry([set, template, channel]).or_default().count(&run.unit, *event, levels);
                }
                Label::Unclear => {}
            }
        }
    }
    if benign.is_empty() && attacks.is_empty() {
        return None;
    }
    let mut section = Section::new("events", "Events of conversations and agent runs");
    section.text(
        "Every user message, tool result and tool call, at each place where it stands. Events of an attacked run count as benign before it met the injection and as \
         attacks where they hold it; what comes behind counts nowhere, for it may be the attacker's doing. Intervals by Wilson at the effective number of independent \
         events: units are the user's tasks or conversations of benign events, and what is injected of attacks.",
    );
    let columns = ["events", "units", "at event_block", "at tau_event", "median"];
    let mut table = Table::new("events-benign", "Benign events: all of this is wrong.", &[&["set", "channel"][..], &columns].concat());
    for (names, group) in &benign {
        table.row(names.map(Cell::from).into_iter().chain(group.cells()));
    }
    section.table(table);
    if !attacks.is_empty() {
        let caption = "Events that hold an injection, by template. AUC and recall are against the benign events of the same set and channel (bootstrap, BCa; recalls of fewer than five units, or where no sample differs, by Wilson).";
        let mut table = Table::new("events-attacks", caption, &[&["set", "template", "channel"][..], &columns, &CELLS].concat());
        for (names, group) in &attacks {
            let others = benign.get(&[names[0], names[2]]);
            let ranked = others.and_then(|others| Ranked::new(&group.scores, &others.scores, plan));
            table.row(names.map(Cell::from).into_iter().chain(group.cells()).chain(Ranked::cells(ranked)));
        }
        section.table(table);
    }
    Some(section)
}
