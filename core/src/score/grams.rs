//! Where patterns may end: the last letters of every pattern, looked for in the letters of a text.

use super::letters::letter;

/// Letters of a gram: as many as a word of the machine holds.
pub const GRAM_LETTERS: usize = 8;
/// Bits of the filter's index: 32 KB, which the first-level cache holds.
pub const FILTER_BITS: u32 = 18;
/// Words of the filter.
pub const FILTER_WORDS: usize = 1 << (FILTER_BITS - 6);
/// Spreads a gram over the filter (the golden ratio in 64 bits).
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The last [`GRAM_LETTERS`] letters of every spelling of every pattern, in static tables that `xtask gen` writes.
///
/// A text is read letter by letter, with everything between letters passed over, so that a phrase is found however its words and letters are
/// set apart. The last eight letters stand in one word of the machine; one bit of the filter says of nearly every text that no pattern ends here. Unlike an
/// automaton's, a step waits for no table, and the tables grow with the number of spellings, not with their product. Whether the rest of
/// a pattern stands before is for [`super::phrase`] to say.
#[derive(Clone, Copy, Debug)]
pub struct Grams<'t> {
    /// One bit for each [`Grams::slot`].
    pub filter: &'t [u64; FILTER_WORDS],
    /// Grams, ascending; the first letter in the highest byte.
    pub grams: &'t [u64],
    /// For each gram: its patterns are `patterns[offsets[k]..offsets[k + 1]]`.
    pub offsets: &'t [u16],
    /// Pattern numbers, each list ascending.
    pub patterns: &'t [u16],
}

/// What is wrong with a table. Found by the test of the generated tables, never at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GramsFault {
    /// Grams are not ascending, or one holds something that is no letter.
    Gram,
    /// The filter misses a gram.
    Filter,
    /// `offsets` is not ascending, has the wrong length, or points outside `patterns`.
    Offsets,
    /// A pattern number is not below the number of patterns.
    Pattern,
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

impl Grams<'_> {
    /// Reads a byte. Returns whether it is a letter with which a pattern may end.
    #[inline(always)]
    pub fn read(&self, window: &mut Window, byte: u8) -> bool {
        let letter = LETTERS.get(usize::from(byte)).copied().unwrap_or_default();
        let longer = (window.0 << 8) | u64::from(letter);
        window.0 = if letter == 0 { window.0 } else { longer };
        let slot = Self::slot(window.0);
        let word = self.filter.get((slot >> 6) % FILTER_WORDS).copied().unwrap_or_default();
        (word >> (slot & 63)) & 1 == 1 && letter != 0
    }

    /// The patterns that may end with these letters.
    pub fn patterns_at(&self, window: Window) -> &[u16] {
        let Ok(at) = self.grams.binary_search(&window.0) else { return &[] };
        let bounds = (self.offsets.get(at), self.offsets.get(at + 1));
        let (Some(&from), Some(&to)) = bounds else { return &[] };
        self.patterns.get(usize::from(from)..usize::from(to)).unwrap_or_default()
    }

    /// The filter's bit for a gram.
    pub fn slot(gram: u64) -> usize {
        (gram.wrapping_mul(SPREAD) >> (u64::BITS - FILTER_BITS)) as usize
    }

    /// Size of all tables in bytes, as they lie in the module's data section.
    pub fn size_bytes(&self) -> usize {
        8 * (self.filter.len() + self.grams.len()) + 2 * (self.offsets.len() + self.patterns.len())
    }

    /// Checks that look-ups find every gram and that pattern numbers are below `patterns`.
    ///
    /// # Errors
    /// The first [`GramsFault`] found.
    pub fn check(&self, patterns: usize) -> Result<(), GramsFault> {
        let ascending = self.grams.windows(2).all(|pair| pair.first() < pair.last());
        let letters =
            self.grams.iter().flat_map(|gram| gram.to_be_bytes()).all(|byte| letter(byte) == byte && byte.is_ascii_alphanumeric());
        if !ascending || !letters {
            return Err(GramsFault::Gram);
        }
        let passes = |&gram: &u64| {
            let slot = Self::slot(gram);
            self.filter.get(slot >> 6).is_some_and(|word| (word >> (slot & 63)) & 1 == 1)
        };
        if !self.grams.iter().all(passes) {
            return Err(GramsFault::Filter);
        }
        let ascending = self.offsets.windows(2).all(|pair| pair.first() <= pair.last());
        let inside = self.offsets.last().is_some_and(|&end| usize::from(end) == self.patterns.len());
        if self.offsets.len() != self.grams.len() + 1 || !ascending || !inside {
            return Err(GramsFault::Offsets);
        }
        if self.patterns.iter().any(|&pattern| usize::from(pattern) >= patterns) {
            return Err(GramsFault::Pattern);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const GRAM: u64 = u64::from_be_bytes(*b"allrules");

    fn with<T>(run: impl FnOnce(Grams<'_>) -> T) -> T {
        let mut filter = [0; FILTER_WORDS];
        let slot = Grams::slot(GRAM);
        filter[slot >> 6] |= 1 << (slot & 63);
        run(Grams { filter: &filter, grams: &[GRAM], offsets: &[0, 1], patterns: &[0] })
    }

    #[test]
    fn letters_are_read_over_what_separates_them() {
        with(|grams| {
            let ends = |text: &str| -> Vec<usize> {
                let mut window = Window::default();
                let step =
                    |(at, byte): (usize, u8)| grams.read(&mut window, byte).then_some(at + 1).filter(|_| grams.patterns_at(window) == [0]);
                text.bytes().enumerate().filter_map(step).collect()
            };
            assert_eq!(ends("All rules!  "), [9]);
            assert_eq!(ends("a-l.l_r*u l\ne s"), [15]);
            assert_eq!(ends("allrulesallrules"), [8, 16]);
            assert!(ends("all\u{1f}rules al\u{e9}lrules llrules").is_empty());
        });
    }

    #[test]
    fn a_broken_table_is_named() {
        with(|good| {
            assert_eq!(good.check(1), Ok(()));
            assert_eq!(good.check(0), Err(GramsFault::Pattern));
            assert_eq!(Grams { grams: &[GRAM, GRAM], ..good }.check(1), Err(GramsFault::Gram));
            assert_eq!(Grams { grams: &[1], ..good }.check(1), Err(GramsFault::Gram));
            assert_eq!(Grams { filter: &[0; FILTER_WORDS], ..good }.check(1), Err(GramsFault::Filter));
            assert_eq!(Grams { offsets: &[0], ..good }.check(1), Err(GramsFault::Offsets));
        });
    }
}
