//! Marks: the few events of a history that are more than clean, so that they are looked at again while they stay in it.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::record::Fingerprint;
use crate::limits::RUN_MARKS;

/// Anything was found in it.
pub(crate) const HIT: u8 = 1;
/// The running sum rose by it.
pub(crate) const HOT: u8 = 2;
/// It said that it was the assistant's, and held something.
pub(crate) const FORGED: u8 = 4;
/// The running sum reached the alarm level with it.
pub(crate) const ALARM: u8 = 8;
/// The three bits from here count how often the same stands in a history, from its start, and was approved.
const APPROVALS_AT: u32 = 4;
/// No more of the same are approved ones.
const MAX_APPROVALS: u8 = 7;
/// One more of the same asked since and was not approved.
const ASKED: u8 = 128;

/// An event that is more than clean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Mark {
    pub fingerprint: Fingerprint,
    pub bits: u8,
    /// How often the running sum rose by it.
    pub times: u8,
}

impl Mark {
    /// How many of the events with this text, from the start of the history, were approved.
    pub fn approvals(&self) -> u8 {
        self.bits >> APPROVALS_AT & MAX_APPROVALS
    }

    /// Whether the `place`th event with this text of the history was approved. A history that lost events may have lost those that were.
    pub fn is_approved(&self, place: u8, whole: bool) -> bool {
        place <= self.approvals() && (whole || self.bits & ASKED == 0)
    }

    /// The `place`th event with this text of the history asked, and was approved, or was not and is none of those that were.
    pub fn approve(&mut self, place: u8, approved: bool) {
        let known = self.approvals();
        let approvals = if approved { known.max(place).min(MAX_APPROVALS) } else { known.min(place.saturating_sub(1)) };
        let asked = if approvals > 0 && !approved { ASKED } else { 0 };
        self.bits = self.bits & !(MAX_APPROVALS << APPROVALS_AT | ASKED) | approvals << APPROVALS_AT | asked;
    }

    /// What would be lost without it, the worst last.
    fn rank(&self) -> u8 {
        self.bits & (HOT | FORGED | ALARM)
    }
}

/// The marks of a run, the newest last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Marks(Vec<Mark>);

impl Marks {
    pub fn is_sound(&self) -> bool {
        self.0.len() <= RUN_MARKS && self.0.iter().all(|mark| mark.bits != 0)
    }

    /// Whether any event was approved.
    pub fn approve(&self) -> bool {
        self.0.iter().any(|mark| mark.approvals() > 0)
    }

    /// What is marked of an event; nothing for most.
    pub fn of(&self, fingerprint: Fingerprint) -> Mark {
        let found = self.0.iter().find(|mark| mark.fingerprint == fingerprint);
        found.copied().unwrap_or(Mark { fingerprint, bits: 0, times: 0 })
    }

    /// Puts a mark in the place of the one that the event has. `false` when another had to give way for it: the one that says least, the oldest of equals.
    #[must_use]
    pub fn put(&mut self, mark: Mark) -> bool {
        match self.0.iter_mut().find(|known| known.fingerprint == mark.fingerprint) {
            Some(known) => *known = mark,
            None if mark.bits == 0 => (),
            None => self.0.push(mark),
        }
        self.0.retain(|mark| mark.bits != 0);
        let fits = self.0.len() <= RUN_MARKS;
        if !fits && let Some((least, _)) = self.0.iter().enumerate().min_by_key(|(_, mark)| mark.rank()) {
            self.0.remove(least);
        }
        fits
    }
}

#[cfg(test)]
impl Marks {
    /// As many marks as there may be, each as long as it may be.
    pub fn longest() -> Self {
        let mark = |at: u8| Mark { fingerprint: [at, 255, 255, 255], bits: u8::MAX, times: u8::MAX };
        Marks((0..RUN_MARKS as u8).map(mark).collect())
    }
}
