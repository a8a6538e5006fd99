//! A message while it is read: its texts gathered until the keys that say what they are have been seen, in whatever order.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use super::document::{Channel, Event, RECORD_BORDER, RawString, Role};
use super::issue::Issues;
use super::json::Text;

/// Texts put together. The first part is borrowed, so that a message of one plain part is not copied.
#[derive(Clone, Debug, Default)]
pub(super) struct Joined<'b> {
    parts: Option<Cow<'b, str>>,
    records: Option<Cow<'b, str>>,
    strings: Vec<RawString>,
    /// The tool that is called, or that gave this back.
    pub tool: Option<Cow<'b, str>>,
    /// What joins a call and its result.
    pub call_id: Option<Cow<'b, str>>,
    /// The number that a stream's messages know it by.
    pub index: Option<u32>,
    /// Nothing of it is still to come.
    pub whole: bool,
}

impl<'b> Joined<'b> {
    /// Adds a text part: models read adjacent parts as one text, so a pattern may lie across them.
    pub fn part(&mut self, text: Text<'b>, issues: &mut Issues) {
        self.strings.extend(text.value_place());
        self.part_of(text.decode(issues));
    }

    /// Adds a part that cannot be replaced in the body.
    pub fn part_of(&mut self, text: Cow<'b, str>) {
        append(&mut self.parts, text, '\n');
    }

    /// Adds the value of a key as a record of its own: no pattern may lie across its borders. Records stand behind all parts, since readers that do
    /// not know their keys see the parts side by side.
    pub fn record(&mut self, text: Text<'b>, issues: &mut Issues) {
        // A single word may be an identifier or one of a list of words that the provider knows.
        if !text.is_one_word() {
            self.strings.extend(text.value_place());
        }
        self.fixed_record(text.decode(issues));
    }

    /// Adds a record that cannot be replaced in the body.
    pub fn fixed_record(&mut self, text: Cow<'b, str>) {
        append(&mut self.records, text, RECORD_BORDER);
    }

    /// Adds a word that means nothing to its format, if there is one.
    pub fn unknown_word(&mut self, word: Option<Cow<'b, str>>) {
        if let Some(word) = word.filter(|word| !word.is_empty()) {
            self.fixed_record(word);
        }
    }

    /// Adds parts to parts and records to records.
    pub fn merge(&mut self, other: Joined<'b>) {
        if let Some(parts) = other.parts {
            self.part_of(parts);
        }
        if let Some(records) = other.records {
            self.fixed_record(records);
        }
        self.strings.extend(other.strings);
    }

    /// Adds all of another's text as a record.
    pub fn merge_as_record(&mut self, other: Joined<'b>) {
        if !other.is_empty() {
            let Event { text, strings, .. } = other.into_event(None, Channel::Other);
            self.fixed_record(text);
            self.strings.extend(strings);
        }
    }

    /// Whether nothing was added, not even an empty text.
    pub fn is_empty(&self) -> bool {
        self.parts.is_none() && self.records.is_none()
    }

    /// Whether all that was added is empty.
    pub fn is_blank(&self) -> bool {
        [&self.parts, &self.records].into_iter().flatten().all(|text| text.is_empty())
    }

    pub fn into_event(self, message: Option<u32>, channel: Channel) -> Event<'b> {
        let Joined { parts: mut text, records, strings, tool, call_id, index, whole } = self;
        let own_bytes = text.as_ref().map_or(0, |text| text.len());
        if let Some(records) = records {
            append(&mut text, records, RECORD_BORDER);
        }
        // Elsewhere a name is an author's, and an id the message's own.
        let of_tool = matches!(channel, Channel::ToolCall | Channel::ToolResult);
        Event {
            tool: tool.filter(|_| of_tool),
            call_id: call_id.filter(|_| of_tool),
            slot: (0, index.map_or(0, |index| index.saturating_add(1))),
            whole,
            records_at: own_bytes,
            strings,
            ..Event::plain(message, channel, text.unwrap_or_default())
        }
    }
}

fn append<'b>(to: &mut Option<Cow<'b, str>>, text: Cow<'b, str>, border: char) {
    *to = Some(match to.take() {
        None => text,
        Some(before) => {
            let mut joined: String = before.into_owned();
            joined.push(border);
            joined.push_str(&text);
            Cow::Owned(joined)
        }
    });
}

/// In the name of pieces: no format lists their key.
pub(super) const UNLISTED: u32 = 1 << 30;

/// What an object holds so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft<'b> {
    /// Its own text.
    pub own: Joined<'b>,
    /// What tools gave back.
    pub results: Vec<Joined<'b>>,
    /// Tool calls.
    pub calls: Vec<Joined<'b>>,
    /// Whose message it says it is.
    pub role: Option<Cow<'b, str>>,
    /// Of which type it says it is.
    pub kind: Option<Cow<'b, str>>,
    /// A file's bytes, until it is known what they are.
    pub data: Option<Text<'b>>,
    /// What it says they are.
    pub media_type: Option<Cow<'b, str>>,
    /// In a stream: the next pieces of its texts, by what names the key that each stands at.
    pub pieces: Vec<(u32, Cow<'b, str>)>,
    /// It says that nothing more will come.
    pub stopped: bool,
}

/// Where a draft's events belong.
#[derive(Clone, Copy, Debug)]
pub(super) struct Belongs {
    /// Index of the message.
    pub message: u32,
    pub channel: Channel,
    pub role: Option<Role>,
    /// The number that a stream's messages know it by.
    pub slot: u32,
}

impl<'b> Draft<'b> {
    /// Adds a piece of the text at a key.
    pub fn add_piece(&mut self, name: u32, text: Cow<'b, str>) {
        match self.pieces.iter_mut().find(|(known, _)| *known == name) {
            // Parts of one message, which readers tell apart.
            Some((_, before)) => {
                let before = before.to_mut();
                before.push('\n');
                before.push_str(&text);
            }
            None => self.pieces.push((name, text)),
        }
    }

    /// Takes what came in pieces for the object's own text.
    pub fn fold_pieces(&mut self) {
        for (name, text) in self.pieces.drain(..) {
            if name & UNLISTED == 0 { self.own.part_of(text) } else { self.own.fixed_record(text) }
        }
    }

    /// Whether nothing was said.
    pub fn is_empty(&self) -> bool {
        self.own.is_empty() && self.results.is_empty() && self.calls.is_empty() && self.pieces.is_empty()
    }

    /// The message's events: results first and calls last, as they stand to the text in every format, whatever the order of the keys.
    pub fn into_events(mut self, belongs: Belongs, events: &mut Vec<Event<'b>>) {
        let Belongs { message, channel, role, slot } = belongs;
        if channel != Channel::Assistant {
            self.fold_pieces();
            // Only a model calls tools. Elsewhere such keys are a place to hide text, so they count as the message's own.
            for call in self.calls.drain(..) {
                self.own.merge_as_record(call);
            }
        }
        let (whole, pieces) = (self.own.whole, core::mem::take(&mut self.pieces));
        let only_results = self.own.is_empty() && !self.results.is_empty();
        let silent = self.own.is_empty() && channel == Channel::Assistant;
        let mut add = |text: Joined<'b>, channel| {
            let event = text.into_event(Some(message), channel);
            // A call may have a number inside the message's; a text's own is the message's.
            let inner = if channel == Channel::ToolCall { event.slot.1 } else { 0 };
            events.push(Event { role, slot: (slot, inner), ..event });
        };
        self.results.into_iter().for_each(|result| add(result, Channel::ToolResult));
        if !only_results && !silent {
            add(self.own, channel);
        }
        self.calls.into_iter().for_each(|call| add(call, Channel::ToolCall));
        let piece = |(name, text)| Event { role, slot: (slot, name), whole, ..Event::plain(Some(message), channel, text) };
        events.extend(pieces.into_iter().map(piece));
    }
}
