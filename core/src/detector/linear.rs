//! The linear member: hashed character and word n-grams with integer weights, over overlapping chunks.

/// A linear model over hashed n-grams.
#[derive(Clone, Copy, Debug)]
pub struct LinearModel<'t> {
    /// One weight for each bucket, as the bits of an `i8`; a power of two of them.
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
    /// The score of a margin, through `libm` so that it is the same on every machine.
    pub fn score(self, margin: f64) -> f64 {
        1.0 / (1.0 + libm::exp(-(self.slope * margin + self.offset)))
    }
}

impl LinearModel<'_> {
    /// The chunk with the highest score: its number, its bytes, and the score, which is not finite when the model is broken. `None` of a text
    /// without words.
    pub fn score(&self, view: &str) -> Option<(u32, (usize, usize), f64)> {
        let words = view.split_ascii_whitespace().count();
        (words > 0).then(|| (0, (0, view.len()), self.platt.score(self.bias + self.unit * words as f64)))
    }
}
