//! Incremental equals batch: however a history is cut into requests, it is judged as in one body. The clock stands still, so nothing fades.

use floodmark_core::Policy;
use floodmark_core::conversation::Profile;

use super::*;

/// Where requests end: some of the messages, and the last.
fn ends(messages: usize, cuts: &[prop::sample::Index]) -> Vec<usize> {
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(messages) + 1).collect();
    ends.push(messages);
    ends.sort_unstable();
    ends
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 160, ..ProptestConfig::default() })]

    /// Each request brings all that came before; requests are repeated now and then, since cuts may be equal.
    #[test]
    fn resent_histories(messages in conversations(48), cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..9), paper: bool) {
        static PAPER: LazyLock<Judge<'static>> = LazyLock::new(|| {
            Judge::new(&Policy { profile: Profile::Paper, ..Policy::default() }, &TABLES).expect("a valid policy")
        });
        let judge: &'static Judge<'static> = if paper { &PAPER } else { &JUDGE };
        let mut run = Run::default();
        for end in ends(messages.len(), &cuts) {
            let told = &messages[..end];
            let settled = settle_with(judge, &run, told, resent());
            let batch = judge.judge(body(told).as_bytes(), Hint::default());
            prop_assert_eq!(same(&settled.judgement), same(&batch));
            run = settled.run;
        }
    }

    /// Each request brings what is new only.
    #[test]
    fn kept_histories(messages in conversations(60), cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..9)) {
        let (mut run, mut from, mut alarmed) = (Run::default(), 0, Vec::new());
        for end in ends(messages.len(), &cuts).into_iter().filter(|end| *end > 0) {
            let settled = settle(&run, &messages[from..end], kept());
            let batch = alone(&messages[..end]);
            prop_assert_eq!(trajectory(&settled.judgement), trajectory(&batch));
            alarmed.extend(alarms(&settled.judgement).into_iter().map(|turn| turn + from as u32));
            prop_assert_eq!(&alarmed.iter().copied().take(8).collect::<Vec<_>>(), &alarms(&batch));
            let (score, all) = (&settled.judgement.score, &batch.score);
            prop_assert_eq!((score.score, score.reaches_tau, score.evaluated), (all.score, all.reaches_tau, all.evaluated));
            prop_assert_eq!(score.turn_scores.as_slice(), &all.turn_scores[all.turn_scores.len() - score.turn_scores.len()..]);
            (run, from) = (settled.run, end);
        }
    }
}

/// The cost of a long history that is sent again is that of its new turn, and of reading.
#[test]
fn one_new_turn_is_looked_at_alone() {
    let mut messages: Vec<Message> =
        (0..100).map(|at| message(if at % 2 == 0 { "user" } else { "assistant" }, format!("{CLEAN} {at}"))).collect();
    let run = settle(&Run::default(), &messages, resent()).run;
    messages.push(message("user", "And now?"));
    let body = body(&messages);
    let body = Hint::default().body(body.as_bytes());
    let mut opened = JUDGE.open(&body, Hint::default());
    let settled = opened.settle(&run, &resent());
    assert_eq!((opened.looked_at(), settled.judgement.run.expect("it was in a run").new_events), (1, 1));
    // After a conflict what was looked at stays so, and what another record asks for besides is looked at.
    assert_eq!(opened.settle(&run, &resent()).run, settled.run);
    assert_eq!(opened.looked_at(), 1);
    opened.settle(&Run::default(), &resent());
    assert_eq!(opened.looked_at(), 101);
    assert_eq!(same(&opened.alone()), same(&alone(&messages)));
}

/// Twelve requests of an agent, none of which would alarm alone: the right one is blocked, and stays so when it is sent again.
#[test]
fn an_attack_in_small_steps_is_blocked_at_the_right_request() {
    let messages: Vec<Message> = (0..12).map(|at| message("tool", warm(at))).collect();
    let scores: Vec<f64> = messages.iter().map(|(_, text)| score(text)).collect();
    let expected = cusum(0.0, &scores).1;
    for context in [kept(), resent()] {
        let mut run = Run::default();
        for at in 0..expected[0] + 1 {
            let told = if context.history == History::Kept { &messages[at..=at] } else { &messages[..=at] };
            assert_eq!(alarms(&alone(&messages[at..=at])), [0; 0]);
            let settled = settle(&run, told, context);
            let again = settle(&settled.run, told, context);
            let place = told.len() as u32 - 1;
            let alarmed = if at == expected[0] { vec![place] } else { Vec::new() };
            assert_eq!(alarms(&settled.judgement), alarmed, "{at} {:?}", context.history);
            if at == expected[0] {
                assert_eq!(alarms(&again.judgement), alarmed, "what was refused is refused again");
                assert_eq!(settled.judgement.drop_messages, alarmed);
            }
            run = settled.run;
        }
        assert_eq!((run.alarms(), run.cusum()), (1, 0.0));
    }
}

/// One request filled in again and again: it is seen at the same message, however the history is cut, short messages in between or not.
#[test]
fn resampling_goes_on_from_where_it_was() {
    let template = |at: usize| message("user", format!("{}{at}", POOL[10 + at % 2]));
    let mut messages = vec![message("user", "Hello there.")];
    for at in 0..7 {
        messages.push(template(at));
        messages.push(message("assistant", format!("Done, {at}.")));
        if at % 3 == 1 {
            messages.push(message("user", "yes please"));
        }
    }
    let seen = (1..=messages.len()).find(|end| alone(&messages[..*end]).score.resampling).expect("it is resampling");
    let mut run = Run::default();
    for end in 1..=messages.len() {
        let settled = settle(&run, &messages[..end], resent());
        assert_eq!(settled.judgement.score.resampling, end >= seen, "{end}");
        assert_eq!(same(&settled.judgement), same(&alone(&messages[..end])), "{end}");
        run = settled.run;
    }
}
