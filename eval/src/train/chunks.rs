//! Texts as the linear member reads them: features in blocks, and chunks of some blocks.

use std::ops::Range;

use floodmark_core::detector::grams::{Sink, features};
use floodmark_core::limits::CHUNK_BLOCKS;

/// A text's features.
#[derive(Clone, Debug, Default)]
pub struct Text {
    buckets: Vec<u32>,
    /// Where each block's features end, beginning with 0.
    blocks: Vec<usize>,
    /// Where each block's bytes end.
    bytes: Vec<usize>,
}

/// Some blocks of a text.
pub type Chunk = Range<usize>;

struct Reader {
    shift: u32,
    text: Text,
}

impl Sink for Reader {
    type Word = Vec<u32>;

    type Table = u32;

    fn table(&self) -> u32 {
        self.shift
    }

    fn character(shift: u32, word: &mut Vec<u32>, hash: u64, counts: i32) {
        if counts != 0 {
            word.push((hash >> shift) as u32);
        }
    }

    fn word(&mut self, mut word: Vec<u32>, new: bool) {
        if new {
            self.text.buckets.append(&mut word);
        }
    }

    fn feature(&mut self, hash: u64) {
        self.text.buckets.push((hash >> self.shift) as u32);
    }

    fn block(&mut self, end: usize) {
        self.text.blocks.push(self.text.buckets.len());
        self.text.bytes.push(end);
    }
}

impl Text {
    /// Reads a view for a table of 2^`bits` buckets.
    pub fn new(view: &str, bits: u32) -> Self {
        let mut reader = Reader { shift: u64::BITS - bits, text: Text { blocks: vec![0], ..Text::default() } };
        features(view, &mut reader);
        reader.text
    }

    fn number_of_blocks(&self) -> usize {
        self.blocks.len() - 1
    }

    /// The chunks that the member scores, in its order. None of a text without words.
    pub fn chunks(&self) -> Vec<Chunk> {
        match self.number_of_blocks() {
            0 => Vec::new(),
            blocks if blocks <= CHUNK_BLOCKS => std::iter::once(0..blocks).collect(),
            blocks => (0..=blocks - CHUNK_BLOCKS).map(|first| first..first + CHUNK_BLOCKS).collect(),
        }
    }

    /// The buckets of a chunk's features, repeats and all.
    pub fn buckets(&self, chunk: &Chunk) -> &[u32] {
        &self.buckets[self.blocks[chunk.start]..self.blocks[chunk.end]]
    }

    /// The blocks that hold any of these bytes of the view.
    pub fn blocks_at(&self, bytes: &Range<usize>) -> Range<usize> {
        let first = self.bytes.iter().take_while(|end| **end <= bytes.start).count();
        let behind = self.bytes.iter().take_while(|end| **end < bytes.end).count() + 1;
        first.min(self.number_of_blocks())..behind.min(self.number_of_blocks())
    }

    /// The margin of each chunk.
    pub fn margins(&self, weights: &[f32], bias: f32) -> Vec<f32> {
        let sums: Vec<f64> = (0..self.number_of_blocks())
            .map(|block| self.buckets(&(block..block + 1)).iter().map(|bucket| f64::from(weights[*bucket as usize])).sum())
            .collect();
        let margin = |chunk: Chunk| {
            let features = self.buckets(&chunk).len().max(1) as f64;
            (sums[chunk].iter().sum::<f64>() / features.sqrt()) as f32 + bias
        };
        self.chunks().into_iter().map(margin).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use floodmark_core::detector::{LinearModel, Platt};

    #[test]
    fn margins_are_those_of_the_member() {
        let words: Vec<String> = (0..400).map(|number| format!("word{} ein Wört", number % 7)).collect();
        let long = words.join(" ");
        let platt = Platt { slope: 1.0, offset: 0.0 };
        let weights: Vec<u8> = (0..1024_u32).map(|bucket| (bucket * 37 % 251) as u8).collect();
        let model = LinearModel { weights: &weights, unit: 0.25, bias: -0.5, platt };
        let floats: Vec<f32> = weights.iter().map(|weight| f32::from(weight.cast_signed()) * 0.25).collect();
        for view in ["a", "one two", long.as_str(), &long[..600]] {
            let text = Text::new(view, 10);
            let margins = text.margins(&floats, -0.5);
            let best = margins.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let found = model.highest(view).unwrap();
            assert!((f64::from(best) - found.margin).abs() < 1e-4, "{best} is not {}", found.margin);
            assert_eq!(text.chunks()[found.number as usize].start, found.number as usize);
        }
        assert!(Text::new(" \n ", 10).chunks().is_empty() && model.highest(" \n ").is_none());
    }

    #[test]
    fn blocks_are_found_by_their_bytes() {
        let view = "word ".repeat(60);
        let text = Text::new(&view, 10);
        assert_eq!(text.number_of_blocks(), 5);
        assert_eq!(text.blocks_at(&(0..5)), 0..1);
        assert_eq!(text.blocks_at(&(60..70)), 0..2);
        assert_eq!(text.blocks_at(&(290..900)), 4..5);
    }
}
