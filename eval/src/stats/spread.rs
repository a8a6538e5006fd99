//! A figure's bootstrap: what it is in each sample and without each unit, and the intervals that follow.

use statrs::distribution::ContinuousCDF as _;

use super::auc::Auc;
use super::estimate::{ALPHA, BCA, Ends, Estimate, PERCENTILE, WILSON, normal, wilson};

/// A figure, and what it is in each sample and without each unit; both are empty where there is nothing to draw.
#[derive(Clone, Debug)]
pub struct Spread {
    /// The figure of everything.
    pub value: f64,
    drawn: Vec<f64>,
    without: Vec<f64>,
    /// Of a share: independent trials that Wilson's interval is taken at where there is no bootstrap's.
    trials: Option<f64>,
}

/// What percentiles are corrected by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bca {
    /// The bias: the normal quantile of the share of samples below the figure, those that equal it at one half.
    pub z0: f64,
    /// The acceleration, from the figures without each unit.
    pub acceleration: f64,
    /// The shares of samples below the ends, instead of 2.5 % and 97.5 %.
    pub shares: (f64, f64),
}

impl Spread {
    /// From the figure, what it is in each sample, and what it is without each unit.
    pub fn new(value: f64, drawn: Vec<f64>, without: Vec<f64>) -> Self {
        Self { value, drawn, without, trials: None }
    }

    /// The same, of a share that is worth this many independent trials: it has an interval in any case, that of Wilson where the bootstrap gives none.
    #[must_use]
    pub(super) fn of_trials(self, trials: f64) -> Self {
        Self { trials: Some(trials), ..self }
    }

    /// What it is in each sample.
    pub fn drawn(&self) -> &[f64] {
        &self.drawn
    }

    /// What it is without each unit.
    pub fn without(&self) -> &[f64] {
        &self.without
    }

    /// How much higher this figure is than another of the same [`super::Samples`]: a paired comparison, since both are taken in the same samples.
    pub fn minus(&self, other: &Spread) -> Spread {
        let less = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(one, other)| one - other).collect();
        Spread::new(self.value - other.value, less(&self.drawn, &other.drawn), less(&self.without, &other.without))
    }

    /// The correction of percentiles (Efron 1987). Its bias is infinite where all samples lie on one side; `None` where there is nothing to draw, or the figure does
    /// not exist in some sample or without some unit.
    pub fn bca(&self) -> Option<Bca> {
        let all = || self.drawn.iter().chain(&self.without);
        if self.drawn.is_empty() || self.without.is_empty() || all().any(|value| !value.is_finite()) {
            return None;
        }
        let off = noise(self.value);
        let below = self.drawn.iter().filter(|&&value| value < self.value - off).count() as f64;
        let equal = self.drawn.iter().filter(|&&value| (value - self.value).abs() <= off).count() as f64;
        let z0 = normal().inverse_cdf((below + equal / 2.0) / self.drawn.len() as f64);
        let mean = self.without.iter().sum::<f64>() / self.without.len() as f64;
        let moment = |power| self.without.iter().map(|value| (mean - value).powi(power)).sum::<f64>();
        let spread = moment(2).powf(1.5);
        let acceleration = if spread > 0.0 { moment(3) / (6.0 * spread) } else { 0.0 };
        let corrected = |alpha: f64| {
            let z = z0 + normal().inverse_cdf(alpha);
            normal().cdf(z0 + z / (1.0 - acceleration * z))
        };
        Some(Bca { z0, acceleration, shares: (corrected(ALPHA / 2.0), corrected(1.0 - ALPHA / 2.0)) })
    }

    /// The plain percentiles of the samples. `None` where there is nothing to draw, every sample gives the same, or the figure does not exist in some sample.
    pub fn percentile_ends(&self) -> Option<Ends> {
        self.at((ALPHA / 2.0, 1.0 - ALPHA / 2.0), PERCENTILE)
    }

    /// The bias-corrected and accelerated percentiles. Where the samples lie on one side of the figure there is nothing to correct by, and they are the plain
    /// percentiles, by that name. `None` as for [`Self::percentile_ends`], or where the figure does not exist without some unit. A share has that of Wilson then,
    /// and where both ends are one.
    pub fn ends(&self) -> Option<Ends> {
        let Some(trials) = self.trials else { return self.bootstrapped() };
        let apart = self.bootstrapped().filter(|ends| ends.high - ends.low > noise(ends.high));
        apart.or_else(|| {
            let (low, high) = wilson(Some(self.value).filter(|value| value.is_finite())?, trials)?;
            Some(Ends { low, high, method: WILSON })
        })
    }

    fn bootstrapped(&self) -> Option<Ends> {
        let bca = self.bca()?;
        if bca.z0.is_finite() { self.at(bca.shares, BCA) } else { self.percentile_ends() }
    }

    /// As [`Self::ends`], without the name.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.ends().map(|ends| (ends.low, ends.high))
    }

    /// The figure with its interval.
    pub fn estimate(&self) -> Estimate {
        Estimate { value: self.value, ends: self.ends() }
    }

    /// The samples that these shares of B samples lie below: of (B + 1) times the share the whole part, counted from 1.
    fn at(&self, shares: (f64, f64), method: &'static str) -> Option<Ends> {
        let mut drawn = self.drawn.clone();
        drawn.sort_by(f64::total_cmp);
        let (first, last) = (drawn.first()?, drawn.last()?);
        if !(last - first).is_finite() || last - first <= noise(*last) {
            return None;
        }
        let number = drawn.len() as f64;
        let [low, high] = [shares.0, shares.1].map(|share| {
            let place = ((number + 1.0) * share).floor().clamp(1.0, number);
            drawn[place as usize - 1]
        });
        Some(Ends { low, high, method })
    }
}

/// What rounding does to a mean or a difference at most: figures that differ by no more are equal.
fn noise(value: f64) -> f64 {
    1e-12 * value.abs().max(1.0)
}

/// A statistic's AUC.
#[derive(Clone, Debug)]
pub struct Compared {
    /// Of everything.
    pub auc: Auc,
    /// Its bootstrap.
    pub spread: Spread,
    pub(super) fewest_units: usize,
}

impl Compared {
    /// Its interval: that of [`Spread::ends`]. Where no sample differs and one group lies wholly above the other, it is that of Wilson for all or none of the units of
    /// the smaller group.
    pub fn ends(&self) -> Option<Ends> {
        let apart = || {
            let value = Some(self.auc.value()).filter(|value| [0.0, 1.0].contains(value))?;
            wilson(value, self.fewest_units as f64).map(|(low, high)| Ends { low, high, method: WILSON })
        };
        self.spread.ends().or_else(apart)
    }

    /// As [`Self::ends`], without the name.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.ends().map(|ends| (ends.low, ends.high))
    }

    /// The AUC with its interval.
    pub fn estimate(&self) -> Estimate {
        Estimate { value: self.auc.value(), ends: self.ends() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thousand draws spread evenly over 0 to 1, so that an interval's ends are its corrected shares. Those were computed with Python's `statistics.NormalDist`
    /// from the formula in docs/eval/receipts.md.
    #[test]
    fn bca_is_its_formula() {
        let drawn: Vec<f64> = (0..1000).map(|at| (f64::from(at) + 0.5) / 1000.0).collect();
        let spread = |found, without: &[f64]| Spread::new(found, drawn.clone(), without.to_vec());
        for (found, without, low, high) in [
            (0.5, [1.0, 0.0, 1.0, 0.0], 0.025, 0.975),
            (0.6, [1.0, 0.0, 1.0, 0.0], 0.073_074, 0.993_181),
            (0.6, [0.0, 0.0, 0.0, 1.0], 0.036_840, 0.981_147),
        ] {
            let (found_low, found_high) = spread(found, &without).interval().unwrap();
            assert!(
                (found_low - low).abs() <= 0.0015 && (found_high - high).abs() <= 0.0015,
                "{found_low} to {found_high}, not {low} to {high}"
            );
        }
        // Nothing lies above: plain percentiles.
        let one_sided = spread(2.0, &[0.0, 1.0]);
        assert_eq!(one_sided.ends(), Some(Ends { low: 0.0245, high: 0.9745, method: PERCENTILE }));
        assert_eq!(one_sided.percentile_ends(), one_sided.ends());
        assert_eq!(spread(0.6, &[0.0, 1.0]).percentile_ends().map(|ends| (ends.low, ends.high)), Some((0.0245, 0.9745)));
    }

    #[test]
    fn what_does_not_vary_or_exist_has_no_interval() {
        assert_eq!(Spread::new(0.5, vec![0.5; 9], vec![0.5, 0.5]).interval(), None);
        assert_eq!(Spread::new(0.5, Vec::new(), Vec::new()).interval(), None);
        let (one, other) = (0.9 - 0.7, 0.7 - 0.5);
        assert!(one != other, "rounding parts them");
        assert_eq!(Spread::new(one, vec![one, other], vec![one, other]).interval(), None);
        let z0 = |drawn| Spread::new(one, vec![drawn, 0.1, 0.3], vec![0.1, 0.3]).bca().unwrap().z0;
        assert_eq!((z0(one), z0(other)), (0.0, 0.0));
        let undefined = Spread::new(0.5, vec![0.2, f64::NAN, 0.7], vec![0.5, 0.6]);
        assert_eq!((undefined.ends(), undefined.percentile_ends()), (None, None));
        let without = Spread::new(0.5, vec![0.2, 0.7], vec![0.5, f64::NAN]);
        assert!(without.ends().is_none() && without.percentile_ends().is_some());
    }

    #[test]
    fn groups_fully_apart_have_the_interval_of_wilson() {
        let compared = |doubled| Compared {
            auc: Auc { doubled, pairs: 50, ties: 0 },
            spread: Spread::new(doubled as f64 / 100.0, vec![doubled as f64 / 100.0; 5], vec![1.0, 1.0]),
            fewest_units: 15,
        };
        let ends = compared(100).ends().unwrap();
        assert!((ends.low - 15.0 / 18.84).abs() < 1e-3 && ends.high == 1.0 && ends.method == WILSON, "{ends:?}");
        assert_eq!(compared(50).ends(), None, "all tied: no share of units");
    }
}
