//! Which events of a body are looked at, and how each counts.

use alloc::vec::Vec;

use crate::conversation::{Streak, Turn};
use crate::trajectory::Trajectory;

/// Whether an event is a step of the trajectory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Count {
    /// As any new one.
    #[default]
    Ordinary,
    /// Only if the sum rises by it: what was counted may not get lower by what is told anew.
    Rising,
    /// It was counted, or never will be.
    Nothing,
}

/// What becomes of one event.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Planned {
    /// The policy's scope has it.
    pub in_scope: bool,
    /// It is looked at; otherwise nothing was found in it before.
    pub look: bool,
    /// It was not in a body that was judged before.
    pub is_new: bool,
    pub count: Count,
    /// It says that it is the assistant's, and did not leave here.
    pub forged: bool,
    /// The running sum reached the alarm level with it before.
    pub alarmed: bool,
    /// What it asks for was approved before.
    pub approved: bool,
}

/// What becomes of the events of a body, and what came before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    /// One for each event.
    pub events: Vec<Planned>,
    /// There is a run.
    pub within: bool,
    /// The running sum since the last alarm.
    pub cusum: Trajectory,
    /// The statistics.
    pub stats: Trajectory,
    /// The running sum of the body's history alone alarms too, from where it was: a history is judged no milder for what stood in other branches of the run.
    pub alone: Option<Trajectory>,
    /// That is taken over all of the body, not over what is new.
    pub anew: bool,
    /// Where resampling was before the first new event.
    pub streak: Option<Streak>,
    /// The turns before the body's.
    pub prior: Vec<Turn>,
    /// The weightiest pattern of the last of them that was hit.
    pub prior_pattern: Option<u16>,
    /// The body does not go on from a history that was judged, and this is worth a word.
    pub rewritten: bool,
}

impl Plan {
    /// There is nothing but this body.
    pub fn alone(in_scope: &[bool]) -> Self {
        let planned = |&in_scope: &bool| Planned { in_scope, look: in_scope, is_new: true, ..Planned::default() };
        Plan { events: in_scope.iter().map(planned).collect(), ..Plan::default() }
    }
}
