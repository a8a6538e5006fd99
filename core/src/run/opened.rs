//! A body that was read, and is looked at as far as its judgement needs.

use super::key::{Of, channel_byte};
use super::{Context, Counted, Noted, Run, RunFacts, RunKey, Settled};
use crate::judge::{Hint, Judge, Judgement};
use crate::wire::{Channel, Document};

/// A body that was read.
#[derive(Debug)]
pub struct Opened<'j, 'b> {
    pub(crate) judge: &'j Judge<'j>,
    pub(crate) document: Document<'b>,
    pub(crate) hint: Hint,
}

impl<'j, 'b> Opened<'j, 'b> {
    /// What was read of it.
    pub fn document(&self) -> &Document<'b> {
        &self.document
    }

    /// The digest of the first user message or tool result of its messages, by which a conversation without an identifier is known again.
    pub fn first_turn(&self, key: &RunKey) -> Option<[u8; 16]> {
        let first = self.document.events.iter().find(|event| event.message.is_some() && event.channel.is_turn())?;
        let mut digest = key.digest(Of::FirstTurn);
        digest.bytes(&[channel_byte(first.channel)]);
        digest.bytes(first.text.as_bytes());
        Some(super::first(&digest.end()))
    }

    /// The assistant text in it, for [`Run::absorb`]: of a response whose history the client keeps.
    pub fn outgoing(&self, _: &RunKey) -> Noted {
        let _ = Channel::Assistant;
        Noted::default()
    }

    /// Judges it within a run. May be called again with another record of the run after a conflict, or with an approval: what was looked at stays so.
    pub fn settle(&mut self, run: &Run, _: &Context<'_>) -> Settled<'j> {
        let judgement = Judgement { run: Some(RunFacts::default()), ..self.alone() };
        Settled { judgement, run: run.clone(), counted: Counted::default() }
    }

    /// Judges it as if there were nothing but this body.
    pub fn alone(&mut self) -> Judgement<'j> {
        self.judge.judge_document(self.document.clone(), self.hint)
    }
}
