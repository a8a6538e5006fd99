//! The detector of record: frozen members that each score one event's text from 0 to 1, and their maximum (DESIGN.md 8; "Amplify, Don't Create").

use alloc::vec::Vec;

pub mod grams;
mod linear;
#[cfg(test)]
mod tests;

pub use linear::{Chunk, LinearModel, Platt};

/// Frozen members with the levels that were calibrated with them. Filled by `floodmark-tables`; tests use tiny ones.
#[derive(Clone, Copy, Debug)]
pub struct Detector<'t> {
    /// Of different families; the largest score counts.
    pub members: &'t [Member<'t>],
    /// What the scores mean, calibrated on benign texts, conversations and agent runs.
    pub levels: Levels,
    /// Version of the members and levels together; shown in logs and reports.
    pub version: &'t str,
}

/// A member of the ensemble.
#[derive(Clone, Copy, Debug)]
pub struct Member<'t> {
    /// Its name in rule ids: `detector.<name>`.
    pub name: &'t str,
    /// What it computes.
    pub model: Model<'t>,
}

/// What a member computes.
#[derive(Clone, Copy, Debug)]
pub enum Model<'t> {
    /// A linear model over hashed n-grams.
    Linear(LinearModel<'t>),
    /// What a test says.
    #[cfg(test)]
    Given(Given),
}

/// Gives chunk, its bytes and score, as models do.
#[cfg(test)]
pub(crate) type Given = fn(&str) -> Option<(u32, (usize, usize), f64)>;

/// Levels of event scores and trajectories. All are scores or sums of scores, without unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Levels {
    /// An event at or above this is suspicious: what `frac_over_tau` counts.
    pub tau_event: f64,
    /// An event at or above this blocks.
    pub event_block: f64,
    /// The reference value k that CUSUM subtracts from each score.
    pub drift: f64,
    /// The decision interval h: persistence at or above this is an alarm.
    pub alarm: f64,
    /// The same for the events of all runs of one caller together.
    pub caller_alarm: f64,
}

/// The score of one text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EventScore {
    /// From 0 to 1; 0 when there is nothing to score, 1 when a member failed.
    pub score: f64,
    /// Number of the member that gave it.
    pub member: usize,
    /// Number of the chunk that it was highest in.
    pub chunk: u32,
    /// That chunk's bytes in the text.
    pub span: (usize, usize),
    /// Whether a member gave no number, so that the event counts as the worst.
    pub failed: bool,
}

/// Name of the rule that persistence at the alarm level is, after `detector.`.
pub const PERSISTENCE: &str = "persistence";
/// Name of the rule that persistence over all runs of one caller is, after `detector.`.
pub const CALLER_PERSISTENCE: &str = "caller_persistence";
/// Name of the rule that a member without a number is.
pub const FAILED: &str = "failed";

impl<'t> Detector<'t> {
    /// The names of its rules, after `detector.`: its members by their numbers, persistence, failing, and the caller's persistence.
    #[inline(never)]
    pub fn rules(&self) -> Vec<&'t str> {
        let mut names = Vec::new();
        for member in self.members {
            names.push(member.name);
        }
        names.extend_from_slice(&[PERSISTENCE, FAILED, CALLER_PERSISTENCE]);
        names
    }

    /// Scores a text in folded form, or in ASCII with any case and white space. Linear in its length.
    ///
    /// Fails closed: a member whose score is no number makes the event's score 1.
    pub fn score(&self, view: &str) -> EventScore {
        let mut best = EventScore { score: 0.0, member: 0, chunk: 0, span: (0, 0), failed: false };
        for (number, member) in self.members.iter().enumerate() {
            let scored = match &member.model {
                Model::Linear(model) => model.highest(view).map(|found| (found.number, found.span, model.platt.score(found.margin))),
                #[cfg(test)]
                Model::Given(score) => score(view),
            };
            let Some((chunk, span, score)) = scored else { continue };
            let (score, failed) = if score.is_finite() { (score.clamp(0.0, 1.0), false) } else { (1.0, true) };
            if score > best.score {
                best = EventScore { score, member: number, chunk, span, failed };
            }
        }
        best
    }
}
