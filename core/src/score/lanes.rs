//! Reads many texts with the filter, several places at a time: one step waits for the one before it, but not for those of other lanes.

use alloc::vec::Vec;

use super::filter::{Filter, WINDOW_LETTERS, Window};
use super::letters::is_separator;

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

/// Calls `found` for every place where patterns may end, text by text and in ascending order. Linear.
pub fn scan<'x>(filter: &Filter<'_>, texts: impl Iterator<Item = &'x [u8]>, mut found: impl FnMut(Candidate)) {
    let mut batch = Batch::default();
    let mut filled = 0;
    for (text, bytes) in texts.enumerate() {
        cut(text, bytes, |piece| {
            batch.pieces.push(piece);
            filled += piece.to - piece.start;
            if filled >= BATCH_BYTES {
                batch.run(filter, &mut found);
                filled = 0;
            }
        });
    }
    batch.run(filter, &mut found);
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

/// How many bytes before `border` hold all but one of the window's letters; `None` when it is too many.
fn overlap(bytes: &[u8], border: usize) -> Option<usize> {
    let before = bytes.get(border.saturating_sub(MAX_OVERLAP_BYTES)..border)?;
    let mut seen = 0;
    for (length, &byte) in (0..).zip(before.iter().rev()) {
        if seen == WINDOW_LETTERS - 1 {
            return Some(length);
        }
        seen += usize::from(!is_separator(byte));
    }
    None
}

#[derive(Default)]
struct Batch<'x> {
    pieces: Vec<Piece<'x>>,
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
        self.results.resize(self.pieces.len(), (0, 0, 0));
        let mut waiting = self.pieces.drain(..).enumerate();
        loop {
            for (number, lane) in self.lanes.iter_mut().enumerate() {
                if lane.rest.is_empty() {
                    lane.end(&mut self.results);
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
            lane.end(&mut self.results);
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

    /// Notes how much was found in the piece that is at its end.
    fn end(&mut self, results: &mut [(usize, usize, usize)]) {
        if let Some((at, _)) = self.piece.take()
            && let Some((_, _, to)) = results.get_mut(at)
        {
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
                self.report(rest.len() - step - 1);
            }
        }
    }

    /// Notes that patterns may end `left` bytes before the piece's end. What ends before the piece's own part was seen with the piece before.
    #[cold]
    fn report(&mut self, left: usize) {
        if let Some((_, piece)) = self.piece {
            let end = piece.to - left;
            if end > piece.from {
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
            let left = steps - step - 1;
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
