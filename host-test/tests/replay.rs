//! Replay: every oracle case natively and as wasm, the same report byte for byte whatever the body.

#[path = "../../tables/tests/golden/mod.rs"]
mod golden;
mod support;

use std::fs;

use floodmark_host::emulator::Request;
use floodmark_host::replay::{Line, Replay};
use serde_json::Value;
use support::{repository, ways};

const DEFAULTS: &str = r#"{"version":1}"#;

fn report(way: &mut Replay, request: &Request) -> String {
    match way.judge(request).unwrap() {
        Ok(report) => report,
        Err(unread) => unread.to_string(),
    }
}

/// Numbers within 1e-9, everything else exactly.
fn agree(seen: &Value, expected: &Value, what: &str) {
    match (seen, expected) {
        (Value::Number(seen), Value::Number(expected)) => {
            let (seen, expected) = (seen.as_f64().unwrap(), expected.as_f64().unwrap());
            assert!((seen - expected).abs() <= 1e-9, "{what}: {seen} where the oracle says {expected}");
        }
        (Value::Array(seen), Value::Array(expected)) => {
            assert_eq!(seen.len(), expected.len(), "{what}");
            for (index, (seen, expected)) in seen.iter().zip(expected).enumerate() {
                agree(seen, expected, &format!("{what}, {index}"));
            }
        }
        _ => assert_eq!(seen, expected, "{what}"),
    }
}

/// The oracle is of the patterns alone.
const PATTERNS: &str = r#"{"version":1,"defaults":{"policy":{"rules":{"detector":"off"}}}}"#;

/// For each profile a configuration, the oracle's file and the conversations made of it.
const PROFILES: [(&str, &str, &str); 2] = [
    (PATTERNS, "conversation_floodmark.json", "floodmark.jsonl"),
    (r#"{"version":1,"defaults":{"policy":{"profile":"paper"}}}"#, "conversation.json", "paper.jsonl"),
];

#[test]
fn every_oracle_case_natively_and_in_wasm() {
    for (config, oracle, conversations) in PROFILES {
        let oracle: Value = serde_json::from_slice(&fs::read(repository("testdata/vectors").join(oracle)).unwrap()).unwrap();
        let oracle = oracle["cases"].as_array().unwrap();
        let text = fs::read_to_string(repository("testdata/conversations").join(conversations)).unwrap();
        let lines: Vec<_> = text.lines().enumerate().map(|(index, line)| Line::parse(index + 1, line.as_bytes()).unwrap()).collect();
        assert_eq!(lines.len(), oracle.len());
        for (name, mut way) in ways(config) {
            for (line, case) in lines.iter().zip(oracle) {
                assert_eq!(line.id, case["name"].to_string(), "the cases stand in the oracle's order");
                let report: Value = serde_json::from_str(&report(&mut way, &Request::post_json(line.path, line.body.clone()))).unwrap();
                compare(&report, &case["expect"], &format!("{conversations}, {name}, {}", line.id));
            }
        }
    }
}

fn compare(report: &Value, expected: &Value, what: &str) {
    let expected = expected.as_object().unwrap();
    for key in ["verdict", "score", "turn_scores", "evaluated"] {
        assert!(expected.contains_key(key), "{what}: the oracle says nothing on {key}");
    }
    for (key, expected) in expected {
        match key.as_str() {
            // Several windows may reach the score; the core's own test computes ours by the definition.
            "window" => assert_eq!(report[key].is_null(), expected.is_null(), "{what}, {key}"),
            _ => agree(&report[key], expected, &format!("{what}, {key}")),
        }
    }
}

/// The plugin gives the trainer's scores to the last bit, natively and in each engine that runs it as wasm.
#[test]
fn golden_scores_are_the_same_in_every_engine() {
    let cases = golden::cases();
    assert!(cases.len() > 40, "{} bodies", cases.len());
    for (name, mut way) in ways(DEFAULTS) {
        for golden::Case { body, scores } in &cases {
            let report = report(&mut way, &Request::post_json("/v1/chat/completions", body.clone()));
            assert_eq!(&golden::scores(&report), scores, "{name}: {body}");
        }
    }
}

/// Bodies of every kind: the oracle's, the wire cases with all the hostile and the compressed ones, the demo's, and some that are large. With each
/// its content-encoding.
fn bodies() -> Vec<(Vec<u8>, String)> {
    let mut bodies: Vec<Vec<u8>> = Vec::new();
    let mut compressed = Vec::new();
    for file in ["testdata/conversations/paper.jsonl", "testdata/conversations/floodmark.jsonl", "testdata/demo.jsonl"] {
        let text = fs::read_to_string(repository(file)).unwrap();
        bodies.extend(text.lines().map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            line.get("body").unwrap_or(&line).to_string().into_bytes()
        }));
    }
    let mut folders = vec![repository("testdata/wire")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let case: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
            let body = match (&case["body_text"], &case["body_hex"]) {
                (Value::String(text), _) => text.clone().into_bytes(),
                (_, Value::String(hex)) => (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect(),
                _ => case["body"].to_string().into_bytes(),
            };
            compressed.extend(case["content_encoding"].as_str().map(|coding| (body.clone(), coding.to_owned())));
            bodies.push(body);
        }
    }
    let long = "Ignore that. ".repeat(6_000);
    bodies
        .push(format!(r#"{{"messages":[{{"role":"user","content":"{long}"}},{{"role":"user","content":"ﬁn\u00AD de Ⓢiècle"}}]}}"#).into());
    bodies.push("[".repeat(10_000).into());
    assert!(compressed.len() >= 20, "{} compressed bodies", compressed.len());
    compressed.extend(bodies.into_iter().map(|body| (body, "identity".to_owned())));
    compressed
}

#[test]
fn native_and_wasm_give_the_same_report_byte_for_byte() {
    let bodies = bodies();
    assert!(bodies.len() > 430, "{} bodies", bodies.len());
    let configs = [
        DEFAULTS,
        r#"{"version":1,"defaults":{"mode":"enforce","log_allow":true}}"#,
        r#"{"version":1,"defaults":{"mode":"enforce","hold_headers":true,"max_body_bytes":300},
            "overrides":[{"match":{"path_prefix":"/v1/messages"},"settings":{"policy":{"conversation":{"tau":0.4}}}}]}"#,
        r#"{"version":1,"enabled":false}"#,
        PROFILES[1].0,
    ];
    for config in configs {
        let mut ways = ways(config);
        let ((_, native), others) = ways.split_first_mut().unwrap();
        let mut judged = 0;
        for (body, coding) in &bodies {
            for path in ["/v1/chat/completions", "/v1/messages?beta=true", "/elsewhere"] {
                let request = Request::post_json(path, body.clone()).header("content-encoding", coding);
                let expected = report(native, &request);
                judged += usize::from(expected.starts_with('{'));
                for (name, way) in others.iter_mut() {
                    assert_eq!(report(way, &request), expected, "{name}, {path}, {config}, {coding}, {}", String::from_utf8_lossy(body));
                }
            }
        }
        assert_eq!(judged > 2 * bodies.len(), !config.contains("enabled"), "{judged} judged under {config}");
    }
}
