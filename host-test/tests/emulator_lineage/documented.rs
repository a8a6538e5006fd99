//! The calls that docs/endpoints.md shows for the gate: each is one that the plugin takes, and the answers are those that are shown.

use floodmark_host::emulator::Request;
use serde_json::Value;

use crate::engines::{ADMIN, MINT, Wasm};
use crate::support::repository;

/// The calls of the page from the gate's chapter on: method, path, body, and the answer that is shown.
fn calls(page: &str) -> Vec<(String, String, Option<String>, String)> {
    let mut blocks = page.split("\n```");
    let mut found = Vec::new();
    while let Some(block) = blocks.next() {
        let Some(command) = block.strip_prefix("sh\ncurl ") else { continue };
        let path = command.split("$OPS/").nth(1).unwrap().trim().to_owned();
        let body = command.split(" -d '").nth(1).map(|rest| rest.split('\'').next().unwrap().to_owned());
        let method = if body.is_some() { "POST" } else { "GET" };
        let shown = blocks.by_ref().find_map(|block| block.strip_prefix("json\n")).unwrap().to_owned();
        found.push((method.to_owned(), path, body, shown));
    }
    found
}

/// Whether an answer is the one that is shown, in which `...` at a text's end stands for the rest of it.
fn is_as_shown(answer: &Value, shown: &Value) -> bool {
    match (answer, shown) {
        (Value::Object(answer), Value::Object(shown)) => {
            answer.keys().eq(shown.keys()) && answer.values().zip(shown.values()).all(|(answer, shown)| is_as_shown(answer, shown))
        }
        (Value::Array(answer), Value::Array(shown)) => {
            answer.len() == shown.len() && answer.iter().zip(shown).all(|(answer, shown)| is_as_shown(answer, shown))
        }
        (Value::String(answer), Value::String(shown)) => match shown.strip_suffix("...") {
            Some(start) => start.len() >= 4 && start.len() < answer.len() && answer.starts_with(start),
            None => answer == shown,
        },
        (answer, shown) => answer == shown,
    }
}

#[test]
fn the_documented_calls_are_taken_and_answered_as_shown() {
    let page = std::fs::read_to_string(repository("docs/endpoints.md")).unwrap();
    let (_, chapter) = page.split_once("\n## The lineage gate\n").unwrap();
    let calls = calls(chapter);
    let paths: Vec<&str> = calls.iter().map(|(_, path, ..)| path.as_str()).collect();
    assert_eq!(
        paths,
        ["v1/lineage/records", "v1/lineage/check", "v1/quarantine/acme", "v1/quarantine", "v1/lineage/adopt", "v1/lineage/grants"]
    );
    let mut wasm = Wasm::new();
    for (method, path, body, shown) in calls {
        let token = if path == "v1/lineage/records" { MINT } else { ADMIN };
        let path = format!("/floodmark/{path}");
        let request = body.map_or_else(|| Request::new(&method, &path), |body| Request::post_json(&path, body));
        let (status, answer) = wasm.send(&request.header("x-floodmark-token", token));
        let shown: Value = serde_json::from_str(&shown).unwrap();
        assert!(status == 200 && is_as_shown(&answer, &shown), "{path} is answered with {status}\n{answer}\nand shown\n{shown}");
    }
}
