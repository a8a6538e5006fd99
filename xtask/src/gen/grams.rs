//! Makes the table of grams: the last letters of every spelling of every pattern.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, ensure};
use floodmark_core::score::grams::{FILTER_WORDS, GRAM_LETTERS, Grams};
use floodmark_core::score::letters::is_separator;
use regex_syntax::hir::{Hir, HirKind};

use super::subset::{Phrase, class_bytes, counts};

/// Most spellings of one pattern's end: a pattern with more is a list of words and not a phrase.
const MAX_SPELLINGS: usize = 400;

/// A [`Grams`]'s tables, owned; the fields are the same.
pub struct Tables {
    filter: Box<[u64; FILTER_WORDS]>,
    grams: Vec<u64>,
    offsets: Vec<u16>,
    patterns: Vec<u16>,
}

impl Tables {
    /// The grams of `spellings`, which gives for each pattern in order what [`spellings`] says of it.
    ///
    /// # Errors
    /// More than a table can number.
    pub fn new(spellings: &[BTreeSet<u64>]) -> Result<Self> {
        let mut by_gram: BTreeMap<u64, Vec<u16>> = BTreeMap::new();
        for (number, grams) in (0u16..).zip(spellings) {
            grams.iter().for_each(|&gram| by_gram.entry(gram).or_default().push(number));
        }
        let mut tables = Tables { filter: Box::new([0; FILTER_WORDS]), grams: Vec::new(), offsets: vec![0], patterns: Vec::new() };
        for (gram, patterns) in by_gram {
            let slot = Grams::slot(gram);
            tables.filter[slot >> 6] |= 1 << (slot & 63);
            tables.grams.push(gram);
            tables.patterns.extend(patterns);
            tables.offsets.push(u16::try_from(tables.patterns.len())?);
        }
        Ok(tables)
    }

    /// The tables as the core sees them.
    pub fn grams(&self) -> Grams<'_> {
        Grams { filter: &self.filter, grams: &self.grams, offsets: &self.offsets, patterns: &self.patterns }
    }
}

/// The last letters of each spelling of `phrase`.
///
/// # Errors
/// There are too many.
pub fn spellings(phrase: &Phrase) -> Result<BTreeSet<u64>> {
    let mut ends = BTreeSet::from([Vec::new()]);
    if let Some(last) = phrase.pieces.last() {
        ends = before(last, &ends);
    }
    ensure!(
        ends.len() <= MAX_SPELLINGS,
        "its last {GRAM_LETTERS} letters have {} spellings, the most is {MAX_SPELLINGS}: take alternatives out of the end of its last piece",
        ends.len()
    );
    Ok(ends.iter().map(|letters| letters.iter().fold(0, |gram, &letter| (gram << 8) | u64::from(letter))).collect())
}

/// What `hir` puts before each of `ends`, as far as a gram reaches back.
fn before(hir: &Hir, ends: &BTreeSet<Vec<u8>>) -> BTreeSet<Vec<u8>> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => ends.clone(),
        HirKind::Literal(literal) => prepend(&literal.0, ends),
        HirKind::Class(class) => class_bytes(class).iter().flat_map(|byte| prepend(&[*byte], ends)).collect(),
        HirKind::Repetition(repetition) => {
            let (least, most) = counts(repetition);
            let mut own = ends.clone();
            let mut all = BTreeSet::new();
            for count in 0..=most {
                if count >= least {
                    all.extend(own.iter().cloned());
                }
                own = before(&repetition.sub, &own);
            }
            all
        }
        HirKind::Capture(capture) => before(&capture.sub, ends),
        HirKind::Concat(parts) => parts.iter().rev().fold(ends.clone(), |ends, part| before(part, &ends)),
        HirKind::Alternation(parts) => parts.iter().flat_map(|part| before(part, ends)).collect(),
    }
}

fn prepend(bytes: &[u8], ends: &BTreeSet<Vec<u8>>) -> BTreeSet<Vec<u8>> {
    let letters: Vec<u8> = bytes.iter().copied().filter(|&byte| !is_separator(byte)).collect();
    let longer = |end: &Vec<u8>| {
        let missing = GRAM_LETTERS - end.len();
        [&letters[letters.len().saturating_sub(missing)..], end].concat()
    };
    ends.iter().map(longer).collect()
}
