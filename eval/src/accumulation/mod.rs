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

use case::Gathered;

use crate::assemble;
use crate::data::{OnBroken, Split};
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
    /// What becomes of broken lines; who reads the data for the rest of a report tells of them.
    pub on_broken: OnBroken,
}

impl Options {
    /// As reports measure.
    pub fn new(data: impl Into<PathBuf>, split: Split, plan: Plan) -> Self {
        Options { data: data.into(), split, seed: assemble::SEED, number: assemble::NUMBER, plan, on_broken: OnBroken::Stop }
    }
}

/// All sections: worked examples, sweep, sets, profile differences, aggregates. Where the data hold nothing to assemble conversations from, those that need some are left out, and
/// the sets say why.
///
/// # Errors
/// When the data cannot be read.
pub fn sections(options: &Options) -> anyhow::Result<Vec<Section>> {
    let Gathered { cases, missing, left_out } = case::gather(options)?;
    let mut sections = vec![worked::section()];
    if missing.is_none() {
        sections.push(sweep::section(&cases, options));
    }
    if !cases.is_empty() {
        sections.push(sets::section(&cases, options, [missing.as_deref(), left_out.as_deref()]));
        sections.push(differences::section(&cases, options));
    }
    if missing.is_none() {
        sections.push(aggregates::section(&cases, options));
    }
    Ok(sections)
}
