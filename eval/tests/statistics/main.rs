//! Statistics against numpy, scipy, scikit-learn and statsmodels: what `reference.py` computed of the same inputs, in testdata/statistics.

use std::fs;
use std::path::Path;

use floodmark_eval::stats::{
    Auc, Ends, Estimate, Group, PERCENTILE, Plan, Samples, Share, Spread, WILSON, choose, exact_interval, median, permutation, precision,
    recall_at, roc, wilson,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;

fn fixture<T: DeserializeOwned>(name: &str) -> T {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/statistics").join(name);
    serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[track_caller]
fn close(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{what}: {found} is not {expected}");
}

#[track_caller]
fn both_close(found: (f64, f64), expected: [f64; 2], what: &str) {
    close(found.0, expected[0], &format!("{what}, lower end"));
    close(found.1, expected[1], &format!("{what}, upper end"));
}

#[derive(Deserialize)]
struct Ranks {
    cases: Vec<RankCase>,
}

#[derive(Deserialize)]
struct RankCase {
    name: String,
    positives: Vec<f64>,
    negatives: Vec<f64>,
    numerator: f64,
    auc: f64,
    curve: Option<Vec<[f64; 2]>>,
    points: Vec<Point>,
    medians: [f64; 2],
}

#[derive(Deserialize)]
struct Point {
    rate: f64,
    lowest_reached: Option<f64>,
    realised: f64,
    recall: f64,
}

#[test]
fn aucs_curves_and_medians() {
    for case in fixture::<Ranks>("ranks.json").cases {
        let (positives, negatives, name) = (&case.positives, &case.negatives, &case.name);
        let auc = Auc::of(positives, negatives);
        assert_eq!((auc.numerator(), auc.pairs), (case.numerator, (positives.len() * negatives.len()) as u64), "{name}");
        close(auc.value(), case.auc, name);
        let curve = roc(positives, negatives);
        if let Some(expected) = &case.curve {
            assert_eq!(curve.len(), expected.len(), "{name}");
            curve.iter().zip(expected).for_each(|(found, expected)| both_close((found[0], found[1]), *expected, name));
        }
        let area: f64 = curve.windows(2).map(|step| (step[1][0] - step[0][0]) * f64::midpoint(step[0][1], step[1][1])).sum();
        close(area, case.auc, &format!("{name}, area"));
        assert_eq!([positives, negatives].map(|group| median(group).unwrap()), case.medians, "{name}");
    }
}

#[test]
fn recall_at_false_positive_rates() {
    let mut none_allowed = 0;
    for case in fixture::<Ranks>("ranks.json").cases {
        for point in &case.points {
            let what = format!("{} at {}", case.name, point.rate);
            let found = recall_at(&case.positives, &case.negatives, point.rate).unwrap();
            close(found.recall(), point.recall, &what);
            close(found.fpr(), point.realised, &what);
            // scikit-learn names the lowest score that is reached, ours is the lowest number that parts the same scores.
            let all = || case.positives.iter().chain(&case.negatives).copied();
            let reached = all().filter(|score| found.threshold.reached_by(*score)).reduce(f64::min);
            assert_eq!(reached, point.lowest_reached, "{what}");
            none_allowed += usize::from((case.negatives.len() as f64) < 1.0 / point.rate && found.fpr() == 0.0);
        }
    }
    assert!(none_allowed > 10, "fixtures must hold groups that are too small for a rate");
}

#[derive(Deserialize)]
struct Shares {
    trials: Vec<Trial>,
    clustered: Vec<Clustered>,
    precision: Vec<Precision>,
}

#[derive(Deserialize)]
struct Trial {
    hits: f64,
    number: f64,
    wilson: [f64; 2],
}

#[derive(Deserialize)]
struct Clustered {
    /// Records, and those that count.
    units: Vec<[u32; 2]>,
    share: f64,
    effective: f64,
    wilson: [f64; 2],
    exact: [f64; 2],
}

#[derive(Deserialize)]
struct Precision {
    recall: [f64; 2],
    rate: [f64; 2],
    prevalence: f64,
    value: Option<f64>,
    ends: [f64; 2],
}

#[test]
fn intervals_of_shares() {
    let shares = fixture::<Shares>("shares.json");
    for case in &shares.trials {
        both_close(wilson(case.hits / case.number, case.number).unwrap(), case.wilson, &format!("{} of {}", case.hits, case.number));
    }
    for case in &shares.clustered {
        let mut share = Share::default();
        for (unit, [records, hits]) in case.units.iter().enumerate() {
            (0..*records).for_each(|record| share.count(&unit.to_string(), record < *hits));
        }
        let what = format!("{} units", case.units.len());
        close(share.value().unwrap(), case.share, &what);
        close(share.effective(), case.effective, &what);
        both_close(share.wilson().unwrap(), case.wilson, &format!("{what}, Wilson"));
        both_close(exact_interval(case.share, case.effective), case.exact, &format!("{what}, exact"));
    }
}

#[test]
fn precision_at_prevalences() {
    let mut flagged_nothing = 0;
    for case in fixture::<Shares>("shares.json").precision {
        let estimate = |[hits, number]: [f64; 2]| {
            let ends = wilson(hits / number, number).map(|(low, high)| Ends { low, high, method: WILSON });
            Estimate { value: hits / number, ends }
        };
        let found = precision(estimate(case.recall), estimate(case.rate), case.prevalence);
        let what = format!("{:?} and {:?} at {}", case.recall, case.rate, case.prevalence);
        assert_eq!(found.is_some(), case.value.is_some(), "{what}");
        let (Some(found), Some(value)) = (found, case.value) else {
            flagged_nothing += 1;
            continue;
        };
        close(found.value, value, &what);
        let ends = found.ends.unwrap();
        both_close((ends.low, ends.high), case.ends, &what);
    }
    assert_eq!(flagged_nothing, 3);
}

#[derive(Deserialize)]
struct Bootstrap {
    groups: Vec<Groups>,
    all_samples: Vec<AllSamples>,
}

#[derive(Deserialize)]
struct Groups {
    name: String,
    units: [Vec<usize>; 2],
    /// Of each group the values of two detectors, or none.
    values: [Vec<Vec<f64>>; 2],
    draws: Vec<Vec<u32>>,
    figures: Vec<Figure>,
}

#[derive(Deserialize)]
struct Figure {
    name: String,
    value: f64,
    drawn: Vec<f64>,
    without: Vec<f64>,
    z0: f64,
    acceleration: f64,
    shares: [f64; 2],
    ends: [f64; 2],
    percentile_ends: [f64; 2],
    scipy: Scipy,
}

#[derive(Deserialize)]
struct Scipy {
    acceleration: f64,
    shares: [f64; 2],
    ends: [f64; 2],
}

/// Names whose order is that of the numbers.
fn samples(units: &[Vec<usize>; 2], plan: Plan) -> Samples {
    let names = units.each_ref().map(|units| units.iter().map(|unit| format!("u{unit:03}")).collect::<Vec<_>>());
    Samples::new([&names[0], &names[1]], plan).however_few()
}

fn figure(samples: &Samples, of: &Groups, name: &str) -> Spread {
    let value = |group: Group, which: usize| of.values[group as usize][which].as_slice();
    let both = |which| [Group::Positives, Group::Negatives].map(|group| value(group, which));
    let auc = |which| {
        let each = both(which).map(|values| values.iter().map(|&value| vec![value]).collect::<Vec<_>>());
        samples.compare([&each[0], &each[1]]).spread
    };
    let share = |which| {
        let over: Vec<bool> = value(Group::Positives, which).iter().map(|value| *value >= 0.75).collect();
        samples.share(Group::Positives, &over)
    };
    match name {
        "mean" => samples.mean(Group::Positives, value(Group::Positives, 0)),
        "median" => samples.median(Group::Positives, value(Group::Positives, 0)),
        "share" => share(0),
        "difference of shares" => share(0).minus(&share(1)),
        "auc" => auc(0),
        "difference of aucs" => auc(0).minus(&auc(1)),
        "recall at .1" => samples.recall_at(both(0), 0.1),
        _ => panic!("no figure {name}"),
    }
}

/// With scipy's own draws: every sample's figure, every jackknife figure, the correction and the ends.
#[test]
fn clustered_bootstrap_and_bca() {
    let mut same_acceleration = 0;
    for of in fixture::<Bootstrap>("bootstrap.json").groups {
        let samples = samples(&of.units, Plan { draws: 0, seed: 0 }).with_draws(of.draws.clone());
        for expected in &of.figures {
            let what = format!("{}, {}", of.name, expected.name);
            let found = figure(&samples, &of, &expected.name);
            close(found.value, expected.value, &what);
            for (ours, theirs) in [(found.drawn(), &expected.drawn), (found.without(), &expected.without)] {
                assert_eq!(ours.len(), theirs.len(), "{what}");
                ours.iter().zip(theirs).for_each(|(one, other)| close(*one, *other, &what));
            }
            let bca = found.bca().unwrap();
            close(bca.z0, expected.z0, &format!("{what}, z0"));
            close(bca.acceleration, expected.acceleration, &format!("{what}, acceleration"));
            both_close(bca.shares, expected.shares, &format!("{what}, shares"));
            let pair = |ends: Option<Ends>| ends.map(|ends| (ends.low, ends.high)).unwrap();
            both_close(pair(found.ends()), expected.ends, &what);
            both_close(pair(found.percentile_ends()), expected.percentile_ends, &what);
            same_acceleration += usize::from((bca.acceleration - expected.scipy.acceleration).abs() < 1e-9);
            agrees_with_scipy(&found, &expected.scipy, &what);
        }
    }
    // Where all units are drawn together, and in AUCs of as many units, scipy's acceleration is ours.
    assert_eq!(same_acceleration, 9);
}

/// scipy takes each group of units about its own jackknife mean and puts a share between two samples where ours takes the lower: the shares differ by less than a
/// sample and a half of 499, and the ends by at most two samples.
fn agrees_with_scipy(found: &Spread, scipy: &Scipy, what: &str) {
    let bca = found.bca().unwrap();
    let mut drawn = found.drawn().to_vec();
    drawn.sort_by(f64::total_cmp);
    for (ours, theirs, end) in [(bca.shares.0, scipy.shares[0], scipy.ends[0]), (bca.shares.1, scipy.shares[1], scipy.ends[1])] {
        assert!((ours - theirs).abs() < 1.5 / 499.0, "{what}: a share of {ours}, not {theirs}");
        let place = ((ours * 500.0).floor() as usize).max(1) - 1;
        let (below, above) = (drawn[place.saturating_sub(2)], drawn[(place + 2).min(498)]);
        assert!(below <= end && end <= above, "{what}: scipy's end {end} is not within {below} and {above}");
    }
}

#[derive(Deserialize)]
struct AllSamples {
    name: String,
    units: [Vec<usize>; 2],
    values: [Vec<f64>; 2],
    /// Figures and how likely they are, ascending.
    distribution: Vec<(f64, f64)>,
}

/// Our own draws come to what all n^n samples come to: by Kolmogorov's test, and in the percentiles.
#[test]
fn draws_are_those_of_all_samples() {
    const DRAWS: usize = 100_000;
    for case in fixture::<Bootstrap>("bootstrap.json").all_samples {
        let samples = samples(&case.units, Plan { draws: DRAWS, seed: 8 });
        let found = if case.name == "mean" {
            samples.mean(Group::Positives, &case.values[0])
        } else {
            let each = case.values.each_ref().map(|values| values.iter().map(|&value| vec![value]).collect::<Vec<_>>());
            samples.compare([&each[0], &each[1]]).spread
        };
        let mut up_to = 0.0;
        let mut percentiles = Vec::new();
        for &(value, chance) in &case.distribution {
            let before = up_to;
            up_to += chance;
            let drawn = found.drawn().iter().filter(|drawn| **drawn <= value + 1e-12).count() as f64 / DRAWS as f64;
            // At .0073 Kolmogorov's test refuses at most one right generator of 20,000.
            assert!((drawn - up_to).abs() < 0.0073, "{}: {drawn} of draws are up to {value}, not {up_to}", case.name);
            percentiles.extend([0.025, 0.975].into_iter().filter(|share| (before..up_to).contains(share)).map(|_| value));
        }
        let ends = found.percentile_ends().unwrap();
        assert_eq!(ends.method, PERCENTILE);
        both_close((ends.low, ends.high), [percentiles[0], percentiles[1]], &case.name);
    }
}

#[derive(Deserialize)]
struct Permutations {
    exact: Vec<Exact>,
    drawn: Vec<Drawn>,
    choose: Vec<(usize, usize, f64)>,
}

#[derive(Deserialize)]
struct Exact {
    units: [Vec<Vec<f64>>; 2],
    auc: f64,
    p: f64,
    floor: f64,
    arrangements: usize,
}

#[derive(Deserialize)]
struct Drawn {
    units: [Vec<Vec<f64>>; 2],
    p: f64,
}

#[test]
fn permutation_tests() {
    const DRAWS: usize = 20_000;
    let plan = Plan { draws: DRAWS, seed: 6 };
    let cases = fixture::<Permutations>("permutations.json");
    for case in &cases.exact {
        let found = permutation([&case.units[0], &case.units[1]], plan).unwrap();
        close(found.auc.value(), case.auc, "auc");
        close(found.p, case.p, "p");
        close(found.floor, case.floor, "floor");
        assert_eq!((found.arrangements, found.exact), (case.arrangements, true));
    }
    for case in &cases.drawn {
        let found = permutation([&case.units[0], &case.units[1]], plan).unwrap();
        // Four standard deviations of the draws.
        let off = 4.0 * (case.p * (1.0 - case.p) / DRAWS as f64).sqrt();
        assert!(!found.exact && (found.p - case.p).abs() < off, "{} is not {}", found.p, case.p);
    }
    for (n, k, ways) in cases.choose {
        close(choose(n, k), ways, &format!("{k} of {n}"));
    }
}
