//! Samples of independent units, drawn again and again: any figure of two groups in each of them, so that figures can be compared in the same samples.

use std::collections::{BTreeMap, BTreeSet};

use super::auc::{Carrier, Drawn, sums};
use super::draw::Chance;
use super::share::effective;
use super::spread::{Compared, Spread};
use super::threshold::allowed;

/// Units of the smaller group that are drawn from at least, if not said otherwise ([`Samples::however_few`]). Of four units a bootstrap has 35 different samples; its
/// intervals hold the true value much too seldom.
pub const FEWEST_UNITS: usize = 5;

/// How samples are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Number of samples.
    pub draws: usize,
    /// Seed of the draws.
    pub seed: u64,
}

/// One of two groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// What is to be found.
    Positives,
    /// What is not.
    Negatives,
}

/// Samples of the units of two groups, positives and negatives. Units that are in both groups are drawn apart from those that are in one, so that pairs stay
/// together and the groups keep their sizes in units.
///
/// Where the smaller group has fewer than [`FEWEST_UNITS`] nothing is drawn: shares and recalls then have Wilson's interval, an AUC of 0 or 1 too, and other
/// figures none.
///
/// The draws themselves are not kept: each figure makes them again from the seed, so that memory does not grow with draws times units.
pub struct Samples {
    /// The unit of each trajectory, of positives and of negatives.
    units: [Vec<usize>; 2],
    draws: Draws,
    /// Number of units.
    number: usize,
    /// Units of the group that has fewer; of a single group its own.
    pub fewest_units: usize,
    /// As many as that are drawn from.
    least: usize,
}

/// How often each unit is in each sample.
enum Draws {
    /// Units that are in the same groups, and how they are drawn.
    Seeded(Vec<Vec<usize>>, Plan),
    /// Drawn elsewhere.
    Given(Vec<Vec<u32>>),
}

impl Samples {
    /// Samples, given the name of each trajectory's unit, of positives and of negatives.
    pub fn new(names: [&[String]; 2], plan: Plan) -> Self {
        let all: BTreeSet<&String> = names.into_iter().flatten().collect();
        let numbers: BTreeMap<&String, usize> = all.into_iter().zip(0..).collect();
        let units = names.map(|names| names.iter().map(|name| numbers[name]).collect::<Vec<_>>());
        let mut strata: BTreeMap<[bool; 2], Vec<usize>> = BTreeMap::new();
        let members = units.each_ref().map(|units| units.iter().copied().collect::<BTreeSet<_>>());
        for unit in 0..numbers.len() {
            strata.entry(members.each_ref().map(|members| members.contains(&unit))).or_default().push(unit);
        }
        let fewest_units = members.iter().map(BTreeSet::len).filter(|&units| units > 0).min().unwrap_or_default();
        Self { units, draws: Draws::Seeded(strata.into_values().collect(), plan), number: numbers.len(), fewest_units, least: FEWEST_UNITS }
    }

    /// Samples of one group, which count as positives.
    pub fn of_one(names: &[String], plan: Plan) -> Self {
        Self::new([names, &[]], plan)
    }

    /// Draws from two units on. `eval verify` does, which recomputes receipts as they are published: a reader who was promised an interval is to find the same.
    #[must_use]
    pub fn however_few(self) -> Self {
        Self { least: 2, ..self }
    }

    /// The same units with draws from elsewhere: how often each unit is in each sample, in the order of the units' names.
    ///
    /// # Panics
    /// When a draw is not of as many units.
    #[must_use]
    pub fn with_draws(self, draws: Vec<Vec<u32>>) -> Self {
        assert!(draws.iter().all(|times| times.len() == self.number), "a draw says of each of {} units how often it is there", self.number);
        Self { draws: Draws::Given(draws), ..self }
    }

    /// The number of each trajectory's unit: where a figure finds how often it is there.
    pub fn units(&self, group: Group) -> &[usize] {
        &self.units[group as usize]
    }

    /// Takes any figure of everything, of each sample and of everything without each unit. It is given how often each unit is there ([`Self::units`]), and may say
    /// that it does not exist by not being a number.
    pub fn spread(&self, figure: impl Fn(&[u32]) -> f64) -> Spread {
        let mut times = vec![1; self.number];
        let value = figure(&times);
        let drawn = self.drawn(&figure);
        let mut without = Vec::new();
        for unit in 0..if self.enough() { self.number } else { 0 } {
            times[unit] = 0;
            without.push(figure(&times));
            times[unit] = 1;
        }
        Spread::new(value, drawn, without)
    }

    /// Takes a statistic of every trajectory, one value or one for each event, and compares positives with negatives in everything, in each sample, and without each
    /// unit.
    ///
    /// # Panics
    /// When there is not one list of values for each trajectory; so do the others below.
    pub fn compare(&self, values: [&[Vec<f64>]; 2]) -> Compared {
        let ordered = self.ordered(values.map(|values| values.iter().map(Vec::as_slice)));
        let auc = ordered.drawn(&vec![1; self.number]);
        let drawn = self.drawn(|times| ordered.drawn(times).value());
        let without = if self.enough() { ordered.without_each(self.number) } else { Vec::new() };
        Compared { auc, spread: Spread::new(auc.value(), drawn, without), fewest_units: self.fewest_units }
    }

    /// The recall of one value for each trajectory at a false-positive rate ([`super::recall_at`]). Each sample fixes its own threshold on its own negatives, so
    /// that the interval holds what the choice of the threshold adds; at a threshold from other data, [`Self::share`] is the figure. Where there is no bootstrap's
    /// interval, or of no width, it is Wilson's at the units of the smaller group.
    pub fn recall_at(&self, values: [&[f64]; 2], fpr: f64) -> Spread {
        let ordered = self.ordered(values.map(|values| values.iter().map(std::slice::from_ref)));
        let mut counts = vec![[0_u64; 2]; self.number];
        for (group, units) in self.units.iter().enumerate() {
            units.iter().for_each(|&unit| counts[unit][group] += 1);
        }
        self.spread(|times| {
            let total = |group: usize| counts.iter().zip(times).map(|(counts, &times)| counts[group] * u64::from(times)).sum::<u64>();
            let (positives, negatives) = (total(0), total(1));
            let allowed = allowed(fpr, negatives);
            let (mut hits, mut reached) = (0, 0);
            for run in ordered.runs().rev() {
                let [negative, positive] = sums(run, &|carrier: &Carrier| carrier.weight(times));
                reached += negative;
                if reached > allowed {
                    break;
                }
                hits += positive;
            }
            if negatives > 0 { hits as f64 / positives as f64 } else { f64::NAN }
        })
        .of_trials(self.fewest_units as f64)
    }

    /// The mean of one value for each trajectory of a group.
    pub fn mean(&self, group: Group, values: &[f64]) -> Spread {
        assert_eq!(self.units(group).len(), values.len(), "a value for each trajectory");
        let mut of_unit = vec![(0.0, 0_u32); self.number];
        for (&unit, value) in self.units(group).iter().zip(values) {
            of_unit[unit].0 += value;
            of_unit[unit].1 += 1;
        }
        self.spread(|times| {
            let parts = of_unit.iter().zip(times);
            let (sum, number) = parts.fold((0.0, 0.0), |(sum, number), (&(value, count), &times)| {
                (sum + value * f64::from(times), number + f64::from(count) * f64::from(times))
            });
            sum / number
        })
    }

    /// The share of a group's trajectories that count. Of two shares of the same records, [`Spread::minus`] is the paired comparison; an exact test of McNemar would
    /// take records of one unit for independent. Where there is no bootstrap's interval, or of no width, it is Wilson's at Kish's number ([`super::Share::effective`]).
    pub fn share(&self, group: Group, counts: &[bool]) -> Spread {
        let mut records = vec![0_u32; self.number];
        self.units(group).iter().for_each(|&unit| records[unit] += 1);
        let counts: Vec<f64> = counts.iter().map(|&counts| f64::from(u8::from(counts))).collect();
        self.mean(group, &counts).of_trials(effective(records))
    }

    /// The median of one value for each trajectory of a group; of an even number the mean of the middle two.
    pub fn median(&self, group: Group, values: &[f64]) -> Spread {
        assert_eq!(self.units(group).len(), values.len(), "a value for each trajectory");
        let mut ordered: Vec<(f64, usize)> = values.iter().copied().zip(self.units(group).iter().copied()).collect();
        ordered.sort_by(|one, other| one.0.total_cmp(&other.0));
        self.spread(|times| {
            let number: u64 = ordered.iter().map(|(_, unit)| u64::from(times[*unit])).sum();
            let at = |place: u64| {
                let mut passed = 0;
                let found = ordered.iter().find(|(_, unit)| {
                    passed += u64::from(times[*unit]);
                    passed > place
                });
                found.map_or(f64::NAN, |(value, _)| *value)
            };
            if number % 2 == 1 { at(number / 2) } else { f64::midpoint(at((number / 2).saturating_sub(1)), at(number / 2)) }
        })
    }

    /// With one unit in a group there is nothing to draw, and nothing left without it; with few a bootstrap claims too much.
    fn enough(&self) -> bool {
        self.fewest_units >= self.least
    }

    /// A figure of each sample.
    fn drawn(&self, figure: impl Fn(&[u32]) -> f64) -> Vec<f64> {
        let mut found = Vec::new();
        if self.enough() {
            self.each_draw(|times| found.push(figure(times)));
        }
        found
    }

    fn each_draw(&self, mut take: impl FnMut(&[u32])) {
        match &self.draws {
            Draws::Given(draws) => draws.iter().for_each(|times| take(times)),
            Draws::Seeded(strata, plan) => {
                let mut chance = Chance::new(plan.seed);
                let mut times = vec![0; self.number];
                for _ in 0..plan.draws {
                    times.fill(0);
                    for units in strata {
                        units.iter().for_each(|_| times[units[chance.below(units.len())]] += 1);
                    }
                    take(&times);
                }
            }
        }
    }

    fn ordered<'v, I: ExactSizeIterator<Item = &'v [f64]>>(&self, [positives, negatives]: [I; 2]) -> Drawn {
        let of = |group: Group, values: I| {
            assert_eq!(self.units(group).len(), values.len(), "values for each trajectory");
            let carrier = |unit| Carrier::new(unit, group == Group::Positives);
            let of_unit = |(&unit, values): (&usize, &'v [f64])| values.iter().map(move |&value| (value, carrier(unit)));
            self.units(group).iter().zip(values).flat_map(of_unit).collect::<Vec<_>>()
        };
        Drawn::new(of(Group::Negatives, negatives), of(Group::Positives, positives))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{Auc, median, recall_at};

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn each(values: &[f64]) -> Vec<Vec<f64>> {
        values.iter().map(|&value| vec![value]).collect()
    }

    /// Four units of the smaller group have no bootstrap; five do. Ends by hand from Wilson's formula with z^2 = 3.8415.
    #[test]
    fn few_units_have_no_bootstrap_but_shares_have_an_interval() {
        let plan = Plan { draws: 200, seed: 3 };
        let many: Vec<String> = (0..20).map(|number| format!("n{number}")).collect();
        let negative: Vec<f64> = (0..20).map(|number| f64::from(number) / 20.0).collect();
        let of = |positive: &[&str]| Samples::new([&names(positive), &many], plan);
        let method = |spread: &Spread| spread.ends().map(|ends| ends.method);
        let (four, five) = (["a", "b", "c", "d"], ["a", "b", "c", "d", "e"]);
        let values = [0.97, 0.1, 0.97, 0.1, 0.97];
        assert_eq!(method(&of(&five).recall_at([&values, &negative], 0.05)), Some(crate::stats::BCA));
        assert_eq!(method(&of(&four).compare([&each(&values[..4]), &each(&negative)]).spread), None);
        assert!(of(&four).however_few().compare([&each(&values[..4]), &each(&negative)]).spread.ends().is_some());
        let close = |spread: &Spread, low: f64, high: f64| {
            let ends = spread.ends().unwrap();
            assert!((ends.low - low).abs() < 1e-4 && (ends.high - high).abs() < 1e-4 && ends.method == crate::stats::WILSON, "{ends:?}");
        };
        // 2 of 4: half, (4 * .5 + 1.9207 -+ sqrt(3.8415 * (1 + .9604))) / 7.8415.
        close(&of(&four).recall_at([&values[..4], &negative], 0.05), 0.1500, 0.8500);
        // All of 5, in every sample: 5 / 8.8415.
        close(&of(&five).recall_at([&[2.0; 5], &negative], 0.05), 0.5655, 1.0);
        // Two units of 3 records and 1: 16 / 10 = 1.6 trials; none of 1.6 ends at 3.8415 / 5.4415.
        let one = Samples::of_one(&names(&["a", "a", "a", "b"]), plan);
        close(&one.share(Group::Positives, &[false; 4]), 0.0, 0.7060);
        let mean = one.mean(Group::Positives, &[0.0, 1.0, 0.5, 0.5]);
        assert_eq!((mean.ends(), mean.minus(&mean).ends()), (None, None), "no share");
    }

    /// Of two positives and two negatives, each drawn twice over: the sixteen samples are counted by hand. 3 beats both, 1 beats 0 only.
    #[test]
    fn samples_are_drawn_with_their_chances() {
        let samples = Samples::new([&names(&["a", "b"]), &names(&["c", "d"])], Plan { draws: 16_000, seed: 1 }).however_few();
        let found = samples.compare([&each(&[3.0, 1.0]), &each(&[0.0, 2.0])]);
        assert_eq!(found.auc, Auc { doubled: 6, pairs: 4, ties: 0 });
        let share = |auc: f64| found.spread.drawn().iter().filter(|drawn| **drawn == auc).count() as f64 / 16_000.0;
        // Positives 3 3 (4 samples), or any with negatives 0 0 (3 more): 1. Both, both (4): 3/4. Both, 2 2 (2) and 1 1, both (2): 1/2. 1 1, 2 2: 0.
        for (auc, chance) in [(1.0, 7.0), (0.75, 4.0), (0.5, 4.0), (0.0, 1.0)] {
            assert!((share(auc) - chance / 16.0).abs() < 0.015, "{auc}: {}", share(auc));
        }
        // Without a, b, c and d.
        assert_eq!(found.spread.without(), [0.5, 1.0, 0.5, 1.0]);
    }

    #[test]
    fn a_unit_of_both_groups_is_drawn_as_one_and_groups_keep_their_sizes() {
        let units = [names(&["a", "b", "c", "only"]), names(&["c", "a", "b", "a"])];
        let samples = Samples::new([&units[0], &units[1]], Plan { draws: 200, seed: 1 }).however_few();
        assert_eq!((samples.fewest_units, samples.units(Group::Negatives)), (3, [2, 0, 1, 0].as_slice()));
        let mut differ = 0;
        samples.each_draw(|times| {
            assert_eq!((times[..3].iter().sum::<u32>(), times[3]), (3, 1));
            differ += u32::from(times[..3] != [1, 1, 1]);
        });
        assert!(differ > 0);
    }

    /// Every figure of a sample is the plain figure of its trajectories written out as often as they are there.
    #[test]
    fn figures_of_samples_are_those_of_their_trajectories() {
        let mut chance = Chance::new(5);
        let mut some = |number: usize, units: usize, letter: &str| {
            let names: Vec<String> = (0..number).map(|_| format!("{letter}{}", chance.below(units))).collect();
            (names, (0..number).map(|_| chance.below(12) as f64 / 10.0).collect::<Vec<_>>())
        };
        let (positive, negative) = (some(30, 9, "p"), some(41, 12, "n"));
        let samples = Samples::new([&positive.0, &negative.0], Plan { draws: 40, seed: 2 });
        let values = [positive.1.as_slice(), negative.1.as_slice()];
        let high: Vec<bool> = positive.1.iter().map(|value| *value > 0.6).collect();
        let found = [
            samples.compare([&each(values[0]), &each(values[1])]).spread,
            samples.recall_at(values, 0.1),
            samples.median(Group::Negatives, values[1]),
            samples.mean(Group::Negatives, values[1]),
            samples.share(Group::Positives, &high),
        ];
        let mut at = 0;
        samples.each_draw(|times| {
            let written = |group: Group| {
                let units = samples.units(group).iter().zip(values[group as usize]);
                units.flat_map(|(&unit, &value)| std::iter::repeat_n(value, times[unit] as usize)).collect::<Vec<f64>>()
            };
            let (positives, negatives) = (written(Group::Positives), written(Group::Negatives));
            let over = positives.iter().filter(|value| **value > 0.6).count();
            let expected = [
                Auc::of(&positives, &negatives).value(),
                recall_at(&positives, &negatives, 0.1).unwrap().recall(),
                median(&negatives).unwrap(),
                negatives.iter().sum::<f64>() / negatives.len() as f64,
                over as f64 / positives.len() as f64,
            ];
            for (spread, expected) in found.iter().zip(expected) {
                assert!((spread.drawn()[at] - expected).abs() < 1e-12, "sample {at}: {} is not {expected}", spread.drawn()[at]);
            }
            at += 1;
        });
        assert_eq!(at, 40);
        let units = samples.number;
        assert!(found.iter().all(|spread| spread.without().len() == units && spread.interval().is_some()));
    }

    #[test]
    fn one_group_is_drawn_alone_and_one_unit_is_not_drawn() {
        let samples = Samples::of_one(&names(&["a", "b", "c", "c"]), Plan { draws: 100, seed: 4 }).however_few();
        let mean = samples.mean(Group::Positives, &[0.0, 1.0, 0.5, 0.5]);
        assert_eq!((mean.value, mean.drawn().len(), mean.without()), (0.5, 100, [2.0 / 3.0, 1.0 / 3.0, 0.5].as_slice()));
        let one = Samples::of_one(&names(&["a", "a"]), Plan { draws: 100, seed: 4 }).however_few().mean(Group::Positives, &[0.0, 1.0]);
        assert_eq!((one.value, one.drawn().len(), one.interval()), (0.5, 0, None));
    }
}
