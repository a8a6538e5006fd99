//! A JSON string: what stands between the quotes, and the value that it spells.

use alloc::borrow::Cow;
use alloc::string::String;

use crate::wire::document::{RECORD_BORDER, RawString};
use crate::wire::issue::{IssueKind, Issues};

/// A string as it stands in the body, between its quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<'b> {
    pub(super) raw: &'b str,
    pub(super) escaped: bool,
    pub(super) key: bool,
    /// Offset of the first byte behind the opening quote, in the body.
    pub at: usize,
}

impl<'b> Text<'b> {
    /// The string's value; half surrogates become U+FFFD and an issue.
    pub fn decode(self, issues: &mut Issues) -> Cow<'b, str> {
        if !self.escaped {
            return Cow::Borrowed(self.raw);
        }
        let mut value = String::with_capacity(self.raw.len());
        let mut rest = self.raw;
        while let Some((plain, escape)) = rest.split_once('\\') {
            value.push_str(plain);
            rest = self.unescape(escape, &mut value, issues);
        }
        value.push_str(rest);
        Cow::Owned(value)
    }

    /// Whether it holds no white space and nothing that is not plain ASCII, as identifiers, addresses and base64 do: no phrase can stand in it.
    /// Quick, since images are long.
    pub fn is_one_word(self) -> bool {
        // PHP escapes every slash.
        let plain = || self.raw.split('\\').skip(1).all(|behind| behind.starts_with('/'));
        self.raw.is_ascii() && !self.raw.as_bytes().contains(&b' ') && (!self.escaped || plain())
    }

    /// Where it stands in the body; `None` for a key, and behind the offsets that a [`RawString`] can name.
    pub fn value_place(self) -> Option<RawString> {
        let start = u32::try_from(self.at.checked_sub(1)?).ok()?;
        let end = u32::try_from(self.at + self.raw.len() + 1).ok()?;
        (!self.key).then_some(RawString { start, end })
    }

    /// What stands between its quotes.
    pub fn raw(self) -> &'b str {
        self.raw
    }

    /// Its length between the quotes, in bytes.
    pub fn raw_bytes(self) -> usize {
        self.raw.len()
    }

    /// Takes one escape from the start of `escape` (behind its backslash) into `value` and returns what follows it.
    fn unescape(self, escape: &'b str, value: &mut String, issues: &mut Issues) -> &'b str {
        let mut chars = escape.chars();
        let letter = match chars.next() {
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => return self.unescape_unit(chars.as_str(), value, issues),
            Some(itself) => itself,
            None => return escape,
        };
        value.push(letter);
        chars.as_str()
    }

    /// The same for `\u`: one unit, or two that make a pair.
    fn unescape_unit(self, digits: &'b str, value: &mut String, issues: &mut Issues) -> &'b str {
        let (unit, rest) = hex_unit(digits);
        if let Some(letter) = char::from_u32(unit) {
            // In events U+001F keeps records apart, which a text must not forge.
            value.push(if letter == RECORD_BORDER { ' ' } else { letter });
            return rest;
        }
        if let (0xd800..0xdc00, Some(second)) = (unit, rest.strip_prefix("\\u")) {
            let (low, after) = hex_unit(second);
            if let 0xdc00..0xe000 = low {
                value.extend(char::from_u32(0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00)));
                return after;
            }
        }
        value.push(char::REPLACEMENT_CHARACTER);
        issues.push(IssueKind::LoneSurrogate, self.at + self.raw.len() - digits.len());
        rest
    }
}

/// The four hex digits at the start of `text`, which the scan of the string has checked, and what follows them.
fn hex_unit(text: &str) -> (u32, &str) {
    let (digits, rest) = text.split_at_checked(4).unwrap_or((text, ""));
    (u32::from_str_radix(digits, 16).unwrap_or(u32::from(char::REPLACEMENT_CHARACTER)), rest)
}
