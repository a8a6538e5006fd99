//! CRC-32, which gzip members and the frames of AWS event streams carry.

/// CRC-32 as in RFC 1952, section 8, four bytes at a time: what each of them leaves does not depend on the others.
pub(super) fn crc32(bytes: &[u8]) -> u32 {
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
