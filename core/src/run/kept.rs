//! The last body of a history that the server keeps: it is the only one that can be known again, when a client sends it once more.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::key::Of;
use super::opened::{Digests, Opened};
use super::turns::Turns;
use super::{Context, conditions};
use crate::conversation::Turn;
use crate::limits::{RUN_LAST_ALARMS, RUN_TURNS};
use crate::scan::Found;
use crate::wire::Direction;

/// A body that was judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Last {
    /// The digest of all its events, and of what it was judged under.
    digest: [u8; 8],
    /// Numbers of the events with which the running sum reached the alarm level, ascending.
    alarms: Vec<u16>,
    /// Turns of the run since before it, at most [`RUN_TURNS`].
    since: u8,
    /// Its own are among them.
    pub told: bool,
    /// [`Turns::pattern`] before it.
    pattern: Option<u16>,
}

/// The last body of each direction: a request and its response come by turns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Lasts {
    request: Option<Last>,
    response: Option<Last>,
}

impl Last {
    /// A body that is judged now; nothing of it is in the turns yet.
    pub fn new(digest: [u8; 8], turns: &Turns, found: &[Found]) -> Self {
        let alarmed = found.iter().filter(|found| found.alarmed).filter_map(|found| u16::try_from(found.event).ok());
        Last { digest, alarms: alarmed.take(RUN_LAST_ALARMS).collect(), since: 0, told: false, pattern: turns.pattern() }
    }

    /// Whether the running sum reached the alarm level with its event of this number.
    pub fn alarmed(&self, event: usize) -> bool {
        self.alarms.iter().any(|alarm| usize::from(*alarm) == event)
    }

    /// The turns before it, and the weightiest pattern of the last of them that was hit.
    pub fn prior(&self, turns: &Turns) -> (Vec<Turn>, Option<u16>) {
        let mut prior = turns.last();
        prior.truncate(prior.len().saturating_sub(self.since.into()));
        (prior, self.pattern)
    }

    fn is_sound(&self) -> bool {
        self.alarms.len() <= RUN_LAST_ALARMS && usize::from(self.since) <= RUN_TURNS
    }
}

impl Lasts {
    pub fn is_sound(&self) -> bool {
        [&self.request, &self.response].into_iter().flatten().all(Last::is_sound)
    }

    pub fn is_empty(&self) -> bool {
        self.request.is_none() && self.response.is_none()
    }

    fn of(&self, direction: Direction) -> &Option<Last> {
        match direction {
            Direction::Request => &self.request,
            Direction::Response => &self.response,
        }
    }

    /// The last body of a direction, if it is the one with this digest.
    pub fn same(&self, direction: Direction, digest: Option<[u8; 8]>) -> Option<&Last> {
        self.of(direction).as_ref().filter(|last| Some(last.digest) == digest)
    }

    pub fn get(&self, direction: Direction) -> Option<&Last> {
        self.of(direction).as_ref()
    }

    pub fn set(&mut self, direction: Direction, last: Option<Last>) {
        match direction {
            Direction::Request => self.request = last,
            Direction::Response => self.response = last,
        }
    }

    /// So many turns were added after them.
    pub fn grown(&mut self, turns: usize) {
        let turns = u8::try_from(turns).unwrap_or(u8::MAX);
        for last in [&mut self.request, &mut self.response].into_iter().flatten() {
            last.since = last.since.saturating_add(turns).min(RUN_TURNS as u8);
        }
    }
}

/// The digest by which a body is known again; `None` of a body without events, which says nothing.
pub(super) fn body_digest(opened: &Opened<'_, '_>, digests: &Digests, context: &Context<'_>) -> Option<[u8; 8]> {
    let mut digest = context.key.digest(Of::Body);
    digest.bytes(&conditions(opened, context));
    for (event, own) in opened.document.events.iter().zip(&digests.events) {
        digest.bytes(own);
        digest.bytes(&[event.trusted.into()]);
        digest.text(event.tool.as_deref().unwrap_or_default());
    }
    (!digests.events.is_empty()).then(|| super::first(&digest.end()))
}

#[cfg(test)]
impl Lasts {
    /// As long as it may be.
    pub fn longest() -> Self {
        let alarms = [u16::MAX; RUN_LAST_ALARMS].to_vec();
        let last = Last { digest: [255; 8], alarms, since: RUN_TURNS as u8, told: true, pattern: Some(u16::MAX) };
        Lasts { request: Some(last.clone()), response: Some(last) }
    }
}
