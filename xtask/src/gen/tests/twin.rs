//! The slow, obvious twin: `regex-lite` over the same patterns, one by one.

use std::collections::BTreeSet;

use floodmark_core::text::Folded;
use floodmark_tables::CATEGORIES;
use proptest::prelude::*;
use regex_lite::Regex;

use super::sampler::{Random, text, walk};
use super::{COMPILED, patterns, read, root};

/// Samples a pattern.
const SAMPLES: u64 = 24;

/// A pattern as the twin sees it.
pub struct Twin {
    pub id: &'static str,
    /// Finds it anywhere, with its word boundaries (`\b` of regex-lite knows ASCII only, as ours).
    anywhere: Regex,
    /// Matches a whole text, without boundaries.
    whole: Regex,
    longest: usize,
    boundaries: (bool, bool),
}

/// The twins of all patterns, in table order.
pub fn twins() -> Vec<Twin> {
    let regex = |pattern: &str| Regex::new(pattern).expect("a checked pattern");
    let twin = |pattern: &'static super::Pattern| Twin {
        id: &pattern.id,
        anywhere: regex(&pattern.shape.wrap(&pattern.pattern, r"\b")),
        whole: regex(&format!("^(?:{})$", pattern.pattern)),
        longest: usize::from(pattern.shape.longest_bytes),
        boundaries: (pattern.shape.boundary_before, pattern.shape.boundary_after),
    };
    patterns().map(twin).collect()
}

impl Twin {
    pub fn hits(&self, folded: &str) -> bool {
        self.anywhere.is_match(folded)
    }

    /// The span to report, by trying all: the first end, and for it the latest start.
    fn span(&self, folded: &str) -> Option<(usize, usize)> {
        let fits = |&(start, end): &(usize, usize)| {
            let borders = (!self.boundaries.0 || border(folded, start)) && (!self.boundaries.1 || border(folded, end));
            borders && folded.get(start..end).is_some_and(|slice| self.whole.is_match(slice))
        };
        let spans = (1..=folded.len()).flat_map(|end| (end.saturating_sub(self.longest)..end).rev().map(move |start| (start, end)));
        spans.into_iter().find(fits)
    }
}

/// Whether exactly one of the two bytes at `at` is an ASCII letter, digit or underscore.
fn border(text: &str, at: usize) -> bool {
    let word = |byte: Option<&u8>| byte.is_some_and(|&byte| byte.is_ascii_alphanumeric() || byte == b'_');
    word(at.checked_sub(1).and_then(|before| text.as_bytes().get(before))) != word(text.as_bytes().get(at))
}

/// Compares the automaton with its twins on one text.
fn agree(twins: &[Twin], original: &str) -> Result<(), String> {
    let folded = Folded::new(original);
    let folded = folded.as_str();
    let hits = CATEGORIES.scan(folded);
    let ours: BTreeSet<_> = hits.iter().map(|hit| CATEGORIES.patterns[usize::from(hit.pattern)].id).collect();
    let theirs: BTreeSet<_> = twins.iter().filter(|twin| twin.hits(folded)).map(|twin| twin.id).collect();
    if ours != theirs {
        return Err(format!("{folded:?}: the automaton finds {ours:?}, regex-lite {theirs:?}"));
    }
    for &hit in &hits {
        let twin = &twins[usize::from(hit.pattern)];
        let (ours, theirs) = (CATEGORIES.span(folded, hit), twin.span(folded));
        if Some(ours) != theirs {
            return Err(format!("{folded:?}: {} is at {ours:?}, by trying all at {theirs:?}", twin.id));
        }
    }
    Ok(())
}

#[test]
fn the_twin_agrees_on_every_test_text() {
    let mut texts: BTreeSet<String> = BTreeSet::new();
    texts.extend(patterns().flat_map(|pattern| pattern.must_match.iter().chain(&pattern.must_not_match)).cloned());
    texts.extend(read(&root().join("testdata/benign/complaints.txt")).expect("a file").lines().map(str::to_owned));
    texts.extend(super::paper::cases().into_iter().flat_map(|case| case.messages).map(|message| message.content).step_by(7));
    let twins = twins();
    for text in texts {
        agree(&twins, &text).unwrap();
    }
}

#[test]
fn every_sample_of_a_pattern_hits_it() {
    let twins = twins();
    for (number, pattern) in (0u64..).zip(patterns()) {
        let mut random = Random::new(number + 1);
        for _ in 0..SAMPLES {
            let sample = walk(&pattern.pattern, &mut random);
            let hits = super::verify::hits(&COMPILED, &sample);
            assert!(hits.contains(&pattern.id), "{} does not hit its own {sample:?}", pattern.id);
            agree(&twins, &sample).unwrap();
        }
    }
}

#[test]
fn the_twin_agrees_on_samples_with_neighbours() {
    let twins = twins();
    for (number, pattern) in (0u64..).zip(patterns()) {
        for round in 0..SAMPLES {
            agree(&twins, &text(&pattern.pattern, &mut Random::new(number * SAMPLES + round + 1))).unwrap();
        }
    }
}

/// The words that patterns are made of, and what can separate them.
fn words() -> Vec<String> {
    let split = |pattern: &'static super::Pattern| pattern.pattern.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: BTreeSet<_> = patterns().flat_map(split).filter(|word| !word.is_empty()).map(str::to_owned).collect();
    words.into_iter().chain(["'", ",", ":", "_", "\u{e9}", ""].map(str::to_owned)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn the_twin_agrees_on_random_words(picks in prop::collection::vec((0usize..10_000, prop::bool::weighted(0.9)), 0..40)) {
        let words = words();
        let text: String = picks.iter().map(|&(at, space)| format!("{}{}", words[at % words.len()], if space { " " } else { "" })).collect();
        prop_assert_eq!(agree(&twins(), &text), Ok(()));
    }
}
