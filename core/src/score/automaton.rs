//! A deterministic automaton over bytes with many patterns, kept in static rows that `xtask gen` writes.

/// A multi-pattern automaton in static tables: no parsing, no heap, one table look-up a byte.
///
/// Made from a dense, unanchored automaton that reports every match. Matches are seen one byte late (so that a pattern may look at
/// the byte that follows it): the state reached after byte `i` names the patterns that end at offset `i`, and the end of
/// the text is a class of its own. State 0 is the dead state and is reached by no valid table.
#[derive(Clone, Copy, Debug)]
pub struct Automaton<'t> {
    /// Byte to class, 256 entries; classes are below `stride`.
    pub classes: &'t [u8; 256],
    /// The class of the end of the text, below `stride`.
    pub end_class: u8,
    /// Number of columns of a row, at most 256. Not rounded to a power of two: 34 classes in rows of 64 would double the table.
    pub stride: u16,
    /// Next state by `state * stride + class`; its length is a multiple of `stride`.
    pub transitions: &'t [u16],
    /// State at the start of a text, and after a byte that is no ASCII letter, digit or underscore.
    pub start: u16,
    /// State to start in when the byte before is an ASCII letter, digit or underscore.
    pub start_after_word: u16,
    /// States from this one on are match states.
    pub first_match: u16,
    /// For match state `first_match + k`: its patterns are `match_patterns[match_offsets[k]..match_offsets[k + 1]]`.
    pub match_offsets: &'t [u16],
    /// Pattern numbers, each list ascending.
    pub match_patterns: &'t [u16],
}

/// What is wrong with a table. Found by the test of the generated tables, never at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutomatonFault {
    /// `stride` is not in 1..=256, or `transitions` is no whole number of rows.
    Shape,
    /// A byte's class or the end class is not below `stride`.
    Class,
    /// A transition or start state names a state that does not exist.
    State,
    /// `match_offsets` is not ascending, has the wrong length, or points outside `match_patterns`.
    Matches,
    /// A pattern number is not below the number of patterns.
    Pattern,
}

impl Automaton<'_> {
    /// Number of states, the dead one included.
    pub fn states(&self) -> usize {
        self.transitions.len() / usize::from(self.stride.max(1))
    }

    /// Size of all tables in bytes, as they lie in the module's data section.
    pub fn size_bytes(&self) -> usize {
        256 + 2 * (self.transitions.len() + self.match_offsets.len() + self.match_patterns.len())
    }

    /// Checks that every look-up stays inside the tables and that pattern numbers are below `patterns`.
    ///
    /// # Errors
    /// The first [`AutomatonFault`] found.
    pub fn check(&self, patterns: usize) -> Result<(), AutomatonFault> {
        let stride = usize::from(self.stride);
        if !(1..=256).contains(&stride) || !self.transitions.len().is_multiple_of(stride) {
            return Err(AutomatonFault::Shape);
        }
        let states = self.states();
        if usize::from(self.end_class) >= stride || self.classes.iter().any(|&class| usize::from(class) >= stride) {
            return Err(AutomatonFault::Class);
        }
        let starts = [self.start, self.start_after_word];
        if self.transitions.iter().chain(&starts).any(|&state| usize::from(state) >= states) {
            return Err(AutomatonFault::State);
        }
        let match_states = states.checked_sub(usize::from(self.first_match)).ok_or(AutomatonFault::Matches)?;
        let ascending = self.match_offsets.windows(2).all(|pair| pair.first() <= pair.last());
        let inside = self.match_offsets.last().is_none_or(|&end| usize::from(end) == self.match_patterns.len());
        if self.match_offsets.len() != match_states + 1 || !ascending || !inside {
            return Err(AutomatonFault::Matches);
        }
        if self.match_patterns.iter().any(|&pattern| usize::from(pattern) >= patterns) {
            return Err(AutomatonFault::Pattern);
        }
        Ok(())
    }

    /// Calls `found(end, patterns)` at every offset where patterns end, in ascending order of `end`. Linear in `text`.
    pub fn scan(&self, text: &[u8], mut found: impl FnMut(usize, &[u16])) {
        let mut state = self.start;
        for (offset, &byte) in text.iter().enumerate() {
            state = self.next(state, self.class(byte));
            if state >= self.first_match {
                found(offset, self.patterns_at(state));
            }
        }
        state = self.next(state, self.end_class);
        if state >= self.first_match {
            found(text.len(), self.patterns_at(state));
        }
    }

    /// The latest start of a match of `pattern` that ends at `end`, given that the scan reported it there and that no match is
    /// longer than `longest` bytes. Costs `longest * log2(longest)` steps.
    ///
    /// A scan begun at `s` reports the pattern at `end` exactly if some match starts at `s` or later, so the answer is found by
    /// halving; a second automaton that runs backwards would double the tables for the few spans that are shown.
    pub fn latest_start(&self, text: &[u8], pattern: u16, end: usize, longest: usize) -> usize {
        let mut low = end.saturating_sub(longest);
        let mut high = end;
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.reports(text, pattern, middle, end) {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Whether a scan begun at `start` reports `pattern` at `end`.
    fn reports(&self, text: &[u8], pattern: u16, start: usize, end: usize) -> bool {
        let before = start.checked_sub(1).and_then(|at| text.get(at));
        let after_word = before.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        let mut state = if after_word { self.start_after_word } else { self.start };
        for &byte in text.get(start..end).unwrap_or_default() {
            state = self.next(state, self.class(byte));
        }
        let last = text.get(end).map_or(self.end_class, |&byte| self.class(byte));
        state = self.next(state, last);
        state >= self.first_match && self.patterns_at(state).contains(&pattern)
    }

    fn class(&self, byte: u8) -> u8 {
        self.classes.get(usize::from(byte)).copied().unwrap_or(0)
    }

    fn next(&self, state: u16, class: u8) -> u16 {
        let at = usize::from(state) * usize::from(self.stride) + usize::from(class);
        self.transitions.get(at).copied().unwrap_or(0)
    }

    fn patterns_at(&self, state: u16) -> &[u16] {
        let row = usize::from(state.saturating_sub(self.first_match));
        let bounds = (self.match_offsets.get(row), self.match_offsets.get(row + 1));
        let (Some(&from), Some(&to)) = bounds else { return &[] };
        self.match_patterns.get(usize::from(from)..usize::from(to)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: reports pattern 0 where "ab" ends, whatever follows. Classes: 0 other, 1 'a', 2 'b', 3 end.
    /// States: 0 dead, 1 nothing seen, 2 'a' seen, 3 "ab" seen (reported one byte later), 4 match, 5 match and 'a' seen.
    const TRANSITIONS: [u16; 24] = [
        0, 0, 0, 0, //
        1, 2, 1, 1, //
        1, 2, 3, 1, //
        4, 5, 4, 4, //
        1, 2, 1, 1, //
        1, 2, 3, 1,
    ];

    fn classes() -> [u8; 256] {
        let mut classes = [0; 256];
        classes[usize::from(b'a')] = 1;
        classes[usize::from(b'b')] = 2;
        classes
    }

    fn with<T>(run: impl FnOnce(Automaton<'_>) -> T) -> T {
        run(Automaton {
            classes: &classes(),
            end_class: 3,
            stride: 4,
            transitions: &TRANSITIONS,
            start: 1,
            start_after_word: 1,
            first_match: 4,
            match_offsets: &[0, 1, 2],
            match_patterns: &[0, 0],
        })
    }

    fn ends(text: &[u8]) -> alloc::vec::Vec<usize> {
        let mut ends = alloc::vec::Vec::new();
        with(|automaton| automaton.scan(text, |end, _| ends.push(end)));
        ends
    }

    #[test]
    fn every_end_is_reported_once() {
        assert_eq!(ends(b"xabab abb"), [3, 5, 8]);
        assert_eq!(ends(b"ab"), [2]);
        assert!(ends(b"ba").is_empty());
        assert!(ends(b"").is_empty());
    }

    #[test]
    fn a_start_is_found_from_its_end() {
        with(|automaton| {
            assert_eq!(automaton.latest_start(b"xxabab", 0, 4, 40), 2);
            assert_eq!(automaton.latest_start(b"xxabab", 0, 6, 40), 4);
            assert_eq!(automaton.latest_start(b"ab", 0, 2, 2), 0);
        });
    }

    #[test]
    fn a_broken_table_is_named() {
        with(|good| {
            assert_eq!(good.check(1), Ok(()));
            assert_eq!(good.check(0), Err(AutomatonFault::Pattern));
            assert_eq!(Automaton { stride: 5, ..good }.check(1), Err(AutomatonFault::Shape));
            assert_eq!(Automaton { end_class: 4, ..good }.check(1), Err(AutomatonFault::Class));
            assert_eq!(Automaton { start: 6, ..good }.check(1), Err(AutomatonFault::State));
            assert_eq!(Automaton { match_offsets: &[0, 1], ..good }.check(1), Err(AutomatonFault::Matches));
        });
    }
}
