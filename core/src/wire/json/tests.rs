//! The JSON reader against serde_json, and the places where readers disagree.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;

/// All strings of the document in order, and the names and offsets of its issues.
fn read(text: &str) -> (Vec<String>, Vec<(&'static str, usize)>) {
    let mut reader = Reader::new(text, 0, Issues::default());
    let mut strings = Vec::new();
    let read = reader.each_string(|text, issues| strings.push(text.decode(issues).into_owned()));
    if read.is_some() {
        assert_eq!(reader.token().is_some(), reader.expect != Expect::Stopped);
    }
    (strings, reader.issues.as_slice().iter().map(|issue| (issue.kind.name(), issue.at)).collect())
}

fn issues(text: &str) -> Vec<(&'static str, usize)> {
    read(text).1
}

#[test]
fn strings_and_keys_come_in_order() {
    let (strings, issues) = read(r#" {"a": ["x", 1.5e-3, {"b": null}], "c\u0041": "é\ud83d\ude00\n\/"} "#);
    assert_eq!(strings, ["a", "x", "b", "cA", "é😀\n/"]);
    assert!(issues.is_empty());
}

#[test]
fn what_readers_disagree_about_is_an_issue_at_its_place() {
    assert_eq!(issues(r#"{"a":1,"b":2,"a":3}"#), [("duplicate_key", 0)]);
    assert_eq!(issues(r#"{"a":1,"\u0061":3}"#), [("duplicate_key", 0)]);
    // Few keys are compared with each other, many are put in order.
    for count in [2, 15, 16, 17, 18, 300] {
        let object = |last: usize| (0..count - 1).chain([last]).map(|key| format!(r#""k{key}":0"#)).collect::<Vec<_>>().join(",");
        assert_eq!(issues(&format!("{{{}}}", object(count))), [], "{count} keys");
        for doubled in [0, (count - 1) / 2, count - 2] {
            assert_eq!(issues(&format!("{{{}}}", object(doubled))), [("duplicate_key", 0)], "{count} keys, {doubled} twice");
        }
    }
    assert!(issues(r#"[{"a":{"a":1}},{"a":1}]"#).is_empty());
    assert_eq!(issues(r#"{"k":[{"x":1,"x":1"#), [("truncated", 18), ("duplicate_key", 6)]);
    assert_eq!(issues("\"a\u{1}b\""), [("control_character", 2)]);
    assert_eq!(issues(r#""\ud800""#), [("lone_surrogate", 3)]);
    assert_eq!(issues(r#""\udc00\ud800x""#), [("lone_surrogate", 3), ("lone_surrogate", 9)]);
    assert_eq!(issues(r#"{} {}"#), [("trailing_bytes", 3)]);
    assert_eq!(issues("{}\0"), [("trailing_bytes", 2)]);
}

#[test]
fn what_is_not_json_stops_the_reader() {
    for (text, at) in [
        ("NaN", 0),
        ("[1,]", 3),
        ("{\"a\":1,}", 7),
        ("{a:1}", 1),
        ("['a']", 1),
        ("[01]", 2),
        ("[1.]", 3),
        ("[-]", 2),
        ("[1e]", 3),
        ("[+1]", 1),
        ("[tru]", 1),
        ("[\"\\x\"]", 2),
        ("[\"\\u12g4\"]", 2),
        ("[1 2]", 3),
        ("{\"a\" 1}", 5),
        ("]", 0),
        ("[}", 1),
        ("// x\n1", 0),
    ] {
        assert_eq!(issues(text), [("syntax", at)], "{text}");
    }
    for text in ["", " ", "[", "[1", "[1,", "{", "{\"a\"", "{\"a\":", "\"abc"] {
        assert_eq!(issues(text), [("truncated", text.len())], "{text}");
    }
}

#[test]
fn strings_before_an_error_are_kept() {
    assert_eq!(read(r#"{"a":"kept","b":x}"#).0, ["a", "kept", "b"]);
}

#[test]
fn depth_is_bounded() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(issues(&nested(MAX_DEPTH)).is_empty());
    assert_eq!(issues(&nested(MAX_DEPTH + 1)), [("too_deep", MAX_DEPTH)]);
    assert_eq!(issues(&"[".repeat(1_000_000)), [("too_deep", MAX_DEPTH)]);
}

#[test]
fn a_skipped_value_leaves_the_reader_behind_it() {
    let mut reader = Reader::new(r#"{"a":{"x":[1,"]}"]},"b":2}"#, 0, Issues::default());
    assert_eq!(reader.token(), Some(Token::Open(Nest::Object)));
    assert!(matches!(reader.token(), Some(Token::Key(key)) if key.raw == "a"));
    reader.skip_value();
    assert!(matches!(reader.token(), Some(Token::Key(key)) if key.raw == "b"));
}

/// Any JSON value as serde_json prints it.
fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        any::<String>().prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 64, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
            proptest::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

fn strings_of(value: &serde_json::Value, into: &mut Vec<String>) {
    match value {
        serde_json::Value::String(text) => into.push(text.clone()),
        serde_json::Value::Array(values) => values.iter().for_each(|value| strings_of(value, into)),
        serde_json::Value::Object(members) => members.iter().for_each(|(key, value)| {
            into.push(key.clone());
            strings_of(value, into);
        }),
        _ => (),
    }
}

/// JSON text with every character of every string escaped as `\u`.
fn escaped(text: &str) -> String {
    text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect()
}

proptest! {
    #[test]
    fn valid_json_reads_as_serde_json_reads_it(value in any_json(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.expect("prints");
        let mut expected = Vec::new();
        strings_of(&value, &mut expected);
        prop_assert_eq!(read(&text), (expected, Vec::new()));
    }

    #[test]
    fn escapes_decode_to_what_they_spell(text in any::<String>()) {
        let (strings, issues) = read(&format!("\"{}\"", escaped(&text)));
        prop_assert_eq!((strings, issues), (Vec::from([text]), Vec::new()));
    }

    /// serde_json is strict too, so what it refuses has an issue here and what it accepts has none that it would have refused.
    #[test]
    fn a_damaged_document_is_judged_as_serde_json_judges_it(value in any_json(), at in any::<proptest::sample::Index>(), with in "[\\x00-\\x7f]{0,2}") {
        let mut text = value.to_string();
        let at = text.floor_char_boundary(at.index(text.len() + 1));
        text.insert_str(at, &with);
        let found = issues(&text);
        let strict = serde_json::from_str::<serde_json::Value>(&text).err().map(|error| error.to_string());
        // serde_json refuses numbers beyond f64 before it sees what follows them; the reader does not evaluate numbers.
        prop_assume!(!strict.as_ref().is_some_and(|error| error.contains("number out of range")));
        let refused = strict.is_some();
        let only_doubled = found.iter().all(|(name, _)| *name == "duplicate_key");
        prop_assert_eq!(refused, !only_doubled, "{} {:?}", text, found);
    }

    #[test]
    fn plain_length_is_what_a_plain_loop_counts(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        let plain = bytes.iter().take_while(|&&byte| byte >= 0x20 && byte != b'"' && byte != b'\\').count();
        prop_assert_eq!(plain_length(&bytes), plain);
    }

    #[test]
    fn nothing_panics_and_offsets_stay_inside(text in "[\\[\\]{}\",:\\\\u0-9a-f \\PC]{0,60}") {
        for (_, at) in issues(&text) {
            prop_assert!(at <= text.len());
        }
        let _ = text.to_owned();
    }
}
