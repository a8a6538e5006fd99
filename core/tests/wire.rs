//! Every case under testdata/wire: a body, and the document and issues it must give.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use floodmark_core::wire::{self, Body, Codings, Direction, Format};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

fn cases(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() { cases(&path, into) } else { into.push(path) }
    }
}

/// A case; of the three bodies one is given.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    note: String,
    /// JSON, taken byte for byte as it stands in the file.
    body: Option<Box<RawValue>>,
    /// Text that is no JSON.
    body_text: Option<String>,
    /// Bytes that are no text.
    body_hex: Option<String>,
    /// The request's header of this name, in lower case.
    content_encoding: Option<String>,
    hint: Option<String>,
    /// `response`; a request where it is left out.
    direction: Option<String>,
    /// The document. What is left out of it, such as an event's `role`, is not what the case is about; `format`, `events` and `issues` always are.
    expect: Value,
}

impl Case {
    fn bytes(&self) -> Vec<u8> {
        match (&self.body, &self.body_text, &self.body_hex) {
            (Some(json), None, None) => json.get().as_bytes().to_vec(),
            (None, Some(text), None) => text.as_bytes().to_vec(),
            (None, None, Some(hex)) => {
                let digit = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex");
                (0..hex.len()).step_by(2).map(digit).collect()
            }
            _ => panic!("{}: give one of body, body_text, body_hex", self.note),
        }
    }

    fn direction(&self) -> Direction {
        match self.direction.as_deref() {
            None => Direction::Request,
            Some("response") => Direction::Response,
            Some(other) => panic!("no direction {other}"),
        }
    }

    fn hint(&self) -> Option<Format> {
        let name = self.hint.as_deref()?;
        Some(Format::KNOWN.into_iter().find(|format| format.name() == name).unwrap_or_else(|| panic!("unknown hint {name}")))
    }
}

fn read(bytes: &[u8], codings: Codings, hint: Option<Format>, direction: Direction) -> Value {
    let decoded = codings.decode(bytes, 1_000_000);
    let mut body = Body::new(&decoded.bytes);
    if let Some(issue) = decoded.issue {
        body.issues.push(issue, 0);
    }
    let document = wire::read(&body, hint, direction);
    let event = |event: &wire::Event<'_>| {
        json!({
            "message": event.message,
            "channel": event.channel.name(),
            "role": event.role.map(|role| format!("{role:?}").to_lowercase()),
            "tool": event.tool,
            "call_id": event.call_id,
            "text": event.text,
        })
    };
    let rpc = &document.rpc;
    json!({
        "format": document.format.name(),
        "events": document.events.iter().map(event).collect::<Vec<_>>(),
        "issues": document.issues.as_slice().iter().map(|issue| issue.kind.name()).collect::<Vec<_>>(),
        "rpc": {"ids": rpc.ids, "methods": rpc.methods.iter().map(|method| format!("{method:?}")).collect::<Vec<_>>(), "batch": rpc.batch},
        "ids": document.ids.iter().map(|id| (id.kind.name(), Value::from(&*id.value))).collect::<BTreeMap<_, _>>(),
        "stream": document.stream,
    })
}

/// Of what was read, what a case says something of.
fn told(found: Value, expect: &Value) -> Value {
    match (found, expect) {
        (Value::Object(found), Value::Object(said)) if said.contains_key("channel") || said.contains_key("events") => {
            let told = found.into_iter().filter_map(|(key, value)| Some((key.clone(), told(value, said.get(&key)?))));
            told.collect()
        }
        (Value::Array(found), Value::Array(said)) if found.len() == said.len() => {
            found.into_iter().zip(said).map(|(found, said)| told(found, said)).collect()
        }
        (found, _) => found,
    }
}

#[test]
fn every_case_reads_as_it_says() {
    let mut paths = Vec::new();
    cases(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/wire"), &mut paths);
    assert!(paths.len() >= 35, "only {} cases found", paths.len());
    let mut wrong = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).expect("a readable case");
        let case: Case = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let words = case.content_encoding.iter().flat_map(|value| value.split(", "));
        let codings = Codings::parse(words).unwrap_or_else(|| panic!("{}: a coding that is not read", path.display()));
        let said = |key| case.expect.get(key).is_some();
        assert!(said("format") && said("events") && said("issues"), "{}: says too little", path.display());
        let found = told(read(&case.bytes(), codings, case.hint(), case.direction()), &case.expect);
        if found != case.expect {
            wrong.push(format!("{}: {}\n found {found}\nexpect {}", path.display(), case.note, case.expect));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Where an event's strings stand in the body: quote to quote, apart from each other, and each a part of the event's text.
#[test]
fn strings_stand_where_the_events_say() {
    let mut paths = Vec::new();
    cases(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/wire"), &mut paths);
    let mut checked = 0;
    for path in paths {
        let case: Case = serde_json::from_str(&fs::read_to_string(&path).expect("a readable case")).expect("a case");
        let bytes = case.bytes();
        let body = Body::new(&bytes);
        if body.text.len() + body.skipped_bytes != bytes.len() {
            continue;
        }
        let mut all = Vec::new();
        for event in wire::read(&body, case.hint(), case.direction()).events {
            for place in &event.strings {
                let raw = std::str::from_utf8(&bytes[place.start as usize..place.end as usize]).expect("whole characters");
                assert!(raw.len() >= 2 && raw.starts_with('"') && raw.ends_with('"'), "{}: {raw}", path.display());
                // Lenient forms that serde_json refuses are decoded by other tests.
                if let Ok(text) = serde_json::from_str::<String>(raw) {
                    // U+001F keeps records apart, so a text cannot have it.
                    let text = text.replace('\u{1f}', " ");
                    assert!(event.text.contains(&text), "{}: {raw} is no part of {:?}", path.display(), event.text);
                    checked += 1;
                }
            }
            all.extend(event.strings);
        }
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0].end <= pair[1].start), "{}: {all:?}", path.display());
    }
    assert!(checked > 50, "only {checked} strings were compared");
}

/// Which strings of a message can be replaced: all of its text, and what else is more than a word; neither keys nor identifiers.
#[test]
fn identifiers_keys_and_spelled_arguments_have_no_place() {
    let body = br#"{"messages":[{"role":"user","name":"al","x":["ab","a b",{"c d":"e f"}],"content":[{"type":"text","text":"t"},
        {"type":"image_url","image_url":{"url":"data:,A"}}],"function_call":{"name":"n","arguments":"{\"a\":\"g h\"}"}}]}"#;
    let body = Body::new(body);
    let document = wire::read(&body, None, Direction::Request);
    let [event] = document.events.as_slice() else { panic!("one event: {:?}", document.events) };
    let strings: Vec<&str> = event.strings.iter().map(|place| &body.text[place.start as usize..place.end as usize]).collect();
    assert_eq!(strings, [r#""a b""#, r#""e f""#, r#""t""#]);
}

/// More messages than are told apart: the body is refused, and the rest is scanned all the same.
#[test]
fn messages_beyond_the_cap_are_read_together() {
    let cap = floodmark_core::limits::MAX_EVENTS;
    let message = r#"{"role":"user","content":"x"}"#;
    let body = format!(r#"{{"messages":[{}{{"role":"user","content":"late"}},"later"]}}"#, format!("{message},").repeat(cap));
    let read = read(body.as_bytes(), Codings::default(), None, Direction::Request);
    assert_eq!(read["issues"], json!(["too_many_events"]));
    let events = read["events"].as_array().expect("events");
    assert_eq!(events.len(), cap + 1);
    assert_eq!(
        told(events[cap].clone(), &json!({"channel": 0, "message": 0, "text": 0})),
        json!({"message": cap, "channel": "user", "text": "role\u{1f}user\u{1f}content\u{1f}late\u{1f}later"})
    );
}

/// The same for the results inside one message.
#[test]
fn results_beyond_the_cap_are_read_together() {
    let cap = floodmark_core::limits::MAX_EVENTS;
    let result = r#"{"type":"tool_result","content":"r"}"#;
    let body =
        format!(r#"{{"messages":[{{"role":"user","content":[{}{{"type":"text","text":"end"}}]}}]}}"#, format!("{result},").repeat(cap + 1));
    let read = read(body.as_bytes(), Codings::default(), Some(Format::AnthropicMessages), Direction::Request);
    assert_eq!(read["issues"], json!(["too_many_events"]));
    let events = read["events"].as_array().expect("events");
    // The message itself is one of those told apart.
    assert_eq!(events.len(), cap);
    assert_eq!(
        told(events[cap - 1].clone(), &json!({"channel": 0, "message": 0, "text": 0})),
        json!({"message": 0, "channel": "user", "text": "end\u{1f}r\u{1f}r"})
    );
}
