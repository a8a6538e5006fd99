//! How often chance alone would part units as well as they are parted: a one-sided permutation test of the AUC over whole units.

use super::auc::{Auc, Ordered};
use super::bootstrap::Plan;
use super::draw::Chance;

/// Up to so many arrangements all of them are tried.
pub const MAX_EXACT: f64 = 20_000.0;

/// The number of ways to choose `k` of `n`.
pub fn choose(n: usize, k: usize) -> f64 {
    // Each step divides without a remainder, so this is exact below 2^53.
    (0..k.min(n.saturating_sub(k))).fold(if k > n { 0.0 } else { 1.0 }, |ways, at| ways * (n - at) as f64 / (at + 1) as f64)
}

/// The lowest p that a one-sided permutation test of `k` against `n - k` units can give: 1 / C(n, k). No effect, however large, is shown below it.
pub fn permutation_floor(n: usize, k: usize) -> f64 {
    1.0 / choose(n, k)
}

/// A permutation test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Permutation {
    /// The AUC as it is.
    pub auc: Auc,
    /// Share of the arrangements whose AUC is at least that.
    pub p: f64,
    /// The lowest p that there can be.
    pub floor: f64,
    /// Arrangements that were tried, the one that was found among them.
    pub arrangements: usize,
    /// Whether these are all; otherwise they were drawn.
    pub exact: bool,
}

/// Tests whether positives' values lie higher than negatives'. Each unit has its values (one for each trajectory, or event); which units are the positive ones is
/// exchanged, and a unit's values stay together. All arrangements are tried where there are at most [`MAX_EXACT`]; else `plan.draws` are drawn, and the one that was
/// found counts as one more, so that p is never 0 (Phipson and Smyth 2010). `None` where a group has no value.
pub fn permutation(units: [&[Vec<f64>]; 2], plan: Plan) -> Option<Permutation> {
    let (k, n) = (units[0].len(), units[0].len() + units[1].len());
    if units.iter().any(|group| group.iter().all(Vec::is_empty)) {
        return None;
    }
    let values = units.into_iter().flatten().enumerate().flat_map(|(unit, values)| values.iter().map(move |&value| (value, unit)));
    let ordered = Ordered::new(values);
    let auc = |positive: &[bool]| ordered.pairs(|&unit| (positive[unit], 1));
    let mut positive: Vec<bool> = (0..n).map(|unit| unit < k).collect();
    let found = auc(&positive);
    // Compared as fractions of whole numbers: rounding must not part what is equal. An arrangement with no pair is none that could have been found.
    let as_high = |other: Auc| {
        let [ours, theirs] = [(found, other), (other, found)].map(|(one, other)| u128::from(one.doubled) * u128::from(other.pairs));
        other.pairs > 0 && theirs >= ours
    };
    let exact = choose(n, k) <= MAX_EXACT;
    let (mut high, mut tried) = (0_usize, 0_usize);
    if exact {
        each_choice(n, k, |chosen| {
            positive.fill(false);
            chosen.iter().for_each(|&unit| positive[unit] = true);
            tried += 1;
            high += usize::from(as_high(auc(&positive)));
        });
    } else {
        let mut chance = Chance::new(plan.seed);
        (high, tried) = (1, 1 + plan.draws);
        for _ in 0..plan.draws {
            chance.shuffle(&mut positive);
            high += usize::from(as_high(auc(&positive)));
        }
    }
    Some(Permutation { auc: found, p: high as f64 / tried as f64, floor: permutation_floor(n, k), arrangements: tried, exact })
}

/// Gives `take` every choice of `k` of `n` numbers, in their order.
fn each_choice(n: usize, k: usize, mut take: impl FnMut(&[usize])) {
    let mut chosen: Vec<usize> = (0..k).collect();
    loop {
        take(&chosen);
        // The last number that can still go up does, and those behind it follow closely.
        let Some(at) = (0..k).rev().find(|&at| chosen[at] < n - k + at) else { return };
        chosen[at] += 1;
        for next in at + 1..k {
            chosen[next] = chosen[next - 1] + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn each(values: &[f64]) -> Vec<Vec<f64>> {
        values.iter().map(|&value| vec![value]).collect()
    }

    const PLAN: Plan = Plan { draws: 4000, seed: 3 };

    #[test]
    fn choices_are_counted_and_floors_are_their_inverse() {
        assert_eq!([choose(8, 4), choose(5, 0), choose(5, 5), choose(2, 3), choose(52, 5)], [70.0, 1.0, 1.0, 0.0, 2_598_960.0]);
        assert_eq!(permutation_floor(8, 4), 1.0 / 70.0);
        let mut seen = Vec::new();
        each_choice(4, 2, |chosen| seen.push([chosen[0], chosen[1]]));
        assert_eq!(seen, [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]);
    }

    /// Of 3 and 3 units fully apart only one of 20 arrangements is as good; with one pair the wrong way round there are two.
    #[test]
    fn few_units_are_tried_in_every_arrangement() {
        let found = permutation([&each(&[4.0, 5.0, 6.0]), &each(&[1.0, 2.0, 3.0])], PLAN).unwrap();
        assert_eq!((found.p, found.floor, found.arrangements, found.exact), (0.05, 0.05, 20, true));
        let found = permutation([&each(&[3.0, 5.0, 6.0]), &each(&[1.0, 2.0, 4.0])], PLAN).unwrap();
        assert_eq!((found.auc.numerator(), found.p), (8.0, 0.1));
        assert_eq!(permutation([&each(&[1.0; 3]), &each(&[1.0; 3])], PLAN).unwrap().p, 1.0, "all tied");
        assert_eq!(permutation([&[], &each(&[1.0])], PLAN), None);
    }

    /// scipy.stats.mannwhitneyu(method="exact", alternative="greater") says U = 159, p = .027765; 4,001 draws have a standard deviation of .0026.
    #[test]
    fn many_units_are_drawn() {
        let negatives: Vec<f64> = (0..15).map(|at| f64::from(at) * 2.0).collect();
        let positives: Vec<f64> = (0..15).map(|at| f64::from(at) * 2.0 + 6.5).collect();
        let found = permutation([&each(&positives), &each(&negatives)], PLAN).unwrap();
        assert_eq!((found.exact, found.arrangements), (false, 4001));
        assert_eq!(found.auc.numerator(), 159.0);
        assert!((found.p - 0.027_765).abs() < 5.0 * 0.0026, "{}", found.p);
    }
}
