//! Trajectories drawn in blocks of consecutive events from those that were seen.

use std::collections::BTreeMap;

use super::{Benign, Blocks, Plan};
use crate::stats::Chance;
use anyhow::ensure;

/// Draws trajectories and blocks, each unit alike.
pub(super) struct Draws<'a> {
    /// The runs of each unit that hold an event.
    units: Vec<Vec<&'a [f64]>>,
    block_events: usize,
    blocks: Blocks,
    chance: Chance,
    drawn: Vec<f64>,
}

impl<'a> Draws<'a> {
    pub(super) fn new(benign: &'a [Benign], plan: &Plan) -> anyhow::Result<Self> {
        ensure!(plan.block_events > 0, "a block holds at least one event");
        let mut units: BTreeMap<&str, Vec<&[f64]>> = BTreeMap::new();
        for run in benign.iter().filter(|run| !run.scores.is_empty()) {
            units.entry(&run.unit).or_default().push(&run.scores);
        }
        ensure!(!units.is_empty(), "no benign trajectory holds an event");
        Ok(Self {
            units: units.into_values().collect(),
            block_events: plan.block_events,
            blocks: plan.blocks,
            chance: Chance::new(plan.seed),
            drawn: Vec::new(),
        })
    }

    /// Events of the longest run.
    pub(super) fn longest(&self) -> usize {
        self.units.iter().flatten().map(|run| run.len()).max().unwrap_or_default()
    }

    /// A trajectory of `length` events, or as long as a run of its unit.
    pub(super) fn trajectory(&mut self, length: Option<usize>) -> &[f64] {
        let unit = self.chance.below(self.units.len());
        let run = self.run(unit);
        let length = length.unwrap_or(run.len());
        self.drawn.clear();
        while self.drawn.len() < length {
            let from = match self.blocks {
                Blocks::OfOneUnit => unit,
                Blocks::OfAllUnits => self.chance.below(self.units.len()),
            };
            let block = self.block(from);
            self.drawn.extend_from_slice(&block[..block.len().min(length - self.drawn.len())]);
        }
        &self.drawn
    }

    /// A block of any unit.
    pub(super) fn block_of_any(&mut self) -> &'a [f64] {
        let unit = self.chance.below(self.units.len());
        self.block(unit)
    }

    fn block(&mut self, unit: usize) -> &'a [f64] {
        let run = self.run(unit);
        let events = self.block_events.min(run.len());
        let start = self.chance.below(run.len() - events + 1);
        &run[start..start + events]
    }

    fn run(&mut self, unit: usize) -> &'a [f64] {
        let run = self.chance.below(self.units[unit].len());
        self.units[unit][run]
    }
}
