//! The slow, obvious twin: `regex-lite` over the same patterns, piece by piece, and every way of putting the pieces together.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use floodmark_core::score::letters::is_separator;
use floodmark_core::text::View;
use floodmark_tables::CATEGORIES;
use proptest::prelude::*;
use regex_lite::Regex;
use regex_syntax::hir::{Hir, HirKind};

use super::sampler::{Random, text, walk};
use super::{COMPILED, patterns, read, root};
use crate::r#gen::subset::{class_bytes, counts};

/// Samples a pattern.
const SAMPLES: u64 = 12;
/// ASCII that may stand between letters, as a class of regex-lite.
const APART: &str = r"[\x00-\x1e\x20-/:-@\[-`{-\x7f]";

/// A pattern as the twin sees it.
pub struct Twin {
    pub id: &'static str,
    pieces: Vec<Piece>,
    gaps: &'static [u8],
    /// Characters that must stand behind the phrase.
    behind: Vec<u8>,
    /// Whether some character must stand among the separators. Where a space does too, the twin does not know which way of spelling is the usual one.
    marked: bool,
}

struct Piece {
    /// Finds it anywhere, with anything between its letters.
    anywhere: Regex,
    /// Matches a whole text, with anything between its letters.
    squashed: Regex,
    /// Matches a whole text, in the usual spelling.
    plain: Regex,
}

/// The twins of all patterns, in table order.
pub static TWINS: LazyLock<Vec<Twin>> = LazyLock::new(twins);

fn twins() -> Vec<Twin> {
    let twin = |pattern: &'static super::Pattern| {
        let mut behind = Vec::new();
        let last = pattern.phrase.pieces.len() - 1;
        let pieces = pattern.phrase.pieces.iter().enumerate();
        let pieces = pieces.map(|(number, piece)| {
            let mut bytes = if number == last { without_end(piece, &mut behind) } else { piece.clone() };
            if let HirKind::Capture(capture) = bytes.kind() {
                bytes = (*capture.sub).clone();
            }
            let regex = |text: &str| Regex::new(text).unwrap_or_else(|error| panic!("{}: {error}: {text}", pattern.id));
            let (squashed, plain) = (spell(&bytes, Spelling::Squashed), spell(&bytes, Spelling::Plain));
            Piece {
                anywhere: regex(&squashed),
                squashed: regex(&format!("^{APART}*(?:{squashed})$")),
                plain: regex(&format!("^{APART}*(?:{plain})$")),
            }
        });
        let pieces = pieces.collect();
        let marked =
            pattern.pattern.bytes().any(|byte| is_required(byte) && !matches!(byte, b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'|'));
        Twin { id: &pattern.id, pieces, gaps: &pattern.phrase.gaps, behind, marked }
    };
    patterns().map(twin).collect()
}

/// The piece without the characters at its end that must stand behind it, which go to `behind`.
fn without_end(hir: &Hir, behind: &mut Vec<u8>) -> Hir {
    match hir.kind() {
        HirKind::Literal(literal) => {
            let letters = literal.0.iter().rposition(|byte| byte.is_ascii_alphanumeric()).map_or(0, |last| last + 1);
            behind.extend(literal.0[letters..].iter().filter(|&&byte| is_required(byte)));
            Hir::literal(literal.0[..letters].to_vec())
        }
        HirKind::Concat(parts) => {
            let mut parts = parts.clone();
            let last = parts.pop().expect("a part");
            parts.push(without_end(&last, behind));
            Hir::concat(parts)
        }
        _ => hir.clone(),
    }
}

fn is_required(byte: u8) -> bool {
    is_separator(byte) && !matches!(byte, b' ' | b'\'' | b'-' | b'_' | b',' | b'.')
}

#[derive(Clone, Copy, PartialEq)]
enum Spelling {
    Squashed,
    Plain,
}

/// The piece in regex-lite's syntax.
fn spell(hir: &Hir, spelling: Spelling) -> String {
    let byte = |byte: u8| match (byte, spelling) {
        _ if byte.is_ascii_alphanumeric() => {
            if spelling == Spelling::Squashed {
                format!("{APART}*{}", char::from(byte))
            } else {
                char::from(byte).to_string()
            }
        }
        _ if is_required(byte) => format!(r"{APART}*\x{byte:02x}{APART}*"),
        (b' ', Spelling::Plain) => format!("{APART}+"),
        (_, Spelling::Plain) => format!("{APART}*"),
        (_, Spelling::Squashed) => String::new(),
    };
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => String::new(),
        HirKind::Literal(literal) => literal.0.iter().copied().map(byte).collect(),
        HirKind::Class(class) => format!("(?:{})", class_bytes(class).into_iter().map(byte).collect::<Vec<_>>().join("|")),
        HirKind::Repetition(repetition) => {
            let (least, most) = counts(repetition);
            format!("(?:{}){{{least},{most}}}", spell(&repetition.sub, spelling))
        }
        HirKind::Capture(capture) => spell(&capture.sub, spelling),
        HirKind::Concat(parts) => parts.iter().map(|part| spell(part, spelling)).collect(),
        HirKind::Alternation(parts) => format!("(?:{})", parts.iter().map(|part| spell(part, spelling)).collect::<Vec<_>>().join("|")),
    }
}

/// Whether a word begins or ends at `at`.
fn border(text: &[u8], at: usize) -> bool {
    let outside = |byte: Option<&u8>| byte.is_none_or(|&byte| is_separator(byte) || byte == 0x1f || !byte.is_ascii());
    outside(at.checked_sub(1).and_then(|before| text.get(before))) || outside(text.get(at))
}

/// Whether at most `words` words stand in `between`, which begins behind one piece and ends before the next. A letter alone, and a part of a word that no
/// space sets apart from what follows, is a seventh of one, and four of these may come on top.
fn fits(between: &str, words: u8) -> bool {
    let mut count = 0;
    let mut apart = String::new();
    let mut token = String::new();
    for letter in format!(".{between}").chars().rev() {
        if letter.is_ascii() && !letter.is_ascii_alphanumeric() {
            if !token.is_empty() {
                count += if apart.contains([' ', '\t']) && token.len() > 1 { 7 } else { 1 };
                (token, apart) = (String::new(), String::new());
            }
            apart.push(letter);
        } else {
            token.push(letter);
        }
    }
    !between.contains('\u{1f}') && count <= 7 * usize::from(words) + 4
}

impl Twin {
    pub fn hits(&self, folded: &str) -> bool {
        self.find(folded).is_some()
    }

    /// The place to report, by trying all: the first end, for it the usual spelling before an odd one, and then the latest start.
    fn find(&self, folded: &str) -> Option<(usize, usize, View)> {
        let lower = folded.to_ascii_lowercase();
        if !self.pieces.iter().all(|piece| piece.anywhere.is_match(&lower)) {
            return None;
        }
        let bytes = lower.as_bytes();
        let letter = |at: usize| bytes.get(at).is_some_and(|&byte| !is_separator(byte) && byte != 0x1f);
        let starts: Vec<_> = (0..bytes.len()).filter(|&at| lower.is_char_boundary(at) && letter(at) && border(bytes, at)).collect();
        let ends: Vec<_> = (1..=bytes.len()).filter(|&at| lower.is_char_boundary(at) && letter(at - 1) && border(bytes, at)).collect();
        // For the pieces so far, from the first: (start of the phrase, end of the piece, plain).
        let mut places: Vec<(usize, usize, bool)> = Vec::new();
        for (number, piece) in self.pieces.iter().enumerate() {
            let mut next = BTreeSet::new();
            for (&start, &end) in starts.iter().flat_map(|start| ends.iter().map(move |end| (start, end))) {
                if start >= end {
                    continue;
                }
                // With what stands before its first letter, since that may be asked for.
                let before = bytes[..start].iter().rev().take(32).take_while(|&&byte| is_separator(byte)).count();
                if !piece.squashed.is_match(&lower[start - before..end]) {
                    continue;
                }
                let plain = piece.plain.is_match(&lower[start - before..end]);
                if number == 0 {
                    next.insert((start, end, plain));
                }
                let gap = number.checked_sub(1).map_or(0, |gap| self.gaps[gap]);
                let before = places.iter().filter(|place| place.1 <= start && fits(&lower[place.1..start], gap));
                next.extend(before.map(|&(first, _, all)| (first, end, all && plain)));
            }
            places = next.into_iter().collect();
        }
        let behind = |end: usize| {
            let apart: Vec<u8> = bytes[end..].iter().copied().take(32).take_while(|&byte| is_separator(byte)).collect();
            self.behind.iter().all(|wanted| apart.contains(wanted))
        };
        let end = places.iter().map(|place| place.1).filter(|&end| behind(end)).min()?;
        let (start, _, plain) = places.into_iter().filter(|place| place.1 == end).max_by_key(|&(start, _, plain)| (plain, start))?;
        Some((start, end, if plain { View::Folded } else { View::Squashed }))
    }
}

/// Compares the grams and the phrases with their twins on one ASCII text. The twins know nothing of mentions, so no text of this test has any.
fn agree(text: &str) -> Result<(), String> {
    let twins = &*TWINS;
    let view = |twin: &Twin, view: View| if twin.marked { "any" } else { view.name() };
    let ours = CATEGORIES.scan_text(text).into_iter().map(|hit| (&twins[usize::from(hit.pattern)], hit));
    let ours: BTreeSet<_> = ours.map(|(twin, hit)| (twin.id, hit.start, hit.end, view(twin, hit.view))).collect();
    let theirs = twins.iter().filter_map(|twin| twin.find(text).map(|(start, end, found)| (twin.id, start, end, view(twin, found))));
    let theirs: BTreeSet<_> = theirs.collect();
    if ours == theirs { Ok(()) } else { Err(format!("{text:?}: the tables find {ours:?}, regex-lite {theirs:?}")) }
}

#[test]
fn the_twin_agrees_on_every_test_text() {
    let mut texts: BTreeSet<String> = BTreeSet::new();
    texts.extend(patterns().flat_map(|pattern| pattern.must_match.iter().chain(&pattern.must_not_match)).cloned());
    texts.extend(read(&root().join("testdata/benign/complaints.txt")).expect("a file").lines().map(str::to_owned));
    texts.extend(super::conversations::cases().flat_map(|case| case.messages).map(|message| message.content).step_by(7));
    for text in texts.into_iter().filter(|text| text.is_ascii() && text.len() < 400) {
        agree(&text).unwrap();
    }
}

#[test]
fn every_sample_of_a_pattern_hits_it() {
    for (number, pattern) in (0u64..).zip(patterns()) {
        let mut random = Random::new(number + 1);
        for _ in 0..SAMPLES {
            let sample = walk(&pattern.phrase, &mut random);
            let hits = super::verify::hits(&COMPILED, &sample);
            assert!(hits.contains(&pattern.id), "{} does not hit its own {sample:?}", pattern.id);
            agree(&sample).unwrap();
        }
    }
}

#[test]
fn the_twin_agrees_on_samples_with_neighbours() {
    for (number, pattern) in (0u64..).zip(patterns()) {
        for round in 0..SAMPLES {
            agree(&text(&pattern.phrase, &mut Random::new(number * SAMPLES + round + 1))).unwrap();
        }
    }
}

/// Long texts are read in pieces, several at a time: a phrase is found wherever it lies across their borders, with its place.
#[test]
fn a_phrase_across_any_border_of_pieces_is_found() {
    const FILLER: &str = "Seven grey geese went over the lake. ";
    for (number, (pattern, twin)) in patterns().zip(TWINS.iter()).enumerate() {
        let sample = walk(&pattern.phrase, &mut Random::new(number as u64 + 7)).trim().to_owned();
        let inside = sample.len() - sample.len().min(number % 40 + 1);
        for border in [1024, 2048, 4096, 9216] {
            let before = FILLER.repeat(border / FILLER.len() + 1);
            let text = format!("{} {sample}. {}", &before[..border - inside - 1], FILLER.repeat(90));
            let hit = CATEGORIES.scan_text(&text).into_iter().find(|hit| CATEGORIES.patterns[usize::from(hit.pattern)].id == twin.id);
            let (start, end) = hit.map(|hit| (hit.start, hit.end)).unwrap_or_default();
            let shift = border - inside;
            let expected = twin.find(&format!(" {sample}. ")).map(|(start, end, _)| (start + shift - 1, end + shift - 1));
            assert_eq!(Some((start, end)), expected, "{} at {border}: {sample:?}", twin.id);
        }
    }
}

/// The words that patterns are made of, and what can separate them.
fn words() -> Vec<String> {
    let split = |pattern: &'static super::Pattern| pattern.pattern.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: BTreeSet<_> = patterns().flat_map(split).filter(|word| !word.is_empty()).map(str::to_owned).collect();
    words.into_iter().chain(["'", ",", ":", "_", "-", "\u{1f}", ""].map(str::to_owned)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn the_twin_agrees_on_random_words(picks in prop::collection::vec((0usize..10_000, prop::bool::weighted(0.9)), 0..40)) {
        let words = words();
        let text: String = picks.iter().map(|&(at, space)| format!("{}{}", words[at % words.len()], if space { " " } else { "" })).collect();
        prop_assert_eq!(agree(&text), Ok(()));
    }
}
