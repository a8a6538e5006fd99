//! `floodmark-eval verify`: figures recomputed from a score receipt, with no model and none of the gateway's code.
//!
//! ```text
//! receipt (rows, checked) -> statistics (by their definitions) -> figures (AUCs with intervals, gaps, deltas; paths: what the rows exercised) -> report
//! ```
//!
//! It shares no code with `floodmark_core`, and of this crate only the arithmetic of [`crate::stats`], which is held against scipy's; a test of `xtask` keeps it so:
//! two computations that agree say something only if they are two.

mod deltas;
mod expect;
mod figures;
mod paths;
mod receipt;
mod report;
pub mod statistics;
#[cfg(test)]
mod tests;

use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::{Context as _, bail};

use expect::Expectation;
use figures::{Figures, Settings};
use receipt::Group;

use crate::stats::Plan;

/// Recomputes AUCs, drift, gaps and deltas from a score receipt, without any model.
///
/// Ends with an error if an expectation is not met.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The receipt: CSV with the columns trajectory_id, group, position and score, and perhaps unit and carrier.
    #[arg(long)]
    receipt: PathBuf,
    /// A receipt of group `native` with the carriers that the receipt's `attack` and `sham` trajectories name.
    #[arg(long)]
    baseline: Option<PathBuf>,
    /// Take this drift; the median of the receipt's benign events when left out.
    #[arg(long)]
    drift: Option<f64>,
    /// The threshold of frac_over_tau.
    #[arg(long, default_value_t = 0.5)]
    tau: f64,
    /// Samples to draw for the intervals.
    #[arg(long, default_value_t = 2000)]
    draws: usize,
    /// Seed of the draws.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A figure and what it has to be, to half of the value's last digit: `persistence.auc=.858`. May repeat.
    #[arg(long, value_name = "FIGURE=VALUE")]
    expect: Vec<Expectation>,
}

impl Args {
    /// Recomputes and prints.
    ///
    /// # Errors
    /// When a receipt cannot be read, which names file and line, its groups are not enough, or an expectation is not met.
    pub fn run(&self) -> anyhow::Result<()> {
        let figures = self.figures()?;
        let mut out = io::stdout().lock();
        out.write_all(figures.text().as_bytes())?;
        let named = figures.named();
        let mut unmet = Vec::new();
        for expectation in &self.expect {
            let found = expectation.find(&named)?;
            if expectation.met(found) {
                writeln!(out, "as expected: {expectation}")?;
            } else {
                unmet.push(format!("{expectation}, but it is {found}"));
            }
        }
        if !unmet.is_empty() {
            bail!("not as expected: {}", unmet.join("; "));
        }
        Ok(())
    }

    fn figures(&self) -> anyhow::Result<Figures> {
        if !self.tau.is_finite() || self.drift.is_some_and(|drift| !drift.is_finite()) {
            bail!("--tau and --drift are finite numbers");
        }
        let grafted = receipt::read(&self.receipt, &[Group::Attack, Group::Benign, Group::Sham])?;
        let baseline = self.baseline.as_ref().map(|path| receipt::read(path, &[Group::Native])).transpose()?;
        let plan = Plan { draws: self.draws, seed: self.seed };
        Figures::of(&grafted, baseline.as_ref(), Settings { tau: self.tau, drift: self.drift, plan })
            .with_context(|| self.receipt.display().to_string())
    }
}
