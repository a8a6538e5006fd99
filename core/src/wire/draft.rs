//! A message while it is read: its texts gathered until the keys that say what they are have been seen, in whatever order.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use super::document::{Channel, Event, RECORD_BORDER, RawString};
use super::issue::Issues;
use super::json::Text;

/// What the value of a key holds, in a message or a part of its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    /// The message's role.
    Role,
    /// The part's type.
    Type,
    /// Text for the model.
    Text,
    /// Text, or parts that hold text.
    Parts,
    /// A list of tool calls.
    Calls,
    /// A tool call.
    Call,
    /// A tool call's arguments: an object, or a string that spells one.
    Arguments,
    /// Where a document's content is: inline text, parts, or media.
    Source,
    /// Image, audio, video or file data.
    Media,
    /// An identifier that no model reads.
    Opaque,
}

/// Texts put together. The first part is borrowed, so that a message of one plain part is not copied.
#[derive(Clone, Debug, Default)]
pub(super) struct Joined<'b> {
    parts: Option<Cow<'b, str>>,
    records: Option<Cow<'b, str>>,
    strings: Vec<RawString>,
}

impl<'b> Joined<'b> {
    /// Adds a text part: models read adjacent parts as one text, so a pattern may lie across them.
    pub fn part(&mut self, text: Text<'b>, issues: &mut Issues) {
        self.strings.extend(text.value_place());
        self.part_of(text.decode(issues));
    }

    fn part_of(&mut self, text: Cow<'b, str>) {
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
        let Joined { parts: mut text, records, strings } = self;
        let own_bytes = text.as_ref().map_or(0, |text| text.len());
        if let Some(records) = records {
            append(&mut text, records, RECORD_BORDER);
        }
        Event { records_at: own_bytes, strings, ..Event::plain(message, channel, text.unwrap_or_default()) }
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

/// What a message or a part holds so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft<'b> {
    /// Its own text.
    pub own: Joined<'b>,
    /// What tools gave back.
    pub results: Vec<Joined<'b>>,
    /// Tool calls.
    pub calls: Vec<Joined<'b>>,
}

impl<'b> Draft<'b> {
    /// The message's events: results first and calls last, as they stand to the text in every format, whatever the order of the keys.
    pub fn into_events(mut self, message: u32, channel: Channel, events: &mut Vec<Event<'b>>) {
        if channel != Channel::Assistant {
            // Only a model calls tools. Elsewhere such keys are a place to hide text, so they count as the message's own.
            for call in self.calls.drain(..) {
                self.own.merge_as_record(call);
            }
        }
        let only_results = self.own.is_empty() && !self.results.is_empty();
        let silent = self.own.is_empty() && channel == Channel::Assistant;
        events.extend(self.results.into_iter().map(|result| result.into_event(Some(message), Channel::ToolResult)));
        if !only_results && !silent {
            events.push(self.own.into_event(Some(message), channel));
        }
        events.extend(self.calls.into_iter().map(|call| call.into_event(Some(message), Channel::ToolCall)));
    }
}
