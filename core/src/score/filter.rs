//! Whether a pattern may end somewhere: one bit that the last eight letters of the text choose.

use super::letters::{RECORD, letter};

/// Letters that choose the bit: as many as a word of the machine holds, and as the last piece of every pattern has.
pub const WINDOW_LETTERS: usize = 8;
/// Bits of the index: the filter takes 32 KB, which a first-level cache holds.
pub const FILTER_BITS: u32 = 18;
/// Words of the filter.
pub const FILTER_WORDS: usize = 1 << (FILTER_BITS - 6);
/// Spreads letters over the filter (the golden ratio in 64 bits).
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// A bit for the last [`WINDOW_LETTERS`] letters of every spelling of every pattern, in a static table that `xtask gen` writes.
///
/// A text is read letter by letter, with everything between letters passed over, so that a phrase is found however its words and letters are
/// set apart. The last eight letters stand in one word of the machine, and for nearly every text one bit says that no pattern ends here. Unlike an
/// automaton's, a step waits for no table, and the table does not grow with the patterns.
#[derive(Clone, Copy, Debug)]
pub struct Filter<'t> {
    /// One bit for each [`Window::slot`].
    pub bits: &'t [u64; FILTER_WORDS],
}

/// Letters by byte, see [`letter`].
static LETTERS: [u8; 256] = letters();

#[expect(clippy::indexing_slicing, reason = "runs when the crate is compiled, where a wrong index is an error")]
const fn letters() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < table.len() {
        table[byte] = letter(byte as u8);
        byte += 1;
    }
    table
}

/// The last letters read; the very last in the lowest byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window(pub u64);

impl Window {
    /// The filter's bit for these letters.
    pub fn slot(self) -> usize {
        (self.0.wrapping_mul(SPREAD) >> (u64::BITS - FILTER_BITS)) as usize
    }
}

impl Filter<'_> {
    /// Reads a byte. Returns whether a word ends before it with which a pattern may end.
    #[inline(always)]
    pub fn read(&self, window: &mut Window, byte: u8) -> bool {
        let letter = LETTERS.get(usize::from(byte)).copied().unwrap_or_default();
        let hit = self.holds(*window) && letter <= RECORD;
        let longer = (window.0 << 8) | u64::from(letter);
        window.0 = if letter == 0 { window.0 } else { longer };
        hit
    }

    /// Whether the bit for these letters is set.
    #[inline(always)]
    pub fn holds(&self, window: Window) -> bool {
        let slot = window.slot();
        let word = self.bits.get((slot >> 6) % FILTER_WORDS).copied().unwrap_or_default();
        (word >> (slot & 63)) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn letters_are_read_over_what_separates_them() {
        let mut bits = [0; FILTER_WORDS];
        let wanted = Window(u64::from_be_bytes(*b"allrules"));
        bits[wanted.slot() >> 6] |= 1 << (wanted.slot() & 63);
        let filter = Filter { bits: &bits };
        let ends = |text: &str| -> Vec<usize> {
            let mut window = Window::default();
            let step = |(at, byte): (usize, u8)| filter.read(&mut window, byte).then_some(at);
            text.bytes().enumerate().filter_map(step).collect()
        };
        assert_eq!(ends("All rules! x"), [9, 10]);
        assert_eq!(ends("a-l.l_r*u l\ne s\u{1f}"), [15]);
        assert_eq!(ends("allrulesallrules."), [16]);
        assert_eq!(ends("allrules\u{4e2d}"), [8]);
        assert!(ends("all\u{1f}rules al\u{e9}lrules llrules ").is_empty());
    }
}
