//! A bounded, non-recursive JSON reader (RFC 8259) that yields tokens and notes where readers of JSON disagree.

mod text;

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;

pub use text::Text;

use super::issue::{IssueKind, Issues};
use crate::hash::fnv1a;
use crate::limits::{FEW_KEYS, MAX_DEPTH};

/// A step through a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'b> {
    /// `{` or `[`.
    Open(Nest),
    /// `}` or `]`.
    Close,
    /// The key of an object's member; its value follows.
    Key(Text<'b>),
    /// A string value.
    Text(Text<'b>),
    /// A number, `true`, `false` or `null`, as it stands.
    Scalar(&'b str),
    /// The document's value is complete.
    End,
}

/// The two things that nest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nest {
    /// `{}`
    Object,
    /// `[]`
    Array,
}

/// What may come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Value,
    FirstOfArray,
    NextOfArray,
    FirstOfObject,
    NextOfObject,
    Nothing,
    Stopped,
}

/// Reads a document token by token. It stops at the first byte that is not JSON, with an issue; tokens given before stay valid.
pub struct Reader<'b> {
    text: &'b str,
    at: usize,
    /// Bytes of the body before the text; added to the offsets of issues.
    skipped_bytes: usize,
    expect: Expect,
    /// For every open nest, the outermost first: its kind, its offset, and for an object where its keys begin in `keys`.
    open: Vec<(Nest, usize, usize)>,
    /// Hashes of the keys of all open objects.
    keys: Vec<u64>,
    /// What was odd so far.
    pub issues: Issues,
}

impl<'b> Reader<'b> {
    /// A reader at the start of `text`, which begins `skipped_bytes` into the body.
    pub fn new(text: &'b str, skipped_bytes: usize, issues: Issues) -> Self {
        Reader { text, at: 0, skipped_bytes, expect: Expect::Value, open: Vec::new(), keys: Vec::new(), issues }
    }

    /// Notes an issue at the next token, or white space before it.
    pub fn note(&mut self, kind: IssueKind) {
        self.note_at(kind, self.at);
    }

    /// Notes an issue at byte `at` of the text.
    pub fn note_at(&mut self, kind: IssueKind, at: usize) {
        self.issues.push(kind, self.skipped_bytes + at);
    }

    /// The next token; `None` once the reader has stopped at an error, which it noted as an issue.
    pub fn token(&mut self) -> Option<Token<'b>> {
        self.skip_white_space();
        match (self.expect, self.peek()) {
            (Expect::Stopped, _) => None,
            (Expect::Nothing, None) => Some(Token::End),
            (Expect::Nothing, Some(_)) => {
                self.note(IssueKind::TrailingBytes);
                self.at = self.text.len();
                Some(Token::End)
            }
            (Expect::FirstOfArray | Expect::NextOfArray, Some(b']')) => Some(self.close()),
            (Expect::FirstOfObject | Expect::NextOfObject, Some(b'}')) => Some(self.close()),
            (Expect::NextOfArray, Some(b',')) => {
                self.step_over_comma();
                self.value()
            }
            (Expect::NextOfObject, Some(b',')) => {
                self.step_over_comma();
                self.key()
            }
            (Expect::FirstOfObject, _) => self.key(),
            (Expect::Value | Expect::FirstOfArray, _) => self.value(),
            (Expect::NextOfArray | Expect::NextOfObject, _) => self.stop(),
        }
    }

    /// Offset in the text of what comes next, white space before it included.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Reads over the next value, whatever it is. `None` once stopped.
    pub fn skip_value(&mut self) -> Option<()> {
        self.each_string(|_, _| ())
    }

    /// Reads the next value and hands over each string in it, keys included. `None` once stopped.
    pub fn each_string(&mut self, found: impl FnMut(Text<'b>, &mut Issues)) -> Option<()> {
        self.each_string_to(0, found)
    }

    /// The same for what is left of the nest that the last token opened, its end included.
    pub fn each_string_of_nest(&mut self, found: impl FnMut(Text<'b>, &mut Issues)) -> Option<()> {
        self.each_string_to(1, found)
    }

    fn each_string_to(&mut self, mut depth: usize, mut found: impl FnMut(Text<'b>, &mut Issues)) -> Option<()> {
        loop {
            match self.token()? {
                Token::Open(_) => depth += 1,
                Token::Close => depth = depth.saturating_sub(1),
                Token::Key(text) => {
                    found(text, &mut self.issues);
                    continue;
                }
                Token::Text(text) => found(text, &mut self.issues),
                Token::Scalar(_) => (),
                Token::End => return Some(()),
            }
            if depth == 0 {
                return Some(());
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_white_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn step_over_comma(&mut self) {
        self.at += 1;
        self.skip_white_space();
    }

    fn stop(&mut self) -> Option<Token<'b>> {
        let kind = if self.at < self.text.len() { IssueKind::Syntax } else { IssueKind::Truncated };
        self.stop_with(kind)
    }

    fn stop_with(&mut self, kind: IssueKind) -> Option<Token<'b>> {
        self.note(kind);
        self.expect = Expect::Stopped;
        // Keys of objects that were still open count too: a duplicate before the error is what two readers may have differed on.
        while let Some(nest) = self.open.pop() {
            self.check_keys(nest);
        }
        None
    }

    fn value(&mut self) -> Option<Token<'b>> {
        let token = match self.peek() {
            Some(b'{') => return self.open(Nest::Object),
            Some(b'[') => return self.open(Nest::Array),
            Some(b'"') => Token::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b't') => self.literal("true")?,
            Some(b'f') => self.literal("false")?,
            Some(b'n') => self.literal("null")?,
            _ => return self.stop(),
        };
        self.after_value();
        Some(token)
    }

    fn key(&mut self) -> Option<Token<'b>> {
        if self.peek() != Some(b'"') {
            return self.stop();
        }
        let key = self.string()?;
        self.skip_white_space();
        if self.peek() != Some(b':') {
            return self.stop();
        }
        self.at += 1;
        self.expect = Expect::Value;
        // Equal hashes of two keys of one object are taken for equal keys: by chance once in 2^64, and then a refusal, not a bypass.
        self.keys.push(fnv1a(&key.decode(&mut Issues::default())));
        Some(Token::Key(Text { key: true, ..key }))
    }

    fn open(&mut self, nest: Nest) -> Option<Token<'b>> {
        if self.open.len() == MAX_DEPTH {
            return self.stop_with(IssueKind::TooDeep);
        }
        self.open.push((nest, self.at, self.keys.len()));
        self.at += 1;
        self.expect = match nest {
            Nest::Object => Expect::FirstOfObject,
            Nest::Array => Expect::FirstOfArray,
        };
        Some(Token::Open(nest))
    }

    fn close(&mut self) -> Token<'b> {
        self.at += 1;
        if let Some(nest) = self.open.pop() {
            self.check_keys(nest);
        }
        self.after_value();
        Token::Close
    }

    fn after_value(&mut self) {
        self.expect = match self.open.last() {
            None => Expect::Nothing,
            Some((Nest::Object, ..)) => Expect::NextOfObject,
            Some((Nest::Array, ..)) => Expect::NextOfArray,
        };
    }

    /// Notes a key that stands twice in the object just left, and forgets its keys.
    fn check_keys(&mut self, (nest, at, from): (Nest, usize, usize)) {
        if nest == Nest::Array {
            return;
        }
        let keys = self.keys.get(from..).unwrap_or_default();
        let doubled = if keys.len() <= FEW_KEYS {
            keys.iter().enumerate().any(|(number, key)| keys.iter().take(number).any(|other| other == key))
        } else {
            // Highest first, so equal ones come one behind the other. std's sort takes 4 KB of code more.
            let mut sorted: BinaryHeap<_> = self.keys.drain(from..).collect();
            core::iter::from_fn(|| sorted.pop().map(|key| sorted.peek() == Some(&key))).any(|equal| equal)
        };
        if doubled {
            self.note_at(IssueKind::DuplicateKey, at);
        }
        self.keys.truncate(from);
    }

    fn literal(&mut self, word: &str) -> Option<Token<'b>> {
        if !self.text.as_bytes().get(self.at..).is_some_and(|rest| rest.starts_with(word.as_bytes())) {
            return self.stop();
        }
        self.at += word.len();
        self.scalar(self.at - word.len())
    }

    /// What stands between `from` and here.
    fn scalar(&self, from: usize) -> Option<Token<'b>> {
        Some(Token::Scalar(self.text.get(from..self.at).unwrap_or_default()))
    }

    fn number(&mut self) -> Option<Token<'b>> {
        let from = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        self.scalar(from)
    }

    /// One digit or more.
    fn digits(&mut self) -> Option<()> {
        let from = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == from {
            self.stop();
            return None;
        }
        Some(())
    }

    /// The string whose opening quote is next.
    fn string(&mut self) -> Option<Text<'b>> {
        self.at += 1;
        let from = self.at;
        let mut escaped = false;
        loop {
            self.at += plain_length(self.text.as_bytes().get(self.at..).unwrap_or_default());
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                Some(_) => {
                    self.note(IssueKind::ControlCharacter);
                    self.at += 1;
                }
                None => {
                    self.stop();
                    return None;
                }
            }
        }
        let raw = self.text.get(from..self.at).unwrap_or_default();
        self.at += 1;
        Some(Text { raw, escaped, key: false, at: self.skipped_bytes + from })
    }

    /// Checks the escape whose backslash is next.
    fn escape(&mut self) -> Option<()> {
        let rest = self.text.as_bytes().get(self.at + 1..).unwrap_or_default();
        let length = match rest {
            [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => 2,
            [b'u', a, b, c, d, ..] if [a, b, c, d].iter().all(|digit| digit.is_ascii_hexdigit()) => 6,
            _ => {
                self.stop();
                return None;
            }
        };
        self.at += length;
        Some(())
    }
}

/// Number of bytes before the first quote, backslash or control character; eight at a time, without SIMD, so that it is as quick in every host.
fn plain_length(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    let mut length = 0;
    let (words, tail) = bytes.as_chunks::<8>();
    for word in words {
        let word = u64::from_le_bytes(*word);
        // A byte is zero in `x` exactly if its high bit is set in `(x - ONES) & !x & HIGH`, the lowest such byte surely so.
        let zero = |x: u64| x.wrapping_sub(ONES) & !x & HIGH;
        let control = word.wrapping_sub(ONES * 0x20) & !word & HIGH;
        let special = zero(word ^ (ONES * u64::from(b'"'))) | zero(word ^ (ONES * u64::from(b'\\'))) | control;
        if special != 0 {
            return length + special.trailing_zeros() as usize / 8;
        }
        length += 8;
    }
    length + tail.iter().take_while(|&&byte| byte >= 0x20 && byte != b'"' && byte != b'\\').count()
}

#[cfg(test)]
mod tests;
