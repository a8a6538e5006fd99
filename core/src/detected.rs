//! What the detector makes of a document: a score for each event, the trajectory of those that count, and what is over a level.

use alloc::vec::Vec;

use crate::detector::{Detector, Levels};
use crate::limits::SCORE_TOLERANCE;
use crate::policy::DetectorParams;
use crate::scan::Texts;
use crate::text::View;
use crate::trajectory::{Params, Trajectory};

/// What the detector found in one body.
#[derive(Clone, Debug, PartialEq)]
pub struct Detected<'t> {
    /// The detector's version.
    pub version: &'t str,
    /// Score of each text that was looked at, in wire order, from 0 to 1.
    pub scores: Vec<f64>,
    /// Message index of each of them; `None` outside the messages.
    pub messages: Vec<Option<u32>>,
    /// Statistics of the events that count: user messages, tool results and the arguments of tool calls, where nothing about them is trusted or exempt.
    pub trajectory: Trajectory,
    /// The message with the highest of their scores, the first of equals.
    pub peak_message: Option<u32>,
    /// The message at which persistence first reached the alarm level.
    pub alarm_message: Option<u32>,
    /// Texts that count as the worst because a member gave no number.
    pub failed: u32,
    /// Bit `r` is set when rule `r` of [`Detector::rules`] was met where it is not exempt.
    pub rules_met: u32,
}

/// A detector with the levels of a policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Detecting<'t> {
    pub detector: &'t Detector<'t>,
    pub levels: Levels,
}

/// The highest score of an event over its views.
pub(crate) struct Scored {
    pub score: f64,
    /// Number among [`Detector::rules`]: the member's, or that of failing.
    pub rule: usize,
    pub chunk: u32,
    pub view: View,
    /// Bytes of the event's text.
    pub span: (usize, usize),
}

/// An event of a trajectory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// Its number in the document.
    pub event: usize,
    pub message: Option<u32>,
    pub score: f64,
}

impl<'t> Detecting<'t> {
    pub fn new(detector: &'t Detector<'t>, params: &DetectorParams) -> Self {
        let Levels { tau_event, event_block, drift, alarm } = detector.levels;
        let levels = Levels {
            tau_event,
            event_block: params.event_block.unwrap_or(event_block),
            drift: params.drift.unwrap_or(drift),
            alarm: params.alarm.unwrap_or(alarm),
        };
        Detecting { detector, levels }
    }

    /// The highest score of each event. Linear in the texts.
    pub fn scores(&self, texts: &Texts<'_, '_>) -> Vec<Scored> {
        let nothing = || Scored { score: 0.0, rule: 0, chunk: 0, view: View::Folded, span: (0, 0) };
        let mut best: Vec<Scored> = texts.document.events.iter().map(|_| nothing()).collect();
        for (number, view) in texts.views.iter().enumerate() {
            let found = self.detector.score(view.as_str());
            let failed = found.failed || !found.score.is_finite();
            let score = if failed { 1.0 } else { found.score };
            let Some((event, view, span)) = texts.place(number, View::Folded, found.span) else { continue };
            let Some(best) = best.get_mut(event) else { continue };
            if score > best.score || failed {
                let rule = if failed { self.detector.failed_rule() } else { found.member };
                *best = Scored { score, rule, chunk: found.chunk, view, span };
            }
        }
        best
    }

    /// Whether an event's score blocks.
    pub fn is_over(&self, score: f64) -> bool {
        score >= self.levels.event_block - SCORE_TOLERANCE
    }

    /// The places in `steps` at which the first CUSUM, begun at `from`, left 0 and reached the alarm level.
    pub fn alarm(&self, steps: &[Step], from: usize) -> Option<(usize, usize)> {
        let (mut run, mut start) = (Trajectory::default(), from);
        for (at, step) in steps.iter().enumerate().skip(from) {
            // What is no number counts as the worst.
            let cusum = run.push(step.score, self.params()).unwrap_or(f64::INFINITY);
            if cusum >= self.levels.alarm - SCORE_TOLERANCE {
                return Some((start, at));
            }
            if cusum <= 0.0 {
                start = at + 1;
            }
        }
        None
    }

    /// The message of the highest score that the first alarm came from; `None` in it when no message has any of them.
    pub fn heaviest(&self, steps: &[Step]) -> Option<Option<u32>> {
        let (start, at) = self.alarm(steps, 0)?;
        let run = steps.get(start..=at).unwrap_or_default();
        // Of equals `max_by` takes the last, so the order is turned.
        let in_messages = run.iter().rev().filter(|step| step.message.is_some());
        Some(in_messages.max_by(|one, other| one.score.total_cmp(&other.score)).and_then(|step| step.message))
    }

    /// The statistics of `steps`, over all of them: an alarm does not interrupt them.
    pub fn trajectory(&self, steps: &[Step]) -> (Trajectory, Option<u32>) {
        let (mut all, mut peak_message) = (Trajectory::default(), None);
        for step in steps {
            let before = all;
            // Scores are finite; one that were not is an alarm.
            let _ = all.push(step.score, self.params());
            if before.events() == 0 || all.peak() > before.peak() {
                peak_message = step.message;
            }
        }
        (all, peak_message)
    }

    fn params(&self) -> Params {
        Params { tau: self.levels.tau_event, drift: self.levels.drift }
    }
}

#[cfg(test)]
mod tests;
