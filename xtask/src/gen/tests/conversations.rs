//! The files of `testdata/conversations` say in words what the oracle cases say in categories.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

use super::twin::TWINS;
use super::{read, root};
use crate::r#gen::CONVERSATIONS;

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

/// The lines of all files.
pub fn cases() -> impl Iterator<Item = Case> {
    CONVERSATIONS.into_iter().flat_map(|(_, path)| lines(path))
}

fn lines(path: &str) -> Vec<Case> {
    let text = read(&root().join(path)).expect("a committed file");
    text.lines().map(|line| serde_json::from_str(line).expect("a case a line")).collect()
}

fn oracle(path: &str) -> Vec<Value> {
    let vectors: Value = serde_json::from_str(&read(&root().join(path)).expect("a file")).expect("JSON");
    vectors["cases"].as_array().expect("a list").clone()
}

#[test]
fn every_turn_hits_the_categories_of_its_oracle() {
    for (vectors, path) in CONVERSATIONS {
        let (cases, oracle) = (lines(path), oracle(vectors));
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
                assert_eq!(found, wanted, "{path}, {}, turn {at}: {:?}", case.id, message.content);
            }
        }
    }
}

/// The definition, in the plainest way: three pairs in a row of long user messages with word trigrams more than half alike; `skipped` short ones
/// in a row do not break the run.
fn resampling(case: &Case, skipped: usize) -> bool {
    let (mut run, mut short) = (0, 0);
    let mut before: Option<BTreeSet<Vec<&str>>> = None;
    for message in case.messages.iter().filter(|message| message.role == "user") {
        let words: Vec<_> = message.content.split_whitespace().collect();
        if words.len() < 20 {
            short += 1;
            if short > skipped {
                (before, run) = (None, 0);
            }
            continue;
        }
        let now: BTreeSet<_> = words.windows(3).map(<[_]>::to_vec).collect();
        let alike = before.is_some_and(|before| 2 * before.intersection(&now).count() > before.union(&now).count());
        (run, short, before) = (if alike { run + 1 } else { 0 }, 0, Some(now));
        if run >= 3 {
            return true;
        }
    }
    false
}

#[test]
fn only_the_oracles_own_texts_resample() {
    for ((vectors, path), (skipped, count)) in CONVERSATIONS.into_iter().zip([(0, 2), (1, 4)]) {
        let mut found = 0;
        for (case, wanted) in lines(path).iter().zip(&oracle(vectors)) {
            let resamples = resampling(case, skipped);
            assert_eq!(resamples, wanted["expect"]["resampling"].as_bool().unwrap_or(false), "{path}, {}", case.id);
            found += usize::from(resamples);
        }
        assert_eq!(found, count, "{path}");
    }
}
