//! Trajectories drawn in blocks of consecutive events from those that were seen.

use std::collections::BTreeMap;

use anyhow::ensure;
use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng as _;

use super::{Benign, Blocks, Plan};

/// PCG's own default stream.
const STREAM: u128 = 0xa02_bdbf_7bb3_c0a7_ac28_fa16_a64a_bf96;

/// Draws trajectories and blocks, each unit alike.
pub(super) struct Draws<'a> {
    /// The runs of each unit that hold an event.
    units: Vec<Vec<&'a [f64]>>,
    block_events: usize,
    blocks: Blocks,
    generator: Pcg64,
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
            generator: Pcg64::new(u128::from(plan.seed), STREAM),
            drawn: Vec::new(),
        })
    }

    /// Events of the longest run.
    pub(super) fn longest(&self) -> usize {
        self.units.iter().flatten().map(|run| run.len()).max().unwrap_or_default()
    }

    /// A trajectory of `length` events, or as long as a run of its unit.
    pub(super) fn trajectory(&mut self, length: Option<usize>) -> &[f64] {
        let unit = self.below(self.units.len());
        let run = self.run(unit);
        let length = length.unwrap_or(run.len());
        self.drawn.clear();
        while self.drawn.len() < length {
            let from = match self.blocks {
                Blocks::OfOneUnit => unit,
                Blocks::OfAllUnits => self.below(self.units.len()),
            };
            let block = self.block(from);
            self.drawn.extend_from_slice(&block[..block.len().min(length - self.drawn.len())]);
        }
        &self.drawn
    }

    /// A block of any unit.
    pub(super) fn block_of_any(&mut self) -> &'a [f64] {
        let unit = self.below(self.units.len());
        self.block(unit)
    }

    fn block(&mut self, unit: usize) -> &'a [f64] {
        let run = self.run(unit);
        let events = self.block_events.min(run.len());
        let start = self.below(run.len() - events + 1);
        &run[start..start + events]
    }

    fn run(&mut self, unit: usize) -> &'a [f64] {
        let run = self.below(self.units[unit].len());
        self.units[unit][run]
    }

    /// A number below `end`, each as likely as the others but for 2^-64 of `end`.
    fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.generator.next_u64()) * end as u128) >> 64) as usize
    }
}
