//! The oracle cases of testdata/vectors/trajectory.json against the accumulator, to 1e-9, and the accumulator against its definition.

use std::fs;
use std::path::Path;

use floodmark_core::trajectory::{NoTrajectory, NotFinite, Params, Trajectory};
use proptest::prelude::*;
use serde_json::Value;

fn close(found: f64, expected: &Value, what: &str) {
    let expected = expected.as_f64().unwrap_or_else(|| panic!("{what} is no number: {expected}"));
    assert!((found - expected).abs() <= 1e-9, "{what}: {found}, expected {expected}");
}

#[test]
fn every_oracle_case_of_the_accumulator() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/vectors/trajectory.json");
    let vectors: Value = serde_json::from_str(&fs::read_to_string(path).expect("readable")).expect("JSON");
    let cases = vectors["accumulator"].as_array().expect("cases");
    assert_eq!(cases.len(), 69);
    for case in cases {
        let name = case["name"].as_str().expect("a name");
        let number = |key: &str| case[key].as_f64().expect("a number");
        let params = Params { tau: number("tau"), drift: number("drift") };
        let mut rows: Vec<(u64, f64)> = serde_json::from_value(case["rows"].clone()).expect("rows");
        let found = Trajectory::of_rows(&mut rows, params).expect(name);
        let expect = &case["expect"];
        assert_eq!(found.events(), expect["n"], "{name}");
        close(found.peak(), &expect["peak"], name);
        close(found.persistence(), &expect["persistence"], name);
        close(found.frac_over_tau(), &expect["frac_over_tau"], name);
        // The rows are by position now.
        let mut trajectory = Trajectory::default();
        let path = expect["path"].as_array().expect("a path");
        assert_eq!(path.len(), rows.len(), "{name}");
        for (&(_, score), expected) in rows.iter().zip(path) {
            close(trajectory.push(score, params).expect(name), expected, name);
        }
        assert_eq!(trajectory, found, "{name}");
    }
}

const PARAMS: Params = Params { tau: 0.5, drift: 0.43 };

#[test]
fn what_is_no_number_is_an_error_and_changes_nothing() {
    let mut trajectory = Trajectory::of_rows(&mut [(0, 0.6), (1, 0.2)], PARAMS).unwrap();
    let before = trajectory;
    for broken in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(trajectory.push(broken, PARAMS), Err(NotFinite));
        assert_eq!(trajectory.push(0.6, Params { drift: broken, ..PARAMS }), Err(NotFinite));
        assert_eq!(trajectory.push(0.6, Params { tau: broken, ..PARAMS }), Err(NotFinite));
        assert_eq!(Trajectory::of_rows(&mut [(0, 0.6), (1, broken)], PARAMS), Err(NoTrajectory::NotFinite));
    }
    assert_eq!(trajectory, before);
    // Finite numbers whose sum is none.
    let mut trajectory = Trajectory::default();
    trajectory.push(f64::MAX, PARAMS).unwrap();
    assert_eq!(trajectory.push(f64::MAX, PARAMS), Err(NotFinite));
}

#[test]
fn two_rows_at_one_position_are_no_trajectory() {
    let mut rows = [(7, 0.6), (3, 0.1), (7, 0.2)];
    assert_eq!(Trajectory::of_rows(&mut rows, PARAMS), Err(NoTrajectory::SamePosition(7)));
}

#[test]
fn the_peak_is_the_highest_score_even_below_zero() {
    assert_eq!(Trajectory::of_rows(&mut [(0, -2.0), (1, -1.0)], PARAMS).unwrap().peak(), -1.0);
}

/// A score or level. Decimal ones have full mantissas, so that sums are rounded; eighths meet each other exactly.
fn level() -> impl Strategy<Value = f64> {
    prop_oneof![3 => (0u32..=100_000).prop_map(|steps| f64::from(steps) / 100_000.0), 1 => (0u8..=8).prop_map(|eighths| f64::from(eighths) / 8.0)]
}

fn scores() -> impl Strategy<Value = Vec<f64>> {
    proptest::collection::vec(level(), 0..60)
}

fn params() -> impl Strategy<Value = Params> {
    (level(), level()).prop_map(|(tau, drift)| Params { tau, drift })
}

fn of(scores: &[f64], params: Params) -> Trajectory {
    let mut trajectory = Trajectory::default();
    for &score in scores {
        trajectory.push(score, params).expect("finite");
    }
    trajectory
}

/// The largest sum of consecutive scores over the drift, or nothing: what the maximum of the CUSUM is.
fn largest_run(scores: &[f64], drift: f64) -> f64 {
    let runs = (0..scores.len()).flat_map(|first| (first..scores.len()).map(move |last| first..=last));
    runs.map(|run| scores[run].iter().map(|score| score - drift).sum()).fold(0.0, f64::max)
}

proptest! {
    #[test]
    fn incremental_is_recomputed(scores in scores(), params in params()) {
        let found = of(&scores, params);
        prop_assert_eq!(found.events() as usize, scores.len());
        prop_assert_eq!(found.peak(), scores.iter().copied().reduce(f64::max).unwrap_or(0.0));
        prop_assert!((found.persistence() - largest_run(&scores, params.drift)).abs() <= 1e-9);
        let over = scores.iter().filter(|&&score| score >= params.tau).count();
        prop_assert!((found.frac_over_tau() * scores.len() as f64 - over as f64).abs() <= 1e-9);
        prop_assert!(found.cusum() <= found.persistence());
    }

    #[test]
    fn rows_in_any_order_are_the_same_trajectory(scores in scores(), params in params(), swaps in proptest::collection::vec((0usize..60, 0usize..60), 0..60)) {
        let mut rows: Vec<(u64, f64)> = (0..).step_by(3).zip(scores.iter().copied()).collect();
        for (one, other) in swaps.into_iter().filter(|&(one, other)| one.max(other) < scores.len()) {
            rows.swap(one, other);
        }
        prop_assert_eq!(Trajectory::of_rows(&mut rows, params), Ok(of(&scores, params)));
    }

    /// No event takes back what was reached, and one at or below the drift adds nothing, not even by rounding.
    #[test]
    fn persistence_never_falls_and_rises_only_above_the_drift(scores in scores(), params in params(), next in level()) {
        for end in 0..=scores.len() {
            let before = of(&scores[..end], params);
            for score in [next, next.min(params.drift), params.drift] {
                let mut after = before;
                after.push(score, params).expect("finite");
                prop_assert!(after.persistence() >= before.persistence());
                prop_assert!(score > params.drift || after.cusum() <= before.cusum());
                prop_assert!(score > params.drift || after.persistence() == before.persistence());
            }
        }
    }
}
