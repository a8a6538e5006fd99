//! AUCs and their gaps with intervals: independent units drawn again and again, BCa over them.

use std::collections::BTreeMap;

use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng as _;
use statrs::distribution::{ContinuousCDF as _, Normal};

use super::statistics::Auc;

/// Chance that an interval does not hold the true value.
const ALPHA: f64 = 0.05;
/// PCG's own default stream.
const STREAM: u128 = 0xa02_bdbf_7bb3_c0a7_ac28_fa16_a64a_bf96;

/// Numbers of trajectories of a drawn sample: how often each positive and each negative is in it.
type Times = [Vec<u64>; 2];

/// One statistic of two groups, compared pair by pair of trajectories. A trajectory has one value, or one for each event.
pub(super) struct Pairs {
    /// What trajectory pairs give, all negatives of the first positive first.
    cells: Vec<Auc>,
    /// Number of values of each trajectory.
    sizes: Times,
}

impl Pairs {
    pub(super) fn new(positive: &[Vec<f64>], negative: &[Vec<f64>]) -> Self {
        let cells = positive.iter().flat_map(|one| negative.iter().map(|other| Auc::of(one, other))).collect();
        let sizes = [positive, negative].map(|group| group.iter().map(|values| values.len() as u64).collect());
        Self { cells, sizes }
    }

    /// The AUC of everything.
    pub(super) fn auc(&self) -> Auc {
        let sum = |part: fn(&Auc) -> u64| self.cells.iter().map(part).sum();
        Auc { doubled: sum(|auc| auc.doubled), pairs: sum(|auc| auc.pairs), ties: sum(|auc| auc.ties) }
    }

    /// The AUC of a sample; no number if it has nothing to compare.
    fn of(&self, times: &Times) -> f64 {
        let [positive, negative] = times;
        let mut doubled = 0;
        for (row, &times) in self.cells.chunks(negative.len()).zip(positive).filter(|(_, times)| **times > 0) {
            doubled += times * row.iter().zip(negative).map(|(auc, times)| auc.doubled * times).sum::<u64>();
        }
        let values = |group: usize| self.sizes[group].iter().zip(&times[group]).map(|(size, times)| size * times).sum::<u64>();
        doubled as f64 / 2.0 / (values(0) * values(1)) as f64
    }
}

/// How samples are drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub draws: usize,
    pub seed: u64,
}

/// Samples of the units of two groups. Units that are in both groups are drawn apart from those that are in one, so that pairs stay together and the groups
/// keep their sizes.
pub(super) struct Samples {
    drawn: Vec<Times>,
    /// The sample without each unit.
    without: Vec<Times>,
    /// Units of the group that has fewer.
    pub fewest_units: usize,
}

impl Samples {
    /// Draws from the units of the positives and of the negatives.
    pub(super) fn new(units: [&[String]; 2], plan: Plan) -> Self {
        let mut members: BTreeMap<&str, [Vec<usize>; 2]> = BTreeMap::new();
        for (group, names) in units.into_iter().enumerate() {
            for (trajectory, name) in names.iter().enumerate() {
                members.entry(name).or_default()[group].push(trajectory);
            }
        }
        let mut strata: BTreeMap<[bool; 2], Vec<&[Vec<usize>; 2]>> = BTreeMap::new();
        for unit in members.values() {
            strata.entry([0, 1].map(|group| unit[group].is_empty())).or_default().push(unit);
        }
        let none = || units.map(|names| vec![0; names.len()]);
        let add = |times: &mut Times, unit: &[Vec<usize>; 2]| {
            for (times, trajectories) in times.iter_mut().zip(unit) {
                trajectories.iter().for_each(|&trajectory| times[trajectory] += 1);
            }
        };
        let mut generator = Pcg64::new(u128::from(plan.seed), STREAM);
        let mut below = |end: usize| ((u128::from(generator.next_u64()) * end as u128) >> 64) as usize;
        let mut draw = || {
            let mut times = none();
            for units in strata.values() {
                for _ in 0..units.len() {
                    add(&mut times, units[below(units.len())]);
                }
            }
            times
        };
        let drawn = (0..plan.draws).map(|_| draw()).collect();
        let without = |left_out: &&str| {
            let mut times = none();
            members.iter().filter(|(name, _)| *name != left_out).for_each(|(_, unit)| add(&mut times, unit));
            times
        };
        let without = members.keys().map(without).collect();
        let fewest = [0, 1].map(|group| members.values().filter(|unit| !unit[group].is_empty()).count());
        Self { drawn, without, fewest_units: fewest[0].min(fewest[1]) }
    }

    /// The interval of an AUC. Where no draw differs, it is that of Wilson for all or none of the units of the smaller group.
    pub(super) fn auc(&self, pairs: &Pairs) -> Option<(f64, f64)> {
        let found = pairs.auc().value();
        self.interval(found, |times| pairs.of(times)).or_else(|| wilson(found, self.fewest_units as f64))
    }

    /// The interval of how much higher one AUC is than the other.
    pub(super) fn gap(&self, one: &Pairs, other: &Pairs) -> Option<(f64, f64)> {
        self.interval(one.auc().value() - other.auc().value(), |times| one.of(times) - other.of(times))
    }

    /// `None` where a group has one unit only, or every draw gives the same.
    fn interval(&self, found: f64, statistic: impl Fn(&Times) -> f64) -> Option<(f64, f64)> {
        if self.fewest_units < 2 {
            return None;
        }
        let mut drawn: Vec<f64> = self.drawn.iter().map(&statistic).collect();
        let left_out: Vec<f64> = self.without.iter().map(&statistic).collect();
        drawn.sort_by(f64::total_cmp);
        bca(found, &drawn, &left_out)
    }
}

/// The interval of Wilson for all or none of `units`.
fn wilson(share: f64, units: f64) -> Option<(f64, f64)> {
    let z2 = normal().inverse_cdf(1.0 - ALPHA / 2.0).powi(2);
    match share {
        0.0 => Some((0.0, z2 / (units + z2))),
        1.0 => Some((units / (units + z2), 1.0)),
        _ => None,
    }
}

/// The bias-corrected and accelerated interval (Efron 1987) from sorted draws and the values without each unit. Where the draws lie on one side of what was
/// found there is nothing to correct by, and it is the plain percentiles.
fn bca(found: f64, drawn: &[f64], without: &[f64]) -> Option<(f64, f64)> {
    let (first, last) = (drawn.first()?, drawn.last()?);
    if first == last {
        return None;
    }
    let number = drawn.len() as f64;
    let below = drawn.iter().filter(|&&value| value < found).count() as f64;
    let equal = drawn.iter().filter(|&&value| value == found).count() as f64;
    let z0 = normal().inverse_cdf((below + equal / 2.0) / number);
    let mean = without.iter().sum::<f64>() / without.len() as f64;
    let moment = |power| without.iter().map(|value| (mean - value).powi(power)).sum::<f64>();
    let spread = moment(2).powf(1.5);
    let acceleration = if spread > 0.0 { moment(3) / (6.0 * spread) } else { 0.0 };
    let at = |alpha: f64| {
        let z = z0 + normal().inverse_cdf(alpha);
        let corrected = normal().cdf(z0 + z / (1.0 - acceleration * z));
        let alpha = if z0.is_finite() { corrected } else { alpha };
        let place = ((number + 1.0) * alpha).floor().clamp(1.0, number);
        drawn[place as usize - 1]
    };
    Some((at(ALPHA / 2.0), at(1.0 - ALPHA / 2.0)))
}

fn normal() -> Normal {
    Normal::standard()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thousand draws spread evenly over 0 to 1, so that an interval's ends are its corrected shares. Those were computed with Python's `statistics.NormalDist`
    /// from the formula in docs/eval/receipts.md.
    #[test]
    fn bca_is_its_formula() {
        let drawn: Vec<f64> = (0..1000).map(|at| (f64::from(at) + 0.5) / 1000.0).collect();
        for (found, without, low, high) in [
            (0.5, [1.0, 0.0, 1.0, 0.0], 0.025, 0.975),
            (0.6, [1.0, 0.0, 1.0, 0.0], 0.073_074, 0.993_181),
            (0.6, [0.0, 0.0, 0.0, 1.0], 0.036_840, 0.981_147),
        ] {
            let (found_low, found_high) = bca(found, &drawn, &without).unwrap();
            assert!(
                (found_low - low).abs() <= 0.0015 && (found_high - high).abs() <= 0.0015,
                "{found_low} to {found_high}, not {low} to {high}"
            );
        }
        // Nothing lies above: plain percentiles.
        assert_eq!(bca(2.0, &drawn, &[0.0, 1.0]), Some((0.0245, 0.9745)));
        assert_eq!(bca(0.5, &[0.5; 9], &[0.5, 0.5]), None);
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    /// Of two positives and two negatives, each drawn twice over: the sixteen samples are counted by hand. 3 beats both, 1 beats 0 only.
    #[test]
    fn samples_are_drawn_with_their_chances() {
        let pairs = Pairs::new(&[vec![3.0], vec![1.0]], &[vec![0.0], vec![2.0]]);
        assert_eq!(pairs.auc(), Auc { doubled: 6, pairs: 4, ties: 0 });
        let samples = Samples::new([&names(&["a", "b"]), &names(&["c", "d"])], Plan { draws: 16_000, seed: 1 });
        let share = |auc: f64| samples.drawn.iter().filter(|times| pairs.of(times) == auc).count() as f64 / 16_000.0;
        // Positives 3 3 (4 samples), or any with negatives 0 0 (3 more): 1. Both, both (4): 3/4. Both, 2 2 (2) and 1 1, both (2): 1/2. 1 1, 2 2: 0.
        for (auc, chance) in [(1.0, 7.0), (0.75, 4.0), (0.5, 4.0), (0.0, 1.0)] {
            assert!((share(auc) - chance / 16.0).abs() < 0.015, "{auc}: {}", share(auc));
        }
        // Without a, b, c and d.
        let without: Vec<f64> = samples.without.iter().map(|times| pairs.of(times)).collect();
        assert_eq!(without, [0.5, 1.0, 0.5, 1.0]);
    }

    /// A trajectory of several events counts as many pairs, as often as it is drawn.
    #[test]
    fn events_are_drawn_with_their_trajectory() {
        let pairs = Pairs::new(&[vec![0.4, 0.6, 0.8], vec![0.1]], &[vec![0.5, 0.2]]);
        assert_eq!(pairs.auc(), Auc { doubled: 10, pairs: 8, ties: 0 });
        // The first one twice, then the second one twice.
        assert_eq!(pairs.of(&[vec![2, 0], vec![2]]), 5.0 / 6.0);
        assert_eq!(pairs.of(&[vec![0, 2], vec![2]]), 0.0);
    }

    #[test]
    fn a_unit_of_both_groups_is_drawn_as_one_and_groups_keep_their_sizes() {
        let units = [names(&["a", "b", "c", "only"]), names(&["a", "b", "c"])];
        let samples = Samples::new([&units[0], &units[1]], Plan { draws: 200, seed: 1 });
        assert_eq!(samples.fewest_units, 3);
        for [positive, negative] in &samples.drawn {
            assert_eq!(positive[..3], negative[..]);
            assert_eq!((positive[3], negative.iter().sum::<u64>()), (1, 3));
        }
        assert!(samples.drawn.iter().any(|[_, negative]| *negative != [1, 1, 1]));
    }

    #[test]
    fn all_or_none_has_the_interval_of_wilson() {
        // statistics: 0 of n has an upper end of 3.84 / (n + 3.84), 20 % for 15.
        let (low, high) = wilson(0.0, 15.0).unwrap();
        assert!(low == 0.0 && (high - 3.84 / 18.84).abs() < 1e-3, "{high}");
        let (low, end) = wilson(1.0, 15.0).unwrap();
        assert!((1.0 - low - high).abs() < 1e-12 && end == 1.0, "{low}");
        assert_eq!(wilson(0.5, 15.0), None);
    }
}
