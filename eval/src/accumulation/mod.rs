//! The analyses of arXiv 2602.11247 ("Peak + Accumulation") on assembled conversations and benign ones: sweep of rho, baseline, sets, profiles, and what else
//! the scores of a conversation could be put together by.

mod aggregates;
mod case;
mod differences;
mod scoring;
mod sets;
mod statistics;
mod sweep;
mod worked;

use std::path::PathBuf;

use crate::assemble;
use crate::data::Split;
use crate::report::Section;
use crate::stats::Plan;

/// What to measure on.
#[derive(Clone, Debug)]
pub struct Options {
    /// The data.
    pub data: PathBuf,
    /// The part of it.
    pub split: Split,
    /// Seed of what is assembled ([`assemble::SEED`] in reports).
    pub seed: u64,
    /// Conversations of each assembled kind; of the control twice as many ([`assemble::NUMBER`] in reports).
    pub number: usize,
    /// How intervals are drawn.
    pub plan: Plan,
}

impl Options {
    /// As reports measure.
    pub fn new(data: impl Into<PathBuf>, split: Split, plan: Plan) -> Self {
        Options { data: data.into(), split, seed: assemble::SEED, number: assemble::NUMBER, plan }
    }
}

/// All sections: worked examples, sweep, sets, profile differences, aggregates.
///
/// # Errors
/// When the data cannot be read, or hold nothing to assemble conversations from.
pub fn sections(options: &Options) -> anyhow::Result<Vec<Section>> {
    let cases = case::gather(options)?;
    Ok(vec![
        worked::section(),
        sweep::section(&cases, options),
        sets::section(&cases, options),
        differences::section(&cases, options),
        aggregates::section(&cases, options),
    ])
}
