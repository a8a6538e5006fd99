//! Reads many texts with the filter, several places at a time: one step waits for the one before it, but not for those of other lanes.

use alloc::vec::Vec;

use super::filter::{Filter, WINDOW_LETTERS, Window};
use super::letters::is_separator;
use crate::text::Folded;

/// Places read at a time. Each needs its letters and its place in registers.
const LANES: usize = 4;
/// Bytes of text that are shared out at a time: what is found in them is kept until all of them are read.
const BATCH_BYTES: usize = 64 * 1024;
/// Longer texts are cut, so that no lane is left alone with one.
const PIECE_BYTES: usize = 1024;
/// A cut is not made where so many bytes would have to be read again; the piece before it grows instead.
const MAX_OVERLAP_BYTES: usize = 512;

/// A place where patterns may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Index of the text.
    pub text: usize,
    /// Offset behind the last byte.
    pub end: usize,
}

/// A piece of a text: read from `start`, reported from `from` on, up to `to`.
#[derive(Clone, Copy, Debug)]
struct Piece<'x> {
    text: usize,
    bytes: &'x [u8],
    start: usize,
    from: usize,
    to: usize,
}

/// Calls `found` for every place where a word ends with which patterns may end, text by text and in ascending order. Linear.
pub fn scan<'x>(filter: &Filter<'_>, texts: impl Iterator<Item = &'x Folded<'x>>, mut found: impl FnMut(Candidate)) {
    let mut batch = Batch::default();
    for (text, view) in texts.enumerate() {
        let bytes = view.as_str().as_bytes();
        if view.is_broken() {
            batch.run(filter, &mut found);
            every_letter(filter, bytes, |end| found(Candidate { text, end }));
            continue;
        }
        cut(text, bytes, |piece| {
            batch.bytes += piece.to - piece.start;
            batch.pieces.push(piece);
            if batch.bytes >= BATCH_BYTES {
                batch.run(filter, &mut found);
            }
        });
    }
    batch.run(filter, &mut found);
}

/// The same for a text in which words also end where nothing shows it: every letter may be the last.
fn every_letter(filter: &Filter<'_>, bytes: &[u8], mut found: impl FnMut(usize)) {
    let mut window = Window::default();
    for (at, &byte) in bytes.iter().enumerate() {
        filter.read(&mut window, byte);
        if !is_separator(byte) && filter.holds(window) {
            found(at + 1);
        }
    }
}

/// Cuts a text into pieces, each with as much before it as the window holds.
fn cut<'x>(text: usize, bytes: &'x [u8], mut piece: impl FnMut(Piece<'x>)) {
    let (mut from, mut start) = (0, 0);
    let mut border = PIECE_BYTES;
    while border < bytes.len() {
        if let Some(overlap) = overlap(bytes, border) {
            piece(Piece { text, bytes, start, from, to: border });
            (from, start) = (border, border - overlap);
        }
        border += PIECE_BYTES;
    }
    piece(Piece { text, bytes, start, from, to: bytes.len() });
}

/// How many bytes before `border` hold the window's letters; `None` when it is too many.
fn overlap(bytes: &[u8], border: usize) -> Option<usize> {
    let before = bytes.get(border.saturating_sub(MAX_OVERLAP_BYTES)..border)?;
    let mut seen = 0;
    for (length, &byte) in (0..).zip(before.iter().rev()) {
        if seen == WINDOW_LETTERS {
            return Some(length);
        }
        seen += usize::from(!is_separator(byte));
    }
    None
}

#[derive(Default)]
struct Batch<'x> {
    pieces: Vec<Piece<'x>>,
    /// How many bytes these are.
    bytes: usize,
    lanes: [Lane<'x>; LANES],
    /// For each piece: its lane, and which of the lane's candidates are its own.
    results: Vec<(usize, usize, usize)>,
}

#[derive(Default)]
struct Lane<'x> {
    /// Number of the piece, and the piece; `None` while idle.
    piece: Option<(usize, Piece<'x>)>,
    /// What is left of it.
    rest: &'x [u8],
    window: Window,
    found: Vec<Candidate>,
}

impl Batch<'_> {
    fn run(&mut self, filter: &Filter<'_>, found: &mut impl FnMut(Candidate)) {
        self.bytes = 0;
        self.results.resize(self.pieces.len(), (0, 0, 0));
        let mut waiting = self.pieces.drain(..).enumerate();
        loop {
            for (number, lane) in self.lanes.iter_mut().enumerate() {
                if lane.rest.is_empty() {
                    lane.end(filter, &mut self.results);
                    if let Some((at, piece)) = waiting.next() {
                        lane.begin(at, piece, number, &mut self.results);
                    }
                }
            }
            let steps = self.lanes.iter().map(|lane| lane.rest.len()).min().unwrap_or(0);
            if steps > 0 {
                together(filter, &mut self.lanes, steps);
            } else if waiting.len() == 0 {
                break;
            }
        }
        drop(waiting);
        for lane in &mut self.lanes {
            lane.alone(filter);
            lane.end(filter, &mut self.results);
        }
        for &(lane, from, to) in &self.results {
            let lane = self.lanes.get(lane).and_then(|lane| lane.found.get(from..to));
            lane.unwrap_or_default().iter().for_each(|&candidate| found(candidate));
        }
        self.lanes.iter_mut().for_each(|lane| lane.found.clear());
        self.results.clear();
    }
}

impl<'x> Lane<'x> {
    fn begin(&mut self, at: usize, piece: Piece<'x>, number: usize, results: &mut [(usize, usize, usize)]) {
        self.rest = piece.bytes.get(piece.start..piece.to).unwrap_or_default();
        self.window = Window::default();
        self.piece = Some((at, piece));
        if let Some(result) = results.get_mut(at) {
            *result = (number, self.found.len(), self.found.len());
        }
    }

    /// Notes how much was found in the piece that is at its end. A text's end ends a word, too.
    fn end(&mut self, filter: &Filter<'_>, results: &mut [(usize, usize, usize)]) {
        let Some((at, piece)) = self.piece else { return };
        if piece.to == piece.bytes.len() && filter.holds(self.window) {
            self.report(0);
        }
        self.piece = None;
        if let Some((_, _, to)) = results.get_mut(at) {
            *to = self.found.len();
        }
    }

    fn split(&self, steps: usize) -> (&'x [u8], &'x [u8]) {
        self.rest.split_at_checked(steps).unwrap_or_default()
    }

    /// Scans what is left, with no other lane beside it.
    fn alone(&mut self, filter: &Filter<'_>) {
        let rest = core::mem::take(&mut self.rest);
        let mut window = self.window;
        for (step, &byte) in rest.iter().enumerate() {
            if filter.read(&mut window, byte) {
                self.report(rest.len() - step);
            }
        }
        self.window = window;
    }

    /// Notes that patterns may end `left` bytes before the piece's end, unless separators stand there too: then it was noted with the first of them. What
    /// ends before the piece's own part was seen with the piece before.
    #[cold]
    fn report(&mut self, left: usize) {
        if let Some((_, piece)) = self.piece {
            let end = piece.to - left;
            let letter = end.checked_sub(1).and_then(|last| piece.bytes.get(last)).is_some_and(|&byte| !is_separator(byte));
            if end >= piece.from && letter {
                self.found.push(Candidate { text: piece.text, end });
            }
        }
    }
}

/// Scans `steps` bytes in each lane.
fn together(filter: &Filter<'_>, lanes: &mut [Lane<'_>; LANES], steps: usize) {
    let [a, b, c, d] = lanes.each_mut();
    let ((head_a, rest_a), (head_b, rest_b), (head_c, rest_c), (head_d, rest_d)) =
        (a.split(steps), b.split(steps), c.split(steps), d.split(steps));
    let (mut window_a, mut window_b, mut window_c, mut window_d) = (a.window, b.window, c.window, d.window);
    let bytes = head_a.iter().zip(head_b).zip(head_c.iter().zip(head_d));
    for (step, ((&byte_a, &byte_b), (&byte_c, &byte_d))) in bytes.enumerate() {
        let hit_a = filter.read(&mut window_a, byte_a);
        let hit_b = filter.read(&mut window_b, byte_b);
        let hit_c = filter.read(&mut window_c, byte_c);
        let hit_d = filter.read(&mut window_d, byte_d);
        if hit_a | hit_b | hit_c | hit_d {
            let left = steps - step;
            let hits = [(&mut *a, hit_a, rest_a), (&mut *b, hit_b, rest_b), (&mut *c, hit_c, rest_c), (&mut *d, hit_d, rest_d)];
            for (lane, hit, rest) in hits {
                if hit {
                    lane.report(rest.len() + left);
                }
            }
        }
    }
    (a.window, b.window, c.window, d.window) = (window_a, window_b, window_c, window_d);
    (a.rest, b.rest, c.rest, d.rest) = (rest_a, rest_b, rest_c, rest_d);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::filter::FILTER_WORDS;
    use alloc::boxed::Box;
    use alloc::string::String;

    const WORDS: [&str; 3] = ["allrules", "l the keys", "no limits at"];

    fn bits() -> Box<[u64; FILTER_WORDS]> {
        let mut bits = Box::new([0; FILTER_WORDS]);
        for word in WORDS {
            let mut window = Window::default();
            let none = Filter { bits: &[0; FILTER_WORDS] };
            assert!(word.bytes().all(|byte| !none.read(&mut window, byte)));
            bits[window.slot() >> 6] |= 1 << (window.slot() & 63);
        }
        bits
    }

    /// One stream, byte by byte, by the definition: where a word ends and the last eight letters are in the filter.
    fn one_stream(filter: &Filter<'_>, text: usize, bytes: &[u8]) -> Vec<Candidate> {
        let mut window = Window::default();
        let mut all = Vec::new();
        for (at, &byte) in bytes.iter().enumerate() {
            filter.read(&mut window, byte);
            let ends = bytes.get(at + 1).is_none_or(|&next| crate::score::letters::letter(next) <= crate::score::letters::RECORD);
            if !is_separator(byte) && ends && filter.holds(window) {
                all.push(Candidate { text, end: at + 1 });
            }
        }
        all
    }

    fn agree(texts: &[String]) {
        let bits = bits();
        let filter = Filter { bits: &bits };
        let views: Vec<_> = texts.iter().map(|text| Folded::ascii(text).expect("ASCII")).collect();
        let mut found = Vec::new();
        scan(&filter, views.iter(), |candidate| found.push(candidate));
        let expected: Vec<_> = texts.iter().enumerate().flat_map(|(text, bytes)| one_stream(&filter, text, bytes.as_bytes())).collect();
        assert_eq!(found, expected);
    }

    /// Every border of pieces, and every way for a match to lie across it.
    #[test]
    fn a_match_across_any_border_is_found_once() {
        for border in [PIECE_BYTES, 2 * PIECE_BYTES, 5 * PIECE_BYTES] {
            for offset in 0..24 {
                for word in WORDS.iter().chain(&["a l l  r\nu-l.e s", "al\u{1f}lrules"]) {
                    let mut text = "x y, ".repeat(6 * PIECE_BYTES / 5);
                    let at = border - offset;
                    text.replace_range(at..at + word.len() + 2, &alloc::format!(" {word} "));
                    agree(&[text]);
                }
            }
        }
    }

    #[test]
    fn long_runs_of_separators_are_not_cut() {
        for gap in [0, 1, MAX_OVERLAP_BYTES - 1, MAX_OVERLAP_BYTES, 3 * PIECE_BYTES] {
            let text = "y".repeat(PIECE_BYTES - 4)
                + " all"
                + &" ".repeat(gap)
                + "rules"
                + &".".repeat(2 * PIECE_BYTES)
                + "all"
                + &"-".repeat(gap)
                + "rules";
            agree(&[text]);
        }
    }

    proptest::proptest! {
        #[test]
        fn many_texts_are_as_each_alone(texts in proptest::collection::vec("(all ?rules|l the keys|no limits at|[a-z]{1,9}|\x1f)([ .,-]{0,3}(all|rules|keys|x))?( [a-z ]{0,60}){0,40}", 0..12), repeat in 1usize..40) {
            let texts: Vec<String> = texts.iter().enumerate().map(|(number, text)| if number % 3 == 0 { text.repeat(repeat) } else { text.clone() }).collect();
            agree(&texts);
        }
    }
}
