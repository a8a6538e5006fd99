//! Messages and items, and the parts of their content.

use alloc::borrow::Cow;
use alloc::string::ToString;
use alloc::vec::Vec;

use super::{Walk, walk_nest};
use crate::limits::MAX_EVENTS;
use crate::wire::document::{Channel, Role};
use crate::wire::draft::{Belongs, Draft, Joined};
use crate::wire::format::{Direction, Format};
use crate::wire::issue::IssueKind;
use crate::wire::json::{Nest, Token};
use crate::wire::table::{From, Place};

/// What the type of an item or a part makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Typed {
    /// A tool call.
    Call,
    /// What a tool gave back.
    Result,
    /// A model's thoughts, or what its provider keeps with them.
    Thoughts,
    /// Anything else: the text is its message's own.
    Own,
}

impl Typed {
    /// To the readers of another format the type says nothing.
    fn of(kind: &str, lens: Option<Format>) -> Self {
        match lens {
            Some(Format::AnthropicMessages | Format::Mcp) if kind.ends_with("tool_result") => Typed::Result,
            Some(Format::AnthropicMessages | Format::Mcp) if matches!(kind, "tool_use" | "server_tool_use" | "mcp_tool_use") => Typed::Call,
            Some(Format::OpenAiResponses) => match kind {
                "tool_search_output" | "program_output" => Typed::Result,
                "mcp_approval_request" | "program" => Typed::Call,
                "reasoning" | "compaction" | "mcp_list_tools" => Typed::Thoughts,
                _ if kind.ends_with("_call_output") => Typed::Result,
                _ if kind.ends_with("_call") => Typed::Call,
                _ => Typed::Own,
            },
            _ => Typed::Own,
        }
    }
}

impl<'b> Walk<'b> {
    /// A list of messages, or one, or the text of one.
    pub(super) fn messages(&mut self, from: From) -> Option<()> {
        match self.reader.token()? {
            Token::Open(Nest::Array) => (),
            first => return self.message_at(first, from),
        }
        if matches!(from, From::Client | From::Items) {
            if self.conversation {
                self.reader.note(IssueKind::TwoConversations);
            }
            self.conversation = true;
        }
        let mut rest = Joined::default();
        let read = self.message_list(from, &mut rest);
        if !rest.is_blank() {
            let first = u32::try_from(MAX_EVENTS).ok();
            self.events.push(rest.into_event(first, Channel::User));
        }
        read
    }

    /// The messages of a list. Those beyond the cap go into `rest` together, so that they are scanned all the same where the policy lets such
    /// a body pass.
    fn message_list(&mut self, from: From, rest: &mut Joined<'b>) -> Option<()> {
        for index in 0.. {
            match self.reader.token()? {
                Token::Close => break,
                token if self.tell_apart() => self.message(index, token, from, false)?,
                Token::Open(_) => walk_nest(&mut self.reader, rest)?,
                Token::Text(text) => rest.record(text, &mut self.reader.issues),
                _ => (),
            }
        }
        Some(())
    }

    /// A message that stands alone. Nothing is no message.
    pub(super) fn message_at(&mut self, first: Token<'b>, from: From) -> Option<()> {
        if let Token::Scalar(_) = first {
            return Some(());
        }
        // A text alone has no role to miss, nor have variables.
        self.message(0, first, from, from == From::Client || matches!(first, Token::Text(_)))
    }

    /// A message, whose first token was read.
    fn message(&mut self, index: u32, first: Token<'b>, from: From, alone: bool) -> Option<()> {
        let around = self.message.replace(index);
        let mut draft = Draft::default();
        let read = match first {
            Token::Open(Nest::Object) => self.object(Place::Message, &mut draft, 0),
            first => self.content_from(first, &mut draft, 0),
        };
        self.settle(&mut draft);
        self.finish_message(index, draft, from, alone);
        self.message = around;
        read
    }

    fn finish_message(&mut self, index: u32, mut draft: Draft<'b>, from: From, alone: bool) {
        let has_type = draft.kind.is_some();
        let typed = self.typed(&mut draft);
        let known = draft.role.as_deref().and_then(Role::of);
        let answers = self.direction == Direction::Response;
        let channel = match (known, from, typed) {
            (_, From::Server, _) => Channel::Prompt,
            (_, From::Resource, _) => Channel::Resource,
            // Whoever asks is the user here, and whoever answers the model, whatever they say.
            (_, From::Peer, _) if !answers && !alone => Channel::User,
            (_, From::Model, Typed::Own) if answers && !self.is_rpc => Channel::Assistant,
            (Some(role), ..) => role.channel(),
            // Elsewhere readers may pass over the type, and a message without a role is a user's.
            (None, From::Items | From::Model, Typed::Call | Typed::Thoughts) => Channel::Assistant,
            (None, From::Items | From::Model, Typed::Result) => Channel::ToolResult,
            (None, From::Model, _) if answers => Channel::Assistant,
            (None, From::Peer, _) => Channel::Prompt,
            (None, ..) => Channel::User,
        };
        if draft.is_empty() && known.is_none() && has_type && matches!(from, From::Items | From::Model) {
            // An item that holds no text of a message, such as a reference or a list of tools.
            return;
        }
        if from == From::Items && known.is_some() {
            // Lists called so hold other things too, but nothing else with a role.
            self.speaks_for(Format::OpenAiResponses);
        }
        if known.is_none() {
            if channel == Channel::User && !alone && from != From::Peer {
                self.reader.note(IssueKind::UnknownRole);
            }
            // Some prompt templates print whatever stands there.
            draft.own.unknown_word(draft.role.take());
        }
        let call_id = draft.own.call_id.clone();
        match typed {
            Typed::Call => {
                draft.fold_pieces();
                draft.calls.push(core::mem::take(&mut draft.own));
            }
            Typed::Result if draft.own.is_empty() && !draft.results.is_empty() => (),
            Typed::Result => draft.results.push(core::mem::take(&mut draft.own)),
            Typed::Thoughts | Typed::Own => (),
        }
        // The id and the name of an item hold for what is in it.
        draft.results.iter_mut().for_each(|result| result.call_id = result.call_id.take().or_else(|| call_id.clone()));
        let role = Some(known.unwrap_or(match channel {
            Channel::Assistant => Role::Assistant,
            Channel::ToolResult => Role::Tool,
            _ if alone => Role::User,
            _ => Role::Unknown,
        }));
        draft.into_events(Belongs { message: index, channel, role, slot: index }, &mut self.events);
    }

    /// What a draft's type makes of it; notes what it says of the format and of text that is not here.
    fn typed(&mut self, draft: &mut Draft<'b>) -> Typed {
        let kind = draft.kind.take().unwrap_or_default();
        if matches!(&*kind, "item_reference" | "redacted_thinking") {
            self.reader.note(IssueKind::UnseenText);
        }
        if matches!(&*kind, "tool_use" | "tool_result") && !core::mem::replace(&mut self.has_blocks, true) {
            self.adds(Format::AnthropicMessages, 1);
        }
        if kind.ends_with("_call") || kind.ends_with("_call_output") || matches!(&*kind, "input_text" | "output_text") {
            self.speaks_for(Format::OpenAiResponses);
        }
        let typed = Typed::of(&kind, self.lens);
        if typed == Typed::Call && draft.own.tool.is_none() {
            // Tools of the provider's own are called by their type.
            draft.own.tool = kind.strip_suffix("_call").map(|name| Cow::Owned(name.to_string()));
        }
        typed
    }

    /// Text, a part, or a list of them.
    pub(super) fn content(&mut self, draft: &mut Draft<'b>, level: usize) -> Option<()> {
        let first = self.reader.token()?;
        self.content_from(first, draft, level)
    }

    pub(super) fn content_from(&mut self, first: Token<'b>, draft: &mut Draft<'b>, level: usize) -> Option<()> {
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
        let read = self.object(Place::Message, &mut part, level + 1);
        self.pass_on_data(&mut part, draft);
        let typed = self.typed(&mut part);
        if typed != Typed::Own {
            part.fold_pieces();
        }
        let Draft { mut own, results, calls, role, stopped, pieces, .. } = part;
        own.unknown_word(role);
        pieces.into_iter().for_each(|(name, text)| draft.add_piece(name, text));
        draft.results.extend(results);
        draft.calls.extend(calls);
        draft.stopped |= stopped;
        let list = match typed {
            Typed::Result => &mut draft.results,
            Typed::Call => &mut draft.calls,
            Typed::Thoughts | Typed::Own => {
                draft.own.merge(own);
                return read;
            }
        };
        self.keep(own, list, &mut draft.own);
        read
    }

    /// What a tool gave back: text, parts, or an object of them.
    pub(super) fn tool_result(&mut self, draft: &mut Draft<'b>, level: usize) -> Option<()> {
        let mut result = Draft::default();
        let read = match self.reader.token()? {
            Token::Open(Nest::Object) => self.object(Place::Message, &mut result, level + 1),
            Token::Scalar(_) => return Some(()),
            first => self.content_from(first, &mut result, level + 1),
        };
        self.settle(&mut result);
        result.fold_pieces();
        let Draft { mut own, results, calls, role, .. } = result;
        own.unknown_word(role);
        calls.into_iter().for_each(|call| own.merge_as_record(call));
        // What lies in a result is part of it, under whatever key.
        results.into_iter().for_each(|inner| own.merge(inner));
        if !own.is_empty() {
            self.keep(own, &mut draft.results, &mut draft.own);
        }
        read
    }

    /// Keeps a result or a call by itself; beyond the cap it is the message's own.
    pub(super) fn keep(&mut self, text: Joined<'b>, list: &mut Vec<Joined<'b>>, own: &mut Joined<'b>) {
        if self.tell_apart() {
            list.push(text);
        } else {
            own.merge_as_record(text);
        }
    }
}
