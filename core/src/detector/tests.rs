//! The features by a slow and obvious way, scores that can be worked out on paper, and what a broken model gives.

use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::grams::{Sink, features};
use super::*;
use crate::limits::{BLOCK_CHARS, BLOCK_MOST_CHARS, CHUNK_BLOCKS, RECENT_WORDS};

/// Collects features and blocks.
#[derive(Debug, Default, PartialEq)]
struct Found {
    features: Vec<u64>,
    /// Features of all blocks so far, and the byte that the block ends at.
    blocks: Vec<(usize, usize)>,
}

impl Sink for Found {
    type Word = Vec<u64>;

    type Table = ();

    fn table(&self) {}

    fn character((): (), word: &mut Vec<u64>, hash: u64, counts: i32) {
        match counts {
            -1 => word.push(hash),
            none => assert_eq!(none, 0),
        }
    }

    fn word(&mut self, mut word: Vec<u64>, new: bool) {
        if new {
            self.features.append(&mut word);
        }
    }

    fn feature(&mut self, hash: u64) {
        self.features.push(hash);
    }

    fn block(&mut self, end: usize) {
        self.blocks.push((self.features.len(), end));
    }
}

const GOLDEN: u128 = 0x9E37_79B9_7F4A_7C15;

fn times(number: u64) -> u64 {
    (u128::from(number) * GOLDEN % (1 << 64)) as u64
}

fn byte_of(letter: char) -> u8 {
    match letter {
        '0'..='9' => b'0',
        letter if letter.is_ascii() => letter.to_ascii_lowercase() as u8,
        other => 128 + (times(u64::from(u32::from(other))) >> 57) as u8,
    }
}

/// The last `RECENT_WORDS` different ones before.
fn is_new<T: PartialEq + Copy>(recent: &mut Vec<T>, one: T) -> bool {
    let new = !recent.iter().rev().take(RECENT_WORDS).any(|other| *other == one);
    if new {
        recent.push(one);
    }
    new
}

/// The features of a text that is one block: each new word's n-grams as scikit-learn's `char_wb` lists them, then words and pairs of them. Sorted.
fn naive(text: &str) -> Vec<u64> {
    let mut hashes = Vec::new();
    let (mut words, mut runs, mut all_runs) = (Vec::new(), Vec::new(), Vec::new());
    let white = |letter: char| letter.is_ascii_control() || letter == ' ';
    for word in text.split(white).filter(|word| !word.is_empty()) {
        let mut padded = vec![b' '];
        padded.extend(word.chars().map(byte_of));
        padded.push(b' ');
        let end: Vec<u8> = padded.iter().rev().take(8).copied().collect();
        let mut identity = [0; 8];
        identity[..end.len()].copy_from_slice(&end);
        if is_new(&mut words, (identity, padded.len())) {
            for (order, kind) in [(3, 1_u64), (4, 2), (5, 3)] {
                for (start, gram) in padded.windows(order).enumerate() {
                    // Five characters that are those of one, two or three before are the middle of a repetition.
                    let behind = start + order;
                    let five = |back: usize| behind.checked_sub(5 + back).map(|first| &padded[first..behind - back]);
                    if (1..=3).any(|back| five(back).is_some() && five(back) == five(0)) {
                        continue;
                    }
                    let number = gram.iter().fold(0, |number, byte| number * 256 + u64::from(*byte));
                    hashes.push(times(number + (kind << 56)) / 2);
                }
            }
        }
        let parts = padded.split(|byte| byte.is_ascii() && !byte.is_ascii_alphanumeric());
        for part in parts.filter(|part| !part.is_empty()) {
            let run = part.iter().fold(0, |hash: u64, byte| times(hash.rotate_left(5) ^ u64::from(*byte)));
            let new = is_new(&mut runs, run);
            all_runs.push((run, new));
        }
    }
    let upper = |number: u64| times(number) / 2 + (1 << 63);
    hashes.extend(all_runs.iter().filter(|(_, new)| *new).map(|(run, _)| upper(run ^ 4 << 56)));
    let pairs = all_runs.windows(2).filter(|pair| pair[0].1 || pair[1].1);
    hashes.extend(pairs.map(|pair| upper(pair[0].0.rotate_left(29) ^ pair[1].0 ^ 5 << 56)));
    hashes.sort_unstable();
    hashes
}

fn found(text: &str) -> Found {
    let mut found = Found::default();
    features(text, &mut found);
    found
}

const PLATT: Platt = Platt { slope: 2.0, offset: -1.0 };
const LEVELS: Levels = Levels { tau_event: 0.5, event_block: 0.9, drift: 0.1, alarm: 1.0, caller_alarm: 3.0 };

/// A table with one weight for all n-grams of characters and one for all of words.
fn halves(characters: i8, words: i8) -> Vec<u8> {
    [characters, words].into_iter().flat_map(|weight| [weight.cast_unsigned(); 128]).collect()
}

fn score(weights: &[u8], unit: f64, text: &str) -> EventScore {
    let model = LinearModel { weights, unit, bias: -0.5, platt: PLATT };
    let members = [Member { name: "linear", model: Model::Linear(model) }];
    Detector { members: &members, levels: LEVELS, version: "test" }.score(text)
}

#[test]
fn a_score_can_be_worked_out_on_paper() {
    // " to " has two 3-grams and a 4-gram, " me. " three, two and one, and with "to", "me" and "to me" there are 12 features.
    assert_eq!(found("To me.").features.len(), 12);
    let found = score(&halves(3, -4), 0.25, "To\t me.");
    let margin = -0.5 + 0.25 * (9.0 * 3.0 - 3.0 * 4.0) / 12_f64.sqrt();
    let expected = 1.0 / (1.0 + (-(2.0 * margin - 1.0)).exp());
    assert!((found.score - expected).abs() < 1e-15, "{} is not {expected}", found.score);
    assert_eq!((found.chunk, found.span, found.failed), (0, (0, 7), false));
    assert_eq!(score(&halves(3, -4), 0.25, " \n"), score(&halves(3, -4), 0.25, ""));
    assert!(score(&halves(3, -4), 0.25, "").score == 0.0);
}

#[test]
fn the_highest_chunk_of_a_long_text_counts_wherever_it_stands() {
    // Every block is of the same length, and nothing in it is repeated soon enough to be left out.
    const HONEST: &str = "abcd efgh ijkl mnop rstu vwxy zabc defg hijk lmno ";
    const ATTACK: &str = "qabc qdef qghi qjkl qmno qprs qtuv qwxy qzab qcde ";
    let mut weights = halves(0, 0);
    for hash in found(ATTACK).features {
        weights[(hash >> 56) as usize] = 100;
    }
    for hash in found(HONEST).features {
        weights[(hash >> 56) as usize] = 0;
    }
    let alone = score(&weights, 0.01, &HONEST.repeat(40));
    for before in [0, 13, 27, 39] {
        let text = [HONEST.repeat(before).as_str(), ATTACK, &HONEST.repeat(40 - before)].concat();
        let found = score(&weights, 0.01, &text);
        assert!(found.score > alone.score && found.span.0 <= before * 50 && found.span.1 >= (before + 1) * 50, "{before}: {found:?}");
        // A block is 64 characters, so a chunk of eight is 512 and a word or so more each.
        assert!(found.span.1 - found.span.0 <= 8 * 80, "{found:?}");
    }
}

#[test]
fn margins_do_not_drift_with_length() {
    // The same words over and over: every chunk says the same, however many there are.
    let weights: Vec<u8> = (0..=255).collect();
    let one = score(&weights, 0.01, &"some words are repeated here and there ".repeat(40));
    let many = score(&weights, 0.01, &"some words are repeated here and there ".repeat(4000));
    assert!((one.score - many.score).abs() < 0.02, "{} and {}", one.score, many.score);
}

#[test]
fn what_is_repeated_counts_once() {
    assert_eq!(found("ab ab ab ab ab").features.len(), found("ab ab").features.len());
    assert_eq!(found(&"a".repeat(60)).features.len(), found("aaaaaaa").features.len());
    assert_eq!(found(&"xyz".repeat(30)).features.len(), found(&"xyz".repeat(3)).features.len());
    assert!(
        found("one two three four five six seven eight nine one").features.len()
            > found("one two three four five six seven eight nine two").features.len()
    );
}

#[test]
fn a_broken_model_fails_closed() {
    for unit in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let found = score(&halves(1, 1), unit, "some text");
        assert!(found.failed && found.score == 1.0, "{found:?}");
    }
    assert!(!score(&[], 1.0, "a table without a weight scores nothing").failed);
}

#[test]
fn the_worst_member_counts() {
    let (low, high) = (halves(1, 1), halves(9, 9));
    let member = |name, weights, unit| Member { name, model: Model::Linear(LinearModel { weights, unit, bias: 0.0, platt: PLATT }) };
    let members = [member("low", low.as_slice(), 0.1), member("high", high.as_slice(), 0.1)];
    let found = Detector { members: &members, levels: LEVELS, version: "test" }.score("some text");
    assert_eq!((found.member, found.failed), (1, false));
    let members = [member("low", low.as_slice(), 0.1), member("broken", high.as_slice(), f64::NAN)];
    let found = Detector { members: &members, levels: LEVELS, version: "test" }.score("some text");
    assert_eq!((found.member, found.score, found.failed), (1, 1.0, true));
}

#[test]
fn blocks_end_at_words_and_never_grow_long() {
    let spaced = found(&"word ".repeat(200));
    assert!(spaced.blocks.windows(2).all(|pair| pair[1].1 - pair[0].1 <= BLOCK_CHARS + 10));
    let unspaced = "x".repeat(10_000);
    let blocks = found(&unspaced).blocks;
    assert_eq!(blocks.last().map(|block| block.1), Some(10_000));
    assert!(blocks.windows(2).all(|pair| pair[1].1 - pair[0].1 <= BLOCK_MOST_CHARS));
    const { assert!(CHUNK_BLOCKS * BLOCK_MOST_CHARS < 2048, "a chunk is a passage, not a page") };
}

proptest! {
    #[test]
    fn features_are_those_of_the_obvious_way(text in "[a-cA-C019  .,'\t\u{1f}\u{e9}\u{4e00}-\u{4e05}-]{0,60}") {
        let mut found = found(&text);
        found.features.sort_unstable();
        prop_assert_eq!(found.features, naive(&text));
    }

    #[test]
    fn every_feature_is_in_a_block(text in "\\PC{0,400}") {
        let found = found(&text);
        prop_assert_eq!(found.blocks.last().map_or(0, |block| block.0), found.features.len());
        prop_assert!(found.blocks.iter().all(|block| text.is_char_boundary(block.1)));
    }
}
