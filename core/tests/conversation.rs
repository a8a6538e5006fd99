//! The oracle cases of testdata/vectors/conversation.json against the formula, to 1e-9.

use std::fs;
use std::path::Path;

use floodmark_core::conversation::{self, Params, Resampling, Turn};
use floodmark_core::text::{FoldTable, Folded};
use serde_json::Value;

const CATEGORIES: [&str; 4] = ["instruction_seeding", "role_confusion", "deferred_authority", "escalation_probing"];

fn close(found: f64, expected: &Value, what: &str) {
    let expected = expected.as_f64().unwrap_or_else(|| panic!("{what} is no number: {expected}"));
    assert!((found - expected).abs() <= 1e-9, "{what}: {found}, expected {expected}");
}

fn check(case: &Value, weights: &[f64], params: &Params) {
    let name = case["name"].as_str().expect("a name");
    let mut resampling = Resampling::default();
    let turns: Vec<Turn> = case["turns"]
        .as_array()
        .expect("turns")
        .iter()
        .map(|turn| {
            let hit = |category: &Value| CATEGORIES.iter().position(|known| category == known).expect("a known category");
            let categories = turn["categories"].as_array().expect("categories").iter().fold(0, |bits, category| bits | 1 << hit(category));
            let user = turn["role"] == "user";
            if user {
                resampling.push(Folded::new(turn["text"].as_str().unwrap_or_default(), &FoldTable::EMPTY).as_str());
            }
            Turn { user, categories }
        })
        .collect();
    let score = conversation::score(&turns, resampling.seen(), weights, params);
    let expect = &case["expect"];
    assert_eq!(score.evaluated, expect["evaluated"], "{name}");
    assert_eq!(if score.reaches_tau { "block" } else { "allow" }, expect["verdict"], "{name}");
    close(score.score, &expect["score"], name);
    let turn_scores = expect["turn_scores"].as_array().expect("turn scores");
    assert_eq!(score.turn_scores.len(), turn_scores.len(), "{name}");
    for (found, expected) in score.turn_scores.iter().zip(turn_scores) {
        close(*found, expected, name);
    }
    if score.evaluated {
        close(score.peak, &expect["peak"], name);
        close(score.match_ratio, &expect["match_ratio"], name);
        close(score.diversity, &expect["diversity"], name);
        assert_eq!(score.distinct_categories, expect["distinct_categories"], "{name}");
        assert_eq!(score.escalation, expect["escalation"], "{name}");
        assert_eq!(score.resampling, expect["resampling"], "{name}");
    }
}

#[test]
fn every_oracle_case() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/vectors/conversation.json");
    let vectors: Value = serde_json::from_str(&fs::read_to_string(path).expect("readable")).expect("JSON");
    let weights = CATEGORIES.map(|category| vectors["weights"][category].as_f64().expect("a weight"));
    let params: Params = serde_json::from_value(vectors["parameters"].clone()).expect("the formula's parameters");
    assert_eq!(params, Params::default());
    let cases = vectors["cases"].as_array().expect("cases");
    assert_eq!(cases.len(), 224);
    cases.iter().for_each(|case| check(case, &weights, &params));
}
