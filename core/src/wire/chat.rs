//! Reading of chat bodies: a list of messages with roles and content, as OpenAI and Anthropic spell it.
//!
//! The keys of both formats are known at once, since a body may carry either's keys on the other's path and servers differ in what they
//! ignore. Keys may come in any order, so texts are gathered in a [`Draft`] until the role and the types are known.

mod calls;

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use super::body::Body;
use super::document::{Channel, Document, Event, Rpc};
use super::draft::{Draft, Holds, Joined};
use super::format::Format;
use super::issue::{IssueKind, Issues};
use super::json::{Nest, Reader, Text, Token};
use super::{anthropic, openai_chat};
use crate::limits::{MAX_CONTENT_LEVELS, MAX_EVENTS, MAX_ID_BYTES};

/// Keys outside the messages whose values are told apart.
const TOP_LEVEL: [&str; 3] = ["messages", "system", "model"];

/// Reads a body. `hint` is the format that the request's path or the config names; it decides what the document is called where the body
/// itself would be either's.
pub fn read<'b>(body: &'b Body<'_>, hint: Option<Format>) -> Document<'b> {
    let reader = Reader::new(&body.text, body.skipped_bytes, body.issues.clone());
    let mut chat = Chat { reader, events: Vec::new(), told_apart: 0, messages: false, system: false };
    let finished = chat.document();
    if finished.is_some() {
        chat.reader.token();
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
    Document { format, events: chat.events, rpc: Rpc::default(), ids: Vec::new(), stream: false, issues: chat.reader.issues }
}

/// What stands at a key: the same in every format that knows it.
fn holds(key: &str) -> Option<Holds> {
    openai_chat::holds(key).or_else(|| anthropic::holds(key))
}

/// A key as readers see it that pay no heed to case; Go's fold the long s and the Kelvin sign too.
fn fold_key(key: &str) -> String {
    let fold = |letter| match letter {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        other => other.to_ascii_lowercase(),
    };
    key.chars().map(fold).collect()
}

fn channel(role: &str) -> Option<Channel> {
    let role = role.to_ascii_lowercase();
    openai_chat::channel(&role).or_else(|| anthropic::channel(&role))
}

/// Each method reads one thing and returns `None` when the reader stopped inside it; what was read until then is kept.
struct Chat<'b> {
    reader: Reader<'b>,
    events: Vec<Event<'b>>,
    /// Number of messages, tool results and tool calls so far.
    told_apart: usize,
    /// A list of messages was seen.
    messages: bool,
    /// Anthropic's instructions outside the list were seen.
    system: bool,
}

impl<'b> Chat<'b> {
    fn document(&mut self) -> Option<()> {
        match self.reader.token()? {
            Token::Open(Nest::Object) => (),
            Token::Open(Nest::Array) => {
                return self.other(walk_nest);
            }
            Token::Text(text) => {
                let text = text.decode(&mut self.reader.issues);
                self.events.push(Event::plain(None, Channel::Other, text));
                return Some(());
            }
            _ => return Some(()),
        }
        while let Token::Key(key) = self.reader.token()? {
            match self.known(key, |key| TOP_LEVEL.iter().copied().find(|known| *known == key)) {
                Some("messages") => {
                    self.messages = true;
                    self.message_list()?;
                }
                Some("system") => {
                    self.system = true;
                    self.system()?;
                }
                Some(_) => self.other(opaque)?,
                None => self.other(walk)?,
            }
        }
        Some(())
    }

    /// What `find` says of a key. A key that only readers without regard to case would know is noted, and taken for the one that they take it for.
    fn known<T>(&mut self, key: Text<'b>, find: impl Fn(&str) -> Option<T>) -> Option<T> {
        let at = key.at;
        let key = key.decode(&mut Issues::default());
        find(&key).or_else(|| {
            let found = find(&fold_key(&key))?;
            self.reader.issues.push(IssueKind::KeyCase, at);
            Some(found)
        })
    }

    /// Whether one more event may be told apart.
    fn tell_apart(&mut self) -> bool {
        self.told_apart += 1;
        if self.told_apart == MAX_EVENTS + 1 {
            self.reader.note(IssueKind::TooManyEvents);
        }
        self.told_apart <= MAX_EVENTS
    }

    /// Instructions outside the messages.
    fn system(&mut self) -> Option<()> {
        let mut draft = Draft::default();
        let read = self.content(&mut draft, 0);
        let mut text = draft.own;
        draft.results.into_iter().chain(draft.calls).for_each(|record| text.merge_as_record(record));
        self.events.push(text.into_event(None, Channel::System));
        read
    }

    /// Text outside the messages, as one event.
    fn other(&mut self, read: impl FnOnce(&mut Reader<'b>, &mut Joined<'b>) -> Option<()>) -> Option<()> {
        let mut joined = Joined::default();
        let read = read(&mut self.reader, &mut joined);
        if !joined.is_empty() {
            self.events.push(joined.into_event(None, Channel::Other));
        }
        read
    }

    fn message_list(&mut self) -> Option<()> {
        match self.reader.token()? {
            Token::Open(Nest::Array) => (),
            token => return self.message(0, token),
        }
        let mut rest = Joined::default();
        let read = self.messages(&mut rest);
        if !rest.is_blank() {
            let first = u32::try_from(MAX_EVENTS).ok();
            self.events.push(rest.into_event(first, Channel::User));
        }
        read
    }

    /// The messages of a list. Those beyond the cap go into `rest` together, so that they are scanned all the same where the policy lets such
    /// a body pass.
    fn messages(&mut self, rest: &mut Joined<'b>) -> Option<()> {
        for index in 0.. {
            match self.reader.token()? {
                Token::Close => break,
                token if self.tell_apart() => self.message(index, token)?,
                Token::Open(_) => walk_nest(&mut self.reader, rest)?,
                Token::Text(text) => rest.record(text, &mut self.reader.issues),
                _ => (),
            }
        }
        Some(())
    }

    /// A message, whose first token was read.
    fn message(&mut self, index: u32, first: Token<'b>) -> Option<()> {
        let mut draft = Draft::default();
        let mut role = None;
        let read = match first {
            Token::Open(Nest::Object) => self.message_members(&mut draft, &mut role),
            first => self.content_from(first, &mut draft, 0),
        };
        let channel = role.as_deref().and_then(channel).unwrap_or_else(|| {
            self.reader.note(IssueKind::UnknownRole);
            // Some prompt templates print whatever stands there.
            role.take().into_iter().for_each(|role| draft.own.fixed_record(role));
            Channel::User
        });
        draft.into_events(index, channel, &mut self.events);
        read
    }

    fn message_members(&mut self, draft: &mut Draft<'b>, role: &mut Option<Cow<'b, str>>) -> Option<()> {
        while let Token::Key(key) = self.reader.token()? {
            match self.known(key, holds) {
                Some(Holds::Role) => *role = self.string()?,
                holds => self.member(holds, draft, 0)?,
            }
        }
        Some(())
    }

    /// A string value; `None` inside when it is something else, which is read over.
    fn string(&mut self) -> Option<Option<Cow<'b, str>>> {
        match self.reader.token()? {
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
            Some(Holds::Media) => self.media(&mut draft.own),
            Some(Holds::Opaque) => opaque(&mut self.reader, &mut draft.own),
            _ => walk(&mut self.reader, &mut draft.own),
        }
    }

    /// Image, audio, video or file data: what cannot be a phrase is not scanned.
    fn media(&mut self, into: &mut Joined<'b>) -> Option<()> {
        self.reader.note(IssueKind::MediaSkipped);
        self.reader.each_string(|text, issues| {
            if !text.is_one_word() {
                into.record(text, issues);
            }
        })
    }

    /// Text, a part, or a list of them.
    fn content(&mut self, draft: &mut Draft<'b>, level: usize) -> Option<()> {
        let first = self.reader.token()?;
        self.content_from(first, draft, level)
    }

    fn content_from(&mut self, first: Token<'b>, draft: &mut Draft<'b>, level: usize) -> Option<()> {
        match first {
            Token::Text(text) => draft.own.part(text, &mut self.reader.issues),
            Token::Open(Nest::Object) => self.part(draft, level)?,
            Token::Open(Nest::Array) => loop {
                match self.reader.token()? {
                    Token::Close => break,
                    Token::Text(text) => draft.own.part(text, &mut self.reader.issues),
                    Token::Open(Nest::Object) => self.part(draft, level)?,
                    Token::Open(Nest::Array) => {
                        self.reader.each_string_of_nest(|text, issues| draft.own.part(text, issues))?;
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
        let kind = kind.unwrap_or_default();
        let Draft { own, results, calls } = part;
        draft.results.extend(results);
        draft.calls.extend(calls);
        let list = match () {
            () if anthropic::is_tool_result(&kind) => &mut draft.results,
            () if kind.ends_with("tool_use") => &mut draft.calls,
            () => {
                draft.own.merge(own);
                return read;
            }
        };
        if self.tell_apart() {
            list.push(own);
        } else {
            draft.own.merge_as_record(own);
        }
        read
    }

    fn part_members(&mut self, part: &mut Draft<'b>, kind: &mut Option<Cow<'b, str>>, level: usize) -> Option<()> {
        while let Token::Key(key) = self.reader.token()? {
            match self.known(key, holds) {
                Some(Holds::Type) => *kind = self.string()?,
                holds => self.member(holds, part, level + 1)?,
            }
        }
        Some(())
    }

    /// A document's source: an address, or an object of its type and its content, in any order.
    fn source(&mut self, draft: &mut Draft<'b>, level: usize) -> Option<()> {
        match self.reader.token()? {
            Token::Open(Nest::Object) => (),
            first => return self.content_from(first, draft, level),
        }
        let (mut kind, mut data) = (None, None);
        let read = self.source_members(&mut kind, &mut data, draft, level);
        if let Some(data) = data {
            let base64 = kind.is_some_and(|kind: Text<'_>| kind.decode(&mut Issues::default()) == "base64");
            if base64 && data.is_one_word() {
                self.reader.issues.push(IssueKind::MediaSkipped, data.at);
            } else {
                draft.own.part(data, &mut self.reader.issues);
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
        while let Token::Key(key) = self.reader.token()? {
            let slot = match self.known(key, source_holds) {
                Some(Holds::Type) => &mut *kind,
                Some(Holds::Media) => &mut *data,
                holds => {
                    self.member(holds, draft, level + 1)?;
                    continue;
                }
            };
            match self.reader.token()? {
                Token::Text(text) => *slot = Some(text),
                first => self.content_from(first, draft, level + 1)?,
            }
        }
        Some(())
    }
}

/// Reads a value of which only the strings are known to be strings: each is a record.
fn walk<'b>(reader: &mut Reader<'b>, into: &mut Joined<'b>) -> Option<()> {
    reader.each_string(|text, issues| into.record(text, issues))
}

/// The same for the rest of a nest that is open.
fn walk_nest<'b>(reader: &mut Reader<'b>, into: &mut Joined<'b>) -> Option<()> {
    reader.each_string_of_nest(|text, issues| into.record(text, issues))
}

/// Reads an identifier, which is not scanned if it looks like one.
fn opaque<'b>(reader: &mut Reader<'b>, into: &mut Joined<'b>) -> Option<()> {
    reader.each_string(|text, issues| {
        if !(text.is_one_word() && text.raw_bytes() <= MAX_ID_BYTES) {
            into.record(text, issues);
        }
    })
}

/// What stands at a key of a document's source.
fn source_holds(key: &str) -> Option<Holds> {
    if key == "data" { Some(Holds::Media) } else { holds(key) }
}
