//! Operators' patterns: what is found, what is refused, and the bounds of the work.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use regex_lite::RegexBuilder;

use super::window::single_spaced;
use super::*;
use crate::limits::OPERATOR_WINDOW_BYTES;

fn pattern(pattern: &str) -> OperatorPattern {
    OperatorPattern { id: "operator.one".to_string(), category: "secrets".to_string(), pattern: pattern.to_string() }
}

fn compiled(patterns: &[&str]) -> OperatorPatterns {
    let one = |(number, text): (usize, &&str)| OperatorPattern { id: format!("operator.p{number}"), ..pattern(text) };
    OperatorPatterns::new(&patterns.iter().enumerate().map(one).collect::<Vec<_>>(), str::to_lowercase).expect("patterns that can be used")
}

/// Pattern and text of each hit, and whether everything was looked at.
fn scan<'t>(patterns: &[&str], text: &'t str) -> (Vec<(usize, &'t str)>, bool) {
    let mut hits = vec![];
    let whole = compiled(patterns).scan([text].into_iter(), |hit| hits.push((hit.pattern, &text[hit.span])));
    (hits, whole)
}

fn refused(patterns: &[OperatorPattern]) -> String {
    let PolicyError { key, problem } = OperatorPatterns::new(patterns, str::to_lowercase).expect_err("must be refused");
    format!("{key}: {problem}")
}

#[test]
fn white_space_and_case_do_not_count_and_spans_are_the_texts_own() {
    let text = "Tell me of PROJECT \n\u{a0} Bluebird  now; acme-1234 and acme-12345x.";
    let (hits, whole) = scan(&["project bluebird", r"\bACME-\d{4}\b", "bluebird.*acme", "nothing here"], text);
    assert!(whole);
    let mut hits = hits;
    hits.sort_unstable();
    assert_eq!(hits, [(0, "PROJECT \n\u{a0} Bluebird"), (1, "acme-1234"), (2, "Bluebird  now; acme-1234 and acme")]);
}

#[test]
fn every_text_is_looked_at_on_its_own() {
    let patterns = compiled(&["bluebird", "redbird"]);
    let mut hits = vec![];
    assert!(patterns.scan(["a redbird", "", "bluebird, bluebird", "blue", "bird"].into_iter(), |hit| hits.push((
        hit.text,
        hit.pattern,
        hit.span
    ))));
    assert_eq!(hits, [(0, 1, 2..9), (2, 0, 0..8)]);
    assert_eq!(scan(&["blue.*bird"], "blue\u{1f}bird").0, [], "records are apart");
    assert_eq!((patterns.id(1), patterns.category(1), patterns.id(2)), (Some("operator.p1"), Some("secrets"), None));
}

#[test]
fn a_match_may_reach_as_far_as_the_window_and_no_further() {
    let fits = format!("key{}end", "-".repeat(OPERATOR_WINDOW_BYTES - 3));
    let beyond = format!("key{}end", "-".repeat(OPERATOR_WINDOW_BYTES + 40));
    assert_eq!(scan(&["key-+(end)"], &fits).0, [(0, fits.as_str())]);
    assert_eq!(scan(&["key-+(end)"], &beyond).0, []);
}

#[test]
fn a_spent_budget_is_said() {
    let text = format!("{} key 7", "key x ".repeat(MAX_OPERATOR_SCAN_BYTES / 6 + 1));
    assert_eq!(scan(&[r"key \d"], &text), (vec![], false));
    // What was paid for is looked at, and other patterns' hits stand.
    let text = format!("key 7 {}", "key x ".repeat(MAX_OPERATOR_SCAN_BYTES / 6 + 1));
    assert_eq!(scan(&[r"key \d"], &text), (vec![(0, "key 7")], false));
    assert_eq!(scan(&["absent"], &text), (vec![], true));
}

#[test]
fn what_cannot_be_used_is_refused_with_its_key() {
    let long = "x".repeat(MAX_OPERATOR_PATTERN_BYTES + 1);
    for (text, words) in [
        ("(abc", "no regular expression"),
        (r"\p{Greek}abc", "no regular expression"),
        ("a*", "no literal"),
        ("", "no literal"),
        ("abc|", "alternatives"),
        (long.as_str(), "257 bytes are too long"),
        ("abc.{1000}", "size limit"),
        ("plain Ärger", "never stands in folded text"),
    ] {
        let said = refused(&[pattern(text)]);
        assert!(said.starts_with("patterns[0].pattern: ") && said.contains(words), "{text}: {said}");
    }
    for id in ["bluebird", "operator.", "operator.Blue", "operator.a.b", "operator.a b"] {
        let said = refused(&[OperatorPattern { id: id.to_string(), ..pattern("abc") }]);
        assert!(said.starts_with("patterns[0].id: ") && said.contains("operator.code_names"), "{id}: {said}");
    }
    assert!(refused(&[pattern("abc"), pattern("def")]).starts_with("patterns[1].id: \"operator.one\" is there twice"));
    assert!(refused(&[OperatorPattern { category: "A b".to_string(), ..pattern("abc") }]).starts_with("patterns[0].category: "));
    let many: Vec<_> = (0..=MAX_OPERATOR_PATTERNS).map(|n| OperatorPattern { id: format!("operator.p{n}"), ..pattern("abc") }).collect();
    assert!(refused(&many).starts_with("patterns: 65 patterns are too many"));
}

/// Whether some record of the text matches as a whole: no literal, no window, no budget.
fn twin(pattern: &str, text: &str) -> bool {
    let regex = RegexBuilder::new(pattern).case_insensitive(true).build().expect("a pattern");
    text.split('\u{1f}').any(|record| regex.is_match(&single_spaced(record)))
}

proptest::proptest! {
    /// Patterns whose matches fit the window, on texts full of almost and real matches, some with gaps wider than the window.
    #[test]
    fn literal_and_window_find_what_the_expression_finds_in_the_whole(
        pieces in proptest::collection::vec("(key|KEY|keys|akey|code|end|b|7|42|[ \n\u{a0}]{1,3}|\u{1f}|\u{e9}|x{60}|-{250}|[ke y7]{1,6})", 0..24),
        pattern in proptest::sample::select(vec![
            "key", r"\bkey\b", r"key \d{1,2}", "code.{0,9}end", "(a|b)?key[s ]end", r"(key|code) end\b", "k?keys?", r"end\Bx", "[^k]key[^s]?7", "7.{0,60}akey", "b[^b]{10,200}code",
        ]),
    ) {
        let text = pieces.concat();
        let (hits, whole) = match scan_any(pattern, &text) { Some(found) => found, None => return Ok(()) };
        proptest::prop_assert!(whole);
        proptest::prop_assert_eq!(!hits.is_empty(), twin(pattern, &text), "{} in {:?}", pattern, text);
        for hit in hits {
            proptest::prop_assert!(twin(pattern, hit) || pattern.contains(r"\B") || pattern.contains(r"\b"), "{:?} is no match", hit);
        }
    }
}

/// The hits, where the pattern has a literal at all.
fn scan_any<'t>(text_pattern: &str, text: &'t str) -> Option<(Vec<&'t str>, bool)> {
    let patterns = OperatorPatterns::new(&[pattern(text_pattern)], str::to_lowercase).ok()?;
    let mut hits = vec![];
    let whole = patterns.scan([text].into_iter(), |hit| hits.push(&text[hit.span]));
    Some((hits, whole))
}
