//! Gzip files (RFC 1952): members one behind the other, each with its check.

use super::inflate::{Inflater, Stop};

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

/// CRC-32 as in RFC 1952, section 8, four bytes at a time: what each of them leaves does not depend on the others.
fn crc32(bytes: &[u8]) -> u32 {
    let entry = |table: &[u32; 256], byte: u8| table.get(usize::from(byte)).copied().unwrap_or_default();
    let [last, third, second, first] = &TABLES;
    let (fours, rest) = bytes.as_chunks::<4>();
    let crc = fours.iter().fold(u32::MAX, |crc, four| {
        let [a, b, c, d] = (crc ^ u32::from_le_bytes(*four)).to_le_bytes();
        entry(first, a) ^ entry(second, b) ^ entry(third, c) ^ entry(last, d)
    });
    !rest.iter().fold(crc, |crc, &byte| entry(last, crc as u8 ^ byte) ^ (crc >> 8))
}

/// The remainder of each byte, with none, one, two and three bytes behind it.
static TABLES: [[u32; 256]; 4] = tables();

#[allow(clippy::indexing_slicing, reason = "evaluated by the compiler; a slice's `get_mut` cannot be")]
const fn tables() -> [[u32; 256]; 4] {
    let mut tables = [[0; 256]; 4];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { 0xedb8_8320 ^ (crc >> 1) } else { crc >> 1 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut behind = 1;
    while behind < 4 {
        let mut byte = 0;
        while byte < 256 {
            let crc = tables[behind - 1][byte];
            tables[behind][byte] = tables[0][(crc & 0xff) as usize] ^ (crc >> 8);
            byte += 1;
        }
        behind += 1;
    }
    tables
}

#[cfg(test)]
mod tests {
    /// The check value of the CRC catalogues.
    #[test]
    fn published_value() {
        assert_eq!(super::crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(super::crc32(b""), 0);
    }
}
