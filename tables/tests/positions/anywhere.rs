//! Bodies made at random of all formats' keys, types and roles: however they are put together, each text in them is read.

use std::collections::BTreeSet;

use floodmark_core::wire::table::FORMATS;
use floodmark_core::wire::{Body, Direction, Document, Format, read, read_frame};
use proptest::collection::{hash_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

use super::places::ATTACK;

const WORDS: [&str; 24] = [
    "user",
    "assistant",
    "system",
    "tool",
    "ROLE_AGENT",
    "text",
    "image",
    "document",
    "tool_use",
    "tool_result",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "reasoning",
    "compaction",
    "item_reference",
    "input_json_delta",
    "response.function_call_arguments.delta",
    "response.completed",
    "content_block_stop",
    "tools/call",
    "message/send",
    "text/plain",
    "iVBORw0KGgo=",
];

fn keys() -> Vec<&'static str> {
    let known: BTreeSet<&str> = FORMATS.iter().flat_map(|(_, keys)| keys.iter().map(|key| key.key)).collect();
    known.into_iter().chain(["x", "y"]).collect()
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => Just(Value::from(ATTACK)),
        4 => select(&WORDS[..]).prop_map(Value::from),
        1 => select(vec![Value::Null, Value::from(true), Value::from(0), Value::from(-1.5), Value::from("")]),
    ];
    leaf.prop_recursive(12, 60, 5, |inner| {
        prop_oneof![
            1 => vec(inner.clone(), 0..5).prop_map(Value::from),
            4 => hash_map(select(keys()), inner, 0..6).prop_map(|members| {
                Value::Object(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
            }),
        ]
    })
}

/// How many texts of an event list are the attack, and how many of a body.
fn counted(document: &Document<'_>) -> usize {
    document.events.iter().map(|event| event.text.matches(ATTACK).count()).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_text_of_any_body_is_read(body in json(), format in select(Format::KNOWN.to_vec()), hinted: bool) {
        let text = body.to_string();
        let texts = text.matches(ATTACK).count();
        let body = Body::new(text.as_bytes());
        let hint = hinted.then_some(format);
        for direction in [Direction::Request, Direction::Response] {
            let document = read(&body, hint, direction);
            prop_assert!(counted(&document) >= texts, "{direction:?} {hint:?}: {:?} of {text}", document.events);
        }
        let document = read_frame(&body, hint, None);
        prop_assert!(counted(&document) >= texts, "a stream's message, {hint:?}: {:?} of {text}", document.events);
    }
}
