//! Every key that a format's table lists stands on the way to a position, so that a key which nobody reads cannot be listed unseen.

use std::collections::BTreeSet;

use floodmark_core::wire::table::{self, FORMATS, Holds, Place};
use floodmark_core::wire::{Body, Direction, read};
use serde_json::Value;

use super::places::{ATTACK, files};

/// The known keys on the way to a position, each with its place. The frame of AWS around a message is none.
fn keys_on_the_way(body: &Value, pointer: &str, root: Place, framing: Option<&str>) -> Vec<(Place, String)> {
    let (mut value, mut place, mut keys) = (Some(body), Some(root), Vec::new());
    let pointer = pointer.split('#').next().unwrap_or_default();
    for (depth, segment) in pointer.split('/').skip(1).enumerate() {
        let segment = segment.replace("~1", "/");
        let in_list = value.is_some_and(Value::is_array);
        value = value.and_then(|value| value.get(&segment).or_else(|| value.get(segment.parse::<usize>().ok()?)));
        if in_list || (framing == Some("aws_event_stream") && depth == 1) {
            continue;
        }
        let Some(inside) = place else { break };
        let known = table::find(inside, &segment).map(|(_, known)| known);
        keys.extend(known.map(|known| (inside, known.key.to_owned())));
        place = match known.map(|known| known.holds) {
            Some(Holds::Messages(_) | Holds::Message(_) | Holds::Text | Holds::ToolResult | Holds::Instructions) => Some(Place::Message),
            Some(Holds::Calls) => Some(Place::Call),
            Some(Holds::Choices) => Some(Place::Choice),
            Some(Holds::Nested(place)) => Some(place),
            _ => None,
        };
    }
    keys
}

/// Numbers, yes or no, and words that the format itself gives: what else stands there is scanned, but nothing that a model is shown.
fn holds_no_text(holds: Holds) -> bool {
    matches!(holds, Holds::Index | Holds::Stream | Holds::Stopped | Holds::RpcVersion)
}

#[test]
fn every_key_of_every_table_has_a_position() {
    let mut missing = Vec::new();
    for (file, (format, keys)) in files().iter().zip(FORMATS) {
        assert_eq!(file.format(), format);
        let mut covered = BTreeSet::new();
        for body in &file.bodies {
            for pointer in body.positions.keys().flat_map(|position| position.split(' ')) {
                let answers = body.framing.is_some() || body.direction == "response";
                let root = if answers { Place::Answer } else { Place::Root };
                covered.extend(keys_on_the_way(&body.body, pointer, root, body.framing.as_deref()));
            }
        }
        for key in keys.iter().filter(|key| !holds_no_text(key.holds)) {
            if !covered.contains(&(key.place, key.key.to_owned())) {
                missing.push(format!("{}: {:?} {}", format.name(), key.place, key.key));
            }
        }
    }
    assert!(missing.is_empty(), "no position for {} keys:\n{}", missing.len(), missing.join("\n"));
}

/// An object of each place, with `MEMBERS` where its members stand, in a body of some format.
const OBJECTS: [(Place, &str); 9] = [
    (Place::Root, r#"{"jsonrpc":"2.0",MEMBERS}"#),
    (Place::Answer, r#"{"jsonrpc":"2.0",MEMBERS}"#),
    (Place::Reply, r#"{"jsonrpc":"2.0","result":{MEMBERS}}"#),
    (Place::Params, r#"{"jsonrpc":"2.0","params":{MEMBERS}}"#),
    (Place::Result, r#"{"jsonrpc":"2.0","result":{MEMBERS}}"#),
    (Place::Choice, r#"{"choices":[{MEMBERS}]}"#),
    (Place::Message, r#"{"messages":[{"role":"assistant",MEMBERS}]}"#),
    (Place::Call, r#"{"messages":[{"role":"assistant","tool_calls":[{MEMBERS}]}]}"#),
    (Place::Metadata, r#"{"messages":[],"metadata":{MEMBERS}}"#),
];

/// Whatever stands at a key, what follows it is read, and so is a text in its place, however deep.
#[test]
fn no_value_of_any_key_hides_what_follows() {
    let odd =
        ["null", "true", "9e300", "-0", r#""""#, r#""a b""#, "[]", "{}", "[[]]", r#"{"a":{}}"#, r#"[{"a":[1]}]"#, r#"[null,{"b":2},"c"]"#];
    let attack = format!("\"{ATTACK}\"");
    let shapes = [
        attack.clone(),
        format!("[{attack}]"),
        format!(r#"{{"x":{attack}}}"#),
        format!("[[{{\"x\":{attack}}}]]"),
        format!("{{{attack}:1}}"),
    ];
    let (mut wrong, mut tried) = (Vec::new(), 0);
    for (format, keys) in FORMATS {
        for key in keys {
            let (_, object) = OBJECTS.iter().find(|(place, _)| *place == key.place).expect("an object of each place");
            let behind = odd.iter().map(|value| format!(r#""{}":{value},"~x":{attack}"#, key.key));
            let inside = shapes.iter().map(|value| format!(r#""{}":{value},"~x":1"#, key.key));
            for members in behind.chain(inside) {
                let text = object.replace("MEMBERS", &members);
                let body = Body::new(text.as_bytes());
                let found = |direction| read(&body, Some(format), direction).events.iter().any(|event| event.text.contains(ATTACK));
                tried += 1;
                if !found(Direction::Request) || !found(Direction::Response) {
                    wrong.push(text);
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(tried > 5000, "only {tried}");
}
