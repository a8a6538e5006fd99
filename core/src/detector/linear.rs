//! The linear member: hashed n-grams with integer weights, over overlapping chunks of some blocks, the highest counting.

use super::grams::{Sink, features};
use crate::limits::CHUNK_BLOCKS;

/// A linear model over the features of [`super::grams`].
///
/// Margin of a chunk of n features: bias + unit * (sum of their weights) / sqrt(n), which has the same spread for short chunks as for long ones.
#[derive(Clone, Copy, Debug)]
pub struct LinearModel<'t> {
    /// One weight for each bucket, as the bits of an `i8`. A bucket is the highest bits of a feature's hash.
    pub weights: &'t [u8],
    /// What a weight of 1 stands for in the margin.
    pub unit: f64,
    /// Added to each margin.
    pub bias: f64,
    /// From margins to scores.
    pub platt: Platt,
}

/// A fitted sigmoid (Platt 1999): score = 1 / (1 + exp(-(slope * margin + offset))).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Platt {
    /// Per unit of margin.
    pub slope: f64,
    /// At margin 0.
    pub offset: f64,
}

impl Platt {
    /// The score of a margin, through `libm` so that it is the same on every machine. No number when the margin is not finite: a broken model must not
    /// pass for a sure one.
    pub fn score(self, margin: f64) -> f64 {
        if margin.is_finite() { 1.0 / (1.0 + libm::exp(-(self.slope * margin + self.offset))) } else { f64::NAN }
    }
}

/// A chunk of a text and what it scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chunk {
    /// Its number: that of its first block.
    pub number: u32,
    /// Its bytes in the text.
    pub span: (usize, usize),
    /// Its margin.
    pub margin: f64,
}

impl LinearModel<'_> {
    /// The chunk with the highest margin, the first of equals; `None` of a text without words. Linear in the text.
    pub fn highest(&self, view: &str) -> Option<Chunk> {
        let mut chunks = Chunks {
            model: self,
            table: Table { weights: self.weights, shift: 64_u32.saturating_sub(self.weights.len().checked_ilog2()?) },
            blocks: [Block::default(); CHUNK_BLOCKS],
            sum: 0,
            features: 0,
            here: Block::default(),
            ended: 0,
            best: None,
        };
        features(view, &mut chunks);
        chunks.best
    }
}

/// Weights by hash.
#[derive(Clone, Copy)]
struct Table<'m> {
    weights: &'m [u8],
    /// What makes a bucket of a hash.
    shift: u32,
}

impl Table<'_> {
    #[inline]
    fn weight(self, hash: u64) -> i32 {
        let weight = self.weights.get(hash.wrapping_shr(self.shift) as usize);
        weight.map_or(0, |weight| weight.cast_signed().into())
    }
}

/// What the features of one block add up to.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    start: usize,
    sum: i32,
    features: u32,
}

struct Chunks<'m> {
    model: &'m LinearModel<'m>,
    table: Table<'m>,
    /// The last blocks that ended, in a ring.
    blocks: [Block; CHUNK_BLOCKS],
    /// Sums over these.
    sum: i32,
    features: u32,
    here: Block,
    ended: usize,
    best: Option<Chunk>,
}

impl<'m> Sink for Chunks<'m> {
    type Word = (i32, i32);

    type Table = Table<'m>;

    fn table(&self) -> Table<'m> {
        self.table
    }

    #[inline]
    fn character(table: Table<'m>, (sum, features): &mut (i32, i32), hash: u64, counts: i32) {
        *sum += table.weight(hash) & counts;
        // All ones are -1.
        *features -= counts;
    }

    fn word(&mut self, (sum, features): (i32, i32), new: bool) {
        if new {
            self.here.sum += sum;
            self.here.features += features.cast_unsigned();
        }
    }

    fn feature(&mut self, hash: u64) {
        self.here.sum += self.table.weight(hash);
        self.here.features += 1;
    }

    fn block(&mut self, end: usize) {
        let number = self.ended;
        self.ended += 1;
        let Some(oldest) = self.blocks.get_mut(number % CHUNK_BLOCKS) else { return };
        self.sum += self.here.sum - oldest.sum;
        self.features = self.features + self.here.features - oldest.features;
        *oldest = self.here;
        self.here = Block { start: end, ..Block::default() };
        // While the first chunk grows it is no chunk yet, unless the text ends: then it was the only one.
        let first = self.ended.saturating_sub(CHUNK_BLOCKS);
        let root = libm::sqrt(f64::from(self.features.max(1)));
        let margin = self.model.bias + self.model.unit * f64::from(self.sum) / root;
        let start = self.blocks.get(first % CHUNK_BLOCKS).map_or(0, |block| block.start);
        let grows = self.ended <= CHUNK_BLOCKS;
        if grows || self.best.is_none_or(|best| margin > best.margin) {
            self.best = Some(Chunk { number: u32::try_from(first).unwrap_or(u32::MAX), span: (start, end), margin });
        }
    }
}
