//! Tool calls in a chat body: their names and the strings of their arguments, wherever they stand.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Chat, holds, opaque, walk, walk_nest};
use crate::wire::draft::{Draft, Holds, Joined};
use crate::wire::issue::Issues;
use crate::wire::json::{Nest, Reader, Token};

impl<'b> Chat<'b> {
    /// A list of tool calls, or one.
    pub(super) fn calls(&mut self, draft: &mut Draft<'b>) -> Option<()> {
        match self.reader.token()? {
            Token::Open(Nest::Array) => (),
            first => return self.call_from(first, draft),
        }
        loop {
            match self.reader.token()? {
                Token::Close => return Some(()),
                first => self.call_from(first, draft)?,
            }
        }
    }

    /// A tool call.
    pub(super) fn call(&mut self, draft: &mut Draft<'b>) -> Option<()> {
        let first = self.reader.token()?;
        self.call_from(first, draft)
    }

    /// A tool call: its name and its arguments, wherever they stand in it.
    fn call_from(&mut self, first: Token<'b>, draft: &mut Draft<'b>) -> Option<()> {
        let mut call = Joined::default();
        let read = match first {
            Token::Open(Nest::Object) => self.call_members(&mut call),
            Token::Open(Nest::Array) => walk_nest(&mut self.reader, &mut call),
            Token::Text(text) => {
                call.fixed_record(text.decode(&mut self.reader.issues));
                Some(())
            }
            _ => Some(()),
        };
        if !call.is_blank() {
            if self.tell_apart() {
                draft.calls.push(call);
            } else {
                draft.own.merge_as_record(call);
            }
        }
        read
    }

    /// The members of a call, and of the object in it that holds its name and arguments.
    fn call_members(&mut self, call: &mut Joined<'b>) -> Option<()> {
        let mut depth = 1;
        while depth > 0 {
            let key = match self.reader.token()? {
                Token::Key(key) => key,
                _ => {
                    depth -= 1;
                    continue;
                }
            };
            match self.known(key, holds) {
                Some(Holds::Arguments) => self.arguments(call)?,
                Some(Holds::Opaque | Holds::Type) => opaque(&mut self.reader, call)?,
                Some(Holds::Call) => match self.reader.token()? {
                    Token::Open(Nest::Object) => depth += 1,
                    Token::Open(Nest::Array) => walk_nest(&mut self.reader, call)?,
                    Token::Text(text) => call.fixed_record(text.decode(&mut self.reader.issues)),
                    _ => (),
                },
                _ => walk(&mut self.reader, call)?,
            }
        }
        Some(())
    }

    /// A call's arguments as records: the strings of an object, or of the object that a string spells, or that string.
    pub(super) fn arguments(&mut self, into: &mut Joined<'b>) -> Option<()> {
        match self.reader.token()? {
            Token::Text(text) => {
                let spelled = text.decode(&mut self.reader.issues);
                match strings_spelled(&spelled) {
                    Some(strings) => strings.into_iter().for_each(|string| into.fixed_record(Cow::Owned(string))),
                    None => into.fixed_record(spelled),
                }
            }
            Token::Open(_) => walk_nest(&mut self.reader, into)?,
            _ => (),
        }
        Some(())
    }
}

/// The strings of the JSON object that `text` spells; `None` when it spells none, or one with anything odd in it.
fn strings_spelled(text: &str) -> Option<Vec<String>> {
    let mut reader = Reader::new(text, 0, Issues::default());
    let mut strings = Vec::new();
    reader.each_string(|text, issues| strings.push(text.decode(issues).into_owned()))?;
    (reader.token() == Some(Token::End) && reader.issues.as_slice().is_empty()).then_some(strings)
}
