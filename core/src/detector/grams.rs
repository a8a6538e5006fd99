//! The features of a text: hashed character n-grams inside words and hashed word n-grams, in blocks of some length.
//!
//! Characters as in scikit-learn's `char_wb`: the text in lower case, split at white space, a space on both sides of each word, and of that every
//! run of 3, 4 and 5 characters. Words are runs of letters and digits, alone and with the word before. Characters are told apart by one byte each:
//! ASCII by itself, with every digit read as `0`; others by seven bits of a hash. What an n-gram's bucket is follows from these bytes alone.

use crate::limits::{BLOCK_CHARS, BLOCK_MOST_CHARS};

/// Takes the features of a text, in its order.
pub trait Sink {
    /// The hash of a feature, of which the highest bits count. A table's lower half is for characters, its upper half for words, which are fewer and say more.
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
    let mut reader = Reader { last: SPACE, length: 1, word: 0, before: 0, block: 0, sink };
    if view.is_ascii() {
        view.bytes().enumerate().for_each(|(at, byte)| reader.take(at, ascii(byte)));
    } else {
        view.char_indices().for_each(|(at, letter)| reader.take(at, code(letter)));
    }
    reader.end(view.len());
}

const SPACE: u64 = b' ' as u64;

/// The byte that stands for an ASCII character.
fn ascii(byte: u8) -> u64 {
    u64::from(match byte {
        b'\t'..=b'\r' => b' ',
        b'0'..=b'9' => b'0',
        other => other.to_ascii_lowercase(),
    })
}

/// The byte that stands for a character.
fn code(letter: char) -> u64 {
    let number = u32::from(letter);
    u8::try_from(number).ok().filter(u8::is_ascii).map_or_else(|| u64::from(number).wrapping_mul(SPREAD) >> 57 | 0x80, ascii)
}

/// Spreads a feature of characters over the lower half of all hashes.
fn of_characters(feature: u64) -> u64 {
    feature.wrapping_mul(SPREAD) >> 1
}

/// Spreads a feature of words over the upper half.
fn of_words(feature: u64) -> u64 {
    feature.wrapping_mul(SPREAD) >> 1 | 1 << 63
}

struct Reader<'s, S> {
    /// The last characters of the word with the space in front, the newest in the lowest byte.
    last: u64,
    /// How many characters of it there are.
    length: usize,
    /// Hash of the word of letters and digits so far; 0 between words.
    word: u64,
    /// Hash of the word before, 0 at the start.
    before: u64,
    /// Characters in the block so far.
    block: usize,
    sink: &'s mut S,
}

impl<S: Sink> Reader<'_, S> {
    #[inline]
    fn take(&mut self, at: usize, code: u64) {
        if code == SPACE {
            if self.length > 1 {
                self.next(SPACE);
                (self.last, self.length) = (SPACE, 1);
            }
            return;
        }
        if self.block >= BLOCK_CHARS && (self.length == 1 || self.block >= BLOCK_MOST_CHARS) {
            self.block = 0;
            self.sink.block(at);
        }
        self.next(code);
    }

    /// The next character of a padded word.
    #[inline]
    fn next(&mut self, code: u64) {
        self.block += 1;
        self.length += 1;
        self.last = self.last << 8 | code;
        for (order, (mask, kind)) in LAST.into_iter().zip(KINDS).enumerate() {
            if self.length >= order + 3 {
                self.sink.feature(of_characters(self.last & mask | kind));
            }
        }
        if code >= 0x80 || (code as u8).is_ascii_alphanumeric() {
            self.word = (self.word.rotate_left(5) ^ code).wrapping_mul(SPREAD);
        } else {
            self.word_ends();
        }
    }

    fn word_ends(&mut self) {
        if self.word != 0 {
            self.sink.feature(of_words(self.word ^ KINDS[3]));
            if self.before != 0 {
                self.sink.feature(of_words(self.before.rotate_left(29) ^ self.word ^ KINDS[4]));
            }
            (self.before, self.word) = (self.word, 0);
        }
    }

    fn end(&mut self, length: usize) {
        self.take(length, SPACE);
        if self.block > 0 {
            self.sink.block(length);
        }
    }
}
