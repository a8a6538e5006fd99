//! The rules hold, the committed files are fresh, and the automaton agrees with its slow twin.

mod paper;
mod refusals;
mod sampler;
mod twin;

use std::sync::LazyLock;

use floodmark_core::score::category::{CategoryInfo, CategorySet};

use super::automaton::Compiled;
use super::rules::Pattern;
use super::{emit, outputs, read, root, rules, verify};

/// The repository's rules, compiled once for all tests.
static COMPILED: LazyLock<Compiled> =
    LazyLock::new(|| Compiled::new(rules::read_all(&root().join(super::RULES)).expect("good rules")).expect("small enough rules"));

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
        let folded = floodmark_core::text::Folded::new(text);
        let hits = floodmark_tables::CATEGORIES.scan(folded.as_str());
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

/// No rule of ours has a word that ends in another one of its words, so this needs a set of its own.
#[test]
fn a_match_begins_at_a_word_and_not_inside_one() {
    let rule = |id: &str, more: &str, pattern: &str, line: &str| {
        format!(
            "[[pattern]]\nid = {id:?}\n{more}\npattern = {pattern:?}\nreason = \"r\"\nmust_match = [{line:?}, \"2 {line}\"]\nmust_not_match = [\"a\", \"b\"]\n"
        )
    };
    let head = "category = \"sample\"\nweight = 1\nsummary = \"s\"\n".to_owned();
    let file = head
        + &rule("open", "", "(pen|open) the gate", "open the gate")
        + &rule("stem", "whole_words = false", "disregard", "disregarding");
    let compiled = Compiled::new(vec![rules::parse("sample", &file).expect("a good file")]).expect("small");
    verify::lines(&compiled).expect("its lines hold");
    let spans =
        |text: &str| -> Vec<(usize, usize)> { compiled.with_set(|set| set.scan(text).iter().map(|&hit| set.span(text, hit)).collect()) };
    // The search for the start looks at 6, 3 and 1: only what stands before "pen" says that it is no start.
    assert_eq!(spans("open the gate"), [(0, 13)]);
    assert_eq!(spans("now pen the gate"), [(4, 16)]);
    assert_eq!(spans("reopen the gate"), []);
    assert_eq!(spans("open the gates"), []);
    assert_eq!(spans("undisregarded"), [(2, 11)]);
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
        let mut transitions = set.automaton.transitions.to_vec();
        transitions[5] += 1;
        let mut automaton = set.automaton;
        automaton.transitions = &transitions;
        assert_ne!(emit::digest(&CategorySet { automaton, ..*set }), digest);
    });
}

#[test]
fn the_lock_file_names_the_tools_version() {
    let lock = "[[package]]\nname = \"a\"\nversion = \"1.2.3\"\n";
    assert_eq!(emit::locked_version(lock, "a").expect("it is there"), "1.2.3");
    assert!(emit::locked_version(lock, "b").expect_err("it is not").to_string().contains("does not name b"));
}
