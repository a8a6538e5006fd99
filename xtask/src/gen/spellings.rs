//! The last letters of every spelling of a piece, and the filter made of them.

use std::collections::BTreeSet;

use floodmark_core::score::filter::{FILTER_WORDS, WINDOW_LETTERS, Window};
use floodmark_core::score::letters::is_separator;
use floodmark_core::score::phrase::pair;
use regex_syntax::hir::{Hir, HirKind};

use super::subset::{Phrase, class_bytes, counts};

/// The filter's bits for the last letters of all `phrases`.
pub fn filter<'p>(phrases: impl Iterator<Item = &'p Phrase>) -> Box<[u64; FILTER_WORDS]> {
    let mut bits = Box::new([0; FILTER_WORDS]);
    for end in phrases.filter_map(|phrase| phrase.pieces.last()).flat_map(|piece| ends(piece, WINDOW_LETTERS)) {
        let slot = Window(end.iter().fold(0, |window, &letter| (window << 8) | u64::from(letter))).slot();
        bits[slot >> 6] |= 1 << (slot & 63);
    }
    bits
}

/// The bits for the last two letters of `piece`; every bit if it can be a single letter.
pub fn pairs(piece: &Hir) -> u64 {
    ends(piece, 2).iter().fold(0, |bits, end| {
        bits | match end.as_slice() {
            &[letter, last] => pair(letter, last),
            _ => u64::MAX,
        }
    })
}

/// The last `most` letters of every spelling of `piece`.
pub fn ends(piece: &Hir, most: usize) -> BTreeSet<Vec<u8>> {
    before(piece, &BTreeSet::from([Vec::new()]), most)
}

/// What `hir` puts before each of `ends`, as far as `most` letters.
fn before(hir: &Hir, ends: &BTreeSet<Vec<u8>>, most: usize) -> BTreeSet<Vec<u8>> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => ends.clone(),
        HirKind::Literal(literal) => prepend(&literal.0, ends, most),
        HirKind::Class(class) => class_bytes(class).iter().flat_map(|byte| prepend(&[*byte], ends, most)).collect(),
        HirKind::Repetition(repetition) => {
            let (least, count) = counts(repetition);
            let mut own = ends.clone();
            let mut all = BTreeSet::new();
            for number in 0..=count {
                if number >= least {
                    all.extend(own.iter().cloned());
                }
                own = before(&repetition.sub, &own, most);
            }
            all
        }
        HirKind::Capture(capture) => before(&capture.sub, ends, most),
        HirKind::Concat(parts) => parts.iter().rev().fold(ends.clone(), |ends, part| before(part, &ends, most)),
        HirKind::Alternation(parts) => parts.iter().flat_map(|part| before(part, ends, most)).collect(),
    }
}

fn prepend(bytes: &[u8], ends: &BTreeSet<Vec<u8>>, most: usize) -> BTreeSet<Vec<u8>> {
    let letters: Vec<u8> = bytes.iter().copied().filter(|&byte| !is_separator(byte)).collect();
    let longer = |end: &Vec<u8>| {
        let missing = most - end.len();
        [&letters[letters.len().saturating_sub(missing)..], end].concat()
    };
    ends.iter().map(longer).collect()
}
