//! Gzip files (RFC 1952): members one behind the other, each with its check.

use super::inflate::{Inflater, Stop};
use crate::wire::crc32::crc32;

/// Reads every member. Bytes behind the last one are an error: some readers take them for text, others pass them over.
pub fn members(mut input: &[u8], inflater: &mut Inflater) -> Result<(), Stop> {
    loop {
        input = member(input, inflater)?;
        if input.is_empty() {
            return Ok(());
        }
    }
}

/// Reads one member; gives what stands behind it.
fn member<'i>(input: &'i [u8], inflater: &mut Inflater) -> Result<&'i [u8], Stop> {
    let stream = header(input).ok_or(Stop::Broken)?;
    let start = inflater.len();
    let used = inflater.stream(stream, false)?;
    let (check, rest) = stream.get(used..).and_then(<[u8]>::split_first_chunk::<4>).ok_or(Stop::Broken)?;
    let (size, rest) = rest.split_first_chunk::<4>().ok_or(Stop::Broken)?;
    let bytes = inflater.bytes_from(start);
    // The size is the length's lowest 32 bits.
    let as_said = u32::from_le_bytes(*check) == crc32(bytes) && u32::from_le_bytes(*size) == bytes.len() as u32;
    if as_said { Ok(rest) } else { Err(Stop::Broken) }
}

const HEADER_CRC: u8 = 1 << 1;
const EXTRA: u8 = 1 << 2;
const NAME: u8 = 1 << 3;
const COMMENT: u8 = 1 << 4;
const RESERVED: u8 = 0b1110_0000;

/// What stands behind a member's header. `None` when it is none, or has flags that are not defined.
fn header(input: &[u8]) -> Option<&[u8]> {
    let (fixed, mut rest) = input.split_first_chunk::<10>()?;
    let [0x1f, 0x8b, 8, flags, ..] = *fixed else { return None };
    if flags & RESERVED != 0 {
        return None;
    }
    if flags & EXTRA != 0 {
        let (length, behind) = rest.split_first_chunk::<2>()?;
        rest = behind.get(usize::from(u16::from_le_bytes(*length))..)?;
    }
    for text in [NAME, COMMENT] {
        if flags & text != 0 {
            let end = rest.iter().position(|&byte| byte == 0)?;
            rest = rest.get(end + 1..)?;
        }
    }
    if flags & HEADER_CRC != 0 {
        let (check, behind) = rest.split_first_chunk::<2>()?;
        let header = input.get(..input.len() - rest.len())?;
        if crc32(header) & 0xffff != u32::from(u16::from_le_bytes(*check)) {
            return None;
        }
        rest = behind;
    }
    Some(rest)
}
