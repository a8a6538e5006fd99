//! The trajectory of a body: which events are in it, its numbers, and its alarms.

use proptest::prelude::*;

use super::*;

/// By hand, with drift .1: .5, 1.1, then the system's and the assistant's words and an empty message, which are no events of it, then 0.5, then 0.
#[test]
fn it_takes_user_messages_tool_results_and_arguments_in_wire_order() {
    let found = judge(
        &Policy::default(),
        &[
            ("system", "#0.8"),
            ("user", "#0.6"),
            ("assistant", "#0.8"),
            ("call", "#0.7"),
            ("user", " "),
            ("tool", "x"),
            ("tool", "x"),
            ("user", "#0.7 "),
            ("user", "Bye"),
        ],
    );
    let detected = found.detected.expect("it was asked");
    assert_eq!(detected.version, "test");
    assert_eq!(detected.scores, [0.8, 0.6, 0.8, 0.7, 0.0, 0.0, 0.0, 0.7, 0.0]);
    assert_eq!(detected.messages, [0, 1, 2, 3, 4, 5, 6, 7, 8].map(Some));
    // .5, 1.1, 1.0, .9, 1.5: the alarm level is reached, though only as far as sums of such numbers go.
    let trajectory = detected.trajectory;
    assert_eq!((trajectory.events(), trajectory.peak(), trajectory.frac_over_tau()), (6, 0.7, 0.5));
    assert!((trajectory.persistence() - 1.5).abs() < 1e-12 && (trajectory.cusum() - 1.4).abs() < 1e-12, "{trajectory:?}");
    assert_eq!((detected.peak_message, detected.alarm_message), (Some(3), Some(7)));
    assert_eq!((found.verdict, detected.rules_met), (Verdict::Block, 0b10));
    let [reason] = found.reasons.as_slice() else { panic!("{:?}", found.reasons) };
    let expected = Reason { channel: Some(Channel::User), turn: Some(7), ..Reason::of_rule("detector.persistence", Some(RuleUse::Block)) };
    assert_eq!(*reason, expected);
}

#[test]
fn after_an_alarm_the_sum_begins_anew() {
    let found = judge(&Policy::default(), &[("user", "#0.85"); 5]);
    let turns: Vec<_> = found.reasons.iter().map(|reason| reason.turn).collect();
    assert_eq!(turns, [Some(1), Some(3)], ".75 each: two make an alarm, and one is left");
    let detected = found.detected.expect("it was asked");
    assert!((detected.trajectory.persistence() - 3.75).abs() < 1e-12, "the statistic goes on as published");
    assert_eq!(detected.alarm_message, Some(1));
}

#[test]
fn reasons_are_bounded() {
    let found = judge(&Policy::default(), &[("user", "#1"); 1000]);
    assert_eq!((found.reasons.len(), found.verdict), (crate::limits::MAX_REASONS, Verdict::Block));
    let alarms = found.reasons.iter().filter(|reason| reason.rule == "detector.persistence").count();
    assert_eq!(alarms, crate::limits::MAX_ALARMS, "the events themselves have room, too");
    assert_eq!(found.drop_messages, [0; 0], "too many");
}

fn score() -> impl Strategy<Value = f64> {
    prop::sample::select(Vec::from([0.0, 0.05, 0.1, 0.3, 0.5, 0.7, 0.85, 0.89]))
}

fn texts(scores: &[f64]) -> Vec<(&'static str, String)> {
    let roles = ["user", "tool", "call"];
    scores.iter().enumerate().map(|(at, score)| (roles[at % 3], format!("#{score}"))).collect()
}

fn detect(scores: &[f64]) -> Judgement<'static> {
    judge_of(&Policy::default()).judge(body(&texts(scores)).as_bytes(), Hint::default())
}

proptest! {
    /// The naive twin: the highest sum of score minus drift over any events in a row.
    #[test]
    fn persistence_is_the_highest_sum_in_a_row(scores in prop::collection::vec(score(), 1..24)) {
        let sums = (0..scores.len()).flat_map(|from| (from..scores.len()).map(move |to| (from, to)));
        let sum = |(from, to): (usize, usize)| scores[from..=to].iter().map(|score| score - 0.1).sum::<f64>();
        let highest = sums.map(sum).fold(0.0, f64::max);
        let found = detect(&scores);
        let detected = found.detected.expect("it was asked");
        prop_assert!((detected.trajectory.persistence() - highest).abs() < 1e-9);
        prop_assert_eq!(detected.alarm_message.is_some(), highest >= 1.5 - 1e-9);
        prop_assert_eq!(found.verdict == Verdict::Block, highest >= 1.5 - 1e-9);
        prop_assert_eq!(detected.scores, scores);
    }

    /// Harmless events before it, among it or behind it neither lower what was reached nor what an event scored.
    #[test]
    fn harmless_events_around_never_lower_it(scores in prop::collection::vec(score(), 1..12), before in 0usize..8, behind in 0usize..8) {
        let alone = detect(&scores).detected.expect("it was asked");
        let padded = [&[0.0].repeat(before)[..], &scores, &[0.0].repeat(behind)].concat();
        let padded = detect(&padded).detected.expect("it was asked");
        prop_assert_eq!(padded.trajectory.persistence(), alone.trajectory.persistence());
        prop_assert_eq!(padded.trajectory.peak(), alone.trajectory.peak());
        prop_assert_eq!(padded.alarm_message.is_some(), alone.alarm_message.is_some());
    }
}
