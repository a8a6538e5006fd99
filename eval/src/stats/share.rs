//! Shares with their intervals, for records that are not independent of each other.

use std::collections::BTreeMap;

use statrs::distribution::{Beta, ContinuousCDF as _};

use super::estimate::{ALPHA, Ends, Estimate, WILSON, wilson};

/// A share of records, counted with the independent units that the records come from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Share {
    /// Records of each unit: all, and those that count.
    units: BTreeMap<String, (u32, u32)>,
}

impl Share {
    /// Counts one record of a unit.
    pub fn count(&mut self, unit: &str, yes: bool) {
        let (all, hit) = self.units.entry(unit.to_owned()).or_default();
        *all += 1;
        *hit += u32::from(yes);
    }

    /// Adds what was counted elsewhere.
    pub fn add(&mut self, other: &Share) {
        for (unit, (all, hit)) in &other.units {
            let here = self.units.entry(unit.clone()).or_default();
            *here = (here.0 + all, here.1 + hit);
        }
    }

    /// Number of records.
    pub fn records(&self) -> u32 {
        self.units.values().map(|(all, _)| all).sum()
    }

    /// Number of records that count.
    pub fn hits(&self) -> u32 {
        self.units.values().map(|(_, hit)| hit).sum()
    }

    /// Number of units.
    pub fn units(&self) -> usize {
        self.units.len()
    }

    /// Number of units with a record that counts.
    pub fn hit_units(&self) -> usize {
        self.units.values().filter(|(_, hit)| *hit > 0).count()
    }

    /// How many independent records these are worth at worst, when the records of a unit are all alike (Kish): (sum m)^2 / sum m^2.
    pub fn effective(&self) -> f64 {
        effective(self.units.values().map(|&(all, _)| all))
    }

    /// The share of records that count; `None` of no records.
    pub fn value(&self) -> Option<f64> {
        (self.records() > 0).then(|| f64::from(self.hits()) / f64::from(self.records()))
    }

    /// The 95 % interval of the share: exact (Clopper and Pearson) at the effective number of records.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.value().map(|share| exact_interval(share, self.effective()))
    }

    /// The 95 % interval of the share by Wilson, at the effective number of records; `None` of no records.
    pub fn wilson(&self) -> Option<(f64, f64)> {
        wilson(self.value()?, self.effective())
    }

    /// The share with its interval by Wilson; `None` of no records.
    pub fn estimate(&self) -> Option<Estimate> {
        let ends = self.wilson().map(|(low, high)| Ends { low, high, method: WILSON });
        self.value().map(|value| Estimate { value, ends })
    }
}

/// Kish's effective number, of the records of each unit.
pub(super) fn effective(records: impl IntoIterator<Item = u32>) -> f64 {
    let (mut sum, mut squares) = (0.0, 0.0);
    for number in records {
        sum += f64::from(number);
        squares += f64::from(number).powi(2);
    }
    if squares > 0.0 { sum * sum / squares } else { 0.0 }
}

/// The interval of Clopper and Pearson for `share` of `number` trials. The numbers need not be whole (Korn and Graubard).
pub fn exact_interval(share: f64, number: f64) -> (f64, f64) {
    let yes = share * number;
    let no = number - yes;
    // The quantile functions know no shape of 0: at the borders the interval ends at the border.
    let quantile = |a: f64, b: f64, at: f64| Beta::new(a, b).map_or(f64::NAN, |beta| beta.inverse_cdf(at));
    let low = if yes > 0.0 { quantile(yes, no + 1.0, ALPHA / 2.0) } else { 0.0 };
    let high = if no > 0.0 { quantile(yes + 1.0, no, 1.0 - ALPHA / 2.0) } else { 1.0 };
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 5e-5, "{found} is not {expected}");
    }

    /// The binomial tail that defines the interval, added up term by term.
    fn tail(number: u32, from: u32, share: f64) -> f64 {
        let mut choose = 1.0;
        let mut sum = 0.0;
        for k in 0..=number {
            if k > 0 {
                choose *= f64::from(number - k + 1) / f64::from(k);
            }
            if k >= from {
                sum += choose * share.powi(i32::try_from(k).unwrap()) * (1.0 - share).powi(i32::try_from(number - k).unwrap());
            }
        }
        sum
    }

    #[test]
    fn the_interval_is_where_the_binomial_tails_are_a_fortieth() {
        for (hits, number) in [(1, 10), (5, 10), (9, 10), (3, 60), (30, 200)] {
            let (low, high) = exact_interval(f64::from(hits) / f64::from(number), f64::from(number));
            close(tail(number, hits, low), 0.025);
            close(1.0 - tail(number, hits + 1, high), 0.025);
        }
    }

    #[test]
    fn none_and_all_have_closed_forms() {
        let (low, high) = exact_interval(0.0, 60.0);
        assert_eq!(low, 0.0);
        close(high, 1.0 - 0.025_f64.powf(1.0 / 60.0));
        let (low, high) = exact_interval(1.0, 60.0);
        close(low, 0.025_f64.powf(1.0 / 60.0));
        assert_eq!(high, 1.0);
    }

    #[test]
    fn repeats_of_one_unit_do_not_narrow_the_interval() {
        let mut share = Share::default();
        for run in 0..90 {
            share.count("task", run < 45);
        }
        assert_eq!((share.records(), share.hits(), share.units(), share.hit_units()), (90, 45, 1, 1));
        close(share.effective(), 1.0);
        let (low, high) = share.interval().unwrap();
        assert!(low < 0.03 && high > 0.97, "{low} {high}");
        // Kish: (90 + 10 * 1)^2 / (90^2 + 10 * 1^2).
        for other in 0..10 {
            share.count(&format!("other {other}"), false);
        }
        close(share.effective(), 10_000.0 / 8_110.0);
        assert_eq!(Share::default().interval(), None);
    }
}
