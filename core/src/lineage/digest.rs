//! Digests, and hex in its one spelling.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// A BLAKE3 digest: of an entry's content, or of a sealed record. In JSON 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The digest of an entry's content.
    pub fn of(content: &[u8]) -> Self {
        Digest(*blake3::hash(content).as_bytes())
    }

    /// The digest that `hex` spells, in lower case; `None` for anything else.
    pub fn parse(hex: &str) -> Option<Self> {
        let mut bytes = Vec::with_capacity(32);
        if hex.len() != 64 || !decode_hex(hex, &mut bytes) {
            return None;
        }
        Some(Digest(bytes.try_into().ok()?))
    }

    /// Lower-case hex.
    pub fn hex(&self) -> String {
        encode_hex(&self.0)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.hex())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.hex())
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.hex())
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(HexDigest)
    }
}

struct HexDigest;

impl Visitor<'_> for HexDigest {
    type Value = Digest;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("64 lower-case hex digits")
    }

    fn visit_str<E: de::Error>(self, hex: &str) -> Result<Digest, E> {
        Digest::parse(hex).ok_or_else(|| E::invalid_value(de::Unexpected::Other("another text"), &self))
    }
}

/// Lower-case hex of some bytes.
pub fn encode_hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from(if value < 10 { b'0' + value } else { b'a' - 10 + value });
    let mut hex = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        hex.push(digit(byte >> 4));
        hex.push(digit(byte & 15));
    }
    hex
}

/// Adds the bytes that lower-case hex spells to `bytes`. `false` for anything else; what was added by then stays.
#[must_use]
pub fn decode_hex(hex: &str, bytes: &mut Vec<u8>) -> bool {
    let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
    for [high, low] in pairs {
        let (high, low) = (value(*high), value(*low));
        if (high | low) > 15 {
            return false;
        }
        bytes.push(high << 4 | low);
    }
    rest.is_empty()
}

/// What a digit stands for; more than 15 for what is none.
const fn value(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => 16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_spelling_of_hex() {
        let mut bytes = Vec::new();
        assert!(decode_hex("00ff7a", &mut bytes) && bytes == [0, 255, 0x7a]);
        assert_eq!(encode_hex(&bytes), "00ff7a");
        for wrong in ["0", "0g", "FF", "0x00", " 0", "0é"] {
            assert!(!decode_hex(wrong, &mut Vec::new()), "{wrong}");
        }
        assert_eq!(Digest::parse(&"0a".repeat(32)), Some(Digest([10; 32])));
        assert_eq!([31, 33].map(|bytes| Digest::parse(&"0a".repeat(bytes))), [None, None]);
        // The published digest of nothing (BLAKE3's test vectors).
        assert_eq!(Digest::of(b"").hex(), "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262");
    }
}
