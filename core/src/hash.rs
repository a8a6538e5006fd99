//! The one unkeyed hash, for places where a collision harms nobody but its maker. It is never used to look something up.

/// 64-bit FNV-1a of the text's bytes.
pub fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    /// Published test values of FNV-1a, 64 bits (draft-eastlake-fnv).
    #[test]
    fn published_values() {
        assert_eq!(super::fnv1a(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(super::fnv1a("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(super::fnv1a("foobar"), 0x8594_4171_f739_67e8);
    }
}
