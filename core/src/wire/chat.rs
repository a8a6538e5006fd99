//! Reading of chat bodies: a list of messages with roles and content, as OpenAI and Anthropic spell it.
//!
//! The keys of both formats are known at once, since a body may carry either's keys on the other's path and servers differ in what they
//! ignore. Keys may come in any order, so texts are gathered in a [`Draft`] until the role and the types are known.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use super::document::{Channel, Document, Event};
use super::draft::{Draft, Holds, Joined};
use super::format::Format;
use super::issue::{IssueKind, Issues};
use super::json::{Nest, Reader, Text, Token};
use super::{anthropic, openai_chat};
use crate::limits::{MAX_CONTENT_LEVELS, MAX_MESSAGES};

/// Reads a body's text. `hint` is the format that the request's path or the config names; it decides what the document is called where
/// the body itself would be either's.
pub fn read<'b>(text: &'b str, issues: Issues, hint: Option<Format>) -> Document<'b> {
    let mut chat = Chat { reader: Reader::new(text, issues), events: Vec::new(), messages: false, system: false };
    let finished = chat.document();
    if finished.is_some() {
        chat.reader.next();
    }
    let format = match (chat.messages, hint) {
        (false, _) => Format::Unknown,
        (true, Some(format)) => format,
        (true, None) if chat.system => Format::AnthropicMessages,
        (true, None) => Format::OpenAiChat,
    };
    if format == Format::Unknown {
        chat.reader.issues.push(IssueKind::UnknownFormat, 0);
    }
    Document { format, events: chat.events, issues: chat.reader.issues }
}

fn holds(key: Text<'_>) -> Option<Holds> {
    let key = key.decode(&mut Issues::default());
    openai_chat::holds(&key).or_else(|| anthropic::holds(&key))
}

fn channel(role: &str) -> Option<Channel> {
    let role = role.to_ascii_lowercase();
    openai_chat::channel(&role).or_else(|| anthropic::channel(&role))
}

/// Each method reads one thing and returns `None` when the reader stopped inside it; what was read until then is kept.
struct Chat<'b> {
    reader: Reader<'b>,
    events: Vec<Event<'b>>,
    /// A list of messages was seen.
    messages: bool,
    /// Anthropic's instructions outside the list were seen.
    system: bool,
}

impl<'b> Chat<'b> {
    fn document(&mut self) -> Option<()> {
        match self.reader.next()? {
            Token::Open(Nest::Object) => (),
            Token::Open(Nest::Array) => return self.other(|reader, joined| {
                reader.each_string_of_nest(|text, issues| joined.record(text.decode(issues)))
            }),
            Token::Text(text) => {
                let text = text.decode(&mut self.reader.issues);
                self.events.push(Event { message: None, channel: Channel::Other, text });
                return Some(());
            }
            _ => return Some(()),
        }
        while let Token::Key(key) = self.reader.next()? {
            if key.is("messages") {
                self.messages = true;
                self.message_list()?;
            } else if key.is("system") {
                self.system = true;
                let mut draft = Draft::default();
                let read = self.content(&mut draft, 0);
                let mut text = draft.own;
                draft.results.into_iter().chain(draft.calls).for_each(|record| text.record(record.into_text()));
                self.events.push(Event { message: None, channel: Channel::System, text: text.into_text() });
                read?;
            } else if key.is("model") {
                self.reader.skip_value()?;
            } else {
                self.other(|reader, joined| reader.each_string(|text, issues| joined.record(text.decode(issues))))?;
            }
        }
        Some(())
    }

    /// Text outside the messages, as one event.
    fn other(&mut self, read: impl FnOnce(&mut Reader<'b>, &mut Joined<'b>) -> Option<()>) -> Option<()> {
        let mut joined = Joined::default();
        let read = read(&mut self.reader, &mut joined);
        if !joined.is_empty() {
            self.events.push(Event { message: None, channel: Channel::Other, text: joined.into_text() });
        }
        read
    }

    fn message_list(&mut self) -> Option<()> {
        match self.reader.next()? {
            Token::Open(Nest::Array) => (),
            token => return self.message(0, token),
        }
        let mut index = 0;
        loop {
            let at = self.reader.offset();
            match self.reader.next()? {
                Token::Close => return Some(()),
                token if index < MAX_MESSAGES => self.message(u32::try_from(index).unwrap_or(u32::MAX), token)?,
                token => {
                    if index == MAX_MESSAGES {
                        self.reader.issues.push(IssueKind::TooManyMessages, at);
                    }
                    if let Token::Open(_) = token {
                        self.reader.each_string_of_nest(|_, _| ())?;
                    }
                }
            }
            index += 1;
        }
    }

    /// A message, whose first token was read.
    fn message(&mut self, index: u32, first: Token<'b>) -> Option<()> {
        let at = self.reader.offset();
        let mut draft = Draft::default();
        let mut role = None;
        let read = match first {
            Token::Open(Nest::Object) => self.message_members(&mut draft, &mut role),
            first => self.content_from(first, &mut draft, 0),
        };
        let channel = role.as_deref().and_then(channel).unwrap_or_else(|| {
            self.reader.issues.push(IssueKind::UnknownRole, at);
            Channel::User
        });
        draft.into_events(index, channel, &mut self.events);
        read
    }

    fn message_members(&mut self, draft: &mut Draft<'b>, role: &mut Option<Cow<'b, str>>) -> Option<()> {
        while let Token::Key(key) = self.reader.next()? {
            match holds(key) {
                Some(Holds::Role) => *role = self.string()?,
                holds => self.member(holds, draft, 0)?,
            }
        }
        Some(())
    }

    /// A string value; `None` inside when it is something else, which is read over.
    fn string(&mut self) -> Option<Option<Cow<'b, str>>> {
        match self.reader.next()? {
            Token::Text(text) => return Some(Some(text.decode(&mut self.reader.issues))),
            Token::Open(_) => self.reader.each_string_of_nest(|_, _| ())?,
            _ => (),
        }
        Some(None)
    }

    /// The value of a key of a message or part, in its nest `level`.
    fn member(&mut self, holds: Option<Holds>, draft: &mut Draft<'b>, level: usize) -> Option<()> {
        match holds {
            Some(Holds::Text | Holds::Parts) if level < MAX_CONTENT_LEVELS => self.content(draft, level),
            Some(Holds::Source) if level < MAX_CONTENT_LEVELS => self.source(draft, level),
            Some(Holds::Calls) => self.calls(draft),
            Some(Holds::Call) => self.call(draft),
            Some(Holds::Arguments) => self.arguments(&mut draft.own),
            Some(Holds::Media) => {
                self.reader.issues.push(IssueKind::MediaSkipped, self.reader.offset());
                self.reader.skip_value()
            }
            Some(Holds::Opaque) => self.reader.skip_value(),
            _ => self.reader.each_string(|text, issues| draft.own.record(text.decode(issues))),
        }
    }

    /// Text, a part, or a list of them.
    fn content(&mut self, draft: &mut Draft<'b>, level: usize) -> Option<()> {
        let first = self.reader.next()?;
        self.content_from(first, draft, level)
    }

    fn content_from(&mut self, first: Token<'b>, draft: &mut Draft<'b>, level: usize) -> Option<()> {
        match first {
            Token::Text(text) => draft.own.part(text.decode(&mut self.reader.issues)),
            Token::Open(Nest::Object) => self.part(draft, level)?,
            Token::Open(Nest::Array) => loop {
                match self.reader.next()? {
                    Token::Close => break,
                    Token::Text(text) => draft.own.part(text.decode(&mut self.reader.issues)),
                    Token::Open(Nest::Object) => self.part(draft, level)?,
                    Token::Open(Nest::Array) => {
                        self.reader.each_string_of_nest(|text, issues| draft.own.part(text.decode(issues)))?;
                    }
                    _ => (),
                }
            },
            _ => (),
        }
        Some(())
    }

    /// The rest of a part whose object is open.
    fn part(&mut self, draft: &mut Draft<'b>, level: usize) -> Option<()> {
        let mut part = Draft::default();
        let mut kind = None;
        let read = self.part_members(&mut part, &mut kind, level);
        draft.take_part(part, kind.as_deref().unwrap_or_default());
        read
    }

    fn part_members(&mut self, part: &mut Draft<'b>, kind: &mut Option<Cow<'b, str>>, level: usize) -> Option<()> {
        while let Token::Key(key) = self.reader.next()? {
            match holds(key) {
                Some(Holds::Type) => *kind = self.string()?,
                holds => self.member(holds, part, level + 1)?,
            }
        }
        Some(())
    }

    /// A document's source: an address, or an object of its type and its content, in any order.
    fn source(&mut self, draft: &mut Draft<'b>, level: usize) -> Option<()> {
        match self.reader.next()? {
            Token::Open(Nest::Object) => (),
            first => return self.content_from(first, draft, level),
        }
        let (mut kind, mut data) = (None, None);
        let read = self.source_members(&mut kind, &mut data, draft, level);
        if let Some(data) = data {
            if kind.is_some_and(|kind: Text<'_>| kind.is("base64")) {
                self.reader.issues.push(IssueKind::MediaSkipped, data.at);
            } else {
                draft.own.part(data.decode(&mut self.reader.issues));
            }
        }
        read
    }

    fn source_members(
        &mut self,
        kind: &mut Option<Text<'b>>,
        data: &mut Option<Text<'b>>,
        draft: &mut Draft<'b>,
        level: usize,
    ) -> Option<()> {
        while let Token::Key(key) = self.reader.next()? {
            let slot = match () {
                () if key.is("type") => &mut *kind,
                () if key.is("data") => &mut *data,
                () => {
                    self.member(holds(key), draft, level + 1)?;
                    continue;
                }
            };
            match self.reader.next()? {
                Token::Text(text) => *slot = Some(text),
                first => self.content_from(first, draft, level + 1)?,
            }
        }
        Some(())
    }

    fn calls(&mut self, draft: &mut Draft<'b>) -> Option<()> {
        match self.reader.next()? {
            Token::Open(Nest::Array) => (),
            first => return self.call_from(first, draft),
        }
        loop {
            match self.reader.next()? {
                Token::Close => return Some(()),
                first => self.call_from(first, draft)?,
            }
        }
    }

    fn call(&mut self, draft: &mut Draft<'b>) -> Option<()> {
        let first = self.reader.next()?;
        self.call_from(first, draft)
    }

    /// A tool call: its name and its arguments, wherever they stand in it.
    fn call_from(&mut self, first: Token<'b>, draft: &mut Draft<'b>) -> Option<()> {
        let mut call = Joined::default();
        let read = match first {
            Token::Open(Nest::Object) => self.call_members(&mut call),
            Token::Open(Nest::Array) => self.reader.each_string_of_nest(|text, issues| call.record(text.decode(issues))),
            Token::Text(text) => {
                call.record(text.decode(&mut self.reader.issues));
                Some(())
            }
            _ => Some(()),
        };
        if !call.is_empty() {
            draft.calls.push(call);
        }
        read
    }

    /// The members of a call, and of the object in it that holds its name and arguments.
    fn call_members(&mut self, call: &mut Joined<'b>) -> Option<()> {
        let mut depth = 1;
        while depth > 0 {
            let key = match self.reader.next()? {
                Token::Key(key) => key,
                _ => {
                    depth -= 1;
                    continue;
                }
            };
            match holds(key) {
                Some(Holds::Arguments) => self.arguments(call)?,
                Some(Holds::Opaque | Holds::Type) => self.reader.skip_value()?,
                Some(Holds::Call) => match self.reader.next()? {
                    Token::Open(Nest::Object) => depth += 1,
                    Token::Open(Nest::Array) => {
                        self.reader.each_string_of_nest(|text, issues| call.record(text.decode(issues)))?;
                    }
                    Token::Text(text) => call.record(text.decode(&mut self.reader.issues)),
                    _ => (),
                },
                _ => self.reader.each_string(|text, issues| call.record(text.decode(issues)))?,
            }
        }
        Some(())
    }

    /// A call's arguments as records: the strings of an object, or of the object that a string spells, or that string.
    fn arguments(&mut self, into: &mut Joined<'b>) -> Option<()> {
        match self.reader.next()? {
            Token::Text(text) => {
                let spelled = text.decode(&mut self.reader.issues);
                match strings_spelled(&spelled) {
                    Some(strings) => strings.into_iter().for_each(|string| into.record(Cow::Owned(string))),
                    None => into.record(spelled),
                }
            }
            Token::Open(_) => self.reader.each_string_of_nest(|text, issues| into.record(text.decode(issues)))?,
            _ => (),
        }
        Some(())
    }
}

/// The strings of the JSON object that `text` spells; `None` when it spells none, or one with anything odd in it.
fn strings_spelled(text: &str) -> Option<Vec<alloc::string::String>> {
    let mut reader = Reader::new(text, Issues::default());
    let mut strings = Vec::new();
    reader.each_string(|text, issues| strings.push(text.decode(issues).into_owned()))?;
    (reader.next() == Some(Token::End) && reader.issues.as_slice().is_empty()).then_some(strings)
}
