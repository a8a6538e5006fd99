//! The detector in the verdict, with one that takes its scores from the texts: `#0.9` in a text is a chunk of score 0.9.

mod dropping;
mod rules;
mod streams;
mod trajectories;

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::detector::{Member, Model};
use crate::policy::{DetectorParams, Policy};
use crate::score::filter::FILTER_WORDS;
use crate::score::{CategorySet, Filter, Tails};
use crate::text::{FoldTable, View};
use crate::wire::Channel;
use crate::{Detector, Hint, Judge, Judgement, Reason, RuleUse, Tables, Verdict};

use super::Levels;

/// No categories, no patterns, no folds.
static NOTHING: CategorySet<'static> = CategorySet {
    categories: &[],
    patterns: &[],
    filter: Filter { bits: &[0; FILTER_WORDS] },
    tails: Tails { states: &[0, 0], labels: &[], lengths: &[], targets: &[], letters: &[], wholes: &[], offsets: &[0], patterns: &[] },
    folds: FoldTable { blocks: &[], values: &[], strings: "", offsets: &[0] },
    fingerprint: "",
};

static GIVEN: Detector<'static> = Detector {
    members: &[Member { name: "linear", model: Model::Given(given) }],
    levels: Levels { tau_event: 0.5, event_block: 0.9, drift: 0.1, alarm: 1.5, caller_alarm: 3.0 },
    version: "test",
};

static TABLES: Tables<'static> = Tables { categories: &NOTHING, detector: Some(&GIVEN), instructions: None };

/// The highest of the scores that a text says, the first of equals.
fn given(view: &str) -> Option<(u32, (usize, usize), f64)> {
    let mut best: Option<(u32, (usize, usize), f64)> = None;
    for (chunk, (at, _)) in (0..).zip(view.match_indices('#')) {
        let end = view[at..].find(|letter: char| letter.is_whitespace() || letter == '<').map_or(view.len(), |length| at + length);
        let Ok(score) = view[at + 1..end].parse::<f64>() else { continue };
        // What is no number is worse than any.
        if best.is_none_or(|(.., best)| score > best || score.is_nan()) {
            best = Some((chunk, (at, end), score));
        }
    }
    best.or((!view.trim().is_empty()).then_some((0, (0, view.len()), 0.0)))
}

/// A judge that outlives its judgements.
fn judge_of(policy: &Policy) -> &'static mut Judge<'static> {
    Box::leak(Box::new(Judge::new(policy, &TABLES).expect("a valid policy")))
}

fn judge(policy: &Policy, messages: &[(&str, &str)]) -> Judgement<'static> {
    judge_of(policy).judge(body(messages).as_bytes(), Hint::default())
}

/// An OpenAI body; the texts need no escapes. Role `call` is an assistant's call with the text as an argument.
fn body<S: AsRef<str>>(messages: &[(&str, S)]) -> String {
    let message = |(role, text): &(&str, S)| match (*role, text.as_ref()) {
        ("call", text) => format!(
            r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"c","type":"function","function":{{"name":"f","arguments":"{{\"a\":\"{text}\"}}"}}}}]}}"#
        ),
        (role, text) => format!(r#"{{"role":"{role}","content":"{text}"}}"#),
    };
    let messages: Vec<String> = messages.iter().map(message).collect();
    format!(r#"{{"model":"m","messages":[{}]}}"#, messages.join(","))
}

fn decided(found: &Judgement<'_>) -> (Verdict, Option<String>, Option<u32>) {
    let decisive = found.decisive.as_ref();
    (found.verdict, decisive.map(|reason| reason.rule.into()), decisive.and_then(|reason| reason.turn))
}

#[test]
fn an_event_over_the_level_blocks_in_turns_and_flags_elsewhere() {
    for (role, verdict, channel) in [
        ("user", Verdict::Block, Channel::User),
        ("tool", Verdict::Block, Channel::ToolResult),
        ("stranger", Verdict::Block, Channel::User),
        ("system", Verdict::Flag, Channel::System),
        ("developer", Verdict::Flag, Channel::System),
        ("assistant", Verdict::Flag, Channel::Assistant),
        ("call", Verdict::Flag, Channel::ToolCall),
    ] {
        let found = judge(&Policy::default(), &[("user", "Hi"), (role, "first #0.2 then #0.9 and #0.9"), ("user", "Bye")]);
        assert_eq!(decided(&found), (verdict, Some("detector.linear".into()), Some(1)), "{role}");
        // A call's name stands before its arguments' strings.
        let at = if role == "call" { 20 } else { 16 };
        let counts_as = if verdict == Verdict::Block { RuleUse::Block } else { RuleUse::Flag };
        let expected = Reason {
            channel: Some(channel),
            turn: Some(1),
            span: Some((at, at + 4)),
            view: Some(View::Folded),
            chunk: Some(1),
            ..Reason::of_rule("detector.linear", Some(counts_as))
        };
        assert_eq!(found.reasons, [expected], "{role}");
        let dropped: &[u32] = if verdict == Verdict::Block { &[1] } else { &[] };
        assert_eq!(found.drop_messages, dropped, "{role}");
        let below = judge(&Policy::default(), &[("user", "Hi"), (role, "#0.89"), ("user", "Bye")]);
        assert_eq!((below.verdict, below.reasons.len()), (Verdict::Allow, 0), "{role}");
    }
    let definition = r##"{"messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function","function":{"name":"f","description":"do #0.95 it"}}]}"##;
    let found = judge_of(&Policy::default()).judge(definition.as_bytes(), Hint::default());
    assert_eq!(decided(&found), (Verdict::Flag, Some("detector.linear".into()), None));
}

/// The percent sign stands for the number sign, and base64 for a whole text; the score is the highest of all, and of equals the undisguised one.
#[test]
fn the_highest_view_counts_and_is_named() {
    for (text, score, view, piece) in [
        ("plain #0.95 text", 0.95, View::Folded, "#0.95"),
        ("%230.95 percent, and #0.91", 0.95, View::Decoded, "%230.95"),
        ("#0.95 and %230.95", 0.95, View::Folded, "#0.95"),
        // "hidden #0.97 text"
        ("see aGlkZGVuICMwLjk3IHRleHQ= there #0.91", 0.97, View::Decoded, "aGlkZGVuICMwLjk3IHRleHQ"),
    ] {
        let found = judge(&Policy::default(), &[("user", text)]);
        let detected = found.detected.as_ref().expect("it was asked");
        assert_eq!((detected.scores.as_slice(), detected.messages.as_slice()), (&[score][..], &[Some(0)][..]), "{text}");
        let [reason] = found.reasons.as_slice() else { panic!("{text}: {:?}", found.reasons) };
        let (start, end) = reason.span.expect("a span");
        assert_eq!((reason.view, &text[start..end]), (Some(view), piece), "{text}");
    }
}

#[test]
fn levels_are_the_tables_unless_the_policy_has_its_own() {
    let with = |detector| judge(&Policy { detector, ..Policy::default() }, &[("user", "#0.6"), ("tool", "#0.85"), ("tool", "#0.4")]);
    let levels = DetectorParams::default;
    for (detector, rule, turn) in [
        // .5 + .75 + .3 = 1.55
        (levels(), "detector.persistence", 2),
        (DetectorParams { event_block: Some(0.85), ..levels() }, "detector.linear", 1),
        (DetectorParams { alarm: Some(1.25), ..levels() }, "detector.persistence", 1),
        (DetectorParams { drift: Some(0.05), alarm: Some(1.35), ..levels() }, "detector.persistence", 1),
        (DetectorParams { drift: Some(0.0), alarm: Some(1.85), ..levels() }, "detector.persistence", 2),
    ] {
        assert_eq!(decided(&with(detector.clone())), (Verdict::Block, Some(rule.into()), Some(turn)), "{detector:?}");
    }
    for detector in [DetectorParams { alarm: Some(1.56), ..levels() }, DetectorParams { drift: Some(0.2), ..levels() }] {
        assert_eq!(with(detector.clone()).verdict, Verdict::Allow, "{detector:?}");
    }
    for (detector, key) in [
        (DetectorParams { event_block: Some(0.0), ..levels() }, "detector.event_block"),
        (DetectorParams { event_block: Some(1.01), ..levels() }, "detector.event_block"),
        (DetectorParams { drift: Some(-0.1), ..levels() }, "detector.drift"),
        (DetectorParams { drift: Some(1.1), ..levels() }, "detector.drift"),
        (DetectorParams { alarm: Some(0.009), ..levels() }, "detector.alarm"),
        (DetectorParams { alarm: Some(f64::NAN), ..levels() }, "detector.alarm"),
        (DetectorParams { alarm: Some(16_385.0), ..levels() }, "detector.alarm"),
    ] {
        assert_eq!(Judge::new(&Policy { detector, ..Policy::default() }, &TABLES).expect_err(key).key, key);
    }
}

#[test]
fn without_a_detector_nothing_is_said_of_it() {
    let tables = Tables { detector: None, ..TABLES };
    let judge = Judge::new(&Policy::default(), &tables).expect("valid");
    let found = judge.judge(body(&[("user", "#0.95")]).as_bytes(), Hint::default());
    assert_eq!((found.verdict, found.detected), (Verdict::Allow, None));
}
