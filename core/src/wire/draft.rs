//! A message while it is read: its texts gathered until the keys that say what they are have been seen, in whatever order.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use super::document::{Channel, Event};

/// Stands between records. It is no white space, so folding keeps it, and no pattern holds it.
const RECORD_BORDER: char = '\u{1f}';

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

/// Texts put together; the first is borrowed, so that a message of one plain part is not copied.
#[derive(Clone, Debug, Default)]
pub(super) struct Joined<'b> {
    text: Option<Cow<'b, str>>,
    /// The last text added was a record, whose end is a border too.
    after_record: bool,
}

impl<'b> Joined<'b> {
    /// Adds a text part: models read adjacent parts as one text, so a pattern may lie across them.
    pub fn part(&mut self, text: Cow<'b, str>) {
        self.add(text, if self.after_record { RECORD_BORDER } else { '\n' });
        self.after_record = false;
    }

    /// Adds a record of its own: no pattern may lie across its borders.
    pub fn record(&mut self, text: Cow<'b, str>) {
        self.add(text, RECORD_BORDER);
        self.after_record = true;
    }

    /// Whether nothing was added, not even an empty text.
    pub fn is_empty(&self) -> bool {
        self.text.is_none()
    }

    pub fn into_text(self) -> Cow<'b, str> {
        self.text.unwrap_or_default()
    }

    fn add(&mut self, text: Cow<'b, str>, border: char) {
        self.text = Some(match self.text.take() {
            None => text,
            Some(before) => {
                let mut joined: String = before.into_owned();
                joined.push(border);
                joined.push_str(&text);
                Cow::Owned(joined)
            }
        });
    }
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
    /// Takes in a part whose type is now known.
    pub fn take_part(&mut self, part: Draft<'b>, kind: &str) {
        let Draft { own, results, calls } = part;
        if super::anthropic::is_tool_result(kind) {
            self.results.push(own);
        } else if kind.ends_with("tool_use") {
            self.calls.push(own);
        } else if !own.is_empty() {
            let after_record = own.after_record;
            self.own.part(own.into_text());
            self.own.after_record = after_record;
        }
        self.results.extend(results);
        self.calls.extend(calls);
    }

    /// The message's events: results first and calls last, as they stand to the text in every format, whatever the order of the keys.
    pub fn into_events(mut self, message: u32, channel: Channel, events: &mut Vec<Event<'b>>) {
        let event = |channel, joined: Joined<'b>| Event { message: Some(message), channel, text: joined.into_text() };
        if channel != Channel::Assistant {
            // Only a model calls tools. Elsewhere such keys are a place to hide text, so they count as the message's own.
            for call in self.calls.drain(..) {
                self.own.record(call.into_text());
            }
        }
        let only_results = self.own.is_empty() && !self.results.is_empty();
        let silent = self.own.is_empty() && channel == Channel::Assistant;
        events.extend(self.results.into_iter().map(|result| event(Channel::ToolResult, result)));
        if !only_results && !silent {
            events.push(event(channel, self.own));
        }
        events.extend(self.calls.into_iter().map(|call| event(Channel::ToolCall, call)));
    }
}
