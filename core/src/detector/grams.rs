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
    /// What is kept of a word's n-grams until it is known whether it is new.
    type Word: Default;
    /// What is needed to keep them.
    type Table: Copy;
    /// The same for a whole word.
    fn table(&self) -> Self::Table;
    /// An n-gram of characters. It counts if `counts` is all ones, not if it is 0, and if the word turns out to be new.
    fn character(table: Self::Table, word: &mut Self::Word, hash: u64, counts: i32);
    /// A word's characters, or as many of them as stand in the block; the word is new, or stood shortly before.
    fn word(&mut self, word: Self::Word, new: bool);
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

const SPACE: u64 = b' ' as u64;
/// Marks what belongs to a run of letters and digits.
const RUN: u16 = 0x100;

/// The byte that stands for an ASCII character, and [`RUN`]. Control characters are white space, among them the border between records.
static ASCII: [u16; 128] = ascii();

const fn ascii() -> [u16; 128] {
    let mut codes = [0x20; 128];
    let mut rest: &mut [u16] = &mut codes;
    let mut byte = 0_u8;
    while let Some((code, more)) = rest.split_first_mut() {
        *code = match byte {
            0..=b' ' | 0x7f => 0x20,
            b'0'..=b'9' => RUN | 0x30,
            b'A'..=b'Z' | b'a'..=b'z' => RUN | byte.to_ascii_lowercase() as u16,
            _ => byte as u16,
        };
        rest = more;
        byte += 1;
    }
    codes
}

/// What stands for the character at a byte of a text, and its length in bytes; white space behind the end.
#[inline]
fn code(view: &str, at: usize) -> (u16, usize) {
    let Some(&byte) = view.as_bytes().get(at) else { return (0x20, 0) };
    ASCII.get(usize::from(byte)).map_or_else(|| wide(view, at), |&code| (code, 1))
}

/// The same of a character beyond ASCII.
#[inline(never)]
fn wide(view: &str, at: usize) -> (u16, usize) {
    let letter = view.get(at..).and_then(|rest| rest.chars().next()).unwrap_or_default();
    (RUN | 0x80 | (spread(u32::from(letter).into()) >> 57) as u16, letter.len_utf8())
}

fn spread(number: u64) -> u64 {
    number.wrapping_mul(SPREAD)
}

/// A feature of words, in the upper half of all hashes.
fn of_words(feature: u64) -> u64 {
    spread(feature) >> 1 | 1 << 63
}

/// Whether the last five characters are those of one, two or three before: the middle of a repetition.
#[inline]
fn repeats(last: u64) -> bool {
    // It takes six characters, and a space stands in front of them.
    let behind = |bits: u32| (last ^ last >> bits) & LAST[2] == 0;
    last >> 48 != 0 && (behind(8) || behind(16) || behind(24))
}

/// Gives `sink` every feature of `view`, a text in folded form or in ASCII.
pub fn features(view: &str, sink: &mut impl Sink) {
    let mut reader = Reader { view, before: (0, false), runs: Recent::default(), words: Recent::default(), block: 0, sink };
    let mut at = 0;
    while at < view.len() {
        at = reader.word(at);
    }
    if reader.block > 0 {
        reader.sink.block(at);
    }
}

struct Reader<'v, 's, S> {
    view: &'v str,
    /// Hash of the last run of letters and digits, 0 at the start, and whether it was new.
    before: (u64, bool),
    /// The last runs of letters and digits, and the last words.
    runs: Recent,
    words: Recent,
    /// Characters in the block so far.
    block: usize,
    sink: &'s mut S,
}

impl<S: Sink> Reader<'_, '_, S> {
    /// Reads on to the end of the next word, or the next white space when none stands here.
    fn word(&mut self, start: usize) -> usize {
        let (view, table) = (self.view, self.sink.table());
        let (mut code_here, mut width) = code(view, start);
        let mut at = start;
        if code_here == 0x20 {
            return at + width;
        }
        if self.block >= BLOCK_CHARS {
            self.block = 0;
            self.sink.block(at);
        }
        // The last characters of the word with the space in front, the newest in the lowest byte, and how many there are.
        let (mut last, mut length) = (SPACE, 1);
        // With so many the block is full.
        let mut full = BLOCK_MOST_CHARS + length - self.block;
        // Hash of the run of letters and digits so far; 0 between them.
        let mut run = 0_u64;
        let mut word = S::Word::default();
        // An n-gram counts as soon as there are as many characters.
        let mut counts = [0; 3];
        loop {
            let white = code_here == 0x20;
            if length >= full && !white {
                full = BLOCK_MOST_CHARS + length;
                self.sink.word(core::mem::take(&mut word), true);
                self.sink.block(at);
            }
            let byte = u64::from(code_here & 0xff);
            last = last << 8 | byte;
            length += 1;
            if !repeats(last) {
                let mut gram =
                    |order: u64, kind: u64, counts: i32| S::character(table, &mut word, spread(last & order | kind) >> 1, counts);
                gram(LAST[0], KINDS[0], counts[0]);
                gram(LAST[1], KINDS[1], counts[1]);
                gram(LAST[2], KINDS[2], counts[2]);
            }
            counts = [-1, counts[0], counts[1]];
            at += width;
            if code_here & RUN != 0 {
                run = spread(run.rotate_left(5) ^ byte);
            } else {
                if run != 0 {
                    self.run(run);
                    run = 0;
                }
                if white {
                    break;
                }
            }
            (code_here, width) = code(view, at);
        }
        self.block = BLOCK_MOST_CHARS + length - full;
        // The word is told apart by its last characters and its length.
        let new = self.words.is_new(spread(last ^ (length as u64).rotate_left(32)));
        self.sink.word(word, new);
        at
    }

    /// A run of letters and digits ends.
    #[inline(never)]
    fn run(&mut self, run: u64) {
        let (before, before_new) = self.before;
        let new = self.runs.is_new(run);
        if new {
            self.sink.feature(of_words(run ^ KINDS[3]));
        }
        if before != 0 && (new || before_new) {
            self.sink.feature(of_words(before.rotate_left(29) ^ run ^ KINDS[4]));
        }
        self.before = (run, new);
    }
}

/// The last that stood in a text. Who writes one thing over and over shall not be heard the louder.
struct Recent {
    /// In a ring.
    hashes: [u64; RECENT_WORDS],
    /// How many there were, and [`RECENT_WORDS`] + 1.
    count: u32,
    /// The count at the last of those whose hash starts with the same bits. Most often it says that nothing in the ring does.
    counts: [u32; 64],
}

impl Default for Recent {
    fn default() -> Self {
        Recent { hashes: [0; RECENT_WORDS], count: RECENT_WORDS as u32 + 1, counts: [0; 64] }
    }
}

impl Recent {
    /// Whether this is none of the last; from now on it is the last.
    #[inline]
    fn is_new(&mut self, hash: u64) -> bool {
        let Some(count) = self.counts.get_mut((hash >> 58) as usize) else { return true };
        if self.count.wrapping_sub(*count) <= RECENT_WORDS as u32 && self.hashes.contains(&hash) {
            return false;
        }
        *count = self.count;
        if let Some(oldest) = self.hashes.get_mut(self.count as usize % RECENT_WORDS) {
            *oldest = hash;
        }
        self.count = self.count.wrapping_add(1);
        true
    }
}
