//! Levels against exact small cases, the oracle's medians and the theory of CUSUM on Gaussian scores.

use std::fs;
use std::path::Path;

use serde_json::Value;
use statrs::distribution::{ContinuousCDF as _, Normal};

use super::*;

fn run(unit: &str, scores: &[f64]) -> Benign {
    Benign { unit: unit.to_owned(), scores: scores.to_vec() }
}

#[test]
fn the_drift_is_the_median_of_the_oracle() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/vectors/trajectory.json");
    let vectors: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let cases = vectors["drift"].as_array().unwrap();
    assert_eq!(cases.len(), 2);
    for case in cases {
        let scores: Vec<f64> = serde_json::from_value(case["scores"].clone()).unwrap();
        // However the events lie in runs.
        for cut in 0..scores.len() {
            let (one, other) = scores.split_at(cut);
            let drift = Drift::Median.of(&[run("a", one), run("b", other)]).unwrap();
            assert!((drift - case["expect"].as_f64().unwrap()).abs() <= 1e-12, "{}", case["name"]);
            assert!((Drift::Quantile(0.5).of(&[run("a", &scores)]).unwrap() - drift).abs() <= 1e-12);
        }
    }
}

#[test]
fn quantiles_lie_between_scores_in_proportion() {
    let benign = [run("a", &[0.4, 0.1]), run("b", &[0.2, 0.3, 0.5])];
    for (share, expected) in [(0.0, 0.1), (0.25, 0.2), (0.6, 0.34), (0.75, 0.4), (1.0, 0.5)] {
        let drift = Drift::Quantile(share).of(&benign).unwrap();
        assert!((drift - expected).abs() <= 1e-12, "{share}: {drift}");
    }
    assert!(Drift::Quantile(1.5).of(&benign).is_err());
    assert!(Drift::Quantile(f64::NAN).of(&benign).is_err());
    assert!(Drift::Median.of(&[run("a", &[])]).is_err());
    assert!(Drift::Median.of(&[run("a", &[0.2, f64::NAN])]).is_err());
}

/// Blocks longer than any run: what is drawn are the runs themselves, each unit alike.
#[test]
fn whole_runs_give_the_exact_quantile_over_units() {
    // Persistences over drift .5: 0, .125, .25, .375 in four units, all exact in binary. The last unit has a hundred runs and still is one of four.
    let mut benign = vec![run("a", &[0.2, 0.4]), run("b", &[0.625]), run("c", &[0.625, 0.625, 0.125])];
    benign.extend((0..100).map(|_| run("d", &[0.125, 0.875])));
    for (false_alarms, expected) in [(0.3, 0.250_001), (0.2, 0.375_001), (0.55, 0.125_001), (0.8, 0.000_001)] {
        let plan = Plan { false_alarms, block_events: 9, draws: 4_000, arl_events: 1_000, ..Plan::default() };
        let found = alarm(&benign, 0.5, &plan).unwrap();
        assert!((found.level - expected).abs() < 1e-12, "{false_alarms}: {}", found.level);
        assert!(found.drawn <= false_alarms);
        // Units with a higher persistence: one, none, two and three of four.
        let units = [0.3, 0.2, 0.55, 0.8].iter().position(|&share| share == false_alarms).map(|at| [1, 0, 2, 3][at]).unwrap();
        assert!((found.drawn - f64::from(units) / 4.0).abs() < 0.03, "{}", found.drawn);
        assert_eq!(found.seen.hit_units(), units as usize);
        assert_eq!((found.seen.records(), found.seen.units(), found.longest_events), (103, 4, 3));
    }
}

#[test]
fn a_level_is_the_first_millionth_above() {
    for (value, expected) in [(0.0, 0.000_001), (0.25, 0.250_001), (0.123_456_7, 0.123_457), (0.999_999_9, 1.0), (12.0, 12.000_001)] {
        assert!((above(value) - expected).abs() < 1e-12, "{value}: {}", above(value));
        assert!(above(value) > value);
    }
}

/// A unit that is hot throughout alarms as one; mixed into all others its events are too few to add up.
#[test]
fn blocks_of_one_unit_keep_what_a_task_does_to_all_its_events() {
    let mut benign: Vec<Benign> = (0..49).map(|unit| run(&format!("cool {unit}"), &[0.3; 20])).collect();
    benign.push(run("hot", &[0.6; 20]));
    let plan = Plan { false_alarms: 0.01, arl_events: 10_000, ..Plan::default() };
    let one = alarm(&benign, 0.5, &plan).unwrap();
    // 20 events of .1 each: that unit is 2 % of the draws.
    assert!((one.level - 2.0).abs() < 1e-4, "{}", one.level);
    let mixed = alarm(&benign, 0.5, &Plan { blocks: Blocks::OfAllUnits, ..plan }).unwrap();
    // One block of five is .5; a second one in the same trajectory is what the level has to bear.
    assert!(mixed.level < 1.1, "{}", mixed.level);
}

/// Blocks are consecutive: scores that alternate never add up when they stay in order, and do when drawn one by one.
#[test]
fn blocks_are_consecutive_events() {
    let benign = [run("a", &[0.25, 0.75].repeat(50))];
    let plan = |block_events| Plan { false_alarms: 0.05, block_events, arl_events: 1_000, ..Plan::default() };
    let ordered = alarm(&benign, 0.5, &plan(100)).unwrap();
    assert!((ordered.level - 0.250_001).abs() < 1e-9, "{}", ordered.level);
    assert!(alarm(&benign, 0.5, &plan(1)).unwrap().level > 0.5);
}

/// Mean run lengths of a one-sided CUSUM on Gaussian scores of unit variance with k .5 are 338 for h 4 and 938 for h 5, by Siegmund's formula.
#[test]
fn run_lengths_are_those_of_the_theory() {
    let number = 20_000;
    let normal = Normal::new(0.0, 1.0).unwrap();
    let scores: Vec<f64> = (0..number).map(|at| normal.inverse_cdf((f64::from(at) + 0.5) / f64::from(number))).collect();
    let benign = [run("gauss", &scores)];
    let plan = Plan { block_events: 1, ..Plan::default() };
    for (level, expected) in [(4.0, 338.0), (5.0, 938.0)] {
        let b: f64 = level + 1.166;
        let formula = (b.exp() - b - 1.0) / 0.5;
        assert!((formula - expected).abs() < 1.0, "{formula}");
        let mut draws = Draws::new(&benign, &plan).unwrap();
        let found = run_length(&mut draws, 0.5, level, 4_000_000).unwrap().unwrap();
        assert!((found / expected - 1.0).abs() < 0.05, "{found} for {expected}");
    }
}

/// The same theory the other way round, and a session that alarms at every fourth event exactly.
#[test]
fn a_level_for_a_run_length_is_that_of_the_theory() {
    let number = 20_000;
    let normal = Normal::new(0.0, 1.0).unwrap();
    let scores: Vec<f64> = (0..number).map(|at| normal.inverse_cdf((f64::from(at) + 0.5) / f64::from(number))).collect();
    let plan = Plan { block_events: 1, ..Plan::default() };
    let (level, length) = for_run_length(&[run("gauss", &scores)], 0.5, 938, &plan).unwrap();
    assert!((level - 5.0).abs() < 0.3 && length.unwrap() >= 938.0, "{level} {length:?}");
    // .25 each: the level is reached by the fourth event and not before once it is above .75.
    let steady = [run("a", &[0.75; 8])];
    let (level, length) = for_run_length(&steady, 0.5, 4, &plan).unwrap();
    assert!((level - 0.750_001).abs() < 1e-12 && length == Some(4.0), "{level} {length:?}");
    // What never rises is not over the lowest level.
    assert_eq!(for_run_length(&[run("a", &[0.5; 7])], 0.5, 100, &plan).unwrap(), (0.000_001, None));
    assert!(for_run_length(&steady, 0.5, 0, &plan).is_err());
}

#[test]
fn draws_are_the_same_every_time_and_not_for_another_seed() {
    let benign = [run("a", &[0.31, 0.62, 0.47, 0.55]), run("b", &[0.71, 0.12, 0.64]), run("c", &[0.52, 0.58])];
    let plan = Plan { false_alarms: 0.05, block_events: 2, draws: 500, arl_events: 10_000, ..Plan::default() };
    let found = alarm(&benign, 0.5, &plan).unwrap();
    assert_eq!(found, alarm(&benign, 0.5, &plan).unwrap());
    assert_ne!(found.arl0_events, alarm(&benign, 0.5, &Plan { seed: 2, ..plan }).unwrap().arl0_events);
}

#[test]
fn what_never_rises_never_alarms() {
    let found = alarm(&[run("a", &[0.5; 7])], 0.5, &Plan::default()).unwrap();
    assert_eq!((found.level, found.drawn, found.longest, found.arl0_events), (0.000_001, 0.0, 0.0, None));
    assert_eq!(found.seen.hits(), 0);
}

/// One trajectory of two events and one of six, each of .125 over the drift: .25 and .75. As long as the longest, both come to .75.
#[test]
fn a_level_can_be_found_for_one_length_and_raised() {
    let benign = [run("short", &[0.625; 2]), run("long", &[0.625; 6])];
    let plan = Plan { false_alarms: 0.6, arl_events: 12_000, ..Plan::default() };
    let seen = alarm(&benign, 0.5, &plan).unwrap();
    assert!((seen.level - 0.250_001).abs() < 1e-12 && (seen.longest_events, seen.longest) == (6, 1.0), "{seen:?}");
    assert!((seen.drawn - 0.5).abs() < 0.02, "{}", seen.drawn);
    let longest = alarm(&benign, 0.5, &Plan { length_events: Some(6), ..plan }).unwrap();
    assert!((longest.level - 0.750_001).abs() < 1e-12 && longest.drawn == 0.0, "{longest:?}");
    // Every eighth event of an endless session comes to 1.
    let raised = at_level(&benign, 0.5, 1.0, &plan).unwrap();
    assert_eq!((raised.level, raised.drawn, raised.longest, raised.arl0_events, raised.seen.hits()), (1.0, 0.0, 0.0, Some(8.0), 0));
    assert_eq!(at_level(&benign, 0.5, seen.level, &plan).unwrap(), seen);
}

#[test]
fn a_plan_that_cannot_be_met_is_an_error() {
    let benign = [run("a", &[0.2, 0.7])];
    let refused = |drift, plan: Plan| alarm(&benign, drift, &plan).unwrap_err().to_string();
    assert!(refused(f64::NAN, Plan::default()).contains("drift"));
    assert!(refused(0.5, Plan { false_alarms: 0.0, ..Plan::default() }).contains("share"));
    assert!(refused(0.5, Plan { block_events: 0, ..Plan::default() }).contains("block"));
    assert!(refused(0.5, Plan { draws: 100, ..Plan::default() }).contains("at least 4000"));
    assert!(alarm(&[run("a", &[])], 0.5, &Plan::default()).is_err());
    assert!(alarm(&[run("a", &[f64::INFINITY])], 0.5, &Plan::default()).is_err());
}
