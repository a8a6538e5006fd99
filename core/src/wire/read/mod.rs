//! Reading of bodies, of all formats with one reader: a body may carry the keys of two of them, and servers differ in what they ignore.
//!
//! What each key holds is in [`super::table`]. Keys may come in any order, so texts are gathered in a [`Draft`] until the role and the types are known.

mod calls;
mod files;
mod message;
mod root;

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use super::body::Body;
use super::document::{BodyId, Channel, Document, Ends, Event, IdKind, Rpc};
use super::draft::{Draft, Joined, UNLISTED};
use super::format::{Direction, Format};
use super::issue::{IssueKind, Issues};
use super::json::{Nest, Reader, Text, Token};
use super::table::{self, From, Holds, Place, RECOGNISED};
use crate::hash::fnv1a;
use crate::limits::{MAX_CONTENT_LEVELS, MAX_EVENTS, MAX_ID_BYTES, MAX_STREAM_SLOTS};
pub use calls::arguments_spelled;

/// Reads a whole body. `hint` is the format that the request's path or the config names; it decides how the body is read where it has anything
/// of a known format.
pub fn read<'b>(body: &'b Body<'_>, hint: Option<Format>, direction: Direction) -> Document<'b> {
    document(body, hint, direction, None)
}

/// Reads one message of a stream, which `name` names where its frame has a name. Texts are pieces that later messages go on with, and a call's
/// arguments are left as they are spelled until they are whole.
pub fn read_frame<'b>(body: &'b Body<'_>, hint: Option<Format>, name: Option<&'b str>) -> Document<'b> {
    document(body, hint, Direction::Response, Some(name))
}

fn document<'b>(body: &'b Body<'_>, hint: Option<Format>, direction: Direction, frame: Option<Option<&'b str>>) -> Document<'b> {
    let whole = |lens| {
        let mut walk = Walk::new(body, direction, frame.is_some(), lens);
        walk.root_kind = frame.flatten().map(Cow::Borrowed);
        if walk.whole().is_some() {
            walk.reader.token();
        }
        walk
    };
    let first = whole(hint);
    match first.format(hint) {
        // Roles and messages of such a body mean nothing: its strings are read once more, as strings.
        Format::Unknown => first.plain(body),
        format if hint.is_some() => first.into_document(format),
        // Now that it is known which format's readers will see it.
        format => whole(Some(format)).into_document(format),
    }
}

/// Words of 64 bits that have one for each key of the table.
const SEEN_WORDS: usize = 8;
const _: () = assert!(table::KEYS <= 64 * SEEN_WORDS);

/// Each method reads one thing and returns `None` when the reader stopped inside it; what was read until then is kept.
struct Walk<'b> {
    reader: Reader<'b>,
    direction: Direction,
    /// The format whose readers will see the body, once that is known.
    lens: Option<Format>,
    /// Bit `i` is set when key `i` of the table was seen.
    seen: [u64; SEEN_WORDS],
    /// The body is one message of a stream.
    streamed: bool,
    /// A block of Anthropic's was seen, which speaks for that format once.
    has_blocks: bool,
    events: Vec<Event<'b>>,
    /// Number of messages, tool results and tool calls so far.
    told_apart: usize,
    /// How much speaks for each format.
    marks: [u32; Format::KNOWN.len()],
    rpc: Rpc,
    ids: Vec<BodyId<'b>>,
    /// Whether a stream is asked for, as far as the body says.
    stream: Option<bool>,
    ends: Ends,
    /// The message that is being read.
    message: Option<u32>,
    /// A client's list of messages was seen.
    conversation: bool,
    /// What the object being read says of itself, if it is a root.
    root_kind: Option<Cow<'b, str>>,
    is_rpc: bool,
    /// As its JSON spells it, and its value.
    root_id: Option<(String, Cow<'b, str>)>,
    method: Option<Cow<'b, str>>,
}

impl<'b> Walk<'b> {
    fn new(body: &'b Body<'_>, direction: Direction, streamed: bool, lens: Option<Format>) -> Self {
        Walk {
            reader: Reader::new(&body.text, body.skipped_bytes, body.issues.clone()),
            direction,
            lens,
            seen: [0; SEEN_WORDS],
            streamed,
            has_blocks: false,
            events: Vec::new(),
            told_apart: 0,
            marks: [0; Format::KNOWN.len()],
            rpc: Rpc::default(),
            ids: Vec::new(),
            stream: None,
            ends: Ends::default(),
            message: None,
            conversation: false,
            root_kind: None,
            is_rpc: false,
            root_id: None,
            method: None,
        }
    }

    fn into_document(mut self, format: Format) -> Document<'b> {
        if format == Format::OpenAiResponses
            && self.direction == Direction::Response
            && let Some((_, value)) = self.root_id.take()
        {
            self.id(IdKind::Response, value);
        }
        if format == Format::Gemini && self.direction == Direction::Response && self.rpc.batch {
            self.join_entries();
        }
        self.rpc.batch &= format.is_json_rpc();
        // Ollama streams unless it is told not to.
        let stream = self.stream.unwrap_or(format == Format::Ollama && self.direction == Direction::Request);
        let Walk { events, rpc, ids, ends, reader, .. } = self;
        Document { format, events, rpc, ids, stream, ends, issues: reader.issues }
    }

    /// A stream may come as one array: the pieces of each answer once more as one text.
    fn join_entries(&mut self) {
        let mut texts: Vec<(u32, String)> = Vec::new();
        for event in self.events.iter().filter(|event| event.channel == Channel::Assistant) {
            let full = texts.len() == MAX_STREAM_SLOTS;
            match texts.iter_mut().find(|(slot, _)| *slot == event.slot.0) {
                Some((_, text)) => text.push_str(event.parts()),
                None if full => (),
                None => texts.push((event.slot.0, event.parts().into())),
            }
        }
        let joined = texts.into_iter().map(|(_, text)| Event::plain(None, Channel::Assistant, Cow::Owned(text)));
        self.events.extend(joined);
    }

    /// The format with the most marks, the first of equals, unless the hint names another. A stream's messages need not say anything of it.
    fn format(&self, hint: Option<Format>) -> Format {
        let most = self.marks.iter().copied().max().unwrap_or_default();
        let own = Format::KNOWN.iter().zip(self.marks).find(|(_, marks)| *marks == most).map(|(format, _)| *format);
        match (hint, own) {
            (Some(format), _) if most > 0 || self.streamed => format,
            (None, Some(format)) if most >= RECOGNISED => format,
            _ => Format::Unknown,
        }
    }

    /// A body of no known format: its strings, those at each key of the outermost object by themselves.
    fn plain(self, body: &'b Body<'_>) -> Document<'b> {
        let mut walk = Walk::new(body, self.direction, self.streamed, None);
        if walk.strings_by_key().is_some() {
            walk.reader.token();
        }
        walk.reader.issues.push(IssueKind::UnknownFormat, 0);
        Document { events: walk.events, stream: self.stream == Some(true), issues: walk.reader.issues, ..Document::empty(Format::Unknown) }
    }

    fn strings_by_key(&mut self) -> Option<()> {
        match self.reader.token()? {
            Token::Open(Nest::Object) => {
                while let Token::Key(_) = self.reader.token()? {
                    self.other(walk)?;
                }
            }
            Token::Open(Nest::Array) => self.other(walk_nest)?,
            Token::Text(text) => {
                let text = text.decode(&mut self.reader.issues);
                self.events.push(Event::plain(None, Channel::Other, text));
            }
            _ => (),
        }
        Some(())
    }

    /// What a key holds. What another format alone knows says nothing to this one's readers: its strings are records, but for lists of messages,
    /// which some reader may take. A key that only readers without regard to case would know is noted, and taken for the one that they take it for.
    fn known(&mut self, place: Place, key: Text<'b>) -> Option<Holds> {
        let at = key.at;
        let key = key.decode(&mut Issues::default());
        let (number, known) = table::find(place, &key)?;
        let exact = known.key == key;
        if (exact || self.lens.is_some_and(|lens| known.is_of(lens))) && self.is_new(number) {
            self.marks.iter_mut().zip(known.marks).for_each(|(sum, mark)| *sum = sum.saturating_add(u32::from(mark)));
        }
        // A message in a message is an answer's.
        if known.holds == Holds::Nested(Place::Message) && place == Place::Message && self.direction == Direction::Request {
            return None;
        }
        let Some(lens) = self.lens else { return exact.then_some(known.holds) };
        if !known.is_of(lens) {
            return (exact && matches!(known.holds, Holds::Messages(From::Client | From::Items))).then_some(known.holds);
        }
        if !exact {
            // A field of somebody's own may be called so; only where text stands does it matter who reads it.
            let matters = !matches!(
                known.holds,
                Holds::Name
                    | Holds::CallId
                    | Holds::OwnId
                    | Holds::MediaType
                    | Holds::Opaque
                    | Holds::Id(_)
                    | Holds::Index
                    | Holds::Stopped
                    | Holds::Stream
            );
            // What a user entered is a form's, whose fields have names of their own.
            let form = lens == Format::Mcp && place == Place::Message && self.direction == Direction::Request;
            if !matters || form {
                return None;
            }
            self.reader.issues.push(IssueKind::KeyCase, at);
        }
        Some(known.holds)
    }

    /// Whether the key of this number was not seen before.
    fn is_new(&mut self, number: usize) -> bool {
        let Some(bits) = self.seen.get_mut(number / 64) else { return false };
        let before = *bits;
        *bits |= 1 << (number % 64);
        before != *bits
    }

    /// Whether one more event may be told apart.
    fn tell_apart(&mut self) -> bool {
        self.told_apart += 1;
        if self.told_apart == MAX_EVENTS + 1 {
            self.reader.note(IssueKind::TooManyEvents);
        }
        self.told_apart <= MAX_EVENTS
    }

    /// The rest of an object that is open. `level` is how deep in a message it lies.
    fn object(&mut self, place: Place, draft: &mut Draft<'b>, level: usize) -> Option<()> {
        while let Token::Key(key) = self.reader.token()? {
            let holds = self.known(place, key);
            let may_join = holds == Some(Holds::Text) || (holds.is_none() && matches!(place, Place::Message | Place::Choice));
            if self.streamed && may_join && place != Place::Call {
                self.piece(place, key, holds, draft, level)?;
                continue;
            }
            match holds {
                Some(holds) => self.member(place, holds, draft, level)?,
                None if matches!(place, Place::Message | Place::Call) => walk_member(key, false, &mut self.reader, &mut draft.own)?,
                None => self.other(|reader, into| walk_member(key, place == Place::Metadata, reader, into))?,
            }
        }
        Some(())
    }

    /// Text in a message of a stream: the next piece of what stands at this key.
    fn piece(&mut self, place: Place, key: Text<'b>, holds: Option<Holds>, draft: &mut Draft<'b>, level: usize) -> Option<()> {
        let name = piece_name(key.raw()) | if holds.is_none() { UNLISTED } else { 0 };
        match self.reader.token()? {
            Token::Text(text) => {
                let text = text.decode(&mut self.reader.issues);
                draft.add_piece(name, text);
                Some(())
            }
            Token::Scalar(_) => Some(()),
            Token::Open(Nest::Object) if place == Place::Answer => self.other(walk_nest),
            first if holds.is_some() && level < MAX_CONTENT_LEVELS => self.content_from(first, draft, level),
            _ => walk_nest(&mut self.reader, &mut draft.own),
        }
    }

    /// The value of a key whose meaning is known.
    fn member(&mut self, place: Place, holds: Holds, draft: &mut Draft<'b>, level: usize) -> Option<()> {
        match holds {
            Holds::Messages(from) => return self.messages(from),
            Holds::Message(from) => {
                let first = self.reader.token()?;
                if from == From::Client && matches!(first, Token::Open(Nest::Object)) {
                    // The variables of a stored prompt.
                    self.reader.note(IssueKind::UnseenText);
                }
                return self.message_at(first, from);
            }
            Holds::Choices => return self.choices(),
            Holds::Instructions => return self.instructions(),
            Holds::On(channel) => return self.on(channel, walk),
            Holds::Role => {
                let role = self.string()?;
                only(&mut draft.role, role, &mut draft.own);
            }
            Holds::Type if place == Place::Answer => self.root_kind = self.word(place, draft)?,
            Holds::Type => {
                let kind = self.word(place, draft)?;
                only(&mut draft.kind, kind, &mut draft.own);
            }
            Holds::Name => return self.name(&mut draft.own),
            Holds::CallId => return self.call_id(&mut draft.own, true),
            Holds::OwnId => return self.call_id(&mut draft.own, false),
            Holds::MediaType => draft.media_type = self.word(place, draft)?,
            Holds::Data => return self.data(draft),
            Holds::Media => return self.media(&mut draft.own),
            Holds::Arguments => return self.arguments(&mut draft.own),
            Holds::Calls => return self.calls(draft, level),
            Holds::Text | Holds::ToolResult | Holds::Nested(_) if level >= MAX_CONTENT_LEVELS => {
                return walk(&mut self.reader, &mut draft.own);
            }
            Holds::Text if place == Place::Answer => return self.root_text(draft),
            Holds::Text => return self.content(draft, level),
            Holds::ToolResult => return self.tool_result(draft, level),
            Holds::Nested(place) => return self.nested(place, draft, level),
            Holds::Id(kind) => return self.known_id(kind),
            Holds::Unseen(kind) => return self.unseen(kind, place, draft),
            Holds::RpcVersion => {
                (self.is_rpc, self.rpc.spoken) = (true, true);
                return self.other(opaque);
            }
            Holds::RootId => return self.root_id(),
            Holds::Method => return self.method(),
            Holds::Stream | Holds::Index | Holds::Stopped => match self.reader.token()? {
                Token::Scalar(value) if holds == Holds::Stream => self.stream = Some(value == "true" || self.stream == Some(true)),
                Token::Scalar(value) if holds == Holds::Index => {
                    draft.own.index = value.parse().ok();
                    if self.streamed && draft.own.index.is_none() && value != "null" {
                        self.reader.note(IssueKind::OddNumber);
                    }
                }
                Token::Scalar(value) => draft.stopped |= value == "true",
                Token::Text(why) if is_id(why) => draft.stopped |= holds == Holds::Stopped && why.raw_bytes() > 0,
                first => self.other_from(first)?,
            },
            Holds::Opaque if matches!(place, Place::Message | Place::Call) => return opaque(&mut self.reader, &mut draft.own),
            Holds::Opaque => return self.other(opaque),
        }
        Some(())
    }

    /// An object that belongs to the one that it stands in, or a list of them, or its text.
    fn nested(&mut self, place: Place, draft: &mut Draft<'b>, level: usize) -> Option<()> {
        match self.reader.token()? {
            Token::Open(Nest::Object) if place == Place::Call => {
                // The name that stands with the arguments is the one that is called.
                let around = draft.own.tool.take();
                let read = self.object(place, draft, level + 1);
                draft.own.tool = draft.own.tool.take().or(around);
                read?;
            }
            Token::Open(Nest::Object) => self.object(place, draft, level + 1)?,
            Token::Open(Nest::Array) => loop {
                match self.reader.token()? {
                    Token::Close => break,
                    Token::Open(Nest::Object) => self.object(place, draft, level + 1)?,
                    first => self.other_from(first)?,
                }
            },
            Token::Text(text) if self.streamed && place != Place::Call => {
                let text = text.decode(&mut self.reader.issues);
                draft.add_piece(piece_name("text"), text);
            }
            Token::Text(text) if place == Place::Call => draft.own.fixed_record(text.decode(&mut self.reader.issues)),
            Token::Text(text) => draft.own.part(text, &mut self.reader.issues),
            _ => (),
        }
        Some(())
    }

    /// Text outside the messages, as one event.
    fn other(&mut self, read: impl FnOnce(&mut Reader<'b>, &mut Joined<'b>) -> Option<()>) -> Option<()> {
        self.on(Channel::Other, read)
    }

    /// The same for a value whose first token was read.
    fn other_from(&mut self, first: Token<'b>) -> Option<()> {
        match first {
            Token::Open(_) => self.other(walk_nest),
            Token::Text(text) => self.other(|reader, into| {
                into.record(text, &mut reader.issues);
                Some(())
            }),
            _ => Some(()),
        }
    }

    /// Strings that are an event of their own.
    fn on(&mut self, channel: Channel, read: impl FnOnce(&mut Reader<'b>, &mut Joined<'b>) -> Option<()>) -> Option<()> {
        let mut joined = Joined::default();
        let read = read(&mut self.reader, &mut joined);
        if !joined.is_empty() {
            self.events.push(joined.into_event(self.message, channel));
        }
        read
    }

    /// A string value; `None` inside when it is something else, which is scanned as other text.
    fn string(&mut self) -> Option<Option<Cow<'b, str>>> {
        match self.reader.token()? {
            Token::Text(text) => Some(Some(text.decode(&mut self.reader.issues))),
            first => {
                self.other_from(first)?;
                Some(None)
            }
        }
    }

    /// The same where the format has a list of words: what is none of one word is scanned too.
    fn word(&mut self, place: Place, draft: &mut Draft<'b>) -> Option<Option<Cow<'b, str>>> {
        match self.reader.token()? {
            Token::Text(text) => {
                if place == Place::Answer && !is_id(text) {
                    self.other_from(Token::Text(text))?;
                } else if !is_id(text) {
                    draft.own.record(text, &mut self.reader.issues);
                }
                Some(Some(text.decode(&mut Issues::default())))
            }
            first => {
                self.other_from(first)?;
                Some(None)
            }
        }
    }

    /// Notes an identifier, the first of its kind.
    fn id(&mut self, kind: IdKind, value: Cow<'b, str>) {
        let fits = !value.is_empty() && value.len() <= MAX_ID_BYTES;
        if fits && self.ids.iter().all(|id| id.kind != kind) {
            self.ids.push(BodyId { kind, value });
        }
    }
}

/// The number by which pieces of the text at a key find each other; calls have smaller ones.
fn piece_name(key: &str) -> u32 {
    (fnv1a(key) as u32 | 1 << 31) & !UNLISTED
}

/// Takes what an object says it is. Where it says it twice, under names of two formats, readers differ: then it is neither.
fn only<'b>(known: &mut Option<Cow<'b, str>>, said: Option<Cow<'b, str>>, own: &mut Joined<'b>) {
    let Some(said) = said else { return };
    match known.take() {
        Some(before) if !before.eq_ignore_ascii_case(&said) => {
            [before, said].into_iter().filter(|text| text.contains(' ')).for_each(|text| own.fixed_record(text));
            *known = Some(Cow::Borrowed(""));
        }
        _ => *known = Some(said),
    }
}

/// Reads a member that no format knows. Its key is a string like those in its value, unless it looks like a key and `clients` do not name it.
fn walk_member<'b>(key: Text<'b>, clients: bool, reader: &mut Reader<'b>, into: &mut Joined<'b>) -> Option<()> {
    if clients || !is_id(key) {
        into.record(key, &mut reader.issues);
    }
    walk(reader, into)
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
        if !is_id(text) {
            into.record(text, issues);
        }
    })
}

/// Whether a string looks like an identifier: no phrase can stand in it.
fn is_id(text: Text<'_>) -> bool {
    text.is_one_word() && text.raw_bytes() <= MAX_ID_BYTES
}
