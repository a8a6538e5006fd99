//! Which paths of the recomputation the rows of a receipt took: agreement says nothing about a path that no row took.

use super::receipt::Receipt;
use super::statistics::{path, persistence};

/// How often each path was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Paths {
    /// Tied pairs in the AUCs, all together.
    pub tied_pairs: u64,
    /// Trajectories whose rows stood in another order than by position.
    pub unordered: usize,
    /// Trajectories whose persistence would be another if it began at g_0 = -k.
    pub start: usize,
    /// Trajectories whose CUSUM came back to 0 after it had risen.
    pub resets: usize,
    /// Medians over an even number of values.
    pub even_medians: usize,
}

impl Paths {
    /// Looks at the trajectories of one more receipt.
    pub(super) fn look_at(&mut self, receipt: &Receipt, drift: f64) {
        for trajectory in receipt.values() {
            let scores = &trajectory.scores;
            let cusum = path(scores, drift, 0.0);
            self.unordered += usize::from(trajectory.unordered);
            self.start += usize::from(persistence(scores, drift, 0.0) != persistence(scores, drift, -drift));
            self.resets += usize::from(cusum.windows(2).any(|pair| pair[0] > 0.0 && pair[1] == 0.0));
        }
    }

    /// A median was taken of so many values.
    pub(super) fn median_of(&mut self, values: usize) {
        self.even_medians += usize::from(values.is_multiple_of(2));
    }

    /// The two lines of the report: what was taken and how often, and what was not.
    pub(super) fn lines(self) -> String {
        let count = |number: usize| number as u64;
        let paths = [
            ("ties", "tied pairs", self.tied_pairs),
            ("rows out of order", "trajectories", count(self.unordered)),
            ("g_0 = 0 and not -k", "trajectories", count(self.start)),
            ("back to 0 after a rise", "trajectories", count(self.resets)),
            ("median of an even number", "medians", count(self.even_medians)),
        ];
        let taken: Vec<String> =
            paths.iter().filter(|path| path.2 > 0).map(|(path, of, number)| format!("{path} ({of}: {number})")).collect();
        let dark: Vec<&str> = paths.iter().filter(|path| path.2 == 0).map(|path| path.0).collect();
        let or_none = |list: String| if list.is_empty() { "none".to_owned() } else { list };
        format!("exercised: {}\ndark: {}\n", or_none(taken.join(", ")), or_none(dark.join(", ")))
    }
}
