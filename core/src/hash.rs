//! The one unkeyed hash, for places where a collision harms nobody but its maker. It is never used to look something up.

/// 64-bit FNV-1a, byte by byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fnv1a(u64);

impl Fnv1a {
    /// The hash of nothing.
    pub const EMPTY: Self = Fnv1a(0xcbf2_9ce4_8422_2325);

    /// The hash with one byte more.
    #[must_use]
    pub const fn with(self, byte: u8) -> Self {
        Fnv1a((self.0 ^ byte as u64).wrapping_mul(0x0100_0000_01b3))
    }

    /// The hash's value.
    pub const fn value(self) -> u64 {
        self.0
    }
}

/// 64-bit FNV-1a of the text's bytes.
pub fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(Fnv1a::EMPTY, Fnv1a::with).value()
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
