//! A figure with its 95 % interval, and how the interval was taken.

use statrs::distribution::{ContinuousCDF as _, Normal};

/// Chance that an interval does not hold the true value.
pub(super) const ALPHA: f64 = 0.05;

/// Wilson's interval at the effective number of records.
pub const WILSON: &str = "wilson";
/// The bias-corrected and accelerated bootstrap (Efron 1987).
pub const BCA: &str = "bootstrap_bca";
/// The plain percentiles of the bootstrap's draws.
pub const PERCENTILE: &str = "bootstrap_percentile";
/// Ends that come from the ends of two other intervals.
pub const BY_ENDS: &str = "by_ends";

/// A 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ends {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// How it was taken: one of this module's names.
    pub method: &'static str,
}

/// A figure, and its interval if it has one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Itself.
    pub value: f64,
    /// Its interval.
    pub ends: Option<Ends>,
}

/// The distribution whose quantiles intervals are made of.
pub(super) fn normal() -> Normal {
    Normal::standard()
}

/// The interval of Wilson (1927) for `share` of `number` trials, which need not be whole; `None` of no trials.
///
/// For none of n its upper end is 3.84 / (n + 3.84).
pub fn wilson(share: f64, number: f64) -> Option<(f64, f64)> {
    if number.is_nan() || number <= 0.0 {
        return None;
    }
    let z2 = normal().inverse_cdf(1.0 - ALPHA / 2.0).powi(2);
    let centre = share * number + z2 / 2.0;
    let half = (z2 * (share * (1.0 - share) * number + z2 / 4.0)).sqrt();
    let [low, high] = [centre - half, centre + half].map(|end| end / (number + z2));
    // At the borders the interval ends at the border, whatever rounding says.
    Some((if share <= 0.0 { 0.0 } else { low }, if share >= 1.0 { 1.0 } else { high }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_or_all_have_a_closed_form() {
        // design/statistics.md: 0 of n has an upper end of 3.84 / (n + 3.84), 20 % for 15, .63 % for 605.
        let (low, high) = wilson(0.0, 15.0).unwrap();
        assert!(low == 0.0 && (high - 3.84 / 18.84).abs() < 1e-3, "{high}");
        assert!((wilson(0.0, 605.0).unwrap().1 - 0.0063).abs() < 5e-5);
        let (low, end) = wilson(1.0, 15.0).unwrap();
        assert!((1.0 - low - high).abs() < 1e-12 && end == 1.0, "{low}");
        assert_eq!([wilson(0.5, 0.0), wilson(f64::NAN, f64::NAN)], [None, None]);
    }
}
