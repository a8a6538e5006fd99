//! The area under the ROC curve as the share of pairs (Mann and Whitney), and the median.

/// How often a positive lies above a negative: whole numbers, so exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Auc {
    /// Twice the pairs in which the positive is higher, plus once those in which both are equal.
    pub doubled: u64,
    /// Pairs of a positive and a negative.
    pub pairs: u64,
    /// Those in which both are equal.
    pub ties: u64,
}

impl Auc {
    /// Counts the pairs of positives and negatives.
    pub fn of(positives: &[f64], negatives: &[f64]) -> Self {
        let of = |values: &[f64], positive| values.iter().map(move |&value| (value, positive)).collect::<Vec<_>>();
        Ordered::new([of(positives, true), of(negatives, false)].concat()).pairs(|&positive| (positive, 1))
    }

    /// The Mann-Whitney numerator, ties at one half.
    pub fn numerator(self) -> f64 {
        self.doubled as f64 / 2.0
    }

    /// The share of pairs; not a number where there are none.
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

/// What carries a value, in the order of values: sorted once, counted many times.
pub(super) struct Ordered<T> {
    carriers: Vec<T>,
    /// Where each run of equal values ends.
    ends: Vec<u32>,
}

impl<T> Ordered<T> {
    pub fn new(values: impl IntoIterator<Item = (f64, T)>) -> Self {
        let mut values: Vec<(f64, T)> = values.into_iter().collect();
        values.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut ends = Vec::new();
        for equal in values.chunk_by(|one, other| one.0 == other.0) {
            ends.push(ends.last().unwrap_or(&0) + equal.len() as u32);
        }
        Self { carriers: values.into_iter().map(|(_, carrier)| carrier).collect(), ends }
    }

    /// Runs of carriers with equal values, the lowest first.
    pub fn runs(&self) -> impl DoubleEndedIterator<Item = &[T]> {
        let from = |at: usize| at.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        (0..self.ends.len()).map(move |at| &self.carriers[from(at)..self.ends[at] as usize])
    }

    /// Counts the pairs; `weight` says whether a carrier is a positive, and how often it is there.
    pub fn pairs(&self, weight: impl Fn(&T) -> (bool, u64)) -> Auc {
        let mut auc = Auc::default();
        let (mut positives, mut negatives) = (0, 0);
        for run in self.runs() {
            let [negative, positive] = sums(run, &weight);
            // Each of these positives lies above all negatives before them.
            auc.doubled += positive * (2 * negatives + negative);
            auc.ties += positive * negative;
            positives += positive;
            negatives += negative;
        }
        auc.pairs = positives * negatives;
        auc
    }
}

/// How often negatives and positives are in a run.
pub(super) fn sums<T>(run: &[T], weight: &impl Fn(&T) -> (bool, u64)) -> [u64; 2] {
    let (mut all, mut positives) = (0, 0);
    for carrier in run {
        let (positive, times) = weight(carrier);
        all += times;
        positives += if positive { times } else { 0 };
    }
    [all - positives, positives]
}

/// What a value belongs to: its unit, and whether it is a positive, in one small number, since half a million of them are gone through for each draw.
#[derive(Clone, Copy)]
pub(super) struct Carrier(u32);

impl Carrier {
    pub const fn new(unit: usize, positive: bool) -> Self {
        Self((unit as u32) << 1 | positive as u32)
    }

    /// Whether it is a positive, and how often its unit is there.
    pub fn weight(self, times: &[u32]) -> (bool, u64) {
        (self.positive(), times[self.unit()].into())
    }

    const fn unit(self) -> usize {
        (self.0 >> 1) as usize
    }

    const fn positive(self) -> bool {
        self.0 & 1 == 1
    }
}

/// Values of units, whose AUC is taken in one sample after the other.
pub(super) struct Drawn {
    /// In each run the negatives come first.
    ordered: Ordered<Carrier>,
    /// Runs that hold both, as ranges of carriers.
    mixed: Vec<(u32, u32)>,
}

impl Drawn {
    pub fn new(negatives: Vec<(f64, Carrier)>, positives: Vec<(f64, Carrier)>) -> Self {
        // The sort keeps the order of equal values; there is one zero only.
        let ordered = Ordered::new(negatives.into_iter().chain(positives).map(|(value, carrier)| (value + 0.0, carrier)));
        let starts = [0].into_iter().chain(ordered.ends.iter().copied());
        let both = |&(from, end): &(u32, u32)| {
            let run = &ordered.carriers[from as usize..end as usize];
            run.iter().any(|carrier| carrier.positive()) && run.iter().any(|carrier| !carrier.positive())
        };
        let mixed = starts.zip(ordered.ends.iter().copied()).filter(both).collect();
        Self { ordered, mixed }
    }

    /// Runs of equal values, the lowest first.
    pub fn runs(&self) -> impl DoubleEndedIterator<Item = &[Carrier]> {
        self.ordered.runs()
    }

    /// The AUC where each unit is there so often. One pass that never branches: each positive wins over all negatives so far, and of a tie the half too much is
    /// taken back where both are in one run.
    pub fn drawn(&self, times: &[u32]) -> Auc {
        let (mut all, mut negatives, mut won) = (0_u64, 0_u64, 0_u64);
        for carrier in &self.ordered.carriers {
            let times = u64::from(times[carrier.unit()]);
            let positive = u64::from(carrier.positive()) * times;
            all += times;
            negatives += times - positive;
            won += positive * negatives;
        }
        let ties = self.mixed.iter().map(|&(from, end)| {
            let [negative, positive] = sums(&self.ordered.carriers[from as usize..end as usize], &|carrier| carrier.weight(times));
            negative * positive
        });
        let ties = ties.sum();
        Auc { doubled: 2 * won - ties, pairs: negatives * (all - negatives), ties }
    }

    /// The AUC without each unit in turn, in one pass: a unit takes with it what its positives won and what was won over its negatives, and of that the pairs
    /// among its own values only once.
    pub fn without_each(&self, units: usize) -> Vec<f64> {
        let all = self.drawn(&vec![1; units]);
        let each_once = |carrier: &Carrier| (carrier.positive(), 1);
        let total = sums(&self.ordered.carriers, &each_once);
        let mut lost = vec![0_u64; units];
        let mut own = vec![Own::default(); units];
        let (mut positives, mut negatives) = (0, 0);
        for (number, run) in self.ordered.runs().enumerate() {
            let [negative, positive] = sums(run, &each_once);
            positives += positive;
            for (unit, is_positive) in run.iter().map(|carrier| (carrier.unit(), carrier.positive())) {
                lost[unit] += if is_positive { 2 * negatives + negative } else { 2 * (total[1] - positives) + positive };
                own[unit].see(number, is_positive);
            }
            negatives += negative;
        }
        let rest = lost.iter().zip(&mut own).map(|(lost, own)| {
            own.close();
            let pairs = (total[1] - own.before[1]) * (total[0] - own.before[0]);
            (all.doubled + own.doubled - lost) as f64 / 2.0 / pairs as f64
        });
        rest.collect()
    }
}

/// The pairs among the values of one unit, while these come by in order.
#[derive(Clone, Copy, Default)]
struct Own {
    run: usize,
    /// Negatives and positives of the run.
    here: [u64; 2],
    /// Those of runs before it.
    before: [u64; 2],
    doubled: u64,
}

impl Own {
    fn see(&mut self, run: usize, positive: bool) {
        if self.run != run {
            self.close();
            self.run = run;
        }
        self.here[usize::from(positive)] += 1;
    }

    fn close(&mut self) {
        let [negative, positive] = std::mem::take(&mut self.here);
        self.doubled += positive * (2 * self.before[0] + negative);
        self.before[0] += negative;
        self.before[1] += positive;
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use proptest::prelude::*;

    use super::*;

    fn drawn(values: &[(f64, bool, usize)]) -> Drawn {
        let of = |group: bool| {
            values.iter().filter(move |value| value.1 == group).map(|&(value, positive, unit)| (value, Carrier::new(unit, positive)))
        };
        Drawn::new(of(false).collect(), of(true).collect())
    }

    /// A trajectory of several events counts as many pairs, as often as its unit is drawn.
    #[test]
    fn events_are_drawn_with_their_trajectory() {
        let values = [(0.1, true, 1), (0.2, false, 2), (0.4, true, 0), (0.5, false, 2), (0.6, true, 0), (0.8, true, 0)];
        let ordered = drawn(&values);
        assert_eq!(ordered.drawn(&[1, 1, 1]), Auc { doubled: 10, pairs: 8, ties: 0 });
        assert_eq!(ordered.drawn(&[2, 0, 2]), Auc { doubled: 40, pairs: 24, ties: 0 });
        assert_eq!(ordered.drawn(&[0, 2, 2]), Auc { doubled: 0, pairs: 8, ties: 0 });
    }

    proptest! {
        /// The ordered pass counts what comparing every pair counts, and so does leaving out a unit.
        #[test]
        fn pairs_are_counted(
            values in proptest::collection::vec((0u8..12, any::<bool>(), 0usize..5), 0..40), times in proptest::collection::vec(0u32..4, 5)
        ) {
            let values: Vec<_> = values.iter().map(|&(value, positive, unit)| (f64::from(value) / 8.0, positive, unit)).collect();
            let ordered = drawn(&values);
            let mut pairs = Auc::default();
            for (one, _, of_one) in values.iter().filter(|value| value.1) {
                for (other, _, of_other) in values.iter().filter(|value| !value.1) {
                    let times = u64::from(times[*of_one]) * u64::from(times[*of_other]);
                    pairs.pairs += times;
                    pairs.doubled += times * match one.total_cmp(other) {
                        Ordering::Greater => 2,
                        Ordering::Equal => 1,
                        Ordering::Less => 0,
                    };
                    pairs.ties += if one == other { times } else { 0 };
                }
            }
            prop_assert_eq!(ordered.drawn(&times), pairs);
            prop_assert_eq!(ordered.ordered.pairs(|carrier| carrier.weight(&times)), pairs);
            for (unit, found) in ordered.without_each(5).into_iter().enumerate() {
                let mut times = [1; 5];
                times[unit] = 0;
                let expected = ordered.drawn(&times).value();
                prop_assert!(found == expected || found.is_nan() && expected.is_nan(), "without {}: {} is not {}", unit, found, expected);
            }
        }
    }
}
