//! A streamed response, judged while it comes: what may pass, and whether it must end.
//!
//! Pieces of one text or of one call's arguments are put together by the number that their messages give them, so that no cut hides a phrase. A
//! call is judged when it is whole; text when so much of it has come, and at its end.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::hash::fnv1a;
use crate::judge::{Hint, Judge};
use crate::limits::{
    MAX_FRAME_BYTES, MAX_STREAM_BYTES, MAX_STREAM_SLOTS, STREAM_AGAIN_BYTES, STREAM_CALL_BYTES, STREAM_ENDS, STREAM_TAIL_BYTES,
    STREAM_TEXT_BYTES,
};
use crate::run::{Context, Noted, Run, Within};
use crate::verdict::Verdict;
use crate::wire::{
    Body, Channel, Direction, Document, Effect, Event, Format, Frame, Frames, Framing, IdKind, Issue, IssueKind, Issues, RECORD_BORDER,
    arguments_spelled, begins_like_json, read_frame,
};

/// What was judged of a stream so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The strongest judgement of all that came.
    pub verdict: Verdict,
    /// The rule that decided it first; `None` for `allow`.
    pub rule: Option<String>,
    /// The format that the first message of a known one was read as.
    pub format: Format,
    /// What was odd.
    pub issues: Issues,
    /// Messages that came.
    pub messages: u32,
    /// Whole tool calls.
    pub tool_calls: u32,
    /// Tool results.
    pub tool_results: u32,
    /// Hits that count for nothing because an exemption covers them.
    pub exempt_hits: u32,
    /// The highest score of an event that counts for the detector; `None` when it was not asked. Each message is a trajectory of its own.
    pub event_peak: Option<f64>,
    /// Bits of the detector's rules that were met ([`crate::Detected::rules_met`]).
    pub rules_met: u32,
    /// What names the conversation, each kind once.
    pub ids: Vec<IdKind>,
}

/// The state of one streamed response. It depends on the bytes, never on how they were cut.
#[derive(Clone, Debug)]
pub struct Streamed {
    frames: Frames,
    state: State,
}

#[derive(Clone, Debug)]
struct State {
    hint: Hint,
    outcome: Outcome,
    blocked_at: Option<u64>,
    /// Texts and calls that later messages may go on with.
    slots: Vec<Slot>,
    /// Hashes of the identifiers of the calls that were counted: some formats repeat a call when it is whole.
    counted: Vec<u64>,
    /// Beside `outcome.ids`.
    ids: Vec<String>,
    run: Option<Box<Within>>,
    /// What a message said is whole since it was last asked for.
    ended: Ended,
}

/// What messages said is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ended {
    /// Nothing.
    Nothing,
    /// A text or a call.
    Some,
    /// All that came.
    All,
}

/// A text or a call whose pieces are coming.
#[derive(Clone, Debug)]
struct Slot {
    number: (u32, u32),
    channel: Channel,
    pieces: String,
    /// Names and other strings beside the text.
    records: String,
    tool: Option<String>,
    call_id: Option<String>,
    /// Where the first frame of it starts that was not judged.
    start: u64,
    /// Bytes that came since it was last judged.
    new_bytes: usize,
    /// How often a message said that it is whole.
    ends: u32,
    /// Something came since it was last judged. What was judged stays with its end: more may come, whatever a message said.
    open: bool,
}

impl Streamed {
    /// A stream of which nothing came yet.
    pub fn new(framing: Framing, hint: Hint) -> Self {
        let outcome = Outcome {
            verdict: Verdict::Allow,
            rule: None,
            format: Format::Unknown,
            issues: Issues::default(),
            messages: 0,
            tool_calls: 0,
            tool_results: 0,
            exempt_hits: 0,
            event_peak: None,
            rules_met: 0,
            ids: Vec::new(),
        };
        let hint = Hint { direction: Direction::Response, ..hint };
        let state = State {
            hint,
            outcome,
            blocked_at: None,
            slots: Vec::new(),
            counted: Vec::new(),
            ids: Vec::new(),
            run: None,
            ended: Ended::Nothing,
        };
        Streamed { frames: Frames::new(framing, MAX_FRAME_BYTES), state }
    }

    /// Goes on from a run: before the first bytes. Where the server keeps the history its messages are judged within the run, and what they count is noted;
    /// otherwise only the assistant text that leaves is.
    pub fn within(&mut self, run: &Run, context: &Context<'_>) {
        self.state.run = Some(Box::new(Within::new(run, context)));
    }

    /// What is to be stored in the run by now and was not given yet; nothing without a run. To be asked for after every piece and at the end: clients go on with
    /// what they saw before the stream's end is known. The run may have changed since it began.
    pub fn take_noted(&mut self) -> Noted {
        let ended = core::mem::replace(&mut self.state.ended, Ended::Nothing);
        self.state.run.as_mut().map_or(Noted::default(), |run| run.take_noted(ended))
    }

    /// Takes the next bytes, as they came.
    pub fn push(&mut self, judge: &Judge<'_>, bytes: &[u8]) {
        let state = &mut self.state;
        self.frames.push(bytes, &mut |frame| state.frame(judge, frame));
    }

    /// Nothing more will come.
    pub fn end(&mut self, judge: &Judge<'_>) {
        let state = &mut self.state;
        self.frames.end(&mut |frame| state.frame(judge, frame));
        self.break_off(judge);
    }

    /// The stream broke off: what came whole is judged, a part of a frame is not.
    pub fn break_off(&mut self, judge: &Judge<'_>) {
        let at = self.frames.whole_bytes();
        self.state.ended = Ended::All;
        self.state.close(judge, at, true, |_| true);
    }

    /// Bytes from the start of the stream that end with a whole frame.
    pub fn whole_bytes(&self) -> u64 {
        self.frames.whole_bytes()
    }

    /// Bytes from the start of the stream whose frames are whole and of which none belongs to a tool call that is still coming.
    pub fn settled_bytes(&self) -> u64 {
        let calls = self.state.slots.iter().filter(|slot| slot.channel == Channel::ToolCall && slot.open).map(|slot| slot.start);
        calls.min().unwrap_or_else(|| self.whole_bytes())
    }

    /// Where the frames begin that made the verdict `block`: those of the call, or the one with the last piece of the text.
    pub fn blocked_at(&self) -> Option<u64> {
        self.state.blocked_at
    }

    /// The judgement so far.
    pub fn outcome(&self) -> &Outcome {
        &self.state.outcome
    }

    /// The first identifier of this kind that came; at most [`crate::limits::MAX_ID_BYTES`].
    pub fn id(&self, kind: IdKind) -> Option<&str> {
        let at = self.state.outcome.ids.iter().position(|known| *known == kind)?;
        self.state.ids.get(at).map(String::as_str)
    }

    /// Memory that the state takes beside its fixed size, in bytes.
    pub fn held_bytes(&self) -> usize {
        let slots = self.state.slots.iter().map(Slot::held_bytes);
        let run = self.state.run.as_ref().map_or(0, |run| run.held_bytes());
        self.frames.held_bytes() + slots.sum::<usize>() + run
    }
}

impl State {
    fn frame(&mut self, judge: &Judge<'_>, frame: Frame<'_>) {
        // Nothing behind this will pass, so nothing more need be known.
        if self.blocked_at.is_some() {
            return;
        }
        if let Some(kind) = frame.issue {
            let judged = judge.unread(Issue { kind, at: place(frame.start) }, self.hint);
            return self.take(&judged, frame.start);
        }
        let data = frame.data.trim_ascii();
        if data.is_empty() {
            // Servers begin streams so that they can be taken up again.
            return;
        }
        self.outcome.messages = self.outcome.messages.saturating_add(1);
        if data == b"[DONE]" {
            self.ended = Ended::All;
            return self.close(judge, frame.start, false, |_| true);
        }
        let body = Body::new(frame.data);
        if begins_like_json(data) != Some(true) {
            // A word or an address, such as some protocols begin with.
            let event = Event::plain(None, Channel::Other, Cow::Borrowed(&*body.text));
            let document = Document { events: Vec::from([event]), ..Document::empty(self.outcome.format) };
            return self.judge(judge, document, frame.start);
        }
        let mut document = read_frame(&body, self.hint.format.or(self.known()), frame.name);
        if self.outcome.format == Format::Unknown {
            self.outcome.format = document.format;
        }
        for id in &document.ids {
            if !self.outcome.ids.contains(&id.kind) {
                self.outcome.ids.push(id.kind);
                self.ids.push(id.value.to_string());
            }
        }
        let ends = core::mem::take(&mut document.ends);
        let events = core::mem::take(&mut document.events);
        for event in events {
            let joins = !event.whole && matches!(event.channel, Channel::Assistant | Channel::ToolCall | Channel::ToolResult);
            if let Some(run) = self.run.as_mut().filter(|_| event.channel == Channel::Assistant) {
                run.text(joins.then_some(event.slot), event.parts());
            }
            match joins.then(|| self.slot(&event, frame.start)).flatten() {
                Some(at) => {
                    self.add(judge, at, &event, frame.start);
                    self.add_in_order(judge, at, event, frame.start);
                }
                None => {
                    if joins {
                        document.issues.push(IssueKind::TooManyEvents, 0);
                    }
                    document.events.push(with_arguments(event));
                }
            }
        }
        // First what came in pieces: some messages repeat it whole.
        if ends.all || !ends.slots.is_empty() {
            self.ended = self.ended.max(if ends.all { Ended::All } else { Ended::Some });
            self.close(judge, frame.start, false, |slot| ends.all || ends.slots.contains(&slot.number.0));
        }
        let odd = document.issues.worst().is_some_and(|issue| issue.kind.effect() > Effect::Note);
        if odd || !document.events.is_empty() {
            self.judge(judge, document, frame.start);
        } else {
            document.issues.as_slice().iter().for_each(|issue| self.outcome.issues.push(issue.kind, place(frame.start)));
        }
    }

    /// The format that the stream is of, once it is known: messages such as a ping do not say it.
    fn known(&self) -> Option<Format> {
        Some(self.outcome.format).filter(|format| *format != Format::Unknown)
    }

    /// The place of the slot that an event belongs to; `None` when too many are open.
    fn slot(&mut self, event: &Event<'_>, start: u64) -> Option<usize> {
        let known = self.slots.iter().position(|slot| slot.number == event.slot && slot.channel == event.channel);
        if known.is_some() {
            return known;
        }
        if self.slots.len() == MAX_STREAM_SLOTS {
            // The oldest of those that were said to be whole gives way.
            let old = self.slots.iter().position(|slot| !slot.open)?;
            self.slots.remove(old);
        }
        let slot = Slot {
            number: event.slot,
            channel: event.channel,
            pieces: String::new(),
            records: String::new(),
            tool: None,
            call_id: None,
            start,
            new_bytes: 0,
            ends: 0,
            open: false,
        };
        self.slots.push(slot);
        Some(self.slots.len() - 1)
    }

    /// Once there are several texts: readers may put them together as they come, whatever their numbers.
    fn add_in_order(&mut self, judge: &Judge<'_>, at: usize, event: Event<'_>, start: u64) {
        let alike = |slot: &Slot| slot.channel == Channel::Assistant && slot.number.1 == event.slot.1;
        let first = self.slots.iter().position(alike);
        if event.channel != Channel::Assistant || first == Some(at) && self.slots.iter().skip(at + 1).all(|slot| !alike(slot)) {
            return;
        }
        let number = (u32::MAX, event.slot.1);
        let is_new = self.slots.iter().all(|slot| slot.number != number);
        let event = Event {
            slot: number,
            text: Cow::Borrowed(event.parts()),
            records_at: event.records_at,
            ..Event::plain(None, event.channel, Cow::Borrowed(""))
        };
        let Some(order) = self.slot(&event, start) else { return };
        if is_new && let Some(before) = first.and_then(|first| self.slots.get(first)).map(|slot| end_of(&slot.pieces)) {
            self.slots.get_mut(order).into_iter().for_each(|slot| slot.pieces.push_str(&before));
        }
        self.add(judge, order, &event, start);
    }

    /// Adds an event's text to its slot. What has grown long is judged, but for its end, in which a phrase may have begun.
    fn add(&mut self, judge: &Judge<'_>, at: usize, event: &Event<'_>, start: u64) {
        let all: usize = self.slots.iter().map(Slot::bytes).sum();
        let Some(slot) = self.slots.get_mut(at) else { return };
        if !slot.open {
            (slot.open, slot.start) = (true, start);
        }
        slot.new_bytes += event.text.len();
        slot.pieces.push_str(event.parts());
        let records = event.text.get(event.records_at..).unwrap_or_default().trim_start_matches(RECORD_BORDER);
        if !records.is_empty() {
            if !slot.records.is_empty() {
                slot.records.push(RECORD_BORDER);
            }
            slot.records.push_str(records);
        }
        slot.tool = slot.tool.take().or_else(|| event.tool.as_deref().map(str::to_string));
        slot.call_id = slot.call_id.take().or_else(|| event.call_id.as_deref().map(str::to_string));
        let most = if slot.channel == Channel::Assistant { STREAM_TEXT_BYTES } else { STREAM_CALL_BYTES };
        if slot.bytes() > most || all + event.text.len() > MAX_STREAM_BYTES {
            let long = slot.judged();
            // It is still coming, so it is not settled.
            slot.open = true;
            self.judge_slot(judge, long, start);
        }
    }

    /// Judges the slots that are whole, and counts the calls among them. `last` when no more can come.
    fn close(&mut self, judge: &Judge<'_>, start: u64, last: bool, whole: impl Fn(&Slot) -> bool) {
        let again = |slot: &Slot| last || slot.ends < STREAM_ENDS || slot.new_bytes >= STREAM_AGAIN_BYTES;
        let ended = self.slots.iter_mut().filter(|slot| slot.open && whole(slot) && again(slot));
        let ended: Vec<Slot> = ended
            .map(|slot| {
                slot.ends = slot.ends.saturating_add(1);
                slot.judged()
            })
            .collect();
        for slot in ended {
            let at = if slot.channel == Channel::Assistant { start } else { slot.start };
            self.judge_slot(judge, slot, at);
        }
    }

    fn judge_slot(&mut self, judge: &Judge<'_>, slot: Slot, start: u64) {
        let mut text = slot.pieces;
        let records_at = text.len();
        if !slot.records.is_empty() {
            text.push(RECORD_BORDER);
            text.push_str(&slot.records);
        }
        let event = Event {
            tool: slot.tool.map(Cow::Owned),
            call_id: slot.call_id.map(Cow::Owned),
            slot: slot.number,
            records_at,
            ..Event::plain(None, slot.channel, Cow::Owned(text))
        };
        let document = Document { events: Vec::from([with_arguments(event)]), ..Document::empty(self.outcome.format) };
        self.judge(judge, document, start);
    }

    fn judge(&mut self, judge: &Judge<'_>, document: Document<'_>, start: u64) {
        if self.blocked_at.is_some() {
            return;
        }
        for event in &document.events {
            match event.channel {
                Channel::ToolCall => self.count_call(event),
                Channel::ToolResult => self.outcome.tool_results = self.outcome.tool_results.saturating_add(1),
                _ => (),
            }
        }
        let judged = match &mut self.run {
            Some(run) => run.judge(judge, document, self.hint),
            None => judge.judge_document(document, self.hint),
        };
        self.take(&judged, start);
    }

    /// Counts a call, one with an identifier once. Arguments alone are no call.
    fn count_call(&mut self, event: &Event<'_>) {
        let known = match &event.call_id {
            Some(id) => {
                let name = fnv1a(id);
                let known = self.counted.contains(&name);
                if !known && self.counted.len() < MAX_STREAM_SLOTS {
                    self.counted.push(name);
                }
                known
            }
            None => event.tool.is_none(),
        };
        self.outcome.tool_calls = self.outcome.tool_calls.saturating_add(u32::from(!known));
    }

    /// Adds a judgement of something that starts at `start`.
    fn take(&mut self, judged: &crate::judge::Judgement<'_>, start: u64) {
        let outcome = &mut self.outcome;
        judged.issues.as_slice().iter().for_each(|issue| outcome.issues.push(issue.kind, place(start)));
        outcome.exempt_hits = outcome.exempt_hits.saturating_add(judged.exempt_hits);
        if let Some(detected) = &judged.detected {
            outcome.event_peak = Some(outcome.event_peak.unwrap_or_default().max(detected.trajectory.peak()));
            outcome.rules_met |= detected.rules_met;
        }
        if judged.verdict > outcome.verdict {
            outcome.verdict = judged.verdict;
            outcome.rule = judged.decisive.as_ref().map(|reason| reason.rule.to_string());
        }
        // Nobody can approve what is on its way already.
        if judged.verdict >= Verdict::Ask && self.blocked_at.is_none() {
            self.blocked_at = Some(start);
        }
    }
}

impl Slot {
    fn held_bytes(&self) -> usize {
        let names = [&self.tool, &self.call_id].into_iter().flatten().map(String::capacity);
        size_of::<Slot>() + self.pieces.capacity() + self.records.capacity() + names.sum::<usize>()
    }

    fn bytes(&self) -> usize {
        self.pieces.len() + self.records.len()
    }

    /// Takes out what is to be judged; its end stays.
    fn judged(&mut self) -> Slot {
        let rest = end_of(&self.pieces);
        let (pieces, records) = (core::mem::replace(&mut self.pieces, rest), core::mem::take(&mut self.records));
        (self.open, self.new_bytes) = (false, 0);
        Slot { pieces, records, tool: self.tool.clone(), call_id: self.call_id.clone(), ..*self }
    }
}

/// The end of a text, in which a phrase may have begun. Runs of what is neither letter nor digit are one character in it: a phrase may hold any
/// number of them.
fn end_of(text: &str) -> String {
    let mut kept: Vec<char> = Vec::new();
    let (mut bytes, mut word) = (0, true);
    for letter in text.chars().rev() {
        if bytes >= STREAM_TAIL_BYTES {
            break;
        }
        if letter.is_alphanumeric() || word {
            kept.push(letter);
            bytes += letter.len_utf8();
        }
        word = letter.is_alphanumeric();
    }
    kept.iter().rev().collect()
}

/// A call's event with the strings that its arguments spell in the place of their spelling.
fn with_arguments(event: Event<'_>) -> Event<'_> {
    if event.channel != Channel::ToolCall || event.records_at == 0 {
        return event;
    }
    let mut text: String = event.text.get(event.records_at..).unwrap_or_default().trim_start_matches(RECORD_BORDER).into();
    arguments_spelled(Cow::Borrowed(event.parts()), &mut |string| {
        if !text.is_empty() {
            text.push(RECORD_BORDER);
        }
        text.push_str(&string);
    });
    Event { text: Cow::Owned(text), records_at: 0, ..event }
}

/// A place in a stream as an issue has it; beyond what the platform counts it stays at the end.
fn place(start: u64) -> usize {
    usize::try_from(start).unwrap_or(usize::MAX)
}
