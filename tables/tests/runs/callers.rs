//! The caller's sum over all its runs.

use floodmark_core::run::{Caller, Counted};
use floodmark_core::{RuleUse, Verdict};

use super::*;

/// Judges a body of a new run of this caller.
fn request(caller: &Caller, messages: &[Message], run: &Run, context: Context<'_>) -> (Settled<'static>, Caller) {
    let mut settled = settle(run, messages, context);
    let caller = Caller::decode(&caller.encode()).expect("what was written can be read");
    let next = JUDGE.caller(&mut settled.judgement, &caller, &settled.counted, &context);
    (settled, next)
}

/// A new session for each step: each alone is under every level, the caller's sum reaches its own at the right request.
#[test]
fn a_session_for_each_step_is_seen_at_the_caller() {
    let step = |at: usize| [message("user", warm(at))];
    let mut sum = 0.0;
    let mut caller = Caller::default();
    for at in 0..40 {
        sum += score(&step(at)[0].1) - DETECTOR.levels.drift;
        let (settled, next) = request(&caller, &step(at), &Run::default(), resent());
        let judgement = &settled.judgement;
        if sum < DETECTOR.levels.caller_alarm {
            assert_eq!((judgement.verdict, judgement.run.and_then(|run| run.caller_cusum)), (Verdict::Allow, Some(next.cusum())), "{at}");
            assert!((next.cusum() - sum).abs() < 1e-9);
            caller = next;
            continue;
        }
        let decisive = judgement.decisive.as_ref().expect("it is blocked");
        assert_eq!((judgement.verdict, decisive.rule, decisive.turn), (Verdict::Block, "detector.caller_persistence", Some(0)), "{at}");
        assert_eq!((next.alarms(), next.cusum(), judgement.drop_messages.as_slice()), (1, 0.0, &[0][..]));
        // Sent again, in the same run or in another one, it is refused again and counts no more than once.
        for run in [&settled.run, &Run::default()] {
            let told = [step(at).as_slice(), &[message("assistant", "No."), message("user", "Why?")]].concat();
            let (again, after) = request(&next, &told, run, resent());
            assert_eq!((again.judgement.verdict, after.alarms()), (Verdict::Block, 1));
            assert_eq!(after.cusum(), 0.0);
        }
        assert_eq!(request(&next, &step(at + 1), &Run::default(), resent()).0.judgement.verdict, Verdict::Allow);
        return;
    }
    panic!("it never alarmed");
}

/// A history that a new run brings along was counted before; the same text as a new turn was not.
#[test]
fn a_history_counts_once_for_its_caller() {
    let told = [message("user", MILD), message("assistant", "No."), message("user", "Why?")];
    let (_, first) = request(&Caller::default(), &told[..1], &Run::default(), resent());
    let (_, second) = request(&first, &told, &Run::default(), resent());
    assert!(second.cusum() <= first.cusum());
    let (_, anew) = request(&first, &[message("user", MILD)], &Run::default(), resent());
    assert!((anew.cusum() - 2.0 * first.cusum()).abs() < 1e-12);
}

#[test]
fn two_callers_do_not_meet() {
    let (mut one, mut other) = (Caller::default(), Caller::default());
    for at in 0..4 {
        one = request(&one, &[message("user", warm(at))], &Run::default(), resent()).1;
        other = request(&other, &[message("user", CLEAN)], &Run::default(), resent()).1;
    }
    assert!(one.cusum() > 0.5 && other.cusum() <= 0.0);
}

#[test]
fn the_rule_can_be_changed_and_nothing_to_count_is_told() {
    let judge = judge_with(&[("detector.caller_persistence", RuleUse::Flag)]);
    let mut caller = Caller::default();
    let mut verdicts = Vec::new();
    // The CUSUM by its formula, begun anew behind each alarm.
    let (mut sum, mut alarms): (f64, u32) = (0.0, 0);
    for at in 0..16 {
        let mut settled = settle_with(judge, &Run::default(), &[message("user", warm(at))], resent());
        sum += settled.judgement.detected.as_ref().expect("a score").trajectory.peak() - DETECTOR.levels.drift;
        if sum >= DETECTOR.levels.caller_alarm {
            (sum, alarms) = (0.0, alarms + 1);
        }
        caller = judge.caller(&mut settled.judgement, &caller, &settled.counted, &resent());
        verdicts.push(settled.judgement.verdict);
    }
    let flagged = verdicts.iter().filter(|verdict| **verdict == Verdict::Flag).count();
    assert!(alarms > 1 && (caller.cusum() - sum).abs() < 1e-9);
    assert_eq!((flagged, caller.alarms()), (alarms as usize, alarms));
    assert!(Counted::default().is_empty());
    let clean = settle(&Run::default(), &[message("assistant", "Hello.")], resent());
    assert!(clean.counted.is_empty());
    let half = Context { now_ms: 1_000_000 + 3_600_000, ..resent() };
    let before = request(&Caller::default(), &[message("user", WARM)], &Run::default(), resent()).1;
    let after = request(&before, &[message("assistant", "Hello.")], &Run::default(), half).1;
    assert!((after.cusum() - before.cusum() / 2.0).abs() < 1e-12);
}
