//! The way on: which messages to leave out, and redaction.

use proptest::prelude::*;

use super::*;

#[test]
fn the_messages_to_leave_out_are_those_that_the_alarm_came_from() {
    for (messages, expected) in [
        (&[("user", "#0.95"), ("user", "Hi"), ("tool", "#0.92")][..], &[0, 2][..]),
        // .4, then nothing; .7, 1.4, 2.1 alarm at 7. Without 5 it is .7, .6, 1.3.
        (
            &[
                ("user", "#0.5"),
                ("user", "-"),
                ("user", "-"),
                ("user", "-"),
                ("user", "-"),
                ("user", "#0.8"),
                ("tool", "#0.8"),
                ("user", "#0.8"),
            ],
            &[5],
        ),
        // Without the event over the level, .7 + .7 + .7 are still an alarm; of equals the first goes.
        (&[("user", "#0.8"), ("user", "#0.95"), ("tool", "#0.8"), ("user", "#0.8")], &[0, 1]),
        (&[("call", "#0.89"), ("user", "#0.85")], &[0]),
    ] {
        assert_eq!(judge(&Policy::default(), messages).drop_messages, expected, "{messages:?}");
    }
}

#[test]
fn outside_the_messages_nothing_can_be_left_out() {
    let rules = [("detector.linear".into(), RuleUse::Block)].into();
    let text = r##"{"system":"#0.95","messages":[{"role":"user","content":"#0.95"}]}"##;
    let hint = Hint { format: Some(crate::wire::Format::AnthropicMessages), ..Hint::default() };
    let found = judge_of(&Policy { rules, ..Policy::default() }).judge(text.as_bytes(), hint);
    assert_eq!(decided(&found), (Verdict::Block, Some("detector.linear".into()), None));
    assert_eq!(found.drop_messages, [0; 0]);
}

#[test]
fn a_result_among_several_gives_way_alone_and_once() {
    let result = |id: u32, text: &str| format!(r#"{{"type":"tool_result","tool_use_id":"t{id}","content":"{text}"}}"#);
    let body = |texts: [&str; 3]| {
        let [one, two, three] = texts;
        let results = [result(1, one), result(2, two), result(3, three)].join(",");
        format!(r#"{{"messages":[{{"role":"user","content":"Hi"}},{{"role":"user","content":[{results}]}}]}}"#)
    };
    let judge = judge_of(&Policy::default());
    let text = "a result with #0.97 inside it, and more";
    let before = body(["harmless", text, "fine"]);
    let found = judge.judge(before.as_bytes(), Hint::default());
    let after = judge.redact(before.as_bytes(), &found, Hint::default()).expect("redacted");
    let notice = body(["harmless", "[removed by the gateway's policy]\"      ", "fine"]).replacen("      \"", "      ", 1);
    assert_eq!(String::from_utf8(after).expect("UTF-8"), notice);
}

fn message() -> impl Strategy<Value = (&'static str, String)> {
    let role = prop::sample::select(Vec::from(["user", "user", "tool", "assistant"]));
    let score = prop::sample::select(Vec::from([0.0, 0.0, 0.2, 0.5, 0.7, 0.85, 0.95]));
    (role, score).prop_map(|(role, score)| (role, format!("some words around #{score} and behind it")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// What is named is enough, and of what stays nothing is touched.
    #[test]
    fn without_the_named_messages_nothing_blocks(messages in prop::collection::vec(message(), 1..12)) {
        let judge = judge_of(&Policy::default());
        let before = body(&messages);
        let found = judge.judge(before.as_bytes(), Hint::default());
        if found.verdict == Verdict::Block && !found.drop_messages.is_empty() {
            let stays = |at: usize| !found.drop_messages.iter().any(|dropped| *dropped as usize == at);
            let left: Vec<_> = messages.iter().cloned().enumerate().filter(|(at, _)| stays(*at)).map(|(_, message)| message).collect();
            prop_assert!(judge.judge(body(&left).as_bytes(), Hint::default()).verdict < Verdict::Block);
            let after = judge.redact(before.as_bytes(), &found, Hint::default());
            prop_assert_eq!(after.as_ref().map(Vec::len), Some(before.len()));
            let again = judge.judge(&after.unwrap_or_default(), Hint::default());
            prop_assert!(again.verdict < Verdict::Block);
            let scores = found.detected.expect("it was asked").scores;
            for (at, score) in again.detected.expect("it was asked").scores.into_iter().enumerate() {
                prop_assert_eq!(score, if stays(at) { scores[at] } else { 0.0 });
            }
        }
        let few = found.verdict == Verdict::Block && messages.len() <= crate::limits::MAX_DROPPED;
        prop_assert!(!few || !found.drop_messages.is_empty());
    }
}
