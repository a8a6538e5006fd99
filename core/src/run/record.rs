//! The record of a run.

use alloc::vec::Vec;

use super::{Context, Noted};
use crate::judge::Judge;

/// A record that is none of this version, or holds what no record does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

/// What is remembered of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    touched_ms: u64,
}

impl Run {
    /// Reads a record.
    ///
    /// # Errors
    /// When it is none of this version.
    pub fn decode(_: &[u8]) -> Result<Self, Unreadable> {
        Err(Unreadable)
    }

    /// The record, at most [`crate::limits::MAX_RUN_BYTES`].
    pub fn encode(&self) -> Vec<u8> {
        Vec::new()
    }

    /// How much an eviction of it would forget: what eviction compares.
    pub fn heat(&self) -> f32 {
        0.0
    }

    /// Events that counted: user messages, tool results and calls.
    pub fn events(&self) -> u32 {
        0
    }

    /// The running sum, as it was at [`Run::touched_ms`].
    pub fn cusum(&self) -> f64 {
        0.0
    }

    /// The highest value that the sum, never reset by an alarm, had.
    pub fn persistence(&self) -> f64 {
        0.0
    }

    /// Events at or over the threshold of suspicion.
    pub fn over(&self) -> u32 {
        0
    }

    /// Turns, where the server keeps the history.
    pub fn turns(&self) -> u32 {
        0
    }

    /// The highest score of an event.
    pub fn peak(&self) -> f64 {
        0.0
    }

    /// How often the sum reached the alarm level.
    pub fn alarms(&self) -> u32 {
        0
    }

    /// Requests that began another conversation of the same caller and opening.
    pub fn restarts(&self) -> u32 {
        0
    }

    /// Requests whose history did not go on from one that was judged.
    pub fn rewritten(&self) -> u32 {
        0
    }

    /// Whether more stood in it than is remembered.
    pub fn overflow(&self) -> bool {
        false
    }

    /// Unix time in milliseconds of the last body that was judged in it.
    pub fn touched_ms(&self) -> u64 {
        self.touched_ms
    }

    /// Takes what is noted of a response.
    pub fn absorb(&mut self, _: &Noted, _: &Judge<'_>, context: &Context<'_>) {
        self.touched_ms = self.touched_ms.max(context.now_ms);
    }
}
