//! The wording of instructions: what a text says to do, found by lists of phrases and a small memory of where in a clause a word stands.
//!
//! One pass over the words, no allocation, linear: a word is looked up once, and a phrase is at most [`MAX_PHRASE_WORDS`] words long. Which
//! phrases there are, and why, is data: `rules/instructions.toml`.

use core::cmp::Ordering;

use super::Likeness;

/// Most words of a phrase.
pub const MAX_PHRASE_WORDS: usize = 8;
/// So many words, itself counted, a duty stays open for a passive: "must, whatever its size, be forwarded".
const DUTY_WORDS: u8 = 7;
/// So many words behind the passive what is done may come: "be simultaneously and silently forwarded".
const DONE_WORDS: u8 = 4;
/// A comma behind so few words ends an opening or an address, and what follows is a clause of its own: "Dear assistant, send ...".
const OPENING_WORDS: u32 = 4;
/// So many words behind a verb are looked at for what makes a noun of it, or a command.
const AHEAD_WORDS: u32 = 7;
/// Within so many of them a verb that is rarely a noun can be shown to be one: "Share price in May rose".
const COMPOUND_WORDS: u32 = 4;

/// What a phrase can be in a clause; a phrase may have several roles.
pub mod role {
    /// A verb that tells somebody to do something where a clause begins with it.
    pub const VERB: u32 = 1;
    /// The same if an [`OBJECT`] follows; alone it is rather a noun.
    pub const NOUN_OR_VERB: u32 = 1 << 1;
    /// Begins what a verb acts on.
    pub const OBJECT: u32 = 1 << 2;
    /// May stand before a clause's verb.
    pub const LEAD: u32 = 1 << 3;
    /// Opens a condition or a time where a clause begins with it; its comma, or a word of [`TIME`] in it, lets a clause begin.
    pub const CONDITION: u32 = 1 << 4;
    /// A day, an hour, and what else a time ends with.
    pub const TIME: u32 = 1 << 5;
    /// Whom instructions are for: what a duty is, if it is theirs.
    pub const PARTY: u32 = 1 << 6;
    /// The same only where a sentence begins with it: a rule for everything.
    pub const UNIVERSAL: u32 = 1 << 7;
    /// Must, shall and the like.
    pub const DUTY: u32 = 1 << 8;
    /// Between a duty and what is done: a passive.
    pub const BE: u32 = 1 << 9;
    /// What an agent can do, as a participle: with a duty and a passive it is an instruction to whoever can do it.
    pub const DONE: u32 = 1 << 10;
    /// A request, wherever it stands.
    pub const REQUEST: u32 = 1 << 11;
    /// A request where a clause begins with it.
    pub const REQUEST_AT_START: u32 = 1 << 12;
    /// An obligation, wherever it stands.
    pub const OBLIGATION: u32 = 1 << 13;
    /// The name of a rule, if a colon follows.
    pub const KEY: u32 = 1 << 14;
    /// A schedule where a clause begins with it.
    pub const SCHEDULE: u32 = 1 << 15;
    /// Right behind a verb it shows that the verb is a noun there.
    pub const FINITE: u32 = 1 << 16;
    /// The same some words behind, unless an [`OBJECT`] stands between. An infinitive in the same clause is no command either.
    pub const PREDICATE: u32 = 1 << 17;
    /// Leads from what a verb that [`MOVES`] acts on to where that goes, or whence.
    pub const TARGET: u32 = 1 << 18;
    /// What is worth taking or paying: acted on where it ends a clause that began with a [`NOUN_OR_VERB`], or a [`TARGET`] follows.
    pub const GOODS: u32 = 1 << 19;
    /// Begins what is given, behind the one it is given to: "Email Eve the report".
    pub const DETERMINER: u32 = 1 << 20;
    /// A verb that commands as the last word of its clause.
    pub const LAST: u32 = 1 << 21;
    /// Wherever it stands, a command's verb may come behind it.
    pub const OPENS: u32 = 1 << 22;
    /// Who, if they have a duty to do what an agent can, is told to.
    pub const STAFF: u32 = 1 << 23;
    /// Somebody's wish: with a [`DONE`] it is an instruction.
    pub const WISH: u32 = 1 << 24;
    /// The key of a value that is to be done, if a colon follows.
    pub const ACTION: u32 = 1 << 25;
    /// None of the others, though it begins like one.
    pub const PLAIN: u32 = 1 << 26;
    /// A [`NOUN_OR_VERB`] that moves or changes money or data: a command if something stands between it and a [`TARGET`].
    pub const MOVES: u32 = 1 << 27;
}

/// A phrase with its roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phrase<'t> {
    /// Folded words with one space between them: lower case, no accents, what an apostrophe parts apart.
    pub words: &'t str,
    /// Bits of [`role`].
    pub roles: u32,
}

/// All phrases, ascending by their words, each once.
#[derive(Clone, Copy, Debug)]
pub struct Wording<'t> {
    /// In the order of their bytes.
    pub phrases: &'t [Phrase<'t>],
}

impl Wording<'_> {
    /// The first thing in `text` that tells somebody to do something. `text` is folded, or ASCII in any case; line breaks are there. Linear.
    pub fn find(&self, text: &str) -> Option<Likeness> {
        let text = text.as_bytes();
        let mut clause = Clause { start: true, ..Clause::default() };
        let mut at = 0;
        while let Some(&byte) = text.get(at) {
            if !is_word(byte) {
                at += clause.mark(text, at);
                continue;
            }
            let found = self.longest(text, at);
            if let Some(likeness) = clause.word(text, at, found, || self.commands(text, found)) {
                return Some(likeness);
            }
            at = found.end;
        }
        None
    }

    /// The longest phrase that begins with the word at `at`; a word that is in no phrase has no roles.
    fn longest(&self, text: &[u8], at: usize) -> Found {
        let end = word_end(text, at);
        let word = text.get(at..end).unwrap_or_default();
        let from = self.phrases.partition_point(|phrase| first_word(phrase, word) == Ordering::Less);
        let mut found = Found { end, roles: 0 };
        for phrase in self.phrases.get(from..).unwrap_or_default() {
            if first_word(phrase, word) != Ordering::Equal {
                break;
            }
            // Ascending, so a longer one comes behind its own beginning.
            if let Some(end) = rest_matches(text, end, phrase.words.as_bytes().get(word.len()..).unwrap_or_default()) {
                found = Found { end, roles: phrase.roles };
            }
        }
        found
    }

    /// Whether what was found is a verb that commands, where a clause begins with it.
    fn commands(&self, text: &[u8], found: Found) -> bool {
        if found.roles & (role::VERB | role::NOUN_OR_VERB) == 0 {
            return false;
        }
        // With a hyphen, or an underscore that ends no emphasis, it is rather a part of another word.
        let part = match text.get(found.end..) {
            Some([b'_', after, ..]) => is_word(*after) || *after == b'_',
            Some([b'-', ..]) => true,
            _ => false,
        };
        let alone = found.roles & role::VERB != 0 && !part;
        (!alone && self.object_follows(text, found.end)) || self.acts(text, found, alone)
    }

    /// Whether what follows is what a verb acts on: a word for it, an amount, a number to call, an address or a path.
    fn object_follows(&self, text: &[u8], end: usize) -> bool {
        let Some((next, marked)) = gap(text, end) else { return false };
        let behind = text.get(word_end(text, next)..).unwrap_or_default();
        marked
            || self.longest(text, next).roles & role::OBJECT != 0
            || match behind {
                [b'@', ..] => true,
                [b'.', after, ..] => is_word(*after) && !is_number(text, next),
                _ => false,
            }
    }

    /// Looks at the next [`AHEAD_WORDS`] words of the clause. A verb `alone` commands unless they make a noun of it. Any other does if they say what
    /// becomes of something, and to whom or what.
    fn acts(&self, text: &[u8], verb: Found, alone: bool) -> bool {
        let (mut acted_on, mut goods, mut end) = (alone, false, verb.end);
        for words in 0..AHEAD_WORDS {
            let Some((next, _)) = gap(text, end) else { break };
            let found = self.longest(text, next);
            let is = |role| found.roles & role != 0;
            let joint = is(role::TARGET | role::CONDITION);
            if is(role::PREDICATE) || (words == 0 && is(role::FINITE)) {
                return false;
            }
            if alone {
                if joint || is(role::OBJECT | role::LEAD) || words + 1 >= COMPOUND_WORDS {
                    return true;
                }
            } else if words == 0 && joint {
                return false;
            } else if (goods && (joint || is(role::DETERMINER)))
                || (verb.roles & role::MOVES != 0 && (is(role::TARGET) || (words == 1 && is(role::DETERMINER))))
            {
                // Something must be there.
                acted_on |= gap(text, found.end).is_some();
            }
            // Somebody's: "Reset Bob's password".
            acted_on |= words == 0 && matches!(text.get(found.end..), Some([b'\'', b's' | b'S', b' ', ..]));
            goods = is(role::GOODS);
            // Names of hosts and files, and numbers with a point.
            end = if goods { found.end } else { name_end(text, found.end) };
        }
        acted_on || (goods && clause_ends(text, end))
    }
}

/// A phrase that was found.
#[derive(Clone, Copy)]
struct Found {
    /// Offset behind it.
    end: usize,
    roles: u32,
}

/// Where in a sentence the scan is.
#[derive(Default)]
struct Clause {
    /// The next word may be the verb of a command.
    start: bool,
    /// Words since the last hard start.
    words: u32,
    /// A condition or time is open.
    condition: bool,
    /// The sentence named whom instructions are for.
    party: bool,
    /// Words for which a duty is still open.
    duty: u8,
    /// A passive came behind the duty.
    passive: bool,
    /// Line breaks since the last word.
    lines: u8,
    /// The sentence named people who work.
    staff: bool,
    /// The clause has a verb with a subject, so that an infinitive commands nobody.
    predicate: bool,
    /// The last word was the key of what is to be done.
    action: bool,
}

impl Clause {
    /// Takes in the byte at `at`, which is of no word; gives the number of bytes that it is with what follows.
    fn mark(&mut self, text: &[u8], at: usize) -> usize {
        let before = at.checked_sub(1).and_then(|at| text.get(at)).copied().unwrap_or(b'\n');
        let after = text.get(at + 1).copied().unwrap_or(b'\n');
        let byte = text.get(at).copied().unwrap_or_default();
        match byte {
            // In the middle of a name or number too: nobody needs the space behind a full stop to read on.
            b'.' | b'!' | b'?' => {
                if is_word(after) {
                    self.begin();
                } else {
                    *self = Clause { start: true, lines: self.lines, ..Clause::default() };
                }
            }
            b'\n' | b'\r' | 0x0b | 0x0c => {
                self.lines = self.lines.saturating_add(u8::from(byte != b'\r'));
                if self.lines > 1 {
                    *self = Clause { lines: self.lines, ..Clause::default() };
                }
                self.begin();
            }
            // A line break as JSON and code write it.
            b'\\' if matches!(after, b'n' | b'r' | b't') => {
                self.begin();
                return 2;
            }
            b':' | b';' | b'(' | b'[' | b'{' | b'<' | b'>' | b'|' | b'=' => self.begin(),
            // Quotes that open; single ones are rather for what somebody is called, unless something announces them.
            b'"' if !is_word(before) && is_word(after) => self.begin(),
            b'\'' if is_word(after) && announced(text, at) => self.begin(),
            b'-' | b'/' | b'&' | b'*' if !is_word(before) && !is_word(after) => self.begin(),
            b'`' | b'#' if !is_word(before) => self.begin(),
            b'_' if before == b' ' => self.begin(),
            b',' if self.condition || self.words <= OPENING_WORDS => self.start = true,
            b')' if self.words <= 1 || is_mark_of_item(text, at) => self.begin(),
            _ => {}
        }
        1
    }

    fn begin(&mut self) {
        (self.start, self.words, self.duty, self.predicate) = (true, 0, 0, false);
    }

    /// Takes in the word or phrase at `at`. `commands` says whether it commands where a clause begins.
    fn word(&mut self, text: &[u8], at: usize, found: Found, commands: impl Fn() -> bool) -> Option<Likeness> {
        let is = |role| found.roles & role != 0;
        let first = self.words == 0;
        let start = core::mem::replace(&mut self.start, false);
        let action = core::mem::take(&mut self.action);
        self.lines = 0;
        if is(role::OBLIGATION) || (is(role::KEY) && self.words < OPENING_WORDS && colon_follows(text, found.end)) {
            return Some(Likeness::Obligation);
        }
        if is(role::REQUEST) || (start && is(role::REQUEST_AT_START)) {
            return Some(Likeness::Request);
        }
        if start && is(role::SCHEDULE) {
            return Some(Likeness::Schedule);
        }
        let commands = if is_quoted(text, at, found.end) {
            start && action && is(role::VERB | role::NOUN_OR_VERB)
        } else {
            (start && commands()) || (is(role::LAST) && !first && !self.predicate && clause_ends(text, found.end))
        };
        if commands {
            return Some(if self.condition { Likeness::Schedule } else { Likeness::Imperative });
        }
        self.predicate |= is(role::PREDICATE);
        self.action = is(role::ACTION) && colon_follows(text, found.end);
        self.staff |= is(role::STAFF);
        self.party |= is(role::PARTY) || (first && is(role::UNIVERSAL));
        if is(role::DUTY) {
            if self.party {
                return Some(Likeness::Obligation);
            }
            (self.duty, self.passive) = (DUTY_WORDS, false);
        }
        if is(role::WISH) {
            (self.duty, self.passive) = (DUTY_WORDS, true);
        }
        if self.duty > 0 && self.passive && is(role::DONE) {
            return Some(Likeness::Obligation);
        }
        self.duty = self.duty.saturating_sub(1);
        if self.duty > 0 && is(role::BE) {
            (self.duty, self.passive) = (DONE_WORDS, true);
        }
        self.condition |= start && is(role::CONDITION);
        let number = text.get(at..found.end).is_some_and(|word| word.iter().all(u8::is_ascii_digit));
        let opens = is(role::OPENS) || (self.staff && is(role::DUTY));
        self.start = opens || start && (number || is(role::LEAD)) || self.condition && (number || is(role::TIME));
        self.words = self.words.saturating_add(u32::from(!(start && self.start)));
        None
    }
}

/// Whether a colon follows, perhaps behind a closing quote or mark.
fn colon_follows(text: &[u8], end: usize) -> bool {
    let rest = text.get(end..).unwrap_or_default();
    rest.iter().find(|byte| !matches!(byte, b' ' | b'"' | b'\'' | b'*' | b'_' | b'`')) == Some(&b':')
}

/// Whether what ends here is all that its quotes hold: a key or a value of JSON, or a word that is spoken of.
fn is_quoted(text: &[u8], at: usize, end: usize) -> bool {
    text.get(end).is_some_and(|mark| matches!(mark, b'"' | b'`') && at.checked_sub(1).and_then(|at| text.get(at)) == Some(mark))
}

/// Whether the parenthesis at `at` closes a number or a letter that stands alone: "2) send it".
fn is_mark_of_item(text: &[u8], at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    let item = before.iter().rev().take(3).take_while(|byte| is_word(**byte)).count();
    let word = before.get(at - item..).unwrap_or_default();
    (item == 1 || (item == 2 && word.iter().all(u8::is_ascii_digit))) && before.iter().rev().nth(item) != Some(&b'(')
}

/// Where the next word of the clause begins behind the word that ends at `end`, and whether what stands before it marks an amount, a number to call,
/// an address or a path. `None` where the clause ends.
fn gap(text: &[u8], end: usize) -> Option<(usize, bool)> {
    let (mut next, mut marked) = (end, false);
    loop {
        match text.get(next)? {
            b'$' | b'@' | b'+' | b'/' | b'~' => marked = true,
            b' ' | b'\t' | b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'*' | b'_' | b'<' | b'[' | b'(' | b'-' => {}
            byte => return (is_word(*byte) || marked).then_some((next, marked)),
        }
        next += 1;
    }
}

/// Whether nothing of the clause follows.
fn clause_ends(text: &[u8], end: usize) -> bool {
    let mut rest = text.get(end..).unwrap_or_default().iter().skip_while(|byte| matches!(byte, b' ' | b'"' | b'\'' | b'*' | b'_' | b'`'));
    rest.next().is_none_or(|byte| matches!(byte, b'.' | b'!' | b',' | b';' | b'\n' | b'\r' | b')' | b'}'))
}

/// Where a name with points or an at sign in it ends, whose first word ends at `end`. Looks at no more than a few parts.
fn name_end(text: &[u8], mut end: usize) -> usize {
    for _ in 0..MAX_PHRASE_WORDS {
        match text.get(end..) {
            Some([b'.' | b'@' | b'\'' | b',', after, ..]) if is_word(*after) => end = word_end(text, end + 1),
            _ => break,
        }
    }
    end
}

fn is_number(text: &[u8], at: usize) -> bool {
    text.get(at..word_end(text, at)).is_some_and(|word| word.iter().all(u8::is_ascii_digit))
}

/// Whether a line or punctuation ends before the quote at `at`, but for spaces.
fn announced(text: &[u8], at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default().iter().rev();
    before.copied().find(|byte| *byte != b' ').is_none_or(|byte| !is_word(byte) && byte != b'\'')
}

/// Letters and digits; what folding left outside ASCII is a letter.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80
}

fn word_end(text: &[u8], at: usize) -> usize {
    at + text.get(at..).unwrap_or_default().iter().take_while(|byte| is_word(**byte)).count()
}

/// How the first word of a phrase compares to `word`, in lower case.
fn first_word(phrase: &Phrase<'_>, word: &[u8]) -> Ordering {
    let words = phrase.words.as_bytes();
    for (at, byte) in word.iter().enumerate() {
        // A space is before any letter.
        let order = words.get(at).copied().unwrap_or(b' ').cmp(&byte.to_ascii_lowercase());
        if order != Ordering::Equal {
            return order;
        }
    }
    if words.get(word.len()).is_none_or(|byte| *byte == b' ') { Ordering::Equal } else { Ordering::Greater }
}

/// Whether the words of `rest`, each with a space before it, are those from `at`, and where they end.
fn rest_matches(text: &[u8], mut at: usize, rest: &[u8]) -> Option<usize> {
    for &expected in rest {
        if expected == b' ' {
            let gap = text.get(at..)?.iter().take_while(|byte| !is_word(**byte));
            let mut width = 0;
            for byte in gap {
                // A clause does not go on behind these.
                if matches!(byte, b'.' | b'!' | b'?' | b';' | b':' | b',' | b'(' | b')') {
                    return None;
                }
                width += 1;
            }
            if width == 0 {
                return None;
            }
            at += width;
        } else {
            if text.get(at)?.to_ascii_lowercase() != expected {
                return None;
            }
            at += 1;
        }
    }
    text.get(at).is_none_or(|byte| !is_word(*byte)).then_some(at)
}

#[cfg(test)]
mod tests;
