//! `testdata/conversations/paper.jsonl` says in words what the oracle cases say in categories.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

use super::twin::TWINS;
use super::{read, root};

/// A line of the file.
#[derive(Deserialize)]
pub struct Case {
    id: String,
    pub messages: Vec<Message>,
    expect: Value,
}

#[derive(Deserialize)]
pub struct Message {
    role: String,
    pub content: String,
    tool_call_id: Option<String>,
}

/// The lines of the file.
pub fn cases() -> Vec<Case> {
    let text = read(&root().join("testdata/conversations/paper.jsonl")).expect("a committed file");
    text.lines().map(|line| serde_json::from_str(line).expect("a case a line")).collect()
}

fn oracle() -> Vec<Value> {
    let vectors: Value = serde_json::from_str(&read(&root().join(crate::r#gen::VECTORS)).expect("a file")).expect("JSON");
    vectors["cases"].as_array().expect("a list").clone()
}

#[test]
fn every_turn_hits_the_categories_of_its_oracle() {
    let (cases, oracle) = (cases(), oracle());
    assert_eq!(cases.len(), oracle.len());
    for (case, wanted) in cases.iter().zip(&oracle) {
        assert_eq!(case.id, wanted["name"]);
        for key in ["verdict", "score", "turn_scores"] {
            assert_eq!(case.expect[key], wanted["expect"][key], "{}", case.id);
        }
        let turns = wanted["turns"].as_array().expect("a list");
        assert_eq!(case.messages.len(), turns.len(), "{}", case.id);
        for (at, (message, turn)) in case.messages.iter().zip(turns).enumerate() {
            assert_eq!(message.role, turn["role"]);
            assert_eq!(message.tool_call_id, (message.role == "tool").then(|| format!("call_{at}")));
            let hits = TWINS.iter().filter(|twin| twin.hits(&message.content));
            let found: BTreeSet<_> = hits.filter_map(|twin| twin.id.split('.').next()).collect();
            let wanted: BTreeSet<_> = turn["categories"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
            assert_eq!(found, wanted, "{}, turn {at}: {:?}", case.id, message.content);
        }
    }
}

/// The paper's definition, in the plainest way: three pairs in a row of long user messages with word trigrams more than half alike.
fn resampling(case: &Case) -> bool {
    let mut run = 0;
    let mut before: Option<BTreeSet<Vec<&str>>> = None;
    for message in case.messages.iter().filter(|message| message.role == "user") {
        let words: Vec<_> = message.content.split_whitespace().collect();
        let now = (words.len() >= 20).then(|| words.windows(3).map(<[_]>::to_vec).collect::<BTreeSet<_>>());
        let alike = match (&before, &now) {
            (Some(before), Some(now)) => 2 * before.intersection(now).count() > before.union(now).count(),
            _ => false,
        };
        run = if alike { run + 1 } else { 0 };
        if run >= 3 {
            return true;
        }
        before = now;
    }
    false
}

#[test]
fn only_the_oracles_own_texts_resample() {
    let mut found = 0;
    for (case, wanted) in cases().iter().zip(&oracle()) {
        let resamples = resampling(case);
        assert_eq!(resamples, wanted["expect"]["resampling"].as_bool().unwrap_or(false), "{}", case.id);
        found += usize::from(resamples);
    }
    assert_eq!(found, 2);
}
