//! What a body says: its events in wire order.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::format::Format;
use super::issue::Issues;

/// Where a text came from, as far as the body says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// System or developer instructions.
    System,
    /// A user's message.
    User,
    /// The model's own words, sent back as history.
    Assistant,
    /// What a tool gave back.
    ToolResult,
    /// The strings of a tool call's arguments.
    ToolCall,
    /// Anything else in the body that holds text: tool definitions, metadata, unknown keys.
    Other,
}

impl Channel {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Channel::System => "system",
            Channel::User => "user",
            Channel::Assistant => "assistant",
            Channel::ToolResult => "tool_result",
            Channel::ToolCall => "tool_call",
            Channel::Other => "other",
        }
    }

    /// Whether its events are turns, that is count in the conversation score: user messages and tool results (DESIGN.md 7).
    pub const fn is_turn(self) -> bool {
        matches!(self, Channel::User | Channel::ToolResult)
    }
}

/// Stands between records of an event's text. No pattern is found across it ([`crate::score::letters::BORDER`]).
pub const RECORD_BORDER: char = crate::score::letters::BORDER as char;

/// One text at one position: a message's text, a tool's result, a tool call's arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event<'b> {
    /// 0-based index in the wire's message list; `None` outside it.
    pub message: Option<u32>,
    /// Where the text came from.
    pub channel: Channel,
    /// The text's parts joined by line feeds, then its records set apart by U+001F, which no pattern matches.
    pub text: Cow<'b, str>,
    /// Where the records begin, that is strings which are no message text but which a model may be shown; the text's length without any.
    pub records_at: usize,
    /// Where its strings stand in the body, as far as they can be replaced. Keys, single words outside the text and arguments spelled in a string are
    /// left out: with others in their place the body would mean something else.
    pub strings: Vec<RawString>,
}

/// Where a JSON string stands in a body, from its opening quote to behind its closing one. Bodies are far smaller than four
/// gigabytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RawString {
    /// Offset of the opening quote.
    pub start: u32,
    /// Offset behind the closing quote.
    pub end: u32,
}

impl<'b> Event<'b> {
    /// An event of one text.
    pub(super) fn plain(message: Option<u32>, channel: Channel, text: Cow<'b, str>) -> Self {
        let records_at = text.len();
        Event { message, channel, text, records_at, strings: Vec::new() }
    }

    /// The message's own text, without records.
    pub fn parts(&self) -> &str {
        self.text.get(..self.records_at).unwrap_or_default()
    }
}

/// What could be read of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document<'b> {
    /// The format it was read as.
    pub format: Format,
    /// In wire order.
    pub events: Vec<Event<'b>>,
    /// What was odd, the encoding's issues first.
    pub issues: Issues,
}
