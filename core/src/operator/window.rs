//! The piece of a text around a literal that an expression is run on.

use alloc::string::String;
use core::ops::Range;

use regex_lite::Regex;

use crate::limits::{MAX_OPERATOR_WORD_BYTES, OPERATOR_WINDOW_BYTES};

/// Stands between records of a text; no match lies across it.
const RECORD_BORDER: u8 = 0x1f;

/// A piece of a text between the first and the last of some near places of a literal, inside one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Places {
    first: usize,
    last_end: usize,
}

/// What an expression is run on: all that lies near some places, beginning and ending with whole words, so that `\b` means the same as in
/// the whole text.
pub(super) struct Window {
    from: usize,
    to: usize,
}

impl Places {
    pub fn new(at: usize, end: usize) -> Self {
        Places { first: at, last_end: end }
    }

    /// Takes in a later place whose window might overlap. `false` when it lies apart.
    pub fn take(&mut self, bytes: &[u8], at: usize, end: usize) -> bool {
        let near = at <= self.last_end.saturating_add(2 * (OPERATOR_WINDOW_BYTES + MAX_OPERATOR_WORD_BYTES));
        // Each byte is looked at once: the next place is compared with this one.
        let takes = near && !bytes.get(self.last_end..at).is_some_and(|between| between.contains(&RECORD_BORDER));
        if takes {
            self.last_end = self.last_end.max(end);
        }
        takes
    }
}

impl Window {
    pub fn around(text: &str, places: &Places) -> Self {
        let bytes = text.as_bytes();
        let mut from = places.first.saturating_sub(OPERATOR_WINDOW_BYTES);
        let mut to = places.last_end.saturating_add(OPERATOR_WINDOW_BYTES).min(bytes.len());
        let word = |at: usize| bytes.get(at).is_some_and(|&byte| byte.is_ascii_alphanumeric() || byte == b'_');
        for _ in 0..MAX_OPERATOR_WORD_BYTES {
            from -= usize::from(from > 0 && word(from - 1) && word(from));
            to += usize::from(to > 0 && word(to - 1) && word(to));
        }
        if let Some(border) = bytes.get(from..places.first).and_then(|before| before.iter().rposition(|&byte| byte == RECORD_BORDER)) {
            from += border + 1;
        }
        if let Some(border) = bytes.get(places.last_end..to).and_then(|behind| behind.iter().position(|&byte| byte == RECORD_BORDER)) {
            to = places.last_end + border;
        }
        Window { from: text.floor_char_boundary(from), to: text.ceil_char_boundary(to) }
    }

    /// Shortens to what the budget still allows, and takes that from it. `false` when something had to go.
    pub fn cap(&mut self, text: &str, budget_bytes: &mut usize) -> bool {
        let wanted = self.to.saturating_sub(self.from);
        let allowed = wanted.min(*budget_bytes);
        *budget_bytes -= allowed;
        self.to = text.floor_char_boundary(self.from.saturating_add(allowed));
        allowed == wanted
    }

    /// The bytes of `text` that match.
    pub fn find(&self, text: &str, regex: &Regex) -> Option<Range<usize>> {
        let piece = text.get(self.from..self.to)?;
        let (start, end) = regex.find(&single_spaced(piece)).map(|found| (found.start(), found.end()))?;
        let behind = |offset| self.from + offset_in(piece, offset);
        // The end is that of the last character, not where the next one begins: a run of white space may lie between.
        let last = behind(end.saturating_sub(1));
        Some(behind(start)..text.ceil_char_boundary(last.saturating_add(1)))
    }
}

/// The text with every run of white space as one space.
pub(super) fn single_spaced(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if !letter.is_whitespace() {
            out.push(letter);
        } else if !out.ends_with(' ') {
            out.push(' ');
        }
    }
    out
}

/// Where byte `offset` of the single-spaced text stands in the text itself.
fn offset_in(text: &str, offset: usize) -> usize {
    let mut spaced = 0;
    let mut after_space = false;
    for (at, letter) in text.char_indices() {
        let space = letter.is_whitespace();
        let bytes = match (space, after_space) {
            (true, true) => 0,
            (true, false) => 1,
            (false, _) => letter.len_utf8(),
        };
        if offset < spaced + bytes {
            return at + (offset - spaced);
        }
        spaced += bytes;
        after_space = space;
    }
    text.len()
}
