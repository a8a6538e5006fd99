//! The JSON reader against serde_json.

use std::fmt;

use floodmark_core::wire::json::{Reader, Token};
use floodmark_core::wire::{Body, IssueKind, Issues, RECORD_BORDER};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// Every string and key of a document, in order, as serde_json reads it.
#[derive(Default)]
struct Strings(Vec<String>);

impl<'de> Deserialize<'de> for Strings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Collect)
    }
}

struct Collect;

impl<'de> Visitor<'de> for Collect {
    type Value = Strings;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Strings, E> {
        Ok(Strings::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Strings, E> {
        Ok(Strings::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Strings, E> {
        Ok(Strings::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Strings, E> {
        Ok(Strings::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Strings, E> {
        Ok(Strings::default())
    }

    fn visit_str<E>(self, text: &str) -> Result<Strings, E> {
        Ok(Strings(vec![text.to_owned()]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Strings, A::Error> {
        let mut all = Strings::default();
        while let Some(Strings(more)) = values.next_element()? {
            all.0.extend(more);
        }
        Ok(all)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Strings, A::Error> {
        let mut all = Strings::default();
        while let Some((key, Strings(more))) = members.next_entry::<String, Strings>()? {
            all.0.push(key);
            all.0.extend(more);
        }
        Ok(all)
    }
}

/// Both accept the same documents, and read the same strings in them; and strings stand where the reader says.
pub fn json(data: &[u8]) {
    let body = Body::new(data);
    let text = &*body.text;
    let mut reader = Reader::new(text, body.skipped_bytes, Issues::default());
    let mut strings = Vec::new();
    let read = reader.each_string(|string, issues| {
        let value = string.decode(issues).into_owned();
        if let Some(place) = string.value_place() {
            let raw = &text[place.start as usize - body.skipped_bytes..place.end as usize - body.skipped_bytes];
            assert!(raw.starts_with('"') && raw.ends_with('"') && raw.len() == string.raw_bytes() + 2, "{raw}");
            // What serde_json refuses, raw control characters and half surrogates, is an issue here.
            if let Ok(theirs) = serde_json::from_str::<String>(raw) {
                assert_eq!(value, apart(&theirs), "{raw}");
            }
        }
        strings.push(value);
    });
    if read.is_some() {
        while !matches!(reader.token(), None | Some(Token::End)) {}
    }
    for issue in reader.issues.as_slice() {
        assert!(issue.at <= text.len() + body.skipped_bytes, "{issue:?}");
    }
    // Of the issues only this one is no error to serde_json.
    let accepted = reader.issues.kinds().all(|kind| kind == IssueKind::DuplicateKey);
    match serde_json::from_str::<Strings>(text) {
        Ok(Strings(theirs)) => {
            assert!(accepted, "serde_json accepts what has the issues {:?}", reader.issues);
            assert_eq!(strings, theirs.iter().map(|text| apart(text)).collect::<Vec<_>>());
        }
        // A reader that gives no numbers needs not know how large they are.
        Err(error) if error.to_string().contains("number out of range") => {}
        Err(error) => assert!(!accepted, "serde_json refuses: {error}"),
    }
}

/// A text as the reader gives it: what keeps records apart is a space when a text spells it.
fn apart(text: &str) -> String {
    text.replace(RECORD_BORDER, " ")
}
