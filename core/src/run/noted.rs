//! What a judgement counted, and what a response adds to its run once it has left.

use alloc::string::String;
use alloc::vec::Vec;

use super::kept::Last;
use super::key::{Digest, Of, RunKey};
use super::record::Fingerprint;
use super::{first, fits};
use crate::conversation::Turn;
use crate::limits::{MAX_NOTED_STEPS, RUN_OUTGOING};
use crate::wire::{Channel, Document, Event};

/// A step that the run took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CountedStep {
    pub score: f64,
    /// The sum rises by it.
    pub hot: bool,
    pub fingerprint: Fingerprint,
    pub channel: Channel,
    pub message: Option<u32>,
    /// It stands before the last message of the assistant, so another run may have counted it.
    pub in_history: bool,
}

/// An event by which the sum rises, whether it is new or was counted before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct HotEvent {
    /// Its number in the document.
    pub event: usize,
    pub fingerprint: Fingerprint,
    pub channel: Channel,
    pub message: Option<u32>,
}

/// What a body counted in its run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counted {
    /// In wire order.
    pub(crate) steps: Vec<CountedStep>,
    /// All of the body that were looked at.
    pub(crate) hot: Vec<HotEvent>,
    /// The turns, each with its weightiest pattern.
    pub(crate) turns: Vec<(Turn, Option<u16>)>,
    /// The steps count in the running sum, not in the statistics only.
    pub(crate) sums: bool,
    /// The exemptions of the request.
    pub(crate) exemptions: u64,
    /// The server keeps the history, so what counts is new, whatever its text.
    pub(crate) kept: bool,
}

impl Counted {
    /// Whether it changes nothing of a caller, and nothing of the caller's can change the judgement.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.hot.is_empty()
    }
}

/// What is noted of one response.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Noted {
    /// Fingerprints of assistant texts that left.
    pub(crate) texts: Vec<Fingerprint>,
    /// What its messages counted, where the server keeps the history.
    pub(crate) counted: Counted,
    /// The last of them.
    pub(crate) last: Option<Last>,
}

impl Noted {
    /// Whether there is nothing to store.
    pub fn is_empty(&self) -> bool {
        self.counts_nothing() && self.last.is_none()
    }

    /// Whether there is nothing that cannot wait.
    pub(crate) fn counts_nothing(&self) -> bool {
        self.texts.is_empty() && self.counted.steps.is_empty() && self.counted.turns.is_empty()
    }

    /// Memory that its lists take, in bytes.
    pub(crate) fn held_bytes(&self) -> usize {
        let Counted { steps, hot, turns, .. } = &self.counted;
        let lists = steps.capacity() * size_of::<CountedStep>() + hot.capacity() * size_of::<HotEvent>();
        lists + turns.capacity() * size_of::<(Turn, Option<u16>)>()
    }

    /// What its events add to their caller, where the server keeps the history.
    pub fn counted(&self) -> &Counted {
        &self.counted
    }

    /// The assistant texts of a document: each, and all of them joined.
    pub(crate) fn of(document: &Document<'_>, key: &RunKey) -> Self {
        let mut noted = Noted::default();
        let (mut joined, mut texts) = (String::new(), 0);
        for event in document.events.iter().filter(|event| event.channel == Channel::Assistant) {
            noted.text(key, &event.text);
            noted.text(key, event.parts());
            joined.push_str(event.parts());
            texts += 1;
        }
        if texts > 1 {
            noted.text(key, &joined);
        }
        noted
    }

    /// Notes a text; the newest count.
    pub(crate) fn text(&mut self, key: &RunKey, text: &str) {
        self.left(outgoing(key, [text]));
    }

    /// Notes the fingerprint of a text.
    pub(crate) fn left(&mut self, fingerprint: Option<Fingerprint>) {
        if let Some(fingerprint) = fingerprint.filter(|fingerprint| !self.texts.contains(fingerprint)) {
            self.texts.push(fingerprint);
            fits(&mut self.texts, RUN_OUTGOING);
        }
    }

    /// Adds what one of its messages counted. When that is too much, first what lowers the sum goes.
    pub(crate) fn add(&mut self, counted: Counted) {
        let Counted { steps, hot, turns, sums, exemptions, kept } = counted;
        let all = &mut self.counted;
        (all.sums, all.exemptions, all.kept) = (sums, exemptions, kept);
        for step in steps {
            if all.steps.len() >= MAX_NOTED_STEPS {
                if !step.hot {
                    continue;
                }
                let lowers = all.steps.iter().position(|step| !step.hot);
                all.steps.remove(lowers.unwrap_or(0));
            }
            all.steps.push(step);
        }
        all.hot.extend(hot);
        fits(&mut all.hot, MAX_NOTED_STEPS);
        all.turns.extend(turns);
        fits(&mut all.turns, MAX_NOTED_STEPS);
    }
}

/// The fingerprint of an assistant's text, whatever its white space; `None` when there is nothing else.
pub(crate) fn outgoing<'t>(key: &RunKey, texts: impl IntoIterator<Item = &'t str>) -> Option<Fingerprint> {
    let mut text = OutgoingText::new(key);
    texts.into_iter().for_each(|piece| text.push(piece));
    text.end()
}

/// An assistant's text that is coming in pieces.
#[derive(Clone, Debug)]
pub(crate) struct OutgoingText {
    digest: Digest,
    some: bool,
}

impl OutgoingText {
    pub fn new(key: &RunKey) -> Self {
        OutgoingText { digest: key.digest(Of::Outgoing), some: false }
    }

    pub fn push(&mut self, piece: &str) {
        for word in piece.split_ascii_whitespace() {
            self.digest.bytes(word.as_bytes());
            self.some = true;
        }
    }

    pub fn end(&self) -> Option<Fingerprint> {
        self.some.then(|| first(&self.digest.end()))
    }
}

/// Whether an assistant's message in a request left through this gateway: each text of it alone, or all of them joined.
pub(crate) fn has_left(known: &[Fingerprint], key: &RunKey, event: &Event<'_>, message: &[&Event<'_>]) -> bool {
    let left = |fingerprint: Option<Fingerprint>| fingerprint.is_none_or(|text| known.contains(&text));
    // What stands beside the text is shown to the model too.
    left(outgoing(key, [&*event.text]))
        || event.records_at == event.text.len() && message.len() > 1 && left(outgoing(key, message.iter().map(|event| event.parts())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream without end: what lowers the sum goes first, the oldest of it, and what rises stays in its order.
    #[test]
    fn what_rises_is_noted_however_long_the_stream() {
        let step = |number: u32| CountedStep {
            score: f64::from(number),
            hot: number.is_multiple_of(4),
            fingerprint: number.to_le_bytes(),
            channel: Channel::ToolResult,
            message: None,
            in_history: false,
        };
        let mut noted = Noted::default();
        let most = MAX_NOTED_STEPS as u32;
        for number in 0..2 * most {
            noted.add(Counted { steps: Vec::from([step(number)]), sums: true, ..Counted::default() });
        }
        let steps = &noted.counted.steps;
        assert_eq!(steps.len(), MAX_NOTED_STEPS);
        assert!(steps.is_sorted_by(|one, other| one.score < other.score));
        assert_eq!(steps.iter().filter(|step| step.hot).count() as u32, 2 * most / 4);
    }
}
