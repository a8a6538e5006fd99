//! The share of attacks among what is flagged, where attacks are so common.

use super::estimate::{BY_ENDS, Ends, Estimate};

/// Shares of attacks that precision is stated at.
pub const PREVALENCES: [f64; 3] = [0.001, 0.01, 0.1];

/// Precision (positive predictive value) at a prevalence p, of recall R and false-positive rate F: R p / (R p + F (1 - p)). `None` where nothing is flagged.
///
/// Its interval runs from the value at the lower end of the recall and the upper end of the rate to that at the other two. As the two rates come from different
/// records this is conservative: both would have to be at their ends at once. Both ends are missing where one of the rates has no interval.
pub fn precision(recall: Estimate, false_positives: Estimate, prevalence: f64) -> Option<Estimate> {
    let at = |recall: f64, rate: f64| {
        let (right, wrong) = (recall * prevalence, rate * (1.0 - prevalence));
        (right + wrong > 0.0).then(|| right / (right + wrong))
    };
    let value = at(recall.value, false_positives.value)?;
    let ends = recall.ends.zip(false_positives.ends).map(|(recall, rate)| {
        // Where the better ends flag nothing, that end is the border.
        let low = at(recall.low, rate.high).unwrap_or(0.0);
        let high = at(recall.high, rate.low).unwrap_or(1.0);
        Ends { low, high, method: BY_ENDS }
    });
    Some(Estimate { value, ends })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_of_what_is_flagged_is_harmless_where_attacks_are_rare() {
        let known = |value| Estimate { value, ends: None };
        // design/statistics.md: FPR 1.2 %, R 90.8 %, prevalence 10^-3: 7 %; .000908 / (.000908 + .011988).
        let found = precision(known(0.908), known(0.012), 0.001).unwrap();
        assert!((found.value - 0.070_41).abs() < 5e-6 && found.ends.is_none(), "{found:?}");
        assert_eq!(precision(known(0.0), known(0.0), 0.01), None);
        assert_eq!(precision(known(0.5), known(0.0), 0.01).map(|found| found.value), Some(1.0));
    }

    #[test]
    fn the_interval_is_of_the_worst_and_the_best_ends() {
        let of = |value, low, high| Estimate { value, ends: Some(Ends { low, high, method: "wilson" }) };
        let found = precision(of(0.5, 0.25, 0.75), of(0.1, 0.0, 0.25), 0.5).unwrap();
        let ends = found.ends.unwrap();
        // .5 / (.5 + .1), .25 / (.25 + .25), .75 / (.75 + 0).
        assert!((found.value - 5.0 / 6.0).abs() < 1e-15, "{found:?}");
        assert_eq!((ends.low, ends.high, ends.method), (0.5, 1.0, "by_ends"));
    }
}
