//! Sending: clients that take the next request in turn, at a bounded rate.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use futures_util::future::join_all;

use super::{Effort, Expect, Shot};
use crate::client::{Connection, Protocol};

/// What became of all requests of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// The kind's name.
    pub name: String,
    /// What must become of each.
    pub expect: Expect,
    /// Requests by status; `None` where no answer came.
    pub answers: BTreeMap<Option<u16>, u64>,
}

impl Tally {
    /// Number of requests.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.answers.values().sum()
    }

    /// Number of those that were not answered as they must be.
    #[must_use]
    pub fn wrong(&self) -> u64 {
        self.answers.iter().filter(|(status, _)| !self.expect.meets(**status)).map(|(_, count)| count).sum()
    }
}

/// Sends all kinds in turn until the time is over.
pub(super) async fn fire(address: SocketAddr, shots: &[Shot], effort: &Effort, started: Instant) -> Vec<Tally> {
    let next = AtomicUsize::new(0);
    let clients = (0..effort.clients).map(|_| client(address, shots, effort, started, &next));
    let answers = join_all(clients).await;
    let mut tallies: Vec<Tally> = Vec::new();
    for (at, status) in answers.into_iter().flatten() {
        let shot = &shots[at];
        let place = tallies.iter().position(|tally| tally.name == shot.name).unwrap_or_else(|| {
            tallies.push(Tally { name: shot.name.clone(), expect: shot.expect, answers: BTreeMap::new() });
            tallies.len() - 1
        });
        *tallies[place].answers.entry(status).or_default() += 1;
    }
    tallies.sort_by(|a, b| a.name.cmp(&b.name));
    tallies
}

/// One client, with a connection for each protocol; gives each request's kind with its status.
async fn client(address: SocketAddr, shots: &[Shot], effort: &Effort, started: Instant, next: &AtomicUsize) -> Vec<(usize, Option<u16>)> {
    let (mut http1, mut http2) = (None, None);
    let mut answers = Vec::new();
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let due = started + std::time::Duration::from_secs_f64(number as f64 / f64::from(effort.rate));
        if due >= started + effort.time {
            return answers;
        }
        tokio::time::sleep_until(due.into()).await;
        let (at, shot) = (number % shots.len(), &shots[number % shots.len()]);
        let place = if shot.protocol == Protocol::Http1 { &mut http1 } else { &mut http2 };
        let status = send(address, shot, place).await;
        if status != Some(200) {
            // Given up, or refused: Envoy may close such a connection, and the client does.
            *place = None;
        }
        answers.push((at, status));
    }
}

async fn send(address: SocketAddr, shot: &Shot, place: &mut Option<Connection>) -> Option<u16> {
    if place.is_none() {
        *place = Connection::open(address, shot.protocol).await.ok();
    }
    Some(place.as_mut()?.send(shot.call.clone()).await.ok()?.status)
}
