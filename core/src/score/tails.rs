//! The ends of all patterns, read backwards together: which patterns may end somewhere.

use core::cmp::Ordering;

use super::letters::{is_separator, letter};

/// An automaton over the letters of a text from an end to the start, in static tables that `xtask gen` writes.
///
/// It begins anew at every end, so it has a state for each way that patterns end and no more. Nearly all of them have one way on; such ways are one edge with
/// all its letters.
#[derive(Clone, Copy, Debug)]
pub struct Tails<'t> {
    /// Where each state's edges begin, and the end. State 0 is where reading begins.
    pub states: &'t [u16],
    /// Where each edge's letters begin in `letters`. A state's edges are in the order of their first letters.
    pub labels: &'t [u16],
    /// How many they are.
    pub lengths: &'t [u8],
    /// The state that each edge leads to, with [`WHOLE`] if that is one of `wholes`.
    pub targets: &'t [u16],
    /// The letters of all edges, in the order of reading; edges share what they can.
    pub letters: &'t [u8],
    /// States that hold a pattern's whole last piece, ascending.
    pub wholes: &'t [u16],
    /// For `wholes[k]`: its patterns are `patterns[offsets[k]..offsets[k + 1]]`.
    pub offsets: &'t [u16],
    /// Pattern numbers, each list ascending.
    pub patterns: &'t [u16],
}

/// Marks the target of an edge as a state that has patterns to report.
pub const WHOLE: u16 = 0x8000;

/// What is wrong with a table. Found by the test of the generated tables, never at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TailsFault {
    /// The lists of edges differ in length, `states` is not ascending or ends elsewhere, an edge has no letters or others than there are, or a state's edges are not
    /// in order.
    Edges,
    /// An edge leads to a state that does not exist, or to an earlier one (reading would not end), or is marked wrongly.
    State,
    /// `wholes` or `offsets` is not ascending or of the wrong length, or points outside `patterns`.
    Wholes,
    /// A pattern number is not below the number of patterns.
    Pattern,
}

impl<'t> Tails<'t> {
    /// Calls `found(start, patterns)` with the patterns whose last piece stands at `start..end`, piece by piece. Reads no more letters than a pattern has.
    pub fn read(&self, text: &[u8], end: usize, mut found: impl FnMut(usize, &'t [u16])) {
        let mut state = 0;
        let mut unread = end;
        while let Some((next, label)) = self.edge(state, text, &mut unread) {
            for &wanted in label {
                if previous(text, &mut unread) != Some(wanted) {
                    return;
                }
            }
            state = next & !WHOLE;
            if next != state
                && let Ok(whole) = self.wholes.binary_search(&state)
            {
                found(unread, self.patterns_at(whole));
            }
        }
    }

    /// The edge of `state` that begins with the next letter: where it leads, and its other letters.
    fn edge(&self, state: u16, text: &[u8], unread: &mut usize) -> Option<(u16, &'t [u8])> {
        let from = usize::from(*self.states.get(usize::from(state))?);
        let to = usize::from(*self.states.get(usize::from(state) + 1)?);
        let letter = if from < to { previous(text, unread)? } else { return None };
        // By halving: the first state has an edge for nearly every letter.
        let (mut low, mut high) = (from, to);
        while low < high {
            let middle = low + (high - low) / 2;
            let (&first, rest) = self.label(middle)?.split_first()?;
            match first.cmp(&letter) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Some((*self.targets.get(middle)?, rest)),
            }
        }
        None
    }

    fn label(&self, edge: usize) -> Option<&'t [u8]> {
        let from = usize::from(*self.labels.get(edge)?);
        self.letters.get(from..from + usize::from(*self.lengths.get(edge)?))
    }

    fn patterns_at(&self, whole: usize) -> &'t [u16] {
        let bounds = (self.offsets.get(whole), self.offsets.get(whole + 1));
        let (Some(&from), Some(&to)) = bounds else { return &[] };
        self.patterns.get(usize::from(from)..usize::from(to)).unwrap_or_default()
    }

    /// Size of all tables in bytes, as they lie in the module's data section.
    pub fn size_bytes(&self) -> usize {
        let shorts = [self.states, self.labels, self.targets, self.wholes, self.offsets, self.patterns];
        self.lengths.len() + self.letters.len() + 2 * shorts.iter().map(|table| table.len()).sum::<usize>()
    }

    /// Checks that every look-up stays inside the tables, that reading ends, and that pattern numbers are below `patterns`.
    ///
    /// # Errors
    /// The first [`TailsFault`] found.
    pub fn check(&self, patterns: usize) -> Result<(), TailsFault> {
        let ascending = |table: &[u16]| table.windows(2).all(|pair| pair.first() <= pair.last());
        let ends_at = |table: &[u16], length: usize| table.last().is_some_and(|&end| usize::from(end) == length);
        let edges = self.targets.len();
        let first = |edge| self.label(edge).and_then(|label: &[u8]| label.first());
        let labelled = self.labels.len() == edges && self.lengths.len() == edges && (0..edges).all(|edge| first(edge).is_some());
        let letters = self.letters.iter().all(u8::is_ascii_alphanumeric);
        if !labelled || !letters || !ascending(self.states) || !ends_at(self.states, edges) {
            return Err(TailsFault::Edges);
        }
        for (state, bounds) in (0u16..).zip(self.states.windows(2)) {
            let (Some(&from), Some(&to)) = (bounds.first(), bounds.last()) else { continue };
            let targets = self.targets.get(usize::from(from)..usize::from(to)).unwrap_or_default();
            if (usize::from(from) + 1..usize::from(to)).any(|edge| first(edge - 1) >= first(edge)) {
                return Err(TailsFault::Edges);
            }
            for &target in targets {
                let to = target & !WHOLE;
                if to <= state || usize::from(to) + 1 >= self.states.len() || (to != target) != self.wholes.binary_search(&to).is_ok() {
                    return Err(TailsFault::State);
                }
            }
        }
        let whole = self.offsets.len() == self.wholes.len() + 1 && ends_at(self.offsets, self.patterns.len());
        if !ascending(self.wholes) || !ascending(self.offsets) || !whole {
            return Err(TailsFault::Wholes);
        }
        if self.patterns.iter().any(|&pattern| usize::from(pattern) >= patterns) {
            return Err(TailsFault::Pattern);
        }
        Ok(())
    }
}

/// The letter before `unread`, which moves there.
fn previous(text: &[u8], unread: &mut usize) -> Option<u8> {
    let before = text.get(..*unread)?;
    *unread = before.iter().rposition(|&byte| !is_separator(byte))?;
    before.get(*unread).map(|&byte| letter(byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// By hand: "no" is a piece of patterns 0 and 2, "piano" one of 1.
    const TAILS: Tails<'static> = Tails {
        states: &[0, 1, 2, 2],
        labels: &[0, 2],
        lengths: &[2, 3],
        targets: &[1 | WHOLE, 2 | WHOLE],
        letters: b"onaip",
        wholes: &[1, 2],
        offsets: &[0, 2, 3],
        patterns: &[0, 2, 1],
    };

    fn found(text: &str) -> Vec<&'static [u16]> {
        let mut all = Vec::new();
        TAILS.read(text.as_bytes(), text.trim_end().len(), |_, patterns| all.push(patterns));
        all
    }

    #[test]
    fn pieces_are_read_from_their_end() {
        assert_eq!(found("no"), [[0, 2]]);
        assert_eq!(found("a PIANO"), [&[0, 2][..], &[1]]);
        assert_eq!(found("p.i a*N_o "), [&[0, 2][..], &[1]]);
        assert_eq!(found("piono"), [[0, 2]]);
        assert!(found("o").is_empty() && found("n\u{1f}o").is_empty() && found("").is_empty());
    }

    #[test]
    fn a_broken_table_is_named() {
        assert_eq!(TAILS.check(3), Ok(()));
        assert_eq!(TAILS.check(2), Err(TailsFault::Pattern));
        assert_eq!(Tails { letters: b"onai", ..TAILS }.check(3), Err(TailsFault::Edges));
        assert_eq!(Tails { letters: b"on ip", ..TAILS }.check(3), Err(TailsFault::Edges));
        assert_eq!(Tails { lengths: &[2, 0], ..TAILS }.check(3), Err(TailsFault::Edges));
        assert_eq!(Tails { states: &[0, 2, 2, 2], letters: b"aiono", ..TAILS }.check(3), Ok(()));
        assert_eq!(Tails { states: &[0, 2, 2, 2], ..TAILS }.check(3), Err(TailsFault::Edges));
        assert_eq!(Tails { targets: &[1 | WHOLE, 3 | WHOLE], ..TAILS }.check(3), Err(TailsFault::State));
        assert_eq!(Tails { targets: &[1 | WHOLE, 1 | WHOLE], ..TAILS }.check(3), Err(TailsFault::State));
        assert_eq!(Tails { targets: &[1, 2 | WHOLE], ..TAILS }.check(3), Err(TailsFault::State));
        assert_eq!(Tails { offsets: &[0, 2], ..TAILS }.check(3), Err(TailsFault::Wholes));
    }
}
