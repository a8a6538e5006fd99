//! The rules hold, the committed files are fresh, and the automaton agrees with its slow twin.

mod conversations;
mod refusals;
mod sampler;
mod twin;
mod views;

use std::sync::LazyLock;

use floodmark_core::score::category::{CategoryInfo, CategorySet};

use super::compiled::Compiled;
use super::folds::Folds;
use super::rules::Pattern;
use super::{emit, outputs, read, root, rules, verify};

/// The repository's rules, compiled once for all tests.
static COMPILED: LazyLock<Compiled> = LazyLock::new(|| super::compiled(&root()).expect("good rules, small enough"));

/// The repository's folds.
pub(super) fn folds() -> Folds {
    Folds::new(&read(&root().join(super::FOLDS)).expect("a committed file")).expect("good folds")
}

/// The patterns in table order.
fn patterns() -> impl Iterator<Item = &'static Pattern> {
    COMPILED.categories.iter().flat_map(|category| &category.patterns)
}

#[test]
fn generated_files_are_fresh() {
    for output in outputs(&root()).expect("the rules compile") {
        let committed = read(&root().join(output.path)).expect("a committed file");
        assert!(committed == output.text, "{} is stale: run `cargo xtask gen` and commit the result", output.path);
    }
}

#[test]
fn lines_hit_as_the_committed_tables_see_them() {
    let hits = |text: &str| -> Vec<&str> {
        let hits = floodmark_tables::CATEGORIES.scan_text(text);
        hits.iter().map(|hit| floodmark_tables::CATEGORIES.patterns[usize::from(hit.pattern)].id).collect()
    };
    for pattern in patterns() {
        for line in &pattern.must_match {
            assert!(hits(line).contains(&pattern.id.as_str()), "{} does not hit {line:?}", pattern.id);
        }
        for line in &pattern.must_not_match {
            assert!(!hits(line).contains(&pattern.id.as_str()), "{} hits {line:?}", pattern.id);
        }
    }
}

#[test]
fn what_users_complained_about_hits_nothing() {
    let lines = read(&root().join("testdata/benign/complaints.txt")).expect("the regression set");
    let lines: Vec<_> = lines.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    assert!(lines.len() >= 20, "only {} lines", lines.len());
    for line in lines {
        let hits = verify::hits(&COMPILED, line);
        assert!(hits.is_empty(), "{line:?} hits {hits:?}");
    }
}

/// What no rule of ours may happen to show.
#[test]
fn phrases_begin_and_end_at_words_and_keep_their_gaps() {
    let rule = |id: &str, pattern: &str, line: &str| {
        format!(
            "[[pattern]]\nid = {id:?}\npattern = {pattern:?}\nreason = \"r\"\nmust_match = [{line:?}, \"2 {line}\"]\nmust_not_match = [\"a\", \"b\"]\n"
        )
    };
    let file = "category = \"sample\"\nweight = 1\nsummary = \"s\"\n".to_owned()
        + &rule("open", "(pen|open) the gate", "open the gate")
        + &rule("gap", "close ~2 (un)?lock the door", "close and lock the door")
        + &rule("mark", "system: go home now:", "system: go home now:");
    let compiled = Compiled::new(vec![rules::parse("sample", &file).expect("a good file")], folds()).expect("small");
    verify::lines(&compiled).expect("its lines hold");
    let found = |text: &str| -> Vec<(usize, usize, &'static str)> {
        compiled.with_set(|set| set.scan_text(text).iter().map(|hit| (hit.start, hit.end, hit.view.name())).collect())
    };
    assert_eq!(found("open the gate"), [(0, 13, "folded")]);
    assert_eq!(found("now PEN  the\ngate!"), [(4, 17, "folded")]);
    assert_eq!(found("reopen the gate"), []);
    assert_eq!(found("open the gates"), []);
    assert_eq!(found("o p e n t h e g a t e"), [(2, 21, "squashed")]);
    assert_eq!(found("o-p-e-n the gate"), [(2, 16, "squashed")]);
    assert_eq!(found("openthegate"), [(0, 11, "squashed")]);
    assert_eq!(found("close, then quickly unlock the door"), [(0, 35, "folded")]);
    assert_eq!(found("close it and then lock the door"), []);
    assert_eq!(found("close it\nthen and lock the door"), [(0, 31, "folded")]);
    assert_eq!(found("close s-l-o-w-l-y and lock the door"), [(0, 35, "folded")]);
    assert_eq!(found("close lock the door"), [(0, 19, "folded")]);
    assert_eq!(found("c l o s e i t l o c k t h e d o o r"), [(0, 35, "squashed")]);
    assert_eq!(found("close a\u{1f} lock the door"), []);
    assert_eq!(found("system go home now:"), []);
    assert_eq!(found("system: go home now"), []);
    assert_eq!(found("system] : go home now ]: x"), [(0, 21, "folded")]);
    assert_eq!(found("o\u{200b}pe\u{301}n the\u{3164}g\u{430}te"), [(1, 12, "folded")]);
}

#[test]
fn tables_over_their_budget_are_refused() {
    let word = |number: usize| (0..9).map(|at| char::from(b'a' + (number * (2 * at + 7) / (at * at + 1) % 26) as u8)).collect::<String>();
    let rule = |number: usize| {
        let words: Vec<String> = (0..100).map(|at| word(100 * number + at)).collect();
        let words = words.join("|");
        format!(
            "[[pattern]]\nid = \"p{number}\"\npattern = {words:?}\nreason = \"r\"\nmust_match = [\"x\", \"y\"]\nmust_not_match = [\"a\", \"b\"]\n"
        )
    };
    let file = "category = \"sample\"\nweight = 1\nsummary = \"s\"\n".to_owned() + &(0..100).map(rule).collect::<String>();
    let error = Compiled::new(vec![rules::parse("sample", &file).expect("a good file")], folds()).err().expect("too large");
    assert!(format!("{error:#}").contains("bytes: take alternatives out"), "{error:#}");
}

#[test]
fn the_default_weights_are_the_papers() {
    let weights: Vec<_> = COMPILED.categories.iter().map(|category| (category.name.as_str(), category.weight)).collect();
    let paper = [("deferred_authority", 0.3), ("escalation_probing", 0.3), ("instruction_seeding", 0.4), ("role_confusion", 0.5)];
    assert_eq!(weights, paper);
}

#[test]
fn the_fingerprint_covers_tables_and_metadata() {
    COMPILED.with_set(|set| {
        let digest = emit::digest(set);
        assert_eq!(set.fingerprint, &digest[..16]);
        let mut categories: Vec<CategoryInfo<'_>> = set.categories.to_vec();
        categories[0].weight += 0.05;
        assert_ne!(emit::digest(&CategorySet { categories: &categories, ..*set }), digest);
        assert_ne!(emit::digest(&CategorySet { patterns: &set.patterns[1..], ..*set }), digest);
        let mut tails = set.tails;
        tails.targets = &set.tails.targets[1..];
        assert_ne!(emit::digest(&CategorySet { tails, ..*set }), digest);
        let mut folds = set.folds;
        folds.strings = &set.folds.strings[1..];
        assert_ne!(emit::digest(&CategorySet { folds, ..*set }), digest);
    });
}

#[test]
fn the_lock_file_names_the_tools_version() {
    let lock = "[[package]]\nname = \"a\"\nversion = \"1.2.3\"\n";
    assert_eq!(emit::locked_version(lock, "a").expect("it is there"), "1.2.3");
    assert!(emit::locked_version(lock, "b").expect_err("it is not").to_string().contains("does not name b"));
}
