//! Bad rules are refused with file, pattern and what to do (cases: `xtask/tests/refusals.toml`).

use anyhow::Result;
use serde::Deserialize;

use crate::r#gen::automaton::Compiled;
use crate::r#gen::{rules, subset, verify};

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
    verify::lines(&Compiled::new(vec![rules::parse("sample", text)?])?)
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
fn a_shape_says_length_and_borders() {
    let shape = |pattern: &str, whole_words| {
        let shape = subset::check(pattern, whole_words).unwrap_or_else(|error| panic!("{pattern}: {error:#}"));
        (shape.longest_bytes, shape.boundary_before, shape.boundary_after)
    };
    assert_eq!(shape("ab(cd)?e{2,3}f", true), (8, true, true));
    assert_eq!(shape("stop it:", true), (8, true, false));
    assert_eq!(shape(r"\[system (x|yy)\]", true), (11, false, false));
    assert_eq!(shape("disregard", false), (9, false, false));
    assert_eq!(shape("(pre)?x [a-c0-9]{4}", true), (9, true, true));
    assert_eq!(shape("[.!]ab:?(c?)d", true), (6, false, true));
}
