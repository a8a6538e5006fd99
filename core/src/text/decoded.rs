//! The decoded view: text that was written in an encoding which models read and people do not.
//!
//! Two kinds. Escapes (HTML entities, percent, `\u` and its kin) may stand for single letters anywhere, so the whole text is read with all of them
//! replaced, and once more with HTML tags taken out. Encoded spans (base64, hex, Unicode tags, variation selectors) stand for a text of their own; of those the number and the size are
//! bounded, and one that does not decode to printable text is nothing.

mod escapes;
mod spans;

use alloc::string::String;
use alloc::vec::Vec;

use super::offsets::Offsets;

/// A decoded text with the way back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    text: String,
    origin: Origin,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Origin {
    /// The whole original, escapes replaced.
    Escapes(Offsets),
    /// These bytes of it.
    Span(usize, usize),
}

impl Decoded {
    /// What the encoding says. It is not decoded again.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The byte range of the original that the text's bytes `start..end` come from; the whole span where single bytes have no place.
    pub fn span(&self, original: &str, (start, end): (usize, usize)) -> (usize, usize) {
        match &self.origin {
            Origin::Span(from, to) => (*from, *to),
            Origin::Escapes(offsets) => {
                let from = original.floor_char_boundary(offsets.original(start));
                // The last character may stand for a whole escape, which ends where the next one begins.
                (from, original.ceil_char_boundary(offsets.original(end)).max(from))
            }
        }
    }
}

/// The bytes of a file that base64 spells, line breaks and padding allowed; `None` when there is anything else in it.
pub(crate) fn base64_file(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches(['=', '\r', '\n']);
    let is_digit = |byte: &u8| matches!(byte, b'\r' | b'\n') || spans::sextet(*byte).is_some();
    (!digits.is_empty() && digits.as_bytes().iter().all(is_digit)).then(|| spans::base64(digits.as_bytes()).collect())
}

/// Decodes what `original` holds. Returns whether that was all: `false` when there are more than [`crate::limits::MAX_ENCODED_SPANS`] encoded
/// spans, or more text in them than [`crate::limits::MAX_DECODED_BYTES`]. Linear.
pub fn decode(original: &str, mut found: impl FnMut(Decoded)) -> bool {
    each(original, &mut found)
}

/// The same, compiled once for all callers.
fn each(original: &str, found: &mut dyn FnMut(Decoded)) -> bool {
    let mut complete = true;
    let unescaped = escapes::unescape(original, false);
    if let Some((text, offsets)) = unescaped.text {
        // JSON within JSON writes hidden characters as escapes, as Python does with all that is not ASCII.
        if !text.is_ascii() {
            let origin = |(from, to)| Origin::Span(offsets.original(from), offsets.original(to));
            complete &= spans::find_invisible(&text, &mut |span, text| found(Decoded { text, origin: origin(span) }));
        }
        found(Decoded { text, origin: Origin::Escapes(offsets) });
    }
    // Tags may be what a pattern asks for, so they are taken out in a view of its own.
    if unescaped.tags
        && let Some((text, offsets)) = escapes::unescape(original, true).text
    {
        found(Decoded { text, origin: Origin::Escapes(offsets) });
    }
    complete & spans::find(original, &mut |(from, to), text| found(Decoded { text, origin: Origin::Span(from, to) }))
}
