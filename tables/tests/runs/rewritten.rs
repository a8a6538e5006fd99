//! Histories that do not go on from one that was judged: nothing that was counted gets lower, and none passes that would not pass alone.

use floodmark_core::Verdict;

use super::*;

/// What a client does to a history.
#[derive(Clone, Copy, Debug)]
enum Change {
    /// Leaves out a message.
    Drop,
    /// Says one in other words.
    Reword,
    /// Puts one in.
    Insert,
    /// Says two in each other's place.
    Swap,
}

fn changed(mut messages: Vec<Message>, changes: &[(Change, prop::sample::Index)]) -> Vec<Message> {
    for (number, (change, at)) in changes.iter().enumerate() {
        let at = at.index(messages.len());
        match change {
            Change::Drop if messages.len() > 1 => drop(messages.remove(at)),
            Change::Drop | Change::Insert => messages.insert(at, message("user", format!("{CLEAN} {number} new"))),
            Change::Reword => messages[at].1.push_str(" indeed"),
            Change::Swap => {
                let other = messages.len() - 1 - at;
                messages.swap(at, other);
            }
        }
    }
    messages
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// A refusal names messages; without them the conversation goes on. What follows them is not counted again, unless it is said as a turn of its own.
    #[test]
    fn what_is_named_frees(messages in conversations(24)) {
        let (mut run, mut told) = (Run::default(), messages);
        for _ in 0..3 {
            let settled = settle(&run, &told, resent());
            run = settled.run;
            let drop = settled.judgement.drop_messages;
            if settled.judgement.verdict < Verdict::Block || drop.is_empty() {
                break;
            }
            let mut at = 0..;
            told.retain(|_| !drop.contains(&at.next().expect("no end")));
            let free = settle(&run, &told, resent());
            prop_assert!(free.judgement.verdict < Verdict::Block, "without {:?}: {:?}", drop, free.judgement.decisive);
        }
    }

    /// The same few texts over and over: what is known by its text alone is never taken for less than the body says.
    #[test]
    fn repeated_texts_are_never_judged_milder(
        texts in proptest::collection::vec((0usize..6, prop_oneof![Just("user"), Just("tool"), Just("call")]), 1..24),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..6),
        changes in proptest::collection::vec((Just(Change::Drop), any::<prop::sample::Index>()), 0..3),
    ) {
        let all: Vec<Message> = texts.into_iter().map(|(text, role)| message(role, [CLEAN, MILD, WARM, POOL[4], POOL[7], POOL[0]][text])).collect();
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(all.len()) + 1).collect();
        ends.sort_unstable();
        let mut run = Run::default();
        for end in ends {
            let settled = settle(&run, &all[..end], resent());
            let batch = alone(&all[..end]);
            prop_assert!(settled.judgement.verdict >= batch.verdict);
            prop_assert_eq!((&settled.judgement.score, trajectory(&settled.judgement)), (&batch.score, trajectory(&batch)));
            run = settled.run;
        }
        let told = changed(all, &changes);
        let settled = settle(&run, &told, resent());
        prop_assert!(settled.judgement.verdict >= alone(&told).verdict);
        prop_assert_eq!(&settled.judgement.score, &alone(&told).score);
    }

    #[test]
    fn no_change_lowers_what_was_counted(
        messages in conversations(16),
        more in conversations(6),
        changes in proptest::collection::vec(
            (prop_oneof![Just(Change::Drop), Just(Change::Reword), Just(Change::Insert), Just(Change::Swap)], any::<prop::sample::Index>()),
            1..5,
        ),
        fallback: bool,
    ) {
        let context = Context { fallback, ..resent() };
        let run = settle(&Run::default(), &messages, context).run;
        let told = [changed(messages.clone(), &changes), more].concat();
        let settled = settle(&run, &told, context);
        let facts = settled.judgement.run.expect("it was in a run");
        let batch = alone(&told);
        prop_assert!(settled.judgement.verdict >= batch.verdict, "{:?} {:?}", settled.judgement.verdict, batch.verdict);
        prop_assert_eq!(&settled.judgement.score, &batch.score);
        prop_assert!(settled.run.events() >= run.events() && settled.run.persistence() >= run.persistence());
        prop_assert_eq!((settled.run.rewritten() == 1, settled.run.restarts() == 1), (facts.rewritten, facts.restarted));
        if facts.rewritten && facts.new_events as usize == told.len() {
            // No four of the old in a row: only what rises counts.
            prop_assert!(settled.run.cusum() >= run.cusum() || settled.run.alarms() > run.alarms());
            let hot = |messages: &[Message]| messages.iter().filter(|(role, text)| {
                matches!(*role, "user" | "tool" | "call") && score_of(role, text) > DETECTOR.levels.drift
            }).count() as u32;
            // What is told more often than it was counted counts.
            let mut counted = messages.clone();
            let mut left = told.clone();
            left.retain(|message| {
                let known = counted.iter().position(|counted| counted == message);
                known.map(|known| counted.swap_remove(known)).is_none()
            });
            prop_assert_eq!(settled.run.events() - run.events(), hot(&left), "each that rises counts once: {:?}", told);
        }
        // Told once more it goes on from itself.
        let again = settle(&settled.run, &told, context);
        prop_assert_eq!((same(&again.judgement).verdict, again.run.cusum()), (settled.judgement.verdict, settled.run.cusum()));
    }

    /// A client that sends the last messages only: each event counts once, in its order, as in one long history.
    #[test]
    fn a_sliding_window_counts_each_event_once(messages in conversations(40), window in 6usize..12, step in 1usize..3) {
        let mut run = Run::default();
        let mut end = 0;
        while end < messages.len() {
            end = (end + step).min(messages.len());
            let told = &messages[end.saturating_sub(window)..end];
            let settled = settle(&run, told, resent());
            prop_assert_eq!(trajectory(&settled.judgement), trajectory(&alone(&messages[..end])), "{} of {}", end, messages.len());
            prop_assert_eq!(settled.run.alarms() as usize, alarms_of(&messages[..end]));
            run = settled.run;
        }
    }
}

/// How often a whole history alarms, by the sum itself.
fn alarms_of(messages: &[Message]) -> usize {
    let steps = messages.iter().filter(|(role, _)| matches!(*role, "user" | "tool" | "call"));
    cusum(0.0, &steps.map(|(role, text)| score_of(role, text)).collect::<Vec<_>>()).1.len()
}

/// A conversation that alarmed stays blocked while the event is in it, however its start is rewritten, and is free without it.
#[test]
fn what_alarmed_stays_blocked_until_it_is_left_out() {
    let mut messages = vec![message("user", "Hello there.")];
    messages.extend((0..4).map(|at| message("tool", warm(at))));
    let first = settle(&Run::default(), &messages, resent());
    assert_eq!(
        (first.judgement.verdict, alarms(&first.judgement), first.judgement.drop_messages.as_slice()),
        (Verdict::Block, vec![4], &[4][..])
    );
    messages.push(message("user", CLEAN));
    let longer = settle(&first.run, &messages, resent());
    assert_eq!((longer.judgement.verdict, alarms(&longer.judgement)), (Verdict::Block, vec![4]));
    let mut other = messages.clone();
    other[0].1 = "Good morning.".into();
    // Clean messages in between, so that the body alone would pass.
    (0..8).for_each(|at| other.insert(3, message("tool", format!("{CLEAN} {at}"))));
    assert_eq!(alone(&other).verdict, Verdict::Allow);
    let rewritten = settle(&longer.run, &other, resent());
    assert_eq!((rewritten.judgement.verdict, rewritten.judgement.run.map(|run| run.rewritten)), (Verdict::Block, Some(true)));
    let mut dropped = messages.clone();
    dropped.remove(4);
    let free = settle(&longer.run, &dropped, resent());
    assert_eq!((free.judgement.verdict, free.run.alarms()), (Verdict::Allow, 1));
}

/// The issue is counted only, unless the config says more; a fallback run is another conversation.
#[test]
fn rewriting_is_an_issue_with_a_rule_of_its_own() {
    let run = settle(&Run::default(), &[message("user", "One.")], resent()).run;
    let other = [message("user", "Two.")];
    let noted = settle(&run, &other, resent());
    let kinds: Vec<&str> = noted.judgement.issues.kinds().map(|kind| kind.name()).collect();
    assert_eq!((noted.judgement.verdict, kinds), (Verdict::Allow, vec!["run_rewritten"]));
    let strict = judge_with(&[("run.*", RuleUse::Block)]);
    let run_of_strict = settle_with(strict, &Run::default(), &[message("user", "One.")], resent()).run;
    let blocked = settle_with(strict, &run_of_strict, &other, resent());
    assert_eq!((blocked.judgement.verdict, blocked.judgement.decisive.map(|reason| reason.rule)), (Verdict::Block, Some("run.rewritten")));
    // Sent again, or with more, it is no less rewritten; an approval makes it the history to go on from.
    let more = [other[0].clone(), message("user", "Three.")];
    for told in [&other[..], &more] {
        let again = settle_with(strict, &blocked.run, told, resent());
        assert_eq!((again.judgement.verdict, again.run.rewritten()), (Verdict::Block, 2));
    }
    let known = settle_with(strict, &blocked.run, &[message("user", "One."), message("user", "And?")], resent());
    assert_eq!(known.judgement.verdict, Verdict::Allow);
    let asking = judge_with(&[("run.rewritten", RuleUse::Ask)]);
    let first = settle_with(asking, &settle_with(asking, &Run::default(), &[message("user", "One.")], resent()).run, &other, resent());
    let again = settle_with(asking, &first.run, &other, resent());
    let asked = again.judgement.run.and_then(|run| run.asked);
    assert_eq!((first.judgement.verdict, again.judgement.verdict, asked.is_some()), (Verdict::Ask, Verdict::Ask, true));
    let approved = settle_with(asking, &again.run, &other, Context { approved: asked, ..resent() });
    assert_eq!(approved.judgement.verdict, Verdict::Flag);
    assert_eq!(settle_with(asking, &approved.run, &more, resent()).judgement.verdict, Verdict::Allow);
    let restarted = settle(&run, &other, Context { fallback: true, ..resent() });
    assert_eq!(restarted.judgement.issues.kinds().count(), 0);
    assert_eq!((restarted.run.restarts(), restarted.run.rewritten()), (1, 0));
}

/// Another conversation of the same caller and opening takes over the sum, and clean turns lower it as anywhere.
#[test]
fn a_restart_inherits_the_sum() {
    let fallback = Context { fallback: true, ..resent() };
    let opening = message("user", "Hello there.");
    let run = settle(&Run::default(), &[opening.clone(), message("tool", WARM)], fallback).run;
    let told = [opening, message("user", "Something else."), message("tool", warm(1))];
    let settled = settle(&run, &told, fallback);
    let scores: Vec<f64> = told.iter().map(|(_, text)| score(text)).collect();
    assert!((settled.run.cusum() - cusum(run.cusum(), &scores).0).abs() < 1e-12);
    assert_eq!(settled.judgement.run.map(|run| (run.restarted, run.new_events)), Some((true, 3)));
    // Begun again and again with what was counted: nothing is added.
    let again = settle(&settled.run, &[told[0].clone(), message("tool", WARM)], fallback);
    assert!(again.run.cusum() <= settled.run.cusum());
}

/// Turns that other branches of a run hold lower nothing of this one: its history is judged as it would be alone.
#[test]
fn no_branch_washes_another() {
    let hot: Vec<Message> = (0..3).map(|at| message("tool", warm(at))).collect();
    let clean: Vec<Message> = (0..9).map(|at| message("tool", format!("{CLEAN} {at}"))).collect();
    let run = settle(&Run::default(), &hot, resent()).run;
    let washed = settle(&run, &[hot.as_slice(), &clean].concat(), resent()).run;
    assert_eq!(washed.cusum(), 0.0);
    let told = [hot.as_slice(), &[message("tool", warm(3))]].concat();
    assert_eq!(alarms(&alone(&told)), [3]);
    let branch = settle(&washed, &told, resent());
    assert_eq!((alarms(&branch.judgement), branch.judgement.run.map(|run| run.new_events)), (vec![3], Some(1)));
    // What is old fades in a branch too.
    let late = settle(&washed, &told, Context { now_ms: 1_000_000 + 36_000_000, ..resent() });
    assert_eq!(alarms(&late.judgement), [0; 0]);
}
