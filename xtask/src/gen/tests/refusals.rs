//! Bad rules are refused with file, pattern and what to do (cases: `xtask/tests/refusals.toml`).

use anyhow::Result;
use serde::Deserialize;

use crate::r#gen::compiled::Compiled;
use crate::r#gen::{program, rules, spellings, subset, verify};

#[derive(Deserialize)]
struct Refusals {
    /// A good file of category `sample`.
    base: String,
    case: Vec<Case>,
}

/// The good file with `from` replaced.
#[derive(Deserialize)]
struct Case {
    from: String,
    to: String,
    /// Parts of the message.
    expect: Vec<String>,
}

fn compile(text: &str) -> Result<()> {
    verify::lines(&Compiled::new(vec![rules::parse("sample", text)?], super::folds())?)
}

#[test]
fn bad_rules_are_refused_with_what_to_do() {
    let refusals: Refusals = toml::from_str(include_str!("../../../tests/refusals.toml")).expect("the cases");
    compile(&refusals.base).expect("the base is good");
    for case in &refusals.case {
        assert!(refusals.base.contains(&case.from), "the base does not hold {:?}", case.from);
        let message = match compile(&refusals.base.replacen(&case.from, &case.to, 1)) {
            Ok(()) => panic!("{:?} for {:?} was accepted", case.to, case.from),
            Err(error) => format!("{error:#}"),
        };
        for part in &case.expect {
            assert!(message.contains(part), "{:?}: {part:?} is not in {message:?}", case.to);
        }
    }
}

#[test]
fn the_ends_of_every_spelling_are_known() {
    let spelt = |pattern: &str| -> Vec<String> {
        let phrase = subset::parse(pattern).unwrap_or_else(|error| panic!("{pattern}: {error:#}"));
        let ends = spellings::ends(phrase.pieces.last().expect("a piece"), 8);
        ends.into_iter().map(|end| String::from_utf8(end).expect("letters")).collect()
    };
    assert_eq!(spelt("(open|close) the old (gate|doors?)"), ["eolddoor", "eoldgate", "olddoors"]);
    assert_eq!(spelt("say ~2 (red|green) [lt]ight-bulbs"), ["ghtbulbs"]);
    assert_eq!(spelt("xy (ab){3,4}(cd)?"), ["abababab", "abababcd", "xyababab"]);
    assert_eq!(spelt("12345 (x|y) 'ef"), ["2345xef", "2345yef"].map(|end| "1".to_owned() + end));
}

#[test]
fn a_program_runs_from_the_end_to_the_start() {
    let write = |pattern: &str| program::write(&subset::parse(pattern).expect("a good pattern")).expect("a program").bytes;
    // The pair "ab" has bit (97 * 29 + 98) % 64 = 31, the high one of the fourth byte.
    assert_eq!(write("ab ~3 don't say cd:"), b"\x04:dc yas t'nod\x03\x03\0\0\0\x80\0\0\0\0ba\0");
    assert_eq!(write("abcdefg (x|yz)"), b"\x05\x05\0\x01x\x02zy gfedcba\0");
    assert_eq!(write("abcdefgh(ij){0,2}"), b"\x01\x07\0ji\x01\x02\0jihgfedcba\0");
    assert_eq!(write("abcdefgh(i|j:)"), b"\x01\x04\0i\x02\x03\0\x04:jhgfedcba\0");
}
