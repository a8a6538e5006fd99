//! Content codings put on without making anything smaller: what takes the place of a compressed body must still be what its headers say.

use alloc::vec::Vec;

use crate::wire::crc32::crc32;

/// Longest block that is stored as it is (RFC 1951, section 3.2.4).
const MAX_BLOCK_BYTES: usize = 0xffff;

/// A gzip file of one member, of no time and no system (RFC 1952).
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = alloc::vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    deflate(bytes, &mut out);
    out.extend(crc32(bytes).to_le_bytes());
    // The size is the length's lowest 32 bits.
    out.extend((bytes.len() as u32).to_le_bytes());
    out
}

/// A stream in zlib's frame (RFC 1950), which is what HTTP means by `deflate`.
pub fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut out = alloc::vec![0x78, 0x01];
    deflate(bytes, &mut out);
    let (low, high) = bytes.iter().fold((1, 0), |(low, high), &byte| {
        let low = (low + u32::from(byte)) % 65_521;
        (low, (high + low) % 65_521)
    });
    out.extend((high << 16 | low).to_be_bytes());
    out
}

/// At least one block, the last one marked as such.
fn deflate(bytes: &[u8], out: &mut Vec<u8>) {
    let mut rest = bytes;
    loop {
        let (block, behind) = rest.split_at(rest.len().min(MAX_BLOCK_BYTES));
        let length = block.len() as u16;
        out.push(behind.is_empty().into());
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend_from_slice(block);
        if behind.is_empty() {
            return;
        }
        rest = behind;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Codings;
    use super::*;

    /// What `python3 -c "import gzip, zlib"` makes of the same bytes at level 0, but for gzip's notes on the level and the system.
    #[test]
    fn published_bytes() {
        assert_eq!(zlib(b"abc"), b"\x78\x01\x01\x03\x00\xfc\xff\x61\x62\x63\x02\x4d\x01\x27");
        assert_eq!(
            gzip(b"abc"),
            b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\x01\x03\x00\xfc\xff\x61\x62\x63\xc2\x41\x24\x35\x03\x00\x00\x00"
        );
    }

    #[test]
    fn what_is_put_on_is_taken_off() {
        for names in [&[][..], &["gzip"], &["deflate"], &["gzip", "deflate", "gzip"]] {
            let codings = Codings::parse(names).expect("known codings");
            for length in [0, 1, MAX_BLOCK_BYTES, MAX_BLOCK_BYTES + 1, 200_000] {
                let bytes: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
                let decoded = codings.encode(bytes.clone());
                let decoded = codings.decode(&decoded, 1_000_000);
                assert_eq!((decoded.bytes.as_ref(), decoded.issue), (bytes.as_slice(), None), "{names:?} {length}");
            }
        }
    }
}
