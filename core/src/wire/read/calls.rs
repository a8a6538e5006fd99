//! Tool calls: their names and the strings of their arguments, wherever they stand.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Walk, walk_nest};
use crate::wire::draft::{Draft, Joined};
use crate::wire::issue::Issues;
use crate::wire::json::{Nest, Reader, Token};
use crate::wire::table::Place;

impl<'b> Walk<'b> {
    /// A list of tool calls, or one.
    pub(super) fn calls(&mut self, draft: &mut Draft<'b>, level: usize) -> Option<()> {
        match self.reader.token()? {
            Token::Open(Nest::Array) => (),
            first => return self.call(first, draft, level),
        }
        loop {
            match self.reader.token()? {
                Token::Close => return Some(()),
                first => self.call(first, draft, level)?,
            }
        }
    }

    /// A tool call, whose first token was read.
    fn call(&mut self, first: Token<'b>, draft: &mut Draft<'b>, level: usize) -> Option<()> {
        let mut call = Draft::default();
        let read = match first {
            Token::Open(Nest::Object) => self.object(Place::Call, &mut call, level + 1),
            Token::Open(Nest::Array) => walk_nest(&mut self.reader, &mut call.own),
            Token::Text(text) => {
                call.own.fixed_record(text.decode(&mut self.reader.issues));
                Some(())
            }
            _ => Some(()),
        };
        self.settle(&mut call);
        call.fold_pieces();
        if !call.own.is_blank() {
            self.keep(call.own, &mut draft.calls, &mut draft.own);
        }
        read
    }

    /// A call's arguments as records: the strings of an object, or of the object that a string spells, or that string. In a stream the string is
    /// a piece, and kept as one.
    pub(super) fn arguments(&mut self, into: &mut Joined<'b>) -> Option<()> {
        match self.reader.token()? {
            Token::Text(text) if self.streamed => into.part_of(text.decode(&mut self.reader.issues)),
            Token::Text(text) => arguments_spelled(text.decode(&mut self.reader.issues), &mut |string| into.fixed_record(string)),
            Token::Open(_) => {
                let mut strings = Joined::default();
                let read = walk_nest(&mut self.reader, &mut strings);
                // An empty object may be filled by what comes later.
                into.whole |= !strings.is_empty();
                into.merge(strings);
                read?;
            }
            _ => (),
        }
        Some(())
    }
}

/// Hands over the strings of the JSON object that `text` spells, or `text` itself when it spells none.
pub fn arguments_spelled<'t>(text: Cow<'t, str>, found: &mut dyn FnMut(Cow<'t, str>)) {
    match strings_spelled(&text) {
        Some(strings) => strings.into_iter().for_each(|string| found(Cow::Owned(string))),
        None => found(text),
    }
}

/// The strings of the JSON object that `text` spells; `None` when it spells none, or one with anything odd in it.
fn strings_spelled(text: &str) -> Option<Vec<String>> {
    let mut reader = Reader::new(text, 0, Issues::default());
    let mut strings = Vec::new();
    reader.each_string(|text, issues| strings.push(text.decode(issues).into_owned()))?;
    (reader.token() == Some(Token::End) && reader.issues.as_slice().is_empty()).then_some(strings)
}
