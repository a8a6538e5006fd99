//! Where the literals of all patterns stand in a text: one pass, whatever their number.

use alloc::string::String;
use alloc::vec::Vec;

/// Bits of a fingerprint of three bytes.
const BITS: u32 = 12;

/// Literals in lower case, found by their first three bytes.
#[derive(Clone, Debug)]
pub(super) struct Index {
    literals: Vec<String>,
    /// Which fingerprints some literal begins with: nearly every place of a text is passed over by one look at it.
    begins: [u64; 1 << (BITS - 6)],
    /// The fingerprint that each literal begins with.
    prints: Vec<u32>,
}

impl Default for Index {
    fn default() -> Self {
        Index { literals: Vec::new(), begins: [0; 1 << (BITS - 6)], prints: Vec::new() }
    }
}

impl Index {
    /// Literals of at least three bytes, ASCII letters in lower case.
    #[cold]
    #[inline(never)]
    pub fn new(literals: Vec<String>) -> Self {
        let mut index = Index::default();
        for literal in &literals {
            let print = fingerprint(literal.bytes().take(3).fold(0, push));
            if let Some(word) = index.begins.get_mut((print >> 6) as usize) {
                *word |= 1 << (print & 63);
            }
            index.prints.push(print);
        }
        index.literals = literals;
        index
    }

    /// Calls `found(literal, start, end)` for every place of every literal, in any case of ASCII letters, in order of the places.
    pub fn find(&self, text: &[u8], mut found: impl FnMut(usize, usize, usize)) {
        let mut last = 0;
        for (at, &byte) in text.iter().enumerate() {
            last = push(last, byte);
            let print = fingerprint(last);
            if self.begins.get((print >> 6) as usize).is_none_or(|word| word >> (print & 63) & 1 == 0) {
                continue;
            }
            let Some((start, begun)) = at.checked_sub(2).and_then(|start| Some((start, text.get(start..)?))) else { continue };
            for (number, (literal, _)) in self.literals.iter().zip(&self.prints).enumerate().filter(|(_, (_, begins))| **begins == print) {
                if begun.get(..literal.len()).is_some_and(|here| here.eq_ignore_ascii_case(literal.as_bytes())) {
                    found(number, start, start + literal.len());
                }
            }
        }
    }
}

/// The last three bytes, letters in lower case.
fn push(last: u32, byte: u8) -> u32 {
    (last << 8 | u32::from(byte.to_ascii_lowercase())) & 0x00ff_ffff
}

/// Multiplies by the golden ratio and takes the highest bits, which all bytes reach.
fn fingerprint(three: u32) -> u32 {
    three.wrapping_mul(0x9e37_79b1) >> (32 - BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec;

    proptest::proptest! {
        /// A plain search for each literal at each place.
        #[test]
        fn every_place_is_found(text in "[abAB ]{0,60}", literals in proptest::collection::vec("[ab]{3,5}", 0..6)) {
            let mut places = vec![];
            Index::new(literals.clone()).find(text.as_bytes(), |literal, start, end| places.push((start, literal, end)));
            let lower = text.to_ascii_lowercase();
            let mut expected = vec![];
            for start in 0..lower.len() {
                for (number, literal) in literals.iter().enumerate() {
                    if lower[start..].starts_with(literal) {
                        expected.push((start, number, start + literal.len()));
                    }
                }
            }
            proptest::prop_assert_eq!(places, expected);
        }
    }

    #[test]
    fn letters_outside_ascii_are_compared_byte_for_byte() {
        let mut places = vec![];
        Index::new(vec!["größe".to_string()]).find("Die GRößE und die große".as_bytes(), |_, start, end| places.push((start, end)));
        assert_eq!(places, [(4, 11)]);
    }
}
