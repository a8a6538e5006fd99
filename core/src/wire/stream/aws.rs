//! AWS event streams (`application/vnd.amazon.eventstream`): binary frames with their lengths, headers and checks, all numbers big-endian.

use alloc::borrow::Cow;

use super::Content;
use crate::wire::crc32::crc32;

/// Total length, length of the headers, CRC-32 of these two.
pub const PRELUDE_BYTES: usize = 12;
/// CRC-32 of everything before it.
const CHECK_BYTES: usize = 4;
/// A frame without headers and payload.
pub const MIN_FRAME_BYTES: usize = PRELUDE_BYTES + CHECK_BYTES;

/// The prelude of a frame of which `held` and then `piece` came; `None` while it is not whole.
pub fn prelude(held: &[u8], piece: &[u8]) -> Option<[u8; PRELUDE_BYTES]> {
    let mut prelude = [0; PRELUDE_BYTES];
    let mut bytes = held.iter().chain(piece);
    for place in &mut prelude {
        *place = *bytes.next()?;
    }
    Some(prelude)
}

/// The total length that a prelude gives; `None` when it cannot be right.
pub fn length(prelude: &[u8; PRELUDE_BYTES]) -> Option<u64> {
    let (length, headers_bytes, _) = lengths(prelude)?;
    (length as usize >= MIN_FRAME_BYTES + headers_bytes as usize).then_some(u64::from(length))
}

/// Total length, length of the headers, and what stands behind the prelude; `None` when it is not whole or fails its check.
fn lengths(raw: &[u8]) -> Option<(u32, u32, &[u8])> {
    let (length, rest) = number(raw)?;
    let (headers_bytes, rest) = number(rest)?;
    let (check, rest) = number(rest)?;
    (check == crc32(raw.get(..PRELUDE_BYTES - CHECK_BYTES)?)).then_some((length, headers_bytes, rest))
}

fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u32::from_be_bytes(*number), rest))
}

/// What a whole frame says; `None` when it is not laid out as one, or fails its check.
pub fn content(raw: &[u8]) -> Option<Content<'_>> {
    let (checked, check) = raw.split_last_chunk::<CHECK_BYTES>()?;
    let (_, headers_bytes, rest) = lengths(checked)?;
    let (headers, payload) = rest.split_at_checked(headers_bytes as usize)?;
    (u32::from_be_bytes(*check) == crc32(checked)).then_some(())?;
    Some(Content { name: name(headers)?, data: Some(Cow::Borrowed(payload)) })
}

/// The type of the event or exception, if the headers give one; `None` when they are not laid out as headers.
fn name(mut headers: &[u8]) -> Option<Option<&[u8]>> {
    let mut found = None;
    while let Some((&name_bytes, rest)) = headers.split_first() {
        let (name, rest) = rest.split_at_checked(usize::from(name_bytes))?;
        let (&kind, rest) = rest.split_first()?;
        let (value_bytes, rest) = match kind {
            // True and false, a byte, a short, an integer, a long, a timestamp, a UUID.
            0 | 1 => (0, rest),
            2 => (1, rest),
            3 => (2, rest),
            4 => (4, rest),
            5 | 8 => (8, rest),
            9 => (16, rest),
            // Bytes and strings.
            6 | 7 => {
                let (length, rest) = rest.split_first_chunk()?;
                (usize::from(u16::from_be_bytes(*length)), rest)
            }
            _ => return None,
        };
        let (value, rest) = rest.split_at_checked(value_bytes)?;
        if kind == STRING && matches!(name, b":event-type" | b":exception-type") {
            found = Some(value);
        }
        headers = rest;
    }
    Some(found)
}

/// The type of a header whose value is a string.
pub const STRING: u8 = 7;
