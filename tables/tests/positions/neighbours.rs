//! What stands beside a position, or in its place, hides nothing: unknown keys, values of another type, lists and objects around a text.

use floodmark_core::wire::{Body as Text, Format, read};
use serde_json::{Value, json};

use super::places::{ATTACK, Body, put};
use super::whole;

/// Whether the attack is read anywhere.
fn is_read(format: Format, body: &Body, value: &Value) -> bool {
    let bytes = body.bytes(value);
    let text = Text::new(&bytes);
    read(&text, Some(format), body.direction()).events.iter().any(|event| event.text.contains(ATTACK))
}

/// The pointers of every object and list around `pointer`, the innermost first.
pub fn around(pointer: &str) -> impl Iterator<Item = &str> {
    pointer.match_indices('/').map(|(at, _)| &pointer[..at]).rev()
}

/// Adds the attack as the last member of the object at `pointer`, if it is one.
pub fn add_last(value: &mut Value, pointer: &str, key: &str, member: &Value) -> bool {
    let mut added = false;
    put(value, pointer, &mut |there| {
        if let Value::Object(members) = there {
            members.insert(key.to_owned(), member.clone());
            added = true;
        }
    });
    added
}

#[test]
fn unknown_keys_beside_each_position_are_read() {
    let (mut wrong, mut tried) = (Vec::new(), 0);
    for (format, body) in whole() {
        for position in body.positions.keys() {
            for pointer in around(position) {
                for (key, member) in [("~x", json!(ATTACK)), ("~x", json!([{"a": ATTACK}])), (ATTACK, json!(1))] {
                    let mut value = body.body.clone();
                    if add_last(&mut value, pointer, key, &member) {
                        tried += 1;
                        if !is_read(format, &body, &value) {
                            wrong.push(format!("{}, {}: {key}: {member} in {pointer:?}", format.name(), body.name));
                        }
                    }
                }
            }
        }
    }
    wrong.dedup();
    assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(tried > 1000, "only {tried}");
}

#[test]
fn a_value_of_another_type_hides_nothing_behind_it() {
    let odd: Value = json!([null, true, 9e300, "", "a b", [], {}, [[]], {"a": {}}, [{"a": [1]}]]);
    let (mut wrong, mut tried) = (Vec::new(), 0);
    for (format, body) in whole() {
        for position in body.positions.keys() {
            let pointer = position.split('#').next().unwrap_or_default();
            for other in odd.as_array().expect("a list") {
                for outer in around(pointer) {
                    let mut value = body.body.clone();
                    put(&mut value, pointer, &mut |there| *there = other.clone());
                    if add_last(&mut value, outer, "~x", &json!(ATTACK)) {
                        tried += 1;
                        if !is_read(format, &body, &value) {
                            wrong.push(format!("{}, {}: {other} at {pointer} hides the end of {outer:?}", format.name(), body.name));
                        }
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(tried > 3000, "only {tried}");
}

#[test]
fn lists_and_objects_around_a_text_hide_nothing() {
    let mut wrong = Vec::new();
    for (format, body) in whole() {
        for position in body.positions.keys() {
            let pointer = position.split('#').next().unwrap_or_default();
            let shapes = [
                json!([ATTACK]),
                json!({"x": ATTACK}),
                json!([{"x": ATTACK}]),
                json!([[ATTACK]]),
                json!({ATTACK: 1}),
                json!({"x": [{"y": ATTACK}]}),
            ];
            for shape in shapes {
                let mut value = body.body.clone();
                put(&mut value, pointer, &mut |there| *there = shape.clone());
                if !is_read(format, &body, &value) {
                    wrong.push(format!("{}, {}: {shape} at {pointer}", format.name(), body.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
