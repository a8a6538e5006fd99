//! A streamed response within its run: its messages go on from the run as it was at the start, and what they add is noted for the one that is stored at
//! the end.

use alloc::vec::Vec;

use super::kept::Last;
use super::noted::OutgoingText;
use super::plan::Count;
use super::record::Fingerprint;
use super::{Context, History, Noted, Opened, Run, RunKey};
use crate::judge::{Hint, Judge, Judgement};
use crate::limits::{MAX_STREAM_SLOTS, RUN_OUTGOING};
use crate::streamed::Ended;
use crate::wire::{Channel, Document, Event};

/// A response's run while it streams.
#[derive(Clone, Debug)]
pub(crate) struct Within {
    /// With what the messages so far counted.
    run: Run,
    noted: Noted,
    /// Texts that were given to be stored.
    given: Vec<Fingerprint>,
    key: RunKey,
    history: History,
    refuses: bool,
    now_ms: u64,
    half_life_ms: u64,
    /// The texts that are coming, by the numbers that their messages give them.
    texts: Vec<((u32, u32), OutgoingText)>,
    /// All of them, as they come.
    joined: OutgoingText,
    /// A message was judged.
    begun: bool,
    /// Numbers of the calls that were counted, and whether the sum rose by them.
    calls: Vec<((u32, u32), bool)>,
}

impl Within {
    pub fn new(run: &Run, context: &Context<'_>) -> Self {
        let Context { key, history, refuses, half_life_ms, now_ms, .. } = *context;
        let (noted, joined) = (Noted::default(), OutgoingText::new(key));
        Within {
            run: run.clone(),
            noted,
            given: Vec::new(),
            key: *key,
            history,
            refuses,
            now_ms,
            half_life_ms,
            texts: Vec::new(),
            joined,
            begun: false,
            calls: Vec::new(),
        }
    }

    /// Takes a piece of the assistant's text of these numbers, or a whole one.
    pub fn text(&mut self, slot: Option<(u32, u32)>, piece: &str) {
        // Nobody looks for assistant text where the server keeps it.
        if self.history == History::Kept {
            return;
        }
        let Some(slot) = slot else { return self.noted.text(&self.key, piece) };
        self.joined.push(piece);
        let known = self.texts.iter().position(|(known, _)| *known == slot);
        if known.is_none() && self.texts.len() < RUN_OUTGOING {
            self.texts.push((slot, OutgoingText::new(&self.key)));
        }
        let at = known.unwrap_or(self.texts.len().saturating_sub(1));
        if let Some((_, text)) = self.texts.get_mut(at).filter(|(known, _)| *known == slot) {
            text.push(piece);
        }
    }

    /// Judges a message, or what was put together of several.
    pub fn judge<'j>(&mut self, judge: &'j Judge<'j>, document: Document<'_>, hint: Hint) -> Judgement<'j> {
        let mut opened = Opened::new(judge, document, hint);
        if self.history == History::Resent {
            return opened.alone();
        }
        let context = Context {
            key: &self.key,
            history: self.history,
            fallback: false,
            unseen_assistant: false,
            refuses: self.refuses,
            half_life_ms: self.half_life_ms,
            now_ms: self.now_ms,
            approved: None,
        };
        // What is said twice in one stream is said twice.
        if self.begun {
            self.run.last.set(hint.direction, None);
        }
        // Streams say a call in pieces, and then some say it whole, once or twice. It counts once, and if the first part says nothing, with a later one.
        let is_call = |event: &Event<'_>| event.channel == Channel::ToolCall && !opened.document.format.is_json_rpc();
        let slots: Vec<Option<(u32, u32)>> = opened.document.events.iter().map(|event| is_call(event).then_some(event.slot)).collect();
        for slot in &slots {
            let known = self.calls.iter().find(|(known, _)| Some(*known) == *slot);
            opened.counts.push(match known {
                None => Count::Ordinary,
                Some((_, false)) => Count::Rising,
                Some((_, true)) => Count::Nothing,
            });
        }
        let settled = opened.settle(&self.run, &context);
        let is_other = |last: &&Last| self.run.last.get(hint.direction) != Some(*last);
        if let Some(last) = settled.run.last.get(hint.direction).filter(is_other) {
            self.noted.last = Some(last.clone());
        }
        for (number, slot) in slots.into_iter().enumerate() {
            let Some(slot) = slot else { continue };
            let hot = settled.counted.hot.iter().any(|hot| hot.event == number);
            match self.calls.iter_mut().find(|(known, _)| *known == slot) {
                Some((_, known)) => *known |= hot,
                None => self.calls.push((slot, hot)),
            }
        }
        super::fits(&mut self.calls, MAX_STREAM_SLOTS);
        self.run = settled.run;
        self.begun = true;
        self.noted.add(settled.counted);
        settled.judgement
    }

    /// What is to be stored in the run and was not given yet.
    pub fn take_noted(&mut self, ended: Ended) -> Noted {
        let mut noted = core::mem::take(&mut self.noted);
        if ended == Ended::Nothing && noted.counts_nothing() {
            // Pieces of text come often.
            self.noted.last = noted.last.take();
        }
        if ended > Ended::Nothing {
            self.texts.iter().for_each(|(_, text)| noted.left(text.end()));
        }
        if ended == Ended::All && self.texts.len() > 1 {
            noted.left(self.joined.end());
        }
        noted.texts.retain(|text| !self.given.contains(text));
        self.given.extend(&noted.texts);
        super::fits(&mut self.given, 2 * RUN_OUTGOING);
        noted
    }

    /// Memory that it takes, in bytes.
    pub fn held_bytes(&self) -> usize {
        size_of::<Self>()
            + self.texts.capacity() * size_of::<((u32, u32), OutgoingText)>()
            + self.noted.held_bytes()
            + self.given.capacity() * size_of::<Fingerprint>()
    }
}
