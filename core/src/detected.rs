//! What the detector makes of a document: a score for each event, the trajectory of those that count, and what is over a level.

use alloc::vec::Vec;

use crate::detector::{Detector, Levels};
use crate::limits::SCORE_TOLERANCE;
use crate::look::Texts;
use crate::policy::DetectorParams;
use crate::rules::RuleUse;
use crate::text::View;
use crate::trajectory::{Params, Trajectory};

/// What the detector found in one body.
#[derive(Clone, Debug, Default, PartialEq)]
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
#[derive(Clone, Debug)]
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
        let Levels { tau_event, event_block, drift, alarm, caller_alarm } = detector.levels;
        let levels = Levels {
            tau_event,
            event_block: params.event_block.unwrap_or(event_block),
            drift: params.drift.unwrap_or(drift),
            alarm: params.alarm.unwrap_or(alarm),
            caller_alarm: params.caller_alarm.unwrap_or(caller_alarm),
        };
        Detecting { detector, levels }
    }

    /// Number of persistence among [`Detector::rules`]; that of failing is the next, and the caller's persistence follows.
    pub fn persistence_rule(&self) -> usize {
        self.detector.members.len()
    }

    /// The highest score of each event. Linear in the texts.
    pub fn scores(&self, texts: &Texts<'_, '_>) -> Vec<Scored> {
        let nothing = || Scored { score: 0.0, rule: 0, chunk: 0, view: View::Folded, span: (0, 0) };
        let mut best: Vec<Scored> = texts.events.iter().map(|_| nothing()).collect();
        for (number, view) in texts.views.iter().enumerate() {
            let found = self.detector.score(view.as_str());
            let Some((event, view, span)) = texts.place(number, View::Folded, found.span) else { continue };
            let Some(best) = best.get_mut(event) else { continue };
            if found.score > best.score || found.failed {
                let rule = if found.failed { self.persistence_rule() + 1 } else { found.member };
                *best = Scored { score: found.score, rule, chunk: found.chunk, view, span };
            }
        }
        best
    }

    /// Whether an event's score blocks.
    pub fn is_over(&self, score: f64) -> bool {
        score >= self.levels.event_block - SCORE_TOLERANCE
    }

    /// Whether an event's score makes the running sum rise.
    pub fn is_hot(&self, score: f64) -> bool {
        score > self.levels.drift
    }

    /// Whether the running sum of a caller's runs is at its alarm level.
    pub fn alarms_caller(&self, sum: f64) -> bool {
        sum >= self.levels.caller_alarm - SCORE_TOLERANCE
    }

    /// Number of the caller's persistence among [`Detector::rules`].
    pub fn caller_rule(&self) -> usize {
        self.persistence_rule() + 2
    }

    /// Whether the CUSUM of `run` reaches the alarm level with this score. What is no number does.
    pub fn alarms(&self, run: &mut Trajectory, score: f64) -> bool {
        run.push(score, self.params()).unwrap_or(f64::INFINITY) >= self.levels.alarm - SCORE_TOLERANCE
    }

    /// The message with the highest score, the first of equals, of those that the first alarm came from; `None` in it when none of them is in a message.
    /// `None` without an alarm.
    pub fn heaviest(&self, steps: &[Step]) -> Option<Option<u32>> {
        let (mut run, mut heaviest) = (Trajectory::default(), None);
        for &Step { message, score, .. } in steps {
            let alarms = self.alarms(&mut run, score);
            if message.is_some() && heaviest.is_none_or(|(_, highest)| score > highest) {
                heaviest = Some((message, score));
            }
            if alarms {
                return Some(heaviest.and_then(|(message, _)| message));
            }
            // Nothing is left of what came before.
            if run.cusum() <= 0.0 {
                heaviest = None;
            }
        }
        None
    }

    pub fn params(&self) -> Params {
        Params { tau: self.levels.tau_event, drift: self.levels.drift }
    }
}

impl Detected<'_> {
    /// Notes that a rule was met, where it is not exempt.
    pub(crate) fn met(&mut self, rule: usize, counts_as: Option<RuleUse>) {
        self.rules_met |= u32::from(counts_as.is_some()).checked_shl(rule as u32).unwrap_or(0);
    }

    /// Adds an event that counts to the trajectory. An alarm does not interrupt its statistics.
    pub(crate) fn push(&mut self, detecting: &Detecting<'_>, score: f64, message: Option<u32>) {
        let before = self.trajectory;
        // A score that is no number is an alarm already.
        let _ = self.trajectory.push(score, detecting.params());
        if before.events() == 0 || self.trajectory.peak() > before.peak() {
            self.peak_message = message;
        }
    }
}

#[cfg(test)]
mod tests;
