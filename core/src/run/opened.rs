//! A body that was read, and is looked at as far as its judgement needs.

use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use alloc::vec::Vec;

use super::key::{Of, channel_byte};
use super::plan::{Count, Plan};
use super::record::Fingerprint;
use super::{Context, Noted, Run, RunKey, Settled};
use crate::judge::{Hint, Judge, Judgement};
use crate::look::Looked;
use crate::scan::Scanned;
use crate::wire::{Document, Event};

/// A body that was read.
#[derive(Debug)]
pub struct Opened<'j, 'b> {
    pub(super) judge: &'j Judge<'j>,
    pub(super) document: Document<'b>,
    pub(super) hint: Hint,
    /// Whether the policy's scope has each event.
    pub(super) in_scope: Vec<bool>,
    /// What was found in each event that was looked at.
    looked: Vec<Option<Looked>>,
    own_unread: bool,
    digests: Option<Rc<Digests>>,
    /// How each event counts where the server keeps the history; as any new one where it is not there.
    pub(super) counts: Vec<Count>,
}

/// Keyed digests of a body's events.
#[derive(Debug)]
pub(super) struct Digests {
    key: RunKey,
    /// Of each event.
    pub events: Vec<[u8; 16]>,
    /// The numbers of the events that stand in messages.
    pub messages: Vec<usize>,
    /// The history up to each of them, and before the first.
    pub chains: Vec<[u8; 8]>,
    /// What stands outside them.
    pub frame: [u8; 8],
}

impl Digests {
    fn new(key: &RunKey, events: &[Event<'_>]) -> Self {
        let digests: Vec<[u8; 16]> = events.iter().map(|event| key.event(event)).collect();
        let (mut chain, mut frame) = ([0; 16], [0; 16]);
        let (mut messages, mut chains) = (Vec::new(), Vec::from([[0; 8]]));
        for (number, (event, digest)) in events.iter().zip(&digests).enumerate() {
            if event.message.is_some() {
                chain = key.chain(chain, digest);
                messages.push(number);
                chains.push(half(chain));
            } else {
                frame = key.chain(frame, digest);
            }
        }
        Digests { key: *key, events: digests, messages, chains, frame: half(frame) }
    }

    /// Of each event, the how manieth of its text it is, at most 255.
    pub fn places(&self) -> Vec<u8> {
        let mut told: BTreeMap<Fingerprint, u8> = BTreeMap::new();
        let place = |event: &[u8; 16]| {
            let times = told.entry(super::first(event)).or_default();
            *times = times.saturating_add(1);
            *times
        };
        self.events.iter().map(place).collect()
    }

    /// The fingerprint of the event of this number.
    pub fn fingerprint(&self, event: usize) -> Fingerprint {
        self.events.get(event).map_or([0; 4], super::first)
    }
}

fn half(chain: [u8; 16]) -> [u8; 8] {
    chain.first_chunk().copied().unwrap_or_default()
}

impl<'j, 'b> Opened<'j, 'b> {
    pub(crate) fn new(judge: &'j Judge<'j>, mut document: Document<'b>, hint: Hint) -> Self {
        let in_scope = judge.scope().apply(&mut document, hint.direction);
        let looked = document.events.iter().map(|_| None).collect();
        Opened { judge, document, hint, in_scope, looked, own_unread: false, digests: None, counts: Vec::new() }
    }

    /// What was read of it.
    pub fn document(&self) -> &Document<'b> {
        &self.document
    }

    /// How many of its events were looked at so far.
    pub fn looked_at(&self) -> usize {
        self.looked.iter().flatten().count()
    }

    /// The digest of the first user message or tool result of its messages, by which a conversation without an identifier is known again.
    pub fn first_turn(&self, key: &RunKey) -> Option<[u8; 16]> {
        let first = self.document.events.iter().find(|event| event.message.is_some() && event.channel.is_turn())?;
        let mut digest = key.digest(Of::FirstTurn);
        digest.bytes(&[channel_byte(first.channel)]);
        digest.bytes(first.text.as_bytes());
        Some(super::first(&digest.end()))
    }

    /// The assistant text in it, for [`Run::absorb`]: of a response to a request that brought its history.
    pub fn outgoing(&self, key: &RunKey) -> Noted {
        Noted::of(&self.document, key)
    }

    /// Judges it within a run. May be called again with another record of the run after a conflict, or with an approval: what was looked at stays so.
    pub fn settle(&mut self, run: &Run, context: &Context<'_>) -> Settled<'j> {
        super::settle::settle(self, run, context)
    }

    /// Judges it as if there were nothing but this body.
    pub fn alone(&mut self) -> Judgement<'j> {
        let plan = Plan::alone(&self.in_scope);
        let mut scanned = self.scan(&plan, false);
        self.judge.conclude(&self.document, &mut scanned, self.hint, &plan, false).0
    }

    /// Looks at what the plan wants and was not looked at yet, and takes what was found.
    pub(super) fn scan(&mut self, plan: &Plan, approved: bool) -> Scanned<'j> {
        let scanner = self.judge.scanner(self.hint, approved);
        let wanted = plan.events.iter().zip(&self.looked).enumerate();
        let wanted: Vec<usize> =
            wanted.filter(|(_, (planned, looked))| planned.look && looked.is_none()).map(|(number, _)| number).collect();
        let events: Vec<&Event<'_>> = wanted.iter().filter_map(|number| self.document.events.get(*number)).collect();
        let (found, whole) = scanner.look(&events);
        self.own_unread |= !whole;
        for (number, looked) in wanted.into_iter().zip(found) {
            if let Some(place) = self.looked.get_mut(number) {
                *place = Some(looked);
            }
        }
        let scanned = scanner.scan(&self.document, &self.looked, plan);
        Scanned { own_unread: self.own_unread, ..scanned }
    }

    /// The digests of its events, made once.
    pub(super) fn digests(&mut self, key: &RunKey) -> Rc<Digests> {
        match &self.digests {
            Some(known) if known.key == *key => Rc::clone(known),
            _ => Rc::clone(self.digests.insert(Rc::new(Digests::new(key, &self.document.events)))),
        }
    }
}
