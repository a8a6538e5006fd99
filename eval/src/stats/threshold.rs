//! The threshold that a nominal share of benign scores reaches at most.

/// A threshold and what it was fixed on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold {
    /// The share that may reach it.
    pub nominal: f64,
    /// The smallest value that at most this share of the scores reaches.
    pub value: f64,
    /// Number of scores.
    pub scores: usize,
    /// Of them those that reach it.
    pub reached: usize,
}

impl Threshold {
    /// Fixes it on benign scores; `None` without any.
    ///
    /// A score reaches a threshold that it equals, so all of a tie reach it or none. Of fewer than 1 / `nominal` scores none may reach it: only a threshold above all
    /// of them is left, and what is measured at it is a lower bound of what more scores would allow.
    pub fn fix(mut scores: Vec<f64>, nominal: f64) -> Option<Self> {
        scores.sort_by(|one, other| other.total_cmp(one));
        scores.first()?;
        let allowed = allowed(nominal, scores.len() as u64) as usize;
        // All of a tie reach a value or none does, so the next larger number is taken behind the first that may not.
        let value = scores.get(allowed).map_or(f64::NEG_INFINITY, |over| over.next_up());
        let reached = scores.iter().filter(|score| **score >= value).count();
        Some(Threshold { nominal, value, scores: scores.len(), reached })
    }

    /// Whether a score reaches it.
    pub fn reached_by(&self, score: f64) -> bool {
        score >= self.value
    }
}

/// How many of a number of scores may reach a threshold.
pub(super) fn allowed(nominal: f64, scores: u64) -> u64 {
    // A hundredth of a hundred is one, whatever the binary fraction says.
    (nominal * scores as f64 + 1e-9).floor() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fix(scores: &[f64], nominal: f64) -> (f64, usize) {
        let found = Threshold::fix(scores.to_vec(), nominal).unwrap();
        assert!(scores.iter().all(|score| found.reached_by(*score) == (*score >= found.value)));
        (found.value, found.reached)
    }

    #[test]
    fn it_is_the_smallest_value_that_so_few_reach() {
        let scores: Vec<f64> = (0..200).map(|number| f64::from(number) / 200.0).collect();
        let (value, reached) = fix(&scores, 0.01);
        assert_eq!(reached, 2);
        assert!(value > 197.0 / 200.0 && value <= 198.0 / 200.0);
        assert_eq!(value.next_down(), 197.0 / 200.0, "any smaller value is reached by a third");
        assert_eq!(fix(&scores, 0.001).1, 0, "a thousandth of 200 is less than one");
        assert_eq!(fix(&scores[..100], 0.01).1, 1);
    }

    #[test]
    fn of_a_tie_all_reach_it_or_none() {
        let mut scores = vec![0.9; 5];
        scores.extend([0.1; 95]);
        assert_eq!(fix(&scores, 0.05).1, 5);
        let (value, reached) = fix(&scores, 0.04);
        assert_eq!((value.next_down(), reached), (0.9, 0));
        assert_eq!(fix(&[0.5; 10], 0.01).1, 0);
        assert_eq!(fix(&[1.0; 10], 0.01).1, 0, "above all that can be reached");
        assert_eq!(fix(&[0.3, 0.2], 1.0), (f64::NEG_INFINITY, 2), "all may");
        assert_eq!(Threshold::fix(Vec::new(), 0.01), None);
    }
}
