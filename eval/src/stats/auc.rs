//! The area under the ROC curve as the share of pairs (Mann and Whitney), and the median.

/// How often a positive lies above a negative: whole numbers, so exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Auc {
    /// Twice the pairs in which the positive is higher, plus once those in which both are equal.
    pub doubled: u64,
    pub pairs: u64,
    pub ties: u64,
}

impl Auc {
    /// The Mann-Whitney numerator, ties at one half.
    pub fn numerator(self) -> f64 {
        self.doubled as f64 / 2.0
    }

    /// The share of pairs.
    pub fn value(self) -> f64 {
        self.numerator() / self.pairs as f64
    }
}

/// The median, of an even number the mean of the middle two; `None` of no values.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    Some(if sorted.len() % 2 == 1 { upper } else { f64::midpoint(sorted[middle - 1], upper) })
}
