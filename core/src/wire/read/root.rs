//! A body's outermost object, or each of a batch: JSON-RPC's envelope, choices, instructions, identifiers, and what becomes of its own text.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{Walk, is_id};
use crate::limits::{MAX_ID_BYTES, MAX_RPC_IDS};
use crate::wire::document::{Channel, IdKind, Role, RpcMethod};
use crate::wire::draft::{Belongs, Draft, Joined};
use crate::wire::format::{Direction, Format};
use crate::wire::issue::{IssueKind, Issues};
use crate::wire::json::{Nest, Text, Token};
use crate::wire::table::{Place, RECOGNISED};

/// How methods begin that only MCP or A2A has.
const METHODS: [(&str, Format); 14] = [
    ("tools/", Format::Mcp),
    ("prompts/", Format::Mcp),
    ("resources/", Format::Mcp),
    ("sampling/", Format::Mcp),
    ("elicitation/", Format::Mcp),
    ("notifications/", Format::Mcp),
    ("completion/", Format::Mcp),
    ("initialize", Format::Mcp),
    ("message/", Format::A2a),
    ("tasks/", Format::A2a),
    ("SendMessage", Format::A2a),
    ("SendStreamingMessage", Format::A2a),
    ("GetTask", Format::A2a),
    ("SubscribeToTask", Format::A2a),
];

impl<'b> Walk<'b> {
    /// The whole body.
    pub(super) fn whole(&mut self) -> Option<()> {
        match self.reader.token()? {
            Token::Open(Nest::Object) => self.root(0),
            Token::Open(Nest::Array) => {
                self.rpc.batch = true;
                for entry in 0.. {
                    match self.reader.token()? {
                        Token::Close => break,
                        Token::Open(Nest::Object) if self.tell_apart() => self.root(entry)?,
                        first => self.other_from(first)?,
                    }
                }
                Some(())
            }
            first => self.other_from(first),
        }
    }

    /// An outermost object that is open.
    fn root(&mut self, entry: u32) -> Option<()> {
        let mut draft = Draft::default();
        (self.is_rpc, self.root_id, self.method) = (false, None, None);
        let first = self.events.len();
        let place = if self.direction == Direction::Request { Place::Root } else { Place::Answer };
        let read = self.object(place, &mut draft, 0);
        self.settle(&mut draft);
        self.finish_root(entry, draft, first);
        read
    }

    /// Puts what the object says of itself to the events in it, of which `first` is the first, and to its own text.
    fn finish_root(&mut self, entry: u32, mut draft: Draft<'b>, first: usize) {
        let kind = self.root_kind.take().unwrap_or_default();
        if kind.starts_with("response.") {
            self.speaks_for(Format::OpenAiResponses);
        }
        if kind.starts_with("content_block") || kind.starts_with("message_") {
            self.speaks_for(Format::AnthropicMessages);
        }
        let slot = draft.own.index;
        let of = |format| self.lens == Some(format);
        // These repeat whole what came in pieces.
        let whole = of(Format::OpenAiResponses) && [".done", ".completed", ".incomplete", ".failed"].iter().any(|end| kind.ends_with(end));
        let ends = match &*kind {
            "content_block_stop" | "message_stop" => of(Format::AnthropicMessages),
            "contentBlockStop" | "messageStop" => of(Format::BedrockConverse),
            _ => whole,
        };
        let of_call = match self.lens {
            Some(Format::AnthropicMessages) => draft.kind.as_deref() == Some("input_json_delta"),
            Some(Format::OpenAiResponses) => ["_arguments.", "_input.", "_code.", "_command."].iter().any(|part| kind.contains(part)),
            _ => false,
        };
        let of_result = of(Format::OpenAiResponses) && kind.contains("_call_output");
        if self.streamed {
            draft.own.whole |= whole;
            for event in self.events.iter_mut().skip(first) {
                event.slot.0 = slot.unwrap_or(event.slot.0);
                // A message of JSON-RPC is one, but texts of an agent may come in several.
                event.whole |= whole || (self.is_rpc && event.channel != Channel::Assistant);
            }
        }
        if draft.stopped || ends {
            match slot {
                Some(slot) => self.ends.slots.push(slot),
                None => self.ends.all = true,
            }
        }
        // Such a stream message holds a piece of a call's arguments where others hold text, or all of them where others hold a client's.
        let family = ["refusal", "reasoning"].into_iter().position(|family| of(Format::OpenAiResponses) && kind.contains(family));
        // Its deltas are all called alike.
        draft.pieces.iter_mut().for_each(|(name, _)| *name ^= family.map_or(0, |family| family as u32 + 1));
        if of_call || of_result {
            draft.fold_pieces();
        }
        if of_call {
            let mut call = core::mem::take(&mut draft.own);
            call.index = None;
            draft.calls.push(call);
            for event in self.events.iter_mut().skip(first).filter(|_| self.streamed) {
                event.channel = Channel::ToolCall;
            }
        } else if of_result {
            draft.results.push(core::mem::take(&mut draft.own));
        }
        let role = draft.role.as_deref().and_then(Role::of);
        if role.is_none() {
            draft.own.unknown_word(draft.role.take());
        }
        let channel = match (self.is_rpc, self.direction) {
            (true, _) => self.rpc_channel(role, &mut draft.own),
            (false, Direction::Request) => role.map_or(Channel::User, Role::channel),
            // Whatever it says: who answers is the model.
            (false, Direction::Response) => Channel::Assistant,
        };
        if channel != Channel::Assistant {
            draft.fold_pieces();
        }
        if channel == Channel::ToolCall || channel == Channel::Other || channel == Channel::Prompt {
            if !draft.own.is_blank() {
                self.events.push(draft.own.into_event(Some(entry), channel));
            }
            draft.own = Joined::default();
        }
        if !draft.is_empty() {
            draft.own.whole |= self.is_rpc && channel != Channel::Assistant;
            draft.into_events(Belongs { message: entry, channel, role, slot: slot.unwrap_or_default() }, &mut self.events);
        }
    }

    /// The channel of a JSON-RPC message's own text; notes the request that a refusal would answer.
    fn rpc_channel(&mut self, role: Option<Role>, own: &mut Joined<'b>) -> Channel {
        let method = self.method.take();
        let id = self.root_id.take();
        own.call_id = id.as_ref().map(|(_, value)| value.clone());
        if let (Some(method), Some((spelled, _))) = (&method, id)
            && !method.is_empty()
            && self.rpc.ids.len() < MAX_RPC_IDS
        {
            self.rpc.ids.push(spelled);
            self.rpc.methods.push(RpcMethod::of(method));
        }
        match method.as_deref() {
            Some("tools/call") => Channel::ToolCall,
            Some("prompts/get") => Channel::Prompt,
            Some(_) => Channel::Other,
            None => match (role, self.direction) {
                (Some(_), Direction::Response) => Channel::Assistant,
                (None, Direction::Response) => Channel::ToolResult,
                // What a model or the user said where a server asked for it.
                (Some(role), Direction::Request) => role.channel(),
                (None, Direction::Request) => Channel::User,
            },
        }
    }

    pub(super) fn speaks_for(&mut self, format: Format) {
        self.adds(format, RECOGNISED);
    }

    /// Adds marks of something that is no key.
    pub(super) fn adds(&mut self, format: Format, mark: u32) {
        let own = Format::KNOWN.iter().zip(&mut self.marks).find(|(known, _)| **known == format);
        if let Some((_, marks)) = own {
            *marks = marks.saturating_add(mark);
        }
    }

    /// A model's answers.
    pub(super) fn choices(&mut self) -> Option<()> {
        match self.reader.token()? {
            Token::Open(Nest::Array) => (),
            first => return self.other_from(first),
        }
        for number in 0.. {
            match self.reader.token()? {
                Token::Close => break,
                Token::Open(Nest::Object) if self.tell_apart() => {
                    let mut draft = Draft::default();
                    let read = self.object(Place::Choice, &mut draft, 0);
                    self.settle(&mut draft);
                    let slot = draft.own.index.unwrap_or(number);
                    if draft.stopped {
                        self.ends.slots.push(slot);
                    }
                    let belongs = Belongs { message: number, channel: Channel::Assistant, role: Some(Role::Assistant), slot };
                    draft.into_events(belongs, &mut self.events);
                    read?;
                }
                first => self.other_from(first)?,
            }
        }
        Some(())
    }

    /// Instructions outside the messages.
    pub(super) fn instructions(&mut self) -> Option<()> {
        let mut draft = Draft::default();
        let read = self.content(&mut draft, 0);
        self.settle(&mut draft);
        draft.fold_pieces();
        let mut text = draft.own;
        draft.results.into_iter().chain(draft.calls).for_each(|record| text.merge_as_record(record));
        if !text.is_empty() {
            self.events.push(text.into_event(None, Channel::System));
        }
        read
    }

    /// Text beside the messages: in a response the model's own. An object here is something else's, such as settings.
    pub(super) fn root_text(&mut self, draft: &mut Draft<'b>) -> Option<()> {
        match self.reader.token()? {
            Token::Open(Nest::Object) => self.other(super::walk_nest),
            first => self.content_from(first, draft, 0),
        }
    }

    /// JSON-RPC's `id`, or a response's.
    pub(super) fn root_id(&mut self) -> Option<()> {
        match self.reader.token()? {
            Token::Text(text) => {
                let odd = text.raw().bytes().any(|byte| byte < b' ');
                let fits = text.raw_bytes() <= MAX_ID_BYTES && !odd;
                let spelled = if fits { format!("\"{}\"", text.raw()) } else { String::from("null") };
                self.root_id = Some((spelled, text.decode(&mut Issues::default())));
                if !is_id(text) {
                    return self.other_from(Token::Text(text));
                }
            }
            Token::Scalar(number) => {
                let spelled = if number.len() <= MAX_ID_BYTES { number.to_string() } else { String::from("null") };
                self.root_id = Some((spelled, Cow::Borrowed(number)));
            }
            first => return self.other_from(first),
        }
        Some(())
    }

    /// A JSON-RPC request's method.
    pub(super) fn method(&mut self) -> Option<()> {
        let Some(method) = self.string()? else { return Some(()) };
        let owners: Vec<Format> = METHODS.iter().filter(|(start, _)| method.starts_with(start)).map(|(_, format)| *format).collect();
        if !owners.is_empty() && matches!(self.lens, None | Some(Format::Mcp | Format::A2a)) {
            // Some servers do not ask for the version.
            (self.is_rpc, self.rpc.spoken) = (true, true);
        }
        owners.into_iter().for_each(|format| self.speaks_for(format));
        if method.contains(' ') {
            let method = method.clone();
            self.other(|_, into| {
                into.fixed_record(method);
                Some(())
            })?;
        }
        self.method = Some(method);
        Some(())
    }

    /// An identifier, or an object that holds it.
    pub(super) fn known_id(&mut self, kind: IdKind) -> Option<()> {
        let first = self.reader.token()?;
        self.id_from(first, Some(kind), None)
    }

    /// An identifier that stands for text which is not here, or that text in a form which only the provider reads.
    pub(super) fn unseen(&mut self, kind: Option<IdKind>, place: Place, draft: &mut Draft<'b>) -> Option<()> {
        let first = self.reader.token()?;
        if let Token::Scalar(_) = first {
            return Some(());
        }
        self.reader.note(IssueKind::UnseenText);
        self.id_from(first, kind, (place == Place::Message).then_some(&mut draft.own))
    }

    /// The identifier in a value whose first token was read: of an object the first value. What looks like none is scanned, as a part of `own` or as
    /// other text.
    fn id_from(&mut self, first: Token<'b>, kind: Option<IdKind>, own: Option<&mut Joined<'b>>) -> Option<()> {
        let (mut found, mut beside) = (None, Joined::default());
        let mut take = |text: Text<'b>, issues: &mut Issues| {
            if text.value_place().is_some() && found.is_none() {
                found = Some(text.decode(&mut Issues::default()));
            }
            // What is encrypted is long.
            if !text.is_one_word() || (kind.is_some() && !is_id(text)) {
                beside.record(text, issues);
            }
        };
        let read = match first {
            Token::Text(text) => {
                take(text, &mut self.reader.issues);
                Some(())
            }
            Token::Open(_) => self.reader.each_string_of_nest(take),
            _ => Some(()),
        };
        if let (Some(kind), Some(value)) = (kind, found) {
            self.id(kind, value);
        }
        match own {
            Some(own) => {
                own.merge(beside);
                read
            }
            None => self.other(|_, into| {
                into.merge(beside);
                read
            }),
        }
    }

    /// A name: of a tool where the object is its call or result; models read it, so it is a record too.
    pub(super) fn name(&mut self, own: &mut Joined<'b>) -> Option<()> {
        match self.reader.token()? {
            Token::Text(text) => {
                let name = text.decode(&mut Issues::default());
                if name.len() <= MAX_ID_BYTES && own.tool.is_none() {
                    own.tool = Some(name);
                }
                own.record(text, &mut self.reader.issues);
                Some(())
            }
            Token::Open(_) => super::walk_nest(&mut self.reader, own),
            _ => Some(()),
        }
    }

    /// What joins a call and its result; not scanned if it looks like an identifier.
    pub(super) fn call_id(&mut self, own: &mut Joined<'b>, wins: bool) -> Option<()> {
        match self.reader.token()? {
            Token::Text(text) if is_id(text) => {
                if wins || own.call_id.is_none() {
                    own.call_id = Some(text.decode(&mut Issues::default()));
                }
                Some(())
            }
            Token::Text(text) => {
                own.record(text, &mut self.reader.issues);
                Some(())
            }
            Token::Open(_) => super::walk_nest(&mut self.reader, own),
            _ => Some(()),
        }
    }
}
