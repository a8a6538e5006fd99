//! Every case under testdata/wire: a body, and the document and issues it must give.

use std::fs;
use std::path::{Path, PathBuf};

use floodmark_core::wire::{self, Body, Format};
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
    hint: Option<String>,
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

    fn hint(&self) -> Option<Format> {
        let name = self.hint.as_deref()?;
        let known = [Format::OpenAiChat, Format::AnthropicMessages];
        Some(known.into_iter().find(|format| format.name() == name).unwrap_or_else(|| panic!("unknown hint {name}")))
    }
}

fn read(bytes: &[u8], hint: Option<Format>) -> Value {
    let body = Body::new(bytes);
    let document = wire::read(&body, hint);
    let event = |event: &wire::Event<'_>| json!({"message": event.message, "channel": event.channel.name(), "text": event.text});
    json!({
        "format": document.format.name(),
        "events": document.events.iter().map(event).collect::<Vec<_>>(),
        "issues": document.issues.as_slice().iter().map(|issue| issue.kind.name()).collect::<Vec<_>>(),
    })
}

#[test]
fn every_case_reads_as_it_says() {
    let mut paths = Vec::new();
    cases(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/wire"), &mut paths);
    assert!(paths.len() >= 35, "only {} cases found", paths.len());
    for path in paths {
        let text = fs::read_to_string(&path).expect("a readable case");
        let case: Case = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(read(&case.bytes(), case.hint()), case.expect, "{}: {}", path.display(), case.note);
    }
}

/// More messages than are told apart: the body is refused, and the rest is scanned all the same.
#[test]
fn messages_beyond_the_cap_are_read_together() {
    let cap = floodmark_core::limits::MAX_EVENTS;
    let message = r#"{"role":"user","content":"x"}"#;
    let body = format!(r#"{{"messages":[{}{{"role":"user","content":"late"}},"later"]}}"#, format!("{message},").repeat(cap));
    let read = read(body.as_bytes(), None);
    assert_eq!(read["issues"], json!(["too_many_events"]));
    let events = read["events"].as_array().expect("events");
    assert_eq!(events.len(), cap + 1);
    assert_eq!(events[cap], json!({"message": cap, "channel": "user", "text": "role\u{1f}user\u{1f}content\u{1f}late\u{1f}later"}));
}

/// The same for the results inside one message.
#[test]
fn results_beyond_the_cap_are_read_together() {
    let cap = floodmark_core::limits::MAX_EVENTS;
    let result = r#"{"type":"tool_result","content":"r"}"#;
    let body =
        format!(r#"{{"messages":[{{"role":"user","content":[{}{{"type":"text","text":"end"}}]}}]}}"#, format!("{result},").repeat(cap + 1));
    let read = read(body.as_bytes(), None);
    assert_eq!(read["issues"], json!(["too_many_events"]));
    let events = read["events"].as_array().expect("events");
    // The message itself is one of those told apart.
    assert_eq!(events.len(), cap);
    assert_eq!(events[cap - 1], json!({"message": 0, "channel": "user", "text": "end\u{1f}r\u{1f}r"}));
}
