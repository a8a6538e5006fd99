//! Phrases: whether a whole pattern ends where its last letters do. Read backwards, in the text as it stands.

use alloc::vec::Vec;

use super::category::PatternInfo;
use super::letters::{BORDER, RECORD, is_separator, letter};
use crate::limits::{MAX_GAP_WORD_BYTES, MAX_PHRASE_STEPS, SEPARATORS_AROUND};
use crate::text::{Folded, View};

/// Instructions of a phrase's program, which is the pattern from its end to its start. Any other byte is a letter, a digit, or a character that must stand
/// among the separators.
pub mod op {
    /// The phrase is complete.
    pub const END: u8 = 0;
    /// Go on behind this instruction; if that fails, at the offset in the two bytes that follow (low byte first), counted from behind them.
    pub const SPLIT: u8 = 1;
    /// Go on at the offset in the two bytes that follow.
    pub const JUMP: u8 = 2;
    /// One of several texts, then on at the offset in the two bytes that follow. Each is its length in a byte and its letters and separators.
    pub const ANY: u8 = 5;
    /// At most as many words as the byte that follows says may stand here. The eight bytes behind it (low byte first) have a bit for the [`super::pair`] of the
    /// last two letters of each word that may stand before them.
    pub const GAP: u8 = 3;
    /// The byte that follows must stand among the separators behind the phrase.
    pub const BEHIND: u8 = 4;
    /// A word begins behind this place: in the usual spelling a separator stands here.
    pub const SPACE: u8 = b' ';
    /// Separators may stand here in the usual spelling.
    pub const MAYBE: u8 = b'\'';
}

/// The bit for two letters, the last one second.
pub const fn pair(letter: u8, last: u8) -> u64 {
    1 << ((letter as u32 * 29 + last as u32) % u64::BITS)
}

/// What a word counts in a gap. A letter that stands alone counts one, since letters that are set apart do, and so does a part of a word that no space sets
/// apart.
const WORD: u32 = 7;
/// What a gap holds beside its words: parts of words that were broken, but not one word more.
const SPARE: u32 = 4;

/// Where a phrase stands in a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Offset of its first letter.
    pub start: usize,
    /// [`View::Folded`] if it is spelt as usual, else [`View::Squashed`].
    pub view: View,
}

/// A place to try: where in the program, how much of the text is unread, and whether the spelling was odd so far.
#[derive(Clone, Copy, Debug)]
struct Try {
    at: usize,
    unread: usize,
    odd: bool,
    /// Whether the last letter read and the next one stand in one word of the pattern.
    inside: bool,
}

/// Matches programs in one view of a text.
#[derive(Debug)]
pub struct Reader<'v> {
    text: &'v [u8],
    folded: &'v Folded<'v>,
    /// Kept between calls for its memory.
    tries: Vec<Try>,
    /// The last answer of `word_end`: alternatives ask it again.
    last_word_end: (usize, usize),
    /// What stands before the starts of pieces that were last asked for: the patterns that end at one place mostly ask for the same.
    words: [Words; 4],
}

/// The places before a piece where a gap may end, from the piece on.
#[derive(Clone, Debug, Default)]
struct Words {
    /// Where the piece begins.
    from: usize,
    places: Vec<Place>,
}

/// A place where the piece before a gap may end.
#[derive(Clone, Copy, Debug)]
struct Place {
    unread: usize,
    /// The bits of the last two letters before it.
    pairs: u64,
    /// What the words behind it count.
    cost: u32,
}

impl<'v> Reader<'v> {
    /// A reader of `folded`.
    pub fn new(folded: &'v Folded<'v>) -> Self {
        Reader { text: folded.as_str().as_bytes(), folded, tries: Vec::new(), last_word_end: (0, 0), words: Default::default() }
    }

    /// Looks for the phrase of `pattern` whose last piece stands at `start..end`, where a word ends. Of several the one that is spelt as usual, and of
    /// those the one that begins last.
    ///
    /// Takes at most [`MAX_PHRASE_STEPS`] steps, of a length that the longest gap bounds; a phrase that needs more is none.
    pub fn find(&mut self, pattern: &PatternInfo<'_>, start: usize, end: usize) -> Option<Found> {
        if !is_border(self.folded, start) {
            return None;
        }
        // Mostly it is the piece before that does not stand there.
        let gap = usize::from(pattern.gap_at);
        if gap > 0 {
            self.run(pattern.program, Try { at: gap, unread: start, odd: false, inside: false }, end)?;
        }
        self.run(pattern.program, Try { at: 0, unread: end, odd: false, inside: false }, end)
    }

    /// Runs a program from `first` on, for a phrase that ends at `end`.
    fn run(&mut self, program: &[u8], first: Try, end: usize) -> Option<Found> {
        let mut best: Option<Found> = None;
        self.tries.clear();
        self.tries.push(first);
        let mut steps = 0;
        while let Some(mut now) = self.tries.pop() {
            loop {
                steps += 1;
                if steps > MAX_PHRASE_STEPS {
                    return best;
                }
                let Some(&code) = program.get(now.at) else { return best };
                now.at += 1;
                match code {
                    op::END => {
                        let found = Found { start: now.unread, view: if now.odd { View::Squashed } else { View::Folded } };
                        let rank = |found: &Found| (found.view == View::Folded, found.start);
                        if is_border(self.folded, now.unread) && best.as_ref().is_none_or(|best| rank(best) < rank(&found)) {
                            best = Some(found);
                        }
                        break;
                    }
                    op::SPLIT => {
                        let (behind, other) = target(program, now.at);
                        self.tries.push(Try { at: other, ..now });
                        now.at = behind;
                    }
                    op::JUMP => now.at = target(program, now.at).1,
                    op::GAP => {
                        let words = program.get(now.at).copied().unwrap_or(0);
                        let pairs = program.get(now.at + 1..).and_then(|rest| rest.first_chunk()).copied().unwrap_or_default();
                        now.at += 9;
                        self.gap(now, u32::from(words), u64::from_le_bytes(pairs));
                        break;
                    }
                    op::ANY => {
                        let (mut at, behind) = target(program, now.at);
                        while let Some((&length, text)) = program.get(at..behind).and_then(<[u8]>::split_first) {
                            let text = text.get(..usize::from(length)).unwrap_or_default();
                            let mut one = Try { at: behind, ..now };
                            steps += 1;
                            if text.iter().all(|&code| self.step(code, &mut one)) {
                                self.tries.push(one);
                            }
                            at += 1 + text.len();
                        }
                        break;
                    }
                    op::BEHIND => {
                        let wanted = program.get(now.at).copied().unwrap_or(0);
                        now.at += 1;
                        if !self.behind(end).contains(&wanted) {
                            break;
                        }
                    }
                    _ => {
                        if !self.step(code, &mut now) {
                            break;
                        }
                    }
                }
            }
        }
        best
    }

    /// Reads one letter, or what must or may stand between letters. `false` if it does not stand there.
    fn step(&mut self, code: u8, now: &mut Try) -> bool {
        match code {
            op::SPACE => {
                now.odd |= !self.before(now.unread).is_some_and(is_separator) && !self.folded.dropped_at(now.unread);
                now.inside = false;
            }
            op::MAYBE => now.inside = false,
            _ if code.is_ascii_alphanumeric() => {
                let Some(unread) = self.letter(code, now.unread) else { return false };
                now.odd |= now.inside && unread + 1 != now.unread;
                now.inside = true;
                now.unread = unread;
            }
            _ => {
                now.inside = false;
                return self.separators(now.unread).contains(&code);
            }
        }
        true
    }

    /// Where the letter begins that is `code` in any case and stands before `unread`, separators aside.
    fn letter(&mut self, code: u8, unread: usize) -> Option<usize> {
        let at = self.word_end(unread).checked_sub(1)?;
        self.text.get(at).filter(|byte| byte.eq_ignore_ascii_case(&code)).map(|_| at)
    }

    /// Where the last word before `unread` ends, however far that is: what stands between is passed over by few phrases, since each is bounded.
    fn word_end(&mut self, unread: usize) -> usize {
        if self.last_word_end.0 != unread {
            let before = self.text.get(..unread).unwrap_or_default();
            self.last_word_end = (unread, before.iter().rposition(|&byte| !is_separator(byte)).map_or(0, |last| last + 1));
        }
        self.last_word_end.1
    }

    /// The separators before `unread`, as far as they are looked at.
    fn separators(&self, unread: usize) -> &'v [u8] {
        let near = self.text.get(unread.saturating_sub(SEPARATORS_AROUND)..unread).unwrap_or_default();
        let length = near.iter().rev().take_while(|&&byte| is_separator(byte)).count();
        near.get(near.len() - length..).unwrap_or_default()
    }

    /// The separators from `end` on, as far as they are looked at.
    fn behind(&self, end: usize) -> &'v [u8] {
        let rest = self.text.get(end..).unwrap_or_default();
        let length = rest.iter().take(SEPARATORS_AROUND).take_while(|&&byte| is_separator(byte)).count();
        rest.get(..length).unwrap_or_default()
    }

    /// Tries to go on before each of the words that the gap may hold, and first with none.
    fn gap(&mut self, mut now: Try, words: u32, pairs: u64) {
        now.inside = false;
        if !is_border(self.folded, now.unread) {
            return;
        }
        let most = words * WORD + SPARE;
        let slot = now.unread % self.words.len();
        let Some(mut known) = self.words.get_mut(slot).map(core::mem::take) else { return };
        if known.from != now.unread || known.places.is_empty() {
            known.from = now.unread;
            known.places.clear();
            known.places.push(Place { unread: now.unread, pairs: self.last_pair(now.unread), cost: 0 });
        }
        while let Some(&last) = known.places.last().filter(|last| last.cost <= most) {
            let Some(next) = self.word_before(last) else { break };
            known.places.push(next);
        }
        // The last one pushed is tried first: that is to be the one with the fewest words.
        let fitting = known.places.iter().filter(|place| place.cost <= most && place.pairs & pairs != 0);
        self.tries.extend(fitting.rev().map(|place| Try { unread: place.unread, ..now }));
        if let Some(slot) = self.words.get_mut(slot) {
            *slot = known;
        }
    }

    /// The place before the next word; `None` where there is none, or a word too long for one.
    fn word_before(&mut self, place: Place) -> Option<Place> {
        let end = self.word_end(place.unread);
        let length = self.word_length(end);
        if length == 0 || length == MAX_GAP_WORD_BYTES {
            return None;
        }
        let spaced = self.text.get(end..place.unread).unwrap_or_default().iter().any(|byte| matches!(byte, b' ' | b'\t'));
        let unread = end - length;
        let cost = place.cost + if spaced && length > 1 { WORD } else { 1 };
        Some(Place { unread, pairs: self.last_pair(unread), cost })
    }

    /// The bits of the last two letters before `unread`; every bit if there is no second one.
    fn last_pair(&mut self, unread: usize) -> u64 {
        let end = self.word_end(unread);
        let Some(&last) = end.checked_sub(1).and_then(|at| self.text.get(at)) else { return 0 };
        let before =
            self.text.get(..end - 1).and_then(|before| before.iter().rev().take(SEPARATORS_AROUND).find(|&&byte| !is_separator(byte)));
        before.map_or(u64::MAX, |&before| pair(letter(before), letter(last)))
    }

    /// Length of the word that ends at `end`, as far as it is looked at.
    fn word_length(&self, end: usize) -> usize {
        let word = self.text.get(end.saturating_sub(MAX_GAP_WORD_BYTES)..end).unwrap_or_default();
        let inside = |&(length, &byte): &(usize, &u8)| {
            !is_separator(byte) && byte != BORDER && (length == 0 || !self.folded.dropped_at(end - length))
        };
        (0..).zip(word.iter().rev()).take_while(inside).count()
    }

    fn before(&self, at: usize) -> Option<u8> {
        at.checked_sub(1).and_then(|before| self.text.get(before)).copied()
    }
}

/// The instruction behind the operand at `at`, and the one that it names.
fn target(program: &[u8], at: usize) -> (usize, usize) {
    let low = program.get(at).copied().unwrap_or(0);
    let high = program.get(at + 1).copied().unwrap_or(0);
    (at + 2, at + 2 + usize::from(u16::from_le_bytes([low, high])))
}

/// Whether a word may begin or end at byte `at` of a view: at its sides, beside a separator, a letter outside ASCII (Chinese and Japanese put no space there)
/// or a record's border, and where something that shows nothing stood.
pub(super) fn is_border(view: &Folded<'_>, at: usize) -> bool {
    let text = view.as_str().as_bytes();
    let outside = |byte: Option<&u8>| byte.is_none_or(|&byte| letter(byte) <= RECORD);
    outside(at.checked_sub(1).and_then(|before| text.get(before))) || outside(text.get(at)) || view.dropped_at(at)
}
