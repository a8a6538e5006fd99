//! A body's bytes as text: encodings that readers disagree about are named, the rest is read.

use alloc::borrow::Cow;
use alloc::string::String;

use super::issue::{IssueKind, Issues};

/// A body as text. A byte order mark is skipped; bytes that are no UTF-8 read as U+FFFD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body<'b> {
    /// The text; borrowed unless bytes had to be replaced.
    pub text: Cow<'b, str>,
    /// Bytes of the body before the text.
    pub skipped_bytes: usize,
    /// What was odd about the encoding.
    pub issues: Issues,
}

impl<'b> Body<'b> {
    /// Takes `bytes` for UTF-8. UTF-16 and UTF-32 are recognised (by byte order mark, or by the zero bytes that an ASCII
    /// character has in them, RFC 4627 section 3) and noted, not decoded.
    pub fn new(bytes: &'b [u8]) -> Self {
        let mut issues = Issues::default();
        let whole = bytes.len();
        let bytes = match bytes {
            [0xef, 0xbb, 0xbf, rest @ ..] => {
                issues.push(IssueKind::ByteOrderMark, 0);
                rest
            }
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, _, ..] | [_, 0, ..] => {
                issues.push(IssueKind::WideEncoding, 0);
                bytes
            }
            _ => bytes,
        };
        let skipped_bytes = whole - bytes.len();
        let text = match core::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(error) => {
                issues.push(IssueKind::InvalidUtf8, skipped_bytes + error.valid_up_to());
                Cow::Owned(String::from_utf8_lossy(bytes).into_owned())
            }
        };
        Body { text, skipped_bytes, issues }
    }
}

/// Whether a body begins as a JSON object or array does, or with a byte order mark; `None` while there is only white space.
pub fn begins_like_json(start: &[u8]) -> Option<bool> {
    let first = start.iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))?;
    Some(matches!(first, b'{' | b'[' | 0xef | 0xfe | 0xff))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn names(bytes: &[u8]) -> Vec<(&'static str, usize)> {
        Body::new(bytes).issues.as_slice().iter().map(|issue| (issue.kind.name(), issue.at)).collect()
    }

    #[test]
    fn encodings_are_told_apart() {
        assert!(names("{\"a\": \"é\"}".as_bytes()).is_empty());
        assert!(names(b"").is_empty());
        assert_eq!(names(b"\xef\xbb\xbf{}"), [("byte_order_mark", 0)]);
        assert_eq!(names(b"\xef\xbb\xbf{\xff}"), [("byte_order_mark", 0), ("invalid_utf8", 4)]);
        assert_eq!(names(b"{\"a\xff\"}"), [("invalid_utf8", 3)]);
        assert_eq!(names(b"{\0}\0"), [("wide_encoding", 0)]);
        assert_eq!(names(b"\0{\0}"), [("wide_encoding", 0)]);
        assert_eq!(names(b"\xfe\xff\0{"), [("wide_encoding", 0), ("invalid_utf8", 0)]);
        assert_eq!(Body::new(b"{\"a\xff\"}").text, "{\"a\u{fffd}\"}");
        // A character cut at the end of the body.
        assert_eq!(names(b"\"\xc3"), [("invalid_utf8", 1)]);
    }

    #[test]
    fn json_begins_with_a_bracket_or_a_byte_order_mark() {
        for (start, expected) in [
            (&b""[..], None),
            (b" \r\n\t", None),
            (b" {", Some(true)),
            (b"[", Some(true)),
            (b"\xef\xbb\xbf", Some(true)),
            (b"x{", Some(false)),
            (b"\0", Some(false)),
        ] {
            assert_eq!(begins_like_json(start), expected, "{start:?}");
        }
    }
}
