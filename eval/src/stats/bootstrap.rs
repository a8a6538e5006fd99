//! AUCs and their gaps with intervals: independent units drawn again and again, BCa over them.

use std::collections::{BTreeMap, BTreeSet};

use statrs::distribution::{ContinuousCDF as _, Normal};

use super::auc::Auc;
use super::draw::Chance;

/// Chance that an interval does not hold the true value.
const ALPHA: f64 = 0.05;

/// How samples are drawn.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub draws: usize,
    pub seed: u64,
}

/// Samples of the units of two groups, positives and negatives. Units that are in both groups are drawn apart from those that are in one, so that pairs stay
/// together and the groups keep their sizes.
pub struct Samples {
    /// The unit of each trajectory, of positives and of negatives.
    units: [Vec<usize>; 2],
    /// How often each unit is in each sample.
    drawn: Vec<Vec<u32>>,
    /// Number of units.
    number: usize,
    /// Units of the group that has fewer.
    pub fewest_units: usize,
}

impl Samples {
    /// Draws, given the name of each trajectory's unit.
    pub fn new(names: [&[String]; 2], plan: Plan) -> Self {
        let all: BTreeSet<&String> = names.into_iter().flatten().collect();
        let numbers: BTreeMap<&String, usize> = all.into_iter().zip(0..).collect();
        let units = names.map(|names| names.iter().map(|name| numbers[name]).collect::<Vec<_>>());
        let mut strata: BTreeMap<[bool; 2], Vec<usize>> = BTreeMap::new();
        let members = units.each_ref().map(|units| units.iter().copied().collect::<BTreeSet<_>>());
        for unit in 0..numbers.len() {
            strata.entry(members.each_ref().map(|members| members.contains(&unit))).or_default().push(unit);
        }
        let mut chance = Chance::new(plan.seed);
        let mut draw = || {
            let mut times = vec![0; numbers.len()];
            for units in strata.values() {
                units.iter().for_each(|_| times[units[chance.below(units.len())]] += 1);
            }
            times
        };
        let drawn = (0..plan.draws).map(|_| draw()).collect();
        let fewest_units = members.iter().map(BTreeSet::len).min().unwrap_or_default();
        Self { units, drawn, number: numbers.len(), fewest_units }
    }

    /// Takes a statistic of every trajectory, one value or one for each event, and compares positives with negatives in everything, in each sample, and without each
    /// unit.
    pub fn compare(&self, values: [&[Vec<f64>]; 2]) -> Compared {
        let mut ordered = Vec::new();
        for (group, values) in values.into_iter().enumerate() {
            for (unit, values) in self.units[group].iter().zip(values) {
                ordered.extend(values.iter().map(|&value| (value, group == 0, *unit)));
            }
        }
        ordered.sort_by(|one, other| one.0.total_cmp(&other.0));
        let value = |times: &Vec<u32>| auc(&ordered, times).value();
        let everything = vec![1; self.number];
        let without = |unit| {
            let mut times = everything.clone();
            times[unit] = 0;
            value(&times)
        };
        // With one unit in a group there is nothing to draw, and nothing left without it.
        let enough = self.fewest_units > 1;
        let drawn = if enough { self.drawn.iter().map(value).collect() } else { Vec::new() };
        let without = if enough { (0..self.number).map(without).collect() } else { Vec::new() };
        let auc = auc(&ordered, &everything);
        Compared { auc, spread: Spread { value: auc.value(), drawn, without }, fewest_units: self.fewest_units }
    }
}

/// Counts the pairs of ordered values (value, whether positive, unit), each as often as its unit is there.
fn auc(ordered: &[(f64, bool, usize)], times: &[u32]) -> Auc {
    let mut auc = Auc::default();
    let (mut positives, mut negatives) = (0, 0);
    for equal in ordered.chunk_by(|one, other| one.0 == other.0) {
        let mut here = [0, 0];
        for (_, positive, unit) in equal {
            here[usize::from(*positive)] += u64::from(times[*unit]);
        }
        let [negative, positive] = here;
        // Each of these positives lies above all negatives before them.
        auc.doubled += positive * (2 * negatives + negative);
        auc.ties += positive * negative;
        positives += positive;
        negatives += negative;
    }
    auc.pairs = positives * negatives;
    auc
}

/// A statistic's AUC.
#[derive(Clone, Debug)]
pub struct Compared {
    pub auc: Auc,
    pub spread: Spread,
    fewest_units: usize,
}

impl Compared {
    /// Its interval. Where no sample differs, it is that of Wilson for all or none of the units of the smaller group.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.spread.interval().or_else(|| wilson(self.auc.value(), self.fewest_units as f64))
    }
}

/// A figure, and what it is in each sample and without each unit; both are empty where there is nothing to draw.
#[derive(Clone, Debug)]
pub struct Spread {
    pub value: f64,
    drawn: Vec<f64>,
    without: Vec<f64>,
}

impl Spread {
    /// How much higher this figure is than another, in the same samples.
    pub fn minus(&self, other: &Spread) -> Spread {
        let less = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(one, other)| one - other).collect();
        Spread { value: self.value - other.value, drawn: less(&self.drawn, &other.drawn), without: less(&self.without, &other.without) }
    }

    /// `None` where there is nothing to draw, or every sample gives the same.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let mut drawn = self.drawn.clone();
        drawn.sort_by(f64::total_cmp);
        bca(self.value, &drawn, &self.without)
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
    use std::cmp::Ordering;

    use proptest::prelude::*;

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

    fn each(values: &[f64]) -> Vec<Vec<f64>> {
        values.iter().map(|&value| vec![value]).collect()
    }

    /// Of two positives and two negatives, each drawn twice over: the sixteen samples are counted by hand. 3 beats both, 1 beats 0 only.
    #[test]
    fn samples_are_drawn_with_their_chances() {
        let samples = Samples::new([&names(&["a", "b"]), &names(&["c", "d"])], Plan { draws: 16_000, seed: 1 });
        let found = samples.compare([&each(&[3.0, 1.0]), &each(&[0.0, 2.0])]);
        assert_eq!(found.auc, Auc { doubled: 6, pairs: 4, ties: 0 });
        let share = |auc: f64| found.spread.drawn.iter().filter(|drawn| **drawn == auc).count() as f64 / 16_000.0;
        // Positives 3 3 (4 samples), or any with negatives 0 0 (3 more): 1. Both, both (4): 3/4. Both, 2 2 (2) and 1 1, both (2): 1/2. 1 1, 2 2: 0.
        for (auc, chance) in [(1.0, 7.0), (0.75, 4.0), (0.5, 4.0), (0.0, 1.0)] {
            assert!((share(auc) - chance / 16.0).abs() < 0.015, "{auc}: {}", share(auc));
        }
        // Without a, b, c and d.
        assert_eq!(found.spread.without, [0.5, 1.0, 0.5, 1.0]);
    }

    /// A trajectory of several events counts as many pairs, as often as its unit is drawn.
    #[test]
    fn events_are_drawn_with_their_trajectory() {
        let ordered = [(0.1, true, 1), (0.2, false, 2), (0.4, true, 0), (0.5, false, 2), (0.6, true, 0), (0.8, true, 0)];
        assert_eq!(auc(&ordered, &[1, 1, 1]), Auc { doubled: 10, pairs: 8, ties: 0 });
        assert_eq!(auc(&ordered, &[2, 0, 2]), Auc { doubled: 40, pairs: 24, ties: 0 });
        assert_eq!(auc(&ordered, &[0, 2, 2]), Auc { doubled: 0, pairs: 8, ties: 0 });
    }

    #[test]
    fn a_unit_of_both_groups_is_drawn_as_one_and_groups_keep_their_sizes() {
        let units = [names(&["a", "b", "c", "only"]), names(&["c", "a", "b", "a"])];
        let samples = Samples::new([&units[0], &units[1]], Plan { draws: 200, seed: 1 });
        assert_eq!((samples.fewest_units, &samples.units[1]), (3, &vec![2, 0, 1, 0]));
        for times in &samples.drawn {
            assert_eq!((times[..3].iter().sum::<u32>(), times[3]), (3, 1));
        }
        assert!(samples.drawn.iter().any(|times| times[..3] != [1, 1, 1]));
    }

    proptest! {
        /// The ordered pass counts what comparing every pair counts.
        #[test]
        fn pairs_are_counted(
            values in proptest::collection::vec((0u8..12, any::<bool>(), 0usize..5), 0..40), times in proptest::collection::vec(0u32..4, 5)
        ) {
            let mut ordered: Vec<_> = values.iter().map(|&(value, positive, unit)| (f64::from(value) / 8.0, positive, unit)).collect();
            ordered.sort_by(|one, other| one.0.total_cmp(&other.0));
            let mut pairs = Auc::default();
            for (one, _, of_one) in ordered.iter().filter(|value| value.1) {
                for (other, _, of_other) in ordered.iter().filter(|value| !value.1) {
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
            prop_assert_eq!(auc(&ordered, &times), pairs);
        }
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
