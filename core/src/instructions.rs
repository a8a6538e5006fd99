//! Whether a text is like an instruction: what an entry of a memory that nobody vouches for must not be.
//!
//! It is if a pattern of a category or the detector's blocking level says so, or if its wording tells somebody to do something ([`wording()`]). A
//! statement about the world is not, be it true or false: the gate does not judge truth.

pub mod wording;

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;

use crate::judge::{Hint, Judge};
use crate::rules::RuleUse;
use crate::text::{Fold, FoldTable, Folded, decode};
use crate::wire::{Channel, Event};
use wording::Wording;

/// So many letters in a row that stand alone are a word that was taken apart.
const LETTERS: usize = 4;

/// What makes a text like an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Likeness {
    /// A pattern of a category.
    Category,
    /// The detector's score is at its blocking level.
    Detector,
    /// It tells somebody to do something.
    Imperative,
    /// It asks somebody to do something.
    Request,
    /// It says what somebody must do.
    Obligation,
    /// It says when or how often something is to be done.
    Schedule,
    /// It holds more in encodings than is decoded, so nobody knows what it says.
    Undecoded,
}

impl Likeness {
    /// Its name in answers.
    pub const fn name(self) -> &'static str {
        match self {
            Likeness::Category => "category",
            Likeness::Detector => "detector",
            Likeness::Imperative => "imperative",
            Likeness::Request => "request",
            Likeness::Obligation => "obligation",
            Likeness::Schedule => "schedule",
            Likeness::Undecoded => "undecoded",
        }
    }
}

impl Judge<'_> {
    /// What makes `text` like an instruction; `None` for a plain fact. Linear in its length.
    pub fn instruction_like(&self, text: &str) -> Option<Likeness> {
        let event = Event {
            message: None,
            channel: Channel::Other,
            role: None,
            tool: None,
            call_id: None,
            text: text.into(),
            records_at: text.len(),
            strings: Vec::new(),
            trusted: false,
            slot: (0, 0),
            whole: true,
        };
        let scanner = self.scanner(Hint::default(), false);
        let (looked, _) = scanner.look(&[&event]);
        let found = looked.first()?;
        if found.hits.iter().any(|hit| scanner.rule_use(hit.pattern) != RuleUse::Off) {
            return Some(Likeness::Category);
        }
        let over = |detecting: &crate::detected::Detecting<'_>| found.scored.as_ref().is_some_and(|scored| detecting.is_over(scored.score));
        if self.detecting().is_some_and(over) {
            return Some(Likeness::Detector);
        }
        let worded = self.wording().and_then(|lists| wording(text, lists, self.folds()));
        worded.or_else(|| found.undecoded.then_some(Likeness::Undecoded))
    }
}

/// What the wording of `text`, as it stands or decoded, tells somebody to do. Linear in its length.
pub fn wording(text: &str, wording: &Wording<'_>, folds: &FoldTable<'_>) -> Option<Likeness> {
    let find = |text: &str| views(text, folds).iter().find_map(|view| wording.find(view).or_else(|| wording.find(&joined(view)?)));
    let mut found = find(text);
    if found.is_none() {
        decode(text, |decoded| found = found.or_else(|| find(decoded.as_str())));
    }
    found
}

/// `text` folded, with a line break for each break in it: between lines, and where punctuation outside ASCII stands that folding makes a space of. Where
/// characters that show nothing were dropped there is a second one with spaces in their place, for they may part words.
fn views<'e>(text: &'e str, folds: &FoldTable<'_>) -> Vec<Cow<'e, str>> {
    if text.is_ascii() {
        return Vec::from([Cow::Borrowed(text)]);
    }
    let (mut joined, mut parted) = (String::with_capacity(text.len()), String::new());
    let mut broken = false;
    for piece in text.split(|letter| is_break(letter, folds)) {
        let folded = Folded::of(piece, folds);
        broken |= folded.is_broken();
        joined.push_str(folded.as_str());
        joined.push('\n');
        for (at, letter) in folded.as_str().char_indices() {
            if folded.dropped_at(at) {
                parted.push(' ');
            }
            parted.push(letter);
        }
        parted.push('\n');
    }
    let mut views = Vec::from([Cow::Owned(joined)]);
    if broken {
        views.push(Cow::Owned(parted));
    }
    views
}

/// `text` with letters that stand alone, four or more in a row, joined into words: "S e n d it". Where there are none, nothing.
fn joined(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let is_word = |at: usize| bytes.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii());
    // What parts two letters is one sign.
    let alone = |at: usize| {
        let letter = bytes.get(at).is_some_and(u8::is_ascii_alphanumeric);
        letter && !is_word(at + 1) && !at.checked_sub(1).is_some_and(is_word)
    };
    let (mut out, mut kept, mut at) = (String::new(), 0, 0);
    while at < bytes.len() {
        let mut letters = 0;
        while alone(at + 2 * letters) {
            letters += 1;
        }
        if letters >= LETTERS {
            out.push_str(text.get(kept..at).unwrap_or_default());
            out.extend(text.get(at..at + 2 * letters).unwrap_or_else(|| text.get(at..).unwrap_or_default()).chars().step_by(2));
            kept = at + 2 * letters - 1;
        }
        at += (2 * letters).max(1);
    }
    if out.is_empty() {
        return None;
    }
    out.push_str(text.get(kept..).unwrap_or_default());
    Some(out)
}

/// Whether a clause may end at `letter` though folding makes a space of it, or nothing.
fn is_break(letter: char, folds: &FoldTable<'_>) -> bool {
    match letter {
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => true,
        // Apostrophes and hyphens stand within words.
        '\u{2018}' | '\u{2019}' | '\u{2bc}' | '\u{2010}' | '\u{2011}' => false,
        _ => !letter.is_ascii() && !letter.is_whitespace() && folds.fold(letter) == Fold::Separator,
    }
}
