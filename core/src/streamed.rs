//! A streamed response, judged while it comes: what may pass, and whether it must end.
//!
//! Pieces of one text or of one call's arguments are put together by the number that their messages give them, so that no cut hides a phrase. A
//! call is judged when it is whole; text when so much of it has come, and at its end.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::hash::fnv1a;
use crate::judge::{Hint, Judge};
use crate::limits::{MAX_FRAME_BYTES, MAX_STREAM_SLOTS, STREAM_CALL_BYTES, STREAM_TAIL_BYTES, STREAM_TEXT_BYTES};
use crate::verdict::Verdict;
use crate::wire::{
    Body, Channel, Direction, Document, Event, Format, Frame, Frames, Framing, IdKind, Issue, IssueKind, Issues, RECORD_BORDER,
    arguments_spelled, read_frame,
};

/// What was judged of a stream so far.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// Hashes of what names the calls that were counted: some formats repeat a call when it is whole.
    counted: Vec<u64>,
}

/// A text or a call whose pieces are coming.
#[derive(Clone, Debug)]
struct Slot {
    number: (u32, u32),
    call: bool,
    pieces: String,
    /// Names and other strings beside the text.
    records: String,
    tool: Option<String>,
    call_id: Option<String>,
    /// Where the first frame of it starts.
    start: u64,
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
            ids: Vec::new(),
        };
        let hint = Hint { direction: Direction::Response, ..hint };
        let state = State { hint, outcome, blocked_at: None, slots: Vec::new(), counted: Vec::new() };
        Streamed { frames: Frames::new(framing, MAX_FRAME_BYTES), state }
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
        let at = self.frames.whole_bytes();
        self.state.close(judge, at, |_| true);
    }

    /// Bytes from the start of the stream that end with a whole frame.
    pub fn whole_bytes(&self) -> u64 {
        self.frames.whole_bytes()
    }

    /// Bytes from the start of the stream whose frames are whole and of which none belongs to a tool call that is still coming.
    pub fn settled_bytes(&self) -> u64 {
        let calls = self.state.slots.iter().filter(|slot| slot.call).map(|slot| slot.start);
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

    /// Memory that the state takes beside its fixed size, in bytes.
    pub fn held_bytes(&self) -> usize {
        let slots = self.state.slots.iter().map(|slot| slot.pieces.capacity() + slot.records.capacity() + size_of::<Slot>());
        self.frames.held_bytes() + slots.sum::<usize>()
    }
}

impl State {
    fn frame(&mut self, judge: &Judge<'_>, frame: Frame<'_>) {
        // Nothing behind this will pass, so nothing more need be known.
        if self.blocked_at.is_some() {
            return;
        }
        self.outcome.messages = self.outcome.messages.saturating_add(1);
        if let Some(kind) = frame.issue {
            let judged = judge.unread(Issue { kind, at: place(frame.start) }, self.hint);
            return self.take(&judged, frame.start);
        }
        if frame.data.trim_ascii() == b"[DONE]" {
            return self.close(judge, frame.start, |_| true);
        }
        let body = Body::new(frame.data);
        let mut document = read_frame(&body, self.hint.format.or(self.known()), frame.name);
        if self.outcome.format == Format::Unknown {
            self.outcome.format = document.format;
        }
        for id in &document.ids {
            if !self.outcome.ids.contains(&id.kind) {
                self.outcome.ids.push(id.kind);
            }
        }
        let ends = core::mem::take(&mut document.ends);
        let events = core::mem::take(&mut document.events);
        for event in events {
            let joins = !event.whole && matches!(event.channel, Channel::Assistant | Channel::ToolCall);
            match joins.then(|| self.slot(&event, frame.start)).flatten() {
                Some(at) => self.add(judge, at, &event, frame.start),
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
            self.close(judge, frame.start, |slot| ends.all || ends.slots.contains(&slot.number.0));
        }
        if !document.events.is_empty() || document.issues.worst().is_some() {
            self.judge(judge, document, frame.start);
        }
    }

    /// The format that the stream is of, once it is known: messages such as a ping do not say it.
    fn known(&self) -> Option<Format> {
        Some(self.outcome.format).filter(|format| *format != Format::Unknown)
    }

    /// The place of the slot that an event belongs to; `None` when there are too many.
    fn slot(&mut self, event: &Event<'_>, start: u64) -> Option<usize> {
        let call = event.channel == Channel::ToolCall;
        let known = self.slots.iter().position(|slot| slot.number == event.slot && slot.call == call);
        if known.is_some() {
            return known;
        }
        if self.slots.len() == MAX_STREAM_SLOTS {
            return None;
        }
        let (pieces, records) = (String::new(), String::new());
        self.slots.push(Slot { number: event.slot, call, pieces, records, tool: None, call_id: None, start });
        Some(self.slots.len() - 1)
    }

    /// Adds an event's text to its slot. What has grown long is judged, but for its end, in which a phrase may have begun.
    fn add(&mut self, judge: &Judge<'_>, at: usize, event: &Event<'_>, start: u64) {
        let Some(slot) = self.slots.get_mut(at) else { return };
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
        let most = if slot.call { STREAM_CALL_BYTES } else { STREAM_TEXT_BYTES };
        if slot.pieces.len() + slot.records.len() > most {
            let tail = slot.pieces.ceil_char_boundary(slot.pieces.len().saturating_sub(STREAM_TAIL_BYTES));
            let rest = slot.pieces.get(tail..).unwrap_or_default().to_string();
            let (pieces, records) = (core::mem::replace(&mut slot.pieces, rest), core::mem::take(&mut slot.records));
            let long = Slot { pieces, records, ..slot.clone() };
            self.judge_slot(judge, long, start);
        }
    }

    /// Judges the slots that are whole, and counts the calls among them.
    fn close(&mut self, judge: &Judge<'_>, start: u64, whole: impl Fn(&Slot) -> bool) {
        let (ended, open) = core::mem::take(&mut self.slots).into_iter().partition(whole);
        self.slots = open;
        let ended: Vec<Slot> = ended;
        for slot in ended {
            let at = if slot.call { slot.start } else { start };
            self.judge_slot(judge, slot, at);
        }
    }

    fn judge_slot(&mut self, judge: &Judge<'_>, slot: Slot, start: u64) {
        let channel = if slot.call { Channel::ToolCall } else { Channel::Assistant };
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
            ..Event::plain(None, channel, Cow::Owned(text))
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
        let judged = judge.judge_document(document, self.hint);
        self.take(&judged, start);
    }

    /// Counts a call once: by its identifier, or by its number in the stream. Arguments alone are no call.
    fn count_call(&mut self, event: &Event<'_>) {
        if event.tool.is_none() && event.call_id.is_none() {
            return;
        }
        let name = match &event.call_id {
            Some(id) => fnv1a(id),
            None => u64::from(event.slot.0) << 32 | u64::from(event.slot.1),
        };
        let known = self.counted.contains(&name) && event.call_id.is_some();
        if !known {
            self.outcome.tool_calls = self.outcome.tool_calls.saturating_add(1);
            if self.counted.len() < MAX_STREAM_SLOTS {
                self.counted.push(name);
            }
        }
    }

    /// Adds a judgement of something that starts at `start`.
    fn take(&mut self, judged: &crate::judge::Judgement<'_>, start: u64) {
        let outcome = &mut self.outcome;
        judged.issues.as_slice().iter().for_each(|issue| outcome.issues.push(issue.kind, place(start)));
        outcome.exempt_hits = outcome.exempt_hits.saturating_add(judged.exempt_hits);
        if judged.verdict > outcome.verdict {
            outcome.verdict = judged.verdict;
            outcome.rule = judged.decisive.as_ref().map(|reason| reason.rule.to_string());
        }
        if judged.verdict == Verdict::Block && self.blocked_at.is_none() {
            self.blocked_at = Some(start);
        }
    }
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
