//! The oracle cases of testdata/vectors against the formula, to 1e-9, and profile `floodmark` against its definition.

use std::fs;
use std::path::Path;

use floodmark_core::conversation::{Formula, Params, Profile, Resampling, Turn};
use floodmark_core::text::{FoldTable, Folded};
use proptest::prelude::*;
use serde_json::{Map, Value};

const CATEGORIES: [&str; 4] = ["instruction_seeding", "role_confusion", "deferred_authority", "escalation_probing"];
const WEIGHTS: [f64; 4] = [0.4, 0.5, 0.3, 0.3];

fn close(found: f64, expected: &Value, what: &str) {
    let expected = expected.as_f64().unwrap_or_else(|| panic!("{what} is no number: {expected}"));
    assert!((found - expected).abs() <= 1e-9, "{what}: {found}, expected {expected}");
}

fn check(case: &Value, formula: Formula<'_>) {
    let name = case["name"].as_str().expect("a name");
    let mut resampling = Resampling::new(formula.profile);
    let turns: Vec<Turn> = case["turns"]
        .as_array()
        .expect("turns")
        .iter()
        .map(|turn| {
            let hit = |category: &Value| CATEGORIES.iter().position(|known| category == known).expect("a known category");
            let categories = turn["categories"].as_array().expect("categories").iter().fold(0, |bits, category| bits | 1 << hit(category));
            let user = turn["role"] == "user";
            if user {
                resampling.push(Folded::new(turn["text"].as_str().unwrap_or_default(), &FoldTable::EMPTY).as_str().to_owned());
            }
            Turn { user, categories }
        })
        .collect();
    let score = formula.score(&turns, resampling.seen());
    let expect = case["expect"].as_object().expect("an object");
    assert_eq!(score.evaluated, expect["evaluated"], "{name}");
    let verdict = match formula.profile {
        _ if score.reaches_tau => "block",
        Profile::Floodmark if score.resampling => "flag",
        _ => "allow",
    };
    assert_eq!(verdict, expect["verdict"], "{name}");
    close(score.score, &expect["score"], name);
    let turn_scores = expect["turn_scores"].as_array().expect("turn scores");
    assert_eq!(score.turn_scores.len(), turn_scores.len(), "{name}");
    for (found, expected) in score.turn_scores.iter().zip(turn_scores) {
        close(*found, expected, name);
    }
    if !score.evaluated {
        return;
    }
    assert_eq!(score.resampling, expect["resampling"], "{name}");
    if formula.profile == Profile::Floodmark {
        // One of the windows that reach the score, so not always the oracle's.
        assert_eq!(score.window.is_none(), expect["window"].is_null(), "{name}");
        let reached = score.window.map_or(0.0, |(first, last)| naive_window(&turns, first, last, formula.params).min(1.0));
        close(reached, &expect["score"], name);
        return;
    }
    close(score.peak, &expect["peak"], name);
    close(score.match_ratio, &expect["match_ratio"], name);
    close(score.diversity, &expect["diversity"], name);
    assert_eq!(score.distinct_categories, expect["distinct_categories"], "{name}");
    assert_eq!(score.escalation, expect["escalation"], "{name}");
}

/// The oracle's name of a parameter, where it is not ours.
fn parameter(name: &str) -> &str {
    match name {
        "window_max" => "window_max_turns",
        "window_min" => "window_min_turns",
        same => same,
    }
}

#[test]
fn every_oracle_case_of_both_profiles() {
    for (file, profile, count) in [("conversation.json", Profile::Paper, 224), ("conversation_floodmark.json", Profile::Floodmark, 188)] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/vectors").join(file);
        let vectors: Value = serde_json::from_str(&fs::read_to_string(path).expect("readable")).expect("JSON");
        let weights = CATEGORIES.map(|category| vectors["weights"][category].as_f64().expect("a weight"));
        let parameters = vectors["parameters"].as_object().expect("the formula's parameters");
        let parameters: Map<String, Value> = parameters.iter().map(|(name, value)| (parameter(name).to_owned(), value.clone())).collect();
        let params: Params = serde_json::from_value(parameters.into()).expect("names that are ours");
        assert_eq!(params, Params::default());
        let cases = vectors["cases"].as_array().expect("cases");
        assert_eq!(cases.len(), count);
        cases.iter().for_each(|case| check(case, Formula { profile, params: &params, weights: &weights }));
    }
}

fn naive_turn(turn: &Turn) -> f64 {
    (0..4).filter(|c| turn.categories >> c & 1 == 1).map(|c| WEIGHTS[c]).sum::<f64>().min(1.0)
}

/// A window's value by the definition, word for word.
fn naive_window(turns: &[Turn], first: usize, last: usize, params: &Params) -> f64 {
    let scores: Vec<f64> = turns[first..=last].iter().map(naive_turn).collect();
    let length = scores.len();
    let peak = scores.iter().copied().fold(0.0, f64::max);
    let hits = scores.iter().filter(|&&score| score > 0.0).count();
    let distinct = (0..4).filter(|c| turns[first..=last].iter().any(|turn| turn.categories >> c & 1 == 1)).count();
    let rises = params.escalation && length >= 3 && scores[length - 3] < scores[length - 2] && scores[length - 2] < scores[length - 1];
    let value = peak
        + hits as f64 / length.max(params.window_min_turns as usize) as f64 * params.rho
        + distinct.saturating_sub(1) as f64 * params.delta
        + if rises { params.beta_e } else { 0.0 };
    let (after, fresh, gone) = ((turns.len() - 1 - last) as f64, f64::from(params.fresh_turns), f64::from(params.gone_turns));
    value
        * match () {
            () if !params.decay || after <= fresh => 1.0,
            () if after >= gone => 0.0,
            () => 1.0 - (after - fresh) / (gone - fresh),
        }
}

fn naive_score(turns: &[Turn], params: &Params) -> f64 {
    if turns.len() < params.min_turns as usize || !turns.iter().any(|turn| turn.user) {
        return 0.0;
    }
    let mut best: f64 = 0.0;
    for first in 0..turns.len() {
        for last in first..turns.len().min(first + params.window_max_turns as usize) {
            best = best.max(naive_window(turns, first, last, params));
        }
    }
    best.min(1.0)
}

fn floodmark(turns: &[Turn], params: &Params) -> f64 {
    Formula { profile: Profile::Floodmark, params, weights: &WEIGHTS }.score(turns, false).score
}

fn turns(most: usize) -> impl Strategy<Value = Vec<Turn>> {
    let categories = prop_oneof![3 => Just(0u32), 2 => 0u32..16];
    proptest::collection::vec((any::<bool>(), categories), 0..most)
        .prop_map(|turns| turns.into_iter().map(|(user, categories)| Turn { user, categories }).collect())
}

/// At least two turns, one of them a user's.
fn judged_turns(most: usize) -> impl Strategy<Value = Vec<Turn>> {
    turns(most).prop_map(|mut turns| {
        turns.extend_from_slice(if turns.len() < 2 { &[BENIGN; 2] } else { &[] });
        turns[0].user = true;
        turns
    })
}

const BENIGN: Turn = Turn { user: true, categories: 0 };

proptest! {
    #[test]
    fn floodmark_is_its_definition(
        turns in turns(40),
        window_max_turns in 1u32..14, window_min_turns in 1u32..6, fresh_turns in 0u32..20, fades in 1u32..30, min_turns in 0u32..4,
        decay in any::<bool>(), escalation in any::<bool>(),
    ) {
        let params = Params {
            window_max_turns, window_min_turns, fresh_turns, gone_turns: fresh_turns + fades, min_turns, decay, escalation, ..Params::default()
        };
        prop_assert!((floodmark(&turns, &params) - naive_score(&turns, &params)).abs() <= 1e-9);
    }

    /// Padding after an attack never raises the score; it changes nothing while no turn is older than `fresh_turns`, and then takes from the
    /// newest window no more than its age.
    #[test]
    fn padding_after_fades_a_window_by_its_age_alone(turns in judged_turns(20), padding in 0usize..70) {
        let params = Params::default();
        let padded = [turns.clone(), vec![BENIGN; padding]].concat();
        let (before, after) = (floodmark(&turns, &params), floodmark(&padded, &params));
        prop_assert!(after <= before + 1e-9, "{before} became {after}");
        prop_assert!(padded.len() > 17 || after >= before - 1e-9, "{before} became {after}");
        let share = if padding <= 16 { 1.0 } else { (64.0 - padding as f64).max(0.0) / 48.0 };
        let last = turns.len() - 1;
        for first in last.saturating_sub(11)..=last {
            let kept = (naive_window(&turns, first, last, &params) * share).min(1.0);
            prop_assert!(after >= kept - 1e-9, "{after} is below {kept}, the share {share} of turns {first} to {last}");
        }
    }

    #[test]
    fn padding_before_never_lowers(turns in judged_turns(20), padding in 0usize..70) {
        let params = Params::default();
        let padded = [vec![BENIGN; padding], turns.clone()].concat();
        prop_assert!(floodmark(&padded, &params) >= floodmark(&turns, &params) - 1e-9);
    }

    /// Benign turns between the hits lower the share of turns that hit and part a rise; peak and diversity stay.
    #[test]
    fn padding_between_keeps_peak_share_and_diversity(turns in judged_turns(7), places in proptest::collection::vec(0usize..8, 0..5)) {
        let mut padded = turns.clone();
        for place in &places {
            padded.insert((*place).min(padded.len()), BENIGN);
        }
        prop_assert!(padded.len() <= 12);
        let hits = turns.iter().filter(|turn| turn.categories != 0).count();
        let peak = turns.iter().map(naive_turn).fold(0.0, f64::max);
        let distinct = turns.iter().fold(0, |all, turn| all | turn.categories).count_ones().saturating_sub(1);
        let floor = peak + hits as f64 / padded.len().max(4) as f64 * 0.45 + f64::from(distinct) * 0.15;
        prop_assert!(floodmark(&padded, &Params::default()) >= floor.min(1.0) - 1e-9);
    }
}

/// The messages that are left out one by one, each the heaviest of what is left, until the score is below tau; at most `most`.
fn left_out(formula: Formula<'_>, turns: Vec<(Turn, u32)>, most: usize) -> Vec<u32> {
    let mut turns: Vec<(Turn, Option<u32>)> = turns.into_iter().map(|(turn, message)| (turn, Some(message))).collect();
    let mut dropped = Vec::new();
    while let Some(heaviest) = formula.heaviest(&turns, false).filter(|_| dropped.len() < most) {
        let message = heaviest.expect("it is no resampling");
        dropped.push(message);
        turns.retain(|(_, of)| *of != Some(message));
    }
    dropped
}

/// Work that an attacker may ask for: as many turns as a body can hold, all of them hits that never fade, and a refusal to be named.
#[test]
fn the_heaviest_message_is_named_however_long_the_history() {
    let params = Params { decay: false, window_max_turns: 64, ..Params::default() };
    let formula = Formula { profile: Profile::Floodmark, params: &params, weights: &WEIGHTS };
    let turns = (0..16_384).map(|message| (Turn { user: true, categories: 15 }, message)).collect();
    assert_eq!(left_out(formula, turns, 8), [0, 1, 2, 3, 4, 5, 6, 7]);
    // Four hits of .5 far from each other: each stands alone at .5 + .45 / 4, two within one window reach .725.
    let turn = |at: u32| Turn { categories: if [3, 9, 40, 50].contains(&at) { 2 } else { 0 }, ..BENIGN };
    let turns: Vec<(Turn, u32)> = (0..60).map(|at| (turn(at), 2 * at)).collect();
    let strict = Params { tau: 0.55, ..Params::default() };
    let left_out = |params: &Params| {
        let mut dropped = left_out(Formula { profile: Profile::Floodmark, params, weights: &WEIGHTS }, turns.clone(), 8);
        dropped.sort_unstable();
        dropped
    };
    assert_eq!(left_out(&Params::default()), [0; 0], "below tau nothing has to go");
    assert_eq!(left_out(&strict), [80, 100], "the two early ones have faded");
    assert_eq!(left_out(&Params { decay: false, ..strict.clone() }), [6, 18, 80, 100]);
}
