//! The oracle's cases, hand-derived receipts and bad ones, through the code of `verify`.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;
use serde_json::Value;

use super::receipt::{Receipt, parse};
use super::statistics::{frac_over_tau, path, peak, persistence};
use super::*;
use crate::stats::{Auc, Samples, median};

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    args: Args,
}

fn testdata(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata").join(file)
}

fn vectors() -> Value {
    serde_json::from_str(&fs::read_to_string(testdata("vectors/trajectory.json")).unwrap()).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    serde_json::from_value(value.clone()).unwrap()
}

fn close(found: f64, expected: &Value, what: &str) {
    assert!((found - expected.as_f64().unwrap()).abs() <= 1e-9, "{what}: {found}, expected {expected}");
}

/// The figures of receipts of testdata/receipts.
fn figures(options: &[&str]) -> Figures {
    let options = options.iter().map(|option| {
        if option.ends_with(".csv") { testdata("receipts").join(option).display().to_string() } else { (*option).to_owned() }
    });
    Cli::try_parse_from(["verify".to_owned()].into_iter().chain(options)).unwrap_or_else(|error| panic!("{error}")).args.figures().unwrap()
}

/// Asserts that figures are what was derived for them, exactly.
fn are(figures: &Figures, expected: &[(&str, f64)]) {
    let named = figures.named();
    for (name, value) in expected {
        let found = named.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("no figure {name}")).1;
        assert!((found - value).abs() <= 1e-9, "{name}: {found}, derived {value}");
    }
}

/// The AUC of single values, each a unit of its own.
fn auc(positive: &[f64], negative: &[f64]) -> Auc {
    let names = |group: &str, values: &[f64]| (0..values.len()).map(|number| format!("{group}{number}")).collect::<Vec<_>>();
    let each = |values: &[f64]| values.iter().map(|&value| vec![value]).collect::<Vec<_>>();
    let samples = Samples::new([&names("positive", positive), &names("negative", negative)], plan()).however_few();
    samples.compare([&each(positive), &each(negative)]).auc
}

#[test]
fn the_accumulator_of_the_oracle() {
    let vectors = vectors();
    let cases = vectors["accumulator"].as_array().unwrap();
    assert_eq!(cases.len(), 69);
    let mut unordered = 0;
    for case in cases {
        let name = case["name"].as_str().unwrap();
        // As a receipt, rows in the case's order.
        let rows: Vec<(u64, f64)> = serde_json::from_value(case["rows"].clone()).unwrap();
        let mut text = "trajectory_id,group,position,score\n".to_owned();
        rows.iter().for_each(|(position, score)| text += &format!("x,attack,{position},{score}\n"));
        let receipt = parse(text.as_bytes(), name, &[Group::Attack]).unwrap();
        let scores = receipt.get("x").map(|trajectory| trajectory.scores.clone()).unwrap_or_default();
        unordered += usize::from(receipt.values().any(|trajectory| trajectory.unordered));
        let (tau, drift, expect) = (case["tau"].as_f64().unwrap(), case["drift"].as_f64().unwrap(), &case["expect"]);
        assert_eq!(scores.len(), expect["n"], "{name}");
        close(peak(&scores), &expect["peak"], name);
        close(persistence(&scores, drift, 0.0), &expect["persistence"], name);
        close(frac_over_tau(&scores, tau), &expect["frac_over_tau"], name);
        let found = path(&scores, drift, 0.0);
        let expected = expect["path"].as_array().unwrap();
        assert_eq!(found.len(), expected.len(), "{name}");
        found.iter().zip(expected).for_each(|(found, expected)| close(*found, expected, name));
    }
    assert!(unordered > 50, "{unordered} cases have their rows out of order");
}

#[test]
fn aucs_and_drifts_of_the_oracle() {
    let vectors = vectors();
    let cases = vectors["auc"].as_array().unwrap();
    assert_eq!(cases.len(), 19);
    for case in cases {
        let (auc, expect) = (auc(&numbers(&case["positive"]), &numbers(&case["negative"])), &case["expect"]);
        assert_eq!(
            (auc.numerator(), auc.pairs, auc.ties),
            (expect["numerator"].as_f64().unwrap(), expect["pairs"].as_u64().unwrap(), expect["ties"].as_u64().unwrap())
        );
        close(auc.value(), &expect["auc"], "auc");
    }
    for case in vectors["drift"].as_array().unwrap() {
        assert!((median(&numbers(&case["scores"])).unwrap() - case["expect"].as_f64().unwrap()).abs() <= 1e-12);
    }
}

#[test]
fn the_papers_deltas_of_the_oracle() {
    let vectors = vectors();
    let [attack_persistence, attack_peak, sham_peak] =
        ["attack_persistence_delta", "attack_peak_delta", "sham_peak_delta"].map(|key| numbers(&vectors["paper"][key]));
    let expect = &vectors["paper"]["expect"];
    // As printed: four digits, so within half of the last.
    let printed = |values: &[f64], key: &str| {
        let expectation: Expectation = format!("x={}", expect[key]).parse().unwrap();
        assert!(expectation.met(median(values).unwrap()), "{key}");
    };
    printed(&attack_persistence, "attack_persistence_delta_median");
    printed(&attack_peak, "attack_peak_delta_median");
    printed(&sham_peak, "sham_peak_delta_median");
    let (auc, expect) = (auc(&attack_peak, &sham_peak), &expect["peak_delta_auc"]);
    assert_eq!(
        (auc.numerator(), auc.pairs, auc.ties),
        (expect["numerator"].as_f64().unwrap(), expect["pairs"].as_u64().unwrap(), expect["ties"].as_u64().unwrap())
    );
}

/// The same through receipts. Each carrier has scores .60, .10, .55, .55: peak .60, and over drift .43 persistence .24 at its end. A graft raises the first score by
/// its peak delta, which its persistence does not feel (.17 and a little is below .24), and ends with one more event at .43 and its persistence delta, or at .41.
/// The paper prints no persistence deltas of its shams, only their median (.0150) and the AUC (.708, 4 against 6): 0, 0, .0143, .0157, .04 and .06 are chosen to give
/// both (4 + 4 + 3 + 3 + 2 + 1 = 17 of 24).
#[test]
fn the_papers_deltas_from_receipts() {
    let found = figures(&["--receipt", "grafts.csv", "--baseline", "native.csv", "--drift", "0.43"]);
    are(
        &found,
        &[
            ("attack_persistence_delta_median", 0.0421),
            ("sham_persistence_delta_median", 0.0150),
            ("persistence_delta.numerator", 17.0),
            ("persistence_delta.auc", 17.0 / 24.0),
            ("attack_peak_delta_median", 0.00565),
            ("sham_peak_delta_median", 0.01365),
            ("peak_delta.numerator", 10.0),
            ("peak_delta.pairs", 24.0),
            ("peak_delta.ties", 4.0),
            ("peak_delta.auc", 10.0 / 24.0),
        ],
    );
    // Two medians of each statistic, each over four or six.
    assert_eq!(found.paths.even_medians, 4);
    assert!(found.text().contains("of 4 attack grafts and 6 sham grafts, AUC minus .5: +0.208 ["), "{}", found.text());
}

/// The oracle's case with a half-integer numerator as five trajectories of one event. The drift is the median of .1, .5 and .9; persistences are 0 and .2 against
/// 0, 0 and .4.
#[test]
fn ties_count_half() {
    let found = figures(&["--receipt", "ties.csv"]);
    are(
        &found,
        &[
            ("drift", 0.5),
            ("foil.numerator", 3.5),
            ("foil.ties", 1.0),
            ("peak.numerator", 3.5),
            ("peak.pairs", 6.0),
            ("persistence.numerator", 3.0),
            ("persistence.ties", 2.0),
            ("frac_over_tau.numerator", 4.0),
            ("frac_over_tau.ties", 4.0),
            ("best_minus_foil", 0.5 / 6.0),
            ("persistence_minus_peak", -0.5 / 6.0),
        ],
    );
    assert_eq!((found.best.0, found.paths.tied_pairs, found.paths.even_medians), ("frac_over_tau", 8, 0));
}

/// By position .1, .5, .6 come to .24 and beat .20; in the file's order they come to .17.
#[test]
fn events_are_taken_by_position() {
    let found = figures(&["--receipt", "order.csv", "--drift", "0.43"]);
    are(&found, &[("persistence.auc", 1.0), ("peak.auc", 0.0), ("foil.auc", 0.0)]);
    assert_eq!(found.paths.unordered, 1);
    let text = found.text();
    assert!(text.contains("exercised: rows out of order (trajectories: 1), g_0") && text.contains("dark: ties, back to 0"), "{text}");
}

/// From 0, .5 comes to .07 and beats the .05 of .1, .48. From -k the first event is lost: 0 against .05.
#[test]
fn the_cusum_starts_at_nothing() {
    let found = figures(&["--receipt", "g0.csv", "--drift", "0.43"]);
    are(&found, &[("persistence.auc", 1.0)]);
    assert_eq!(found.paths.start, 1);
    assert_eq!([(persistence(&[0.5], 0.43, -0.43)), persistence(&[0.1, 0.48], 0.43, -0.43)], [0.0, 0.05]);
}

/// Benign events .1 to .4: the drift is between the middle two, and the attack's .26 rises over it by .01. The lower one would give .06, the upper nothing.
#[test]
fn an_even_number_has_the_mean_of_the_middle_two() {
    let found = figures(&["--receipt", "even_median.csv"]);
    are(&found, &[("drift", 0.25), ("persistence.numerator", 1.0), ("persistence.ties", 0.0), ("foil.numerator", 2.0)]);
    assert_eq!((found.drift_events, found.paths.even_medians), (Some(4), 1));
}

fn rows(rows: &str) -> anyhow::Result<Receipt> {
    parse(format!("trajectory_id,group,position,score,unit\n{rows}").as_bytes(), "r.csv", &[Group::Attack, Group::Benign])
}

fn plan() -> Plan {
    Plan { draws: 400, seed: 1 }
}

fn of(text: &str) -> Figures {
    Figures::of(&rows(text).unwrap(), None, Settings { tau: 0.5, drift: Some(0.25), plan: plan() }).unwrap()
}

/// Twenty attacks of four events of .5, twenty benign of one: equal peaks, and persistence 1 against .25.
#[test]
fn a_verb_stands_only_where_the_interval_leaves_0_out() {
    let mut text = String::new();
    for run in 0..20 {
        (0..4).for_each(|position| text += &format!("a{run},attack,{position},0.5,\n"));
        text += &format!("b{run},benign,0,0.5,\n");
    }
    // One pair the other way round, so that draws differ.
    text += "a,attack,0,0.26,\nb,benign,0,0.9,\n";
    let found = of(&text).text();
    assert!(found.contains("]: persistence ranks attacks higher than peak\n"), "{found}");
    // One attack beats both, the other loses against both; event by event it beats one of four. Draws without that one have no gap.
    let found = of("a,attack,0,0.9,\nb,attack,0,0.1,\nc,benign,0,0.05,\nc,benign,1,0.6,\nd,benign,0,0.6,\nd,benign,1,0.2,\n").text();
    assert!(found.contains("minus foil: -0.125 [") && found.contains("the interval holds 0, so no verdict"), "{found}");
    // One trajectory in a group: nothing to draw.
    assert!(of("a,attack,0,0.9,\nb,benign,0,0.1,\nc,benign,0,0.3,\n").text().contains("minus foil: +0.000: no interval, so no verdict"));
}

/// A task that was run a hundred times is one unit: its interval is wide where a hundred tasks have a narrow one.
#[test]
fn runs_of_one_unit_are_not_independent() {
    let text = |unit: &dyn Fn(u32) -> u32| {
        let mut text = String::new();
        for run in 0..40 {
            let score = if unit(run).is_multiple_of(2) { "0.9" } else { "0.1" };
            text += &format!("a{run},attack,0,{score},u{}\nb{run},benign,0,0.{},v{run}\n", unit(run), 3 + run % 5);
        }
        text
    };
    let width = |figures: &Figures| figures.lines[1].interval.map(|(low, high)| high - low).unwrap();
    let (many, few) = (of(&text(&|run| run)), of(&text(&|run| run % 4)));
    assert_eq!((many.fewest_units, few.fewest_units), (40, 4));
    assert_eq!(many.lines[1].auc, few.lines[1].auc);
    assert!(width(&few) > 2.0 * width(&many), "{} against {}", width(&few), width(&many));
}

#[test]
fn bad_receipts_name_the_line() {
    let refused = |text: &str| format!("{:#}", rows(text).unwrap_err());
    for (text, said) in [
        ("x,attack,0,NaN,\n", "r.csv:2: score `NaN` is no finite number"),
        ("x,attack,0,0.5,\nx,attack,1,inf,\n", "r.csv:3: score `inf` is no finite number"),
        ("x,attack,0,,\n", "r.csv:2: score `` is no finite number"),
        ("x,attack,-1,0.5,\n", "r.csv:2: position `-1` is no whole number"),
        ("x,attack,0.5,0.5,\n", "r.csv:2: position `0.5` is no whole number"),
        ("x,,0,0.5,\n", "r.csv:2: no group"),
        (",attack,0,0.5,\n", "r.csv:2: no trajectory_id"),
        ("x,hostile,0,0.5,\n", "r.csv:2: group `hostile` is none of attack, benign"),
        ("x,attack,0\n", "r.csv:2: 3 fields, but the header has 5"),
        ("x,attack,7,0.5,\ny,attack,7,0.5,\nx,attack,7,0.5,\n", "r.csv:4: position 7 of trajectory `x` is there twice, first in line 2"),
        ("x,attack,0,0.5,\nx,benign,1,0.5,\n", "r.csv:3: trajectory `x` is in another group in line 2"),
        ("x,attack,0,0.5,u\nx,attack,1,0.5,v\n", "r.csv:3: trajectory `x` has another unit in line 2"),
    ] {
        assert!(refused(text).starts_with(said), "{}, not {said}", refused(text));
    }
    let header = |header: &str| format!("{:#}", parse(header.as_bytes(), "r.csv", &[]).unwrap_err());
    assert!(header("trajectory_id,group,score\n").starts_with("r.csv:1: no column `position`"));
    assert!(header("trajectory_id,group,position,score,score\n").starts_with("r.csv:1: two columns `score`"));
    assert!(header("").starts_with("r.csv:1: no column `trajectory_id`"));
}

#[test]
fn groups_that_are_not_enough_are_errors() {
    let refused = |text: &str, drift| {
        format!("{:#}", Figures::of(&rows(text).unwrap(), None, Settings { tau: 0.5, drift, plan: plan() }).unwrap_err())
    };
    assert_eq!(refused("x,benign,0,0.5,\n", None), "no trajectory of group `attack`");
    assert_eq!(refused("x,attack,0,0.5,\n", Some(0.4)), "no trajectory of group `benign` or `sham` to compare with");
    assert!(refused("x,attack,0,0.5,\n", None).contains("--drift"));
    let grafts = parse(&fs::read(testdata("receipts/grafts.csv")).unwrap(), "g.csv", &[Group::Attack, Group::Sham]).unwrap();
    let alone = |baseline: &Receipt| {
        let settings = Settings { tau: 0.5, drift: Some(0.43), plan: plan() };
        format!("{:#}", Figures::of(&grafts, Some(baseline), settings).unwrap_err())
    };
    assert_eq!(alone(&Receipt::new()), "line 2: carrier `native-1` is not in the baseline receipt");
}

#[test]
fn expectations_hold_to_half_of_the_last_digit() {
    let met = |expectation: &str, found: f64| expectation.parse::<Expectation>().unwrap().met(found);
    assert!(met("a=0.0056", 0.00565) && met("a=0.0057", 0.00565) && !met("a=0.0056", 0.0057) && !met("a=0.0056", 0.00551));
    assert!(met("a=17", 17.0) && !met("a=17", 17.6) && met("a=-.033", -0.0331));
    for wrong in ["a", "a=", "a=b", "a=NaN", "a=1e-3"] {
        assert!(wrong.parse::<Expectation>().is_err(), "{wrong}");
    }
    let named = [("drift".to_owned(), 0.4)];
    assert!("drift=0.4".parse::<Expectation>().unwrap().find(&named).is_ok());
    assert!("drjft=0.4".parse::<Expectation>().unwrap().find(&named).unwrap_err().to_string().contains("there are drift"));
}
