//! A string of a body that its reader wants by name: a key of `metadata`, or `user`.

use alloc::borrow::Cow;

use super::body::Body;
use super::issue::Issues;
use super::json::{Nest, Reader, Token};
use crate::limits::MAX_ID_BYTES;

/// The string at `user` of the body's object where `name` is that, else at this key of its `metadata`. `None` where there is none, or it is empty or longer than
/// [`MAX_ID_BYTES`]. Of two the first; that keys stand twice is an issue of the body.
pub fn named_string<'b>(body: &'b Body<'_>, name: &str) -> Option<Cow<'b, str>> {
    let mut reader = Reader::new(&body.text, 0, Issues::default());
    if reader.token()? != Token::Open(Nest::Object) {
        return None;
    }
    let outer = if name == "user" { name } else { "metadata" };
    let mut value = member(&mut reader, outer)?;
    if name != "user" {
        if value != Token::Open(Nest::Object) {
            return None;
        }
        value = member(&mut reader, name)?;
    }
    let Token::Text(text) = value else { return None };
    let value = text.decode(&mut Issues::default());
    (1..=MAX_ID_BYTES).contains(&value.len()).then_some(value)
}

/// The first token of the value at `name` in the object that the reader is in.
fn member<'b>(reader: &mut Reader<'b>, name: &str) -> Option<Token<'b>> {
    loop {
        match reader.token()? {
            Token::Key(key) if key.decode(&mut Issues::default()) == name => return reader.token(),
            Token::Key(_) => reader.skip_value()?,
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_named_string_is_found_and_no_other() {
        let long = alloc::format!(r#"{{"user":"{}"}}"#, "x".repeat(MAX_ID_BYTES + 1));
        for (text, name, expected) in [
            (r#"{"messages":[{"user":"no"}],"user":"u1","metadata":{"user":"m"}}"#, "user", Some("u1")),
            (
                r#"{"a":{"metadata":{"session":"no"}},"metadata":{"x":[{"session":"no"}],"ses\u0073ion":"a\u0062c"}}"#,
                "session",
                Some("abc"),
            ),
            (r#"{"metadata":{"other":"x"},"session":"no"}"#, "session", None),
            (r#"{"metadata":"session"}"#, "session", None),
            (r#"{"metadata":{"session":5}}"#, "session", None),
            (r#"{"metadata":{"session":""}}"#, "session", None),
            (r#"[{"user":"no"}]"#, "user", None),
            (r#"{"metadata":{"session""#, "session", None),
            ("", "user", None),
            (&long, "user", None),
        ] {
            let body = Body::new(text.as_bytes());
            assert_eq!(named_string(&body, name).as_deref(), expected, "{text}");
        }
    }
}
