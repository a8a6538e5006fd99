//! Content codings: a compressed body as the bytes that its reader sees, under caps, as far as it can be read.

mod gzip;
mod inflate;
mod stored;

use alloc::borrow::Cow;
use alloc::vec::Vec;

use inflate::{Inflater, Stop};

use super::body::begins_like_json;
use super::issue::IssueKind;
use crate::limits::{MAX_CODINGS, MAX_UNPACKED_RATIO, MIN_UNPACKED_BYTES};

/// A coding that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    /// RFC 1952, any number of members.
    Gzip,
    /// RFC 1950, or RFC 1951 without a frame, which many clients send under the same name.
    Deflate,
}

/// The codings of a body, in the order in which they were applied; none by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Codings([Option<Coding>; MAX_CODINGS]);

/// A body without its codings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded<'b> {
    /// The bytes, or what could be read of them.
    pub bytes: Cow<'b, [u8]>,
    /// What was wrong: [`IssueKind::Compression`], or [`IssueKind::Oversize`] when there are more bytes than were asked for.
    pub issue: Option<IssueKind>,
}

impl Codings {
    /// The codings that `content-encoding` names, one word each in lower case. `None` when one is not read, or there are too many.
    pub fn parse(words: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Option<Self> {
        let mut codings = Codings::default();
        let mut places = codings.0.iter_mut();
        for word in words {
            let coding = match word.as_ref() {
                b"" | b"identity" => continue,
                b"gzip" | b"x-gzip" => Coding::Gzip,
                b"deflate" => Coding::Deflate,
                _ => return None,
            };
            *places.next()? = Some(coding);
        }
        Some(codings)
    }

    /// Whether the body is sent as it is read.
    pub fn is_identity(&self) -> bool {
        *self == Codings::default()
    }

    /// Puts the codings on.
    pub fn encode(&self, bytes: Vec<u8>) -> Vec<u8> {
        self.0.iter().flatten().fold(bytes, |bytes, coding| match coding {
            Coding::Gzip => stored::gzip(&bytes),
            Coding::Deflate => stored::zlib(&bytes),
        })
    }

    /// Takes the codings off, the last one first. No step gives more than `max_bytes`, or than [`MAX_UNPACKED_RATIO`] times the body; memory
    /// and time are bounded by these and the body. A body that begins like JSON is left as it is, with an issue: servers that do not heed
    /// the header read it so, and some text is both JSON and valid deflate.
    pub fn decode<'b>(&self, body: &'b [u8], max_bytes: usize) -> Decoded<'b> {
        let mut decoded = Decoded { bytes: Cow::Borrowed(body), issue: None };
        if self.is_identity() {
            return decoded;
        }
        if begins_like_json(body) == Some(true) {
            return Decoded { issue: Some(IssueKind::Compression), ..decoded };
        }
        let ratio_bytes = body.len().saturating_mul(MAX_UNPACKED_RATIO).max(MIN_UNPACKED_BYTES);
        for coding in self.0.iter().rev().flatten() {
            let mut inflater = Inflater::new(decoded.bytes.len(), max_bytes.min(ratio_bytes));
            let result = match coding {
                Coding::Gzip => gzip::members(&decoded.bytes, &mut inflater),
                Coding::Deflate => deflate(&decoded.bytes, &mut inflater),
            };
            let issue = result.err().map(|stop| match stop {
                Stop::Full if max_bytes <= ratio_bytes => IssueKind::Oversize,
                Stop::Full | Stop::Broken => IssueKind::Compression,
            });
            // What broke in one step is read on in the next: its beginning may tell what it is.
            decoded = Decoded { bytes: Cow::Owned(inflater.into_bytes()), issue: decoded.issue.or(issue) };
        }
        decoded
    }
}

/// One stream, with or without zlib's frame: it has one if it begins as one.
fn deflate(input: &[u8], inflater: &mut Inflater) -> Result<(), Stop> {
    let used = inflater.stream(input, begins_like_zlib(input))?;
    if used == input.len() { Ok(()) } else { Err(Stop::Broken) }
}

/// Whether the first two bytes are a zlib header (RFC 1950, section 2.2): method 8, a window of at most 32 KiB, a multiple of 31.
fn begins_like_zlib(input: &[u8]) -> bool {
    match *input {
        [method, flags, ..] => method & 0x0f == 8 && method >> 4 <= 7 && u16::from_be_bytes([method, flags]).is_multiple_of(31),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
