//! The caller: one running sum over all runs of one identity, so that a new session for each step of an attack does not begin anew.

use alloc::vec::Vec;

use super::{Context, Unreadable};
use crate::judge::{Judge, Judgement};

/// What is remembered of a caller.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Caller {
    cusum: f64,
    touched_ms: u64,
    alarms: u32,
}

/// What a body counted in its run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counted {}

impl Counted {
    /// Whether it changes nothing of a caller.
    pub fn is_empty(&self) -> bool {
        true
    }
}

impl Caller {
    /// Reads a record.
    ///
    /// # Errors
    /// When it is none of this version.
    pub fn decode(_: &[u8]) -> Result<Self, Unreadable> {
        Err(Unreadable)
    }

    /// The record, at most [`crate::limits::MAX_CALLER_BYTES`].
    pub fn encode(&self) -> Vec<u8> {
        Vec::new()
    }

    /// How much an eviction of it would forget: what eviction compares.
    pub fn heat(&self) -> f32 {
        self.cusum as f32
    }

    /// The running sum, as it was at [`Caller::touched_ms`].
    pub fn cusum(&self) -> f64 {
        self.cusum
    }

    /// How often it reached the alarm level.
    pub fn alarms(&self) -> u32 {
        self.alarms
    }

    /// Unix time in milliseconds of the last request that counted.
    pub fn touched_ms(&self) -> u64 {
        self.touched_ms
    }
}

impl<'t> Judge<'t> {
    /// Takes what a body counted to its caller: raises the judgement when that reaches the alarm level, and gives the caller to be stored. May be called
    /// again with another caller's record after a conflict, on a clone of the judgement.
    pub fn caller<'j>(&'j self, judgement: &mut Judgement<'j>, caller: &Caller, _: &Counted, _: &Context<'_>) -> Caller {
        if let Some(run) = &mut judgement.run {
            run.caller_cusum = Some(caller.cusum);
        }
        caller.clone()
    }
}
