//! The features of a text: hashed character n-grams inside words and hashed word n-grams, in blocks of some length.
//!
//! Characters as in scikit-learn's `char_wb`: the text in lower case, split at white space, a space on both sides of each word, and of that every
//! run of 3, 4 and 5 characters. Words are runs of letters and digits, alone and with the word before. Characters are told apart by one byte each:
//! ASCII by itself, with every digit read as `0`; others by seven bits of a hash. What an n-gram's bucket is follows from these bytes alone.
//!
//! What is repeated counts once: characters of a word that stood among the last few, and the middle of `aaaa` and `abcabc`.

use crate::limits::{BLOCK_CHARS, BLOCK_MOST_CHARS, RECENT_WORDS};

/// Takes the features of a text, in its order. Of a hash the highest bits count: a table's lower half is for characters, its upper half for words, which
/// are fewer and say more.
pub trait Sink {
    /// A feature of characters. It counts if the word that it is of turns out to be new.
    fn character(&mut self, hash: u64);
    /// The word whose characters came ended; it is new, or stood shortly before.
    fn word(&mut self, new: bool);
    /// A feature of words.
    fn feature(&mut self, hash: u64);
    /// A block ended in front of byte `end` of the text: all features since the last belong to it.
    fn block(&mut self, end: usize);
}

/// An odd number with no pattern in its bits: 2^64 divided by the golden ratio (Knuth, The Art of Computer Programming 6.4).
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
/// The last 3, 4 and 5 characters.
const LAST: [u64; 3] = [0xFF_FFFF, 0xFFFF_FFFF, 0xFF_FFFF_FFFF];
/// Tells the orders and kinds of n-grams apart.
const KINDS: [u64; 5] = [1 << 56, 2 << 56, 3 << 56, 4 << 56, 5 << 56];

/// Gives `sink` every feature of `view`, a text in folded form or in ASCII.
pub fn features(view: &str, sink: &mut impl Sink) {
    let (runs, words) = (Recent::default(), Recent::default());
    let mut reader = Reader { last: SPACE, length: 1, run: 0, before: (0, false), runs, words, block: 0, sink };
    if view.is_ascii() {
        view.bytes().enumerate().for_each(|(at, byte)| reader.take(at, ascii(byte)));
    } else {
        view.char_indices().for_each(|(at, letter)| reader.take(at, code(letter)));
    }
    reader.end(view.len());
}

const SPACE: u64 = b' ' as u64;

/// The byte that stands for an ASCII character. Control characters are white space, among them the border between records.
fn ascii(byte: u8) -> u64 {
    u64::from(match byte {
        0..=b' ' | 0x7f => b' ',
        b'0'..=b'9' => b'0',
        other => other.to_ascii_lowercase(),
    })
}

/// The byte that stands for a character.
fn code(letter: char) -> u64 {
    let number = u32::from(letter);
    u8::try_from(number).ok().filter(u8::is_ascii).map_or_else(|| u64::from(number).wrapping_mul(SPREAD) >> 57 | 0x80, ascii)
}

fn spread(number: u64) -> u64 {
    number.wrapping_mul(SPREAD)
}

/// A feature of words, in the upper half of all hashes.
fn of_words(feature: u64) -> u64 {
    spread(feature) >> 1 | 1 << 63
}

struct Reader<'s, S> {
    /// The last characters of the word with the space in front, the newest in the lowest byte.
    last: u64,
    /// How many characters of it there are.
    length: u64,
    /// Hash of the run of letters and digits so far; 0 between them.
    run: u64,
    /// Hash of the run before, 0 at the start, and whether it was new.
    before: (u64, bool),
    /// The last runs of letters and digits, and the last words.
    runs: Recent,
    words: Recent,
    /// Characters in the block so far.
    block: usize,
    sink: &'s mut S,
}

/// The last that stood in a text. Who writes one thing over and over shall not be heard the louder.
#[derive(Default)]
struct Recent {
    hashes: [u64; RECENT_WORDS],
    next: usize,
}

impl Recent {
    /// Whether this is none of the last; from now on it is the last.
    fn is_new(&mut self, hash: u64) -> bool {
        let new = !self.hashes.contains(&hash);
        if new {
            if let Some(oldest) = self.hashes.get_mut(self.next) {
                *oldest = hash;
            }
            self.next = (self.next + 1) % RECENT_WORDS;
        }
        new
    }
}

impl<S: Sink> Reader<'_, S> {
    #[inline]
    fn take(&mut self, at: usize, code: u64) {
        if code == SPACE {
            if self.length > 1 {
                self.next(SPACE);
                self.word();
                (self.last, self.length) = (SPACE, 1);
            }
            return;
        }
        if self.block >= BLOCK_CHARS && (self.length == 1 || self.block >= BLOCK_MOST_CHARS) {
            self.block = 0;
            if self.length > 1 {
                self.sink.word(true);
            }
            self.sink.block(at);
        }
        self.next(code);
    }

    /// The word ends: it is told apart by its last characters and its length.
    fn word(&mut self) {
        let new = self.words.is_new(spread(self.last ^ self.length.rotate_left(32)));
        self.sink.word(new);
    }

    /// The next character of a padded word.
    #[inline]
    fn next(&mut self, code: u64) {
        self.block += 1;
        self.length += 1;
        self.last = self.last << 8 | code;
        let repeats = |period: u32| (self.last ^ self.last >> (8 * period)) & LAST[2] == 0;
        if !(repeats(1) || repeats(2) || repeats(3)) {
            for ((mask, kind), order) in LAST.into_iter().zip(KINDS).zip(3..) {
                if self.length >= order {
                    self.sink.character(spread(self.last & mask | kind) >> 1);
                }
            }
        }
        if code >= 0x80 || (code as u8).is_ascii_alphanumeric() {
            self.run = spread(self.run.rotate_left(5) ^ code);
        } else if self.run != 0 {
            self.run_ends();
        }
    }

    fn run_ends(&mut self) {
        let (before, before_new) = self.before;
        let new = self.runs.is_new(self.run);
        if new {
            self.sink.feature(of_words(self.run ^ KINDS[3]));
        }
        if before != 0 && (new || before_new) {
            self.sink.feature(of_words(before.rotate_left(29) ^ self.run ^ KINDS[4]));
        }
        (self.before, self.run) = ((self.run, new), 0);
    }

    fn end(&mut self, length: usize) {
        self.take(length, SPACE);
        if self.block > 0 {
            self.sink.block(length);
        }
    }
}
