//! The ROC curve, and the recall at a stated false-positive rate.

use super::auc::{Ordered, sums};
use super::threshold::Threshold;

/// The curve from (0, 0) to (1, 1): false-positive rate and recall at each threshold, the highest first. Equal values are one step, since no threshold parts them,
/// so the area under the straight lines is the AUC with ties at one half. Empty where a group is.
pub fn roc(positives: &[f64], negatives: &[f64]) -> Vec<[f64; 2]> {
    if positives.is_empty() || negatives.is_empty() {
        return Vec::new();
    }
    let of = |values: &[f64], positive| values.iter().map(move |&value| (value, positive)).collect::<Vec<_>>();
    let ordered = Ordered::new([of(positives, true), of(negatives, false)].concat());
    let mut reached = [0, 0];
    let mut curve = vec![[0.0, 0.0]];
    for run in ordered.runs().rev() {
        let here = sums(run, &|&positive| (positive, 1));
        reached = [reached[0] + here[0], reached[1] + here[1]];
        curve.push([reached[0] as f64 / negatives.len() as f64, reached[1] as f64 / positives.len() as f64]);
    }
    curve
}

/// What a threshold that was fixed on negatives finds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OperatingPoint {
    /// The threshold, with the negatives that it was fixed on and how many of them reach it.
    pub threshold: Threshold,
    /// Number of positives.
    pub positives: usize,
    /// Of them those that reach it.
    pub hits: usize,
}

impl OperatingPoint {
    /// The share of negatives that reach the threshold: at most what was allowed.
    pub fn fpr(&self) -> f64 {
        self.threshold.reached as f64 / self.threshold.scores as f64
    }

    /// The share of positives that reach it.
    pub fn recall(&self) -> f64 {
        self.hits as f64 / self.positives as f64
    }
}

/// The recall at the lowest threshold that at most a share `fpr` of the negatives reaches, ties together ([`Threshold::fix`]). Of fewer than 1 / `fpr` negatives
/// the threshold lies above all of them. `None` where a group is empty.
pub fn recall_at(positives: &[f64], negatives: &[f64], fpr: f64) -> Option<OperatingPoint> {
    let threshold = Threshold::fix(negatives.to_vec(), fpr)?;
    let hits = positives.iter().filter(|score| threshold.reached_by(**score)).count();
    (!positives.is_empty()).then_some(OperatingPoint { threshold, positives: positives.len(), hits })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tie_is_one_step() {
        let curve = roc(&[0.9, 0.5, 0.5, 0.1], &[0.5, 0.2]);
        assert_eq!(curve, [[0.0, 0.0], [0.0, 0.25], [0.5, 0.75], [1.0, 0.75], [1.0, 1.0]]);
        assert!(roc(&[], &[1.0]).is_empty() && roc(&[1.0], &[]).is_empty());
    }

    #[test]
    fn recall_is_counted_where_few_enough_negatives_are() {
        let negatives: Vec<f64> = (0..100).map(f64::from).collect();
        let found = recall_at(&[99.0, 98.5, 98.0, 3.0], &negatives, 0.01).unwrap();
        assert_eq!((found.hits, found.recall(), found.fpr()), (2, 0.5, 0.01), "99 is a negative and may be reached; 98 is the next");
        let found = recall_at(&[99.0, 99.5], &negatives, 0.005).unwrap();
        assert_eq!((found.hits, found.fpr()), (1, 0.0), "of 100 none may be reached");
        assert_eq!([recall_at(&[], &negatives, 0.01), recall_at(&[1.0], &[], 0.01)], [None, None]);
    }
}
