//! How well scores part attacks from what is benign: AUC, recall at stated false-positive rates, and the plots of both.

use crate::report::{Axis, Cell, Level, Mark, Plot, Series};
use crate::stats::{Compared, Estimate, Plan, Samples, roc};

/// False-positive rates that recall is stated at.
pub(super) const RATES: [f64; 3] = [0.001, 0.005, 0.01];
/// Decimals of such figures.
pub(super) const DECIMALS: usize = 3;
/// Points of a curve that are drawn: more are not seen.
const POINTS: usize = 400;

/// Scores with the names of their independent units.
#[derive(Clone, Debug, Default)]
pub(super) struct Scores {
    pub values: Vec<f64>,
    pub units: Vec<String>,
}

impl Scores {
    pub(super) fn push(&mut self, value: f64, unit: &str) {
        self.values.push(value);
        self.units.push(unit.to_owned());
    }

    /// Values as lists of one.
    fn each(&self) -> Vec<Vec<f64>> {
        self.values.iter().map(|&value| vec![value]).collect()
    }
}

/// Two groups of scores, attacks first.
pub(super) struct Ranked<'s> {
    pub attacks: &'s Scores,
    pub benign: &'s Scores,
    samples: Samples,
}

impl<'s> Ranked<'s> {
    /// `None` where a group is empty.
    pub(super) fn new(attacks: &'s Scores, benign: &'s Scores, plan: Plan) -> Option<Self> {
        let some = !attacks.values.is_empty() && !benign.values.is_empty();
        some.then(|| Ranked { samples: Samples::new([&attacks.units, &benign.units], plan), attacks, benign })
    }

    /// The AUC, ties at one half.
    pub(super) fn auc(&self) -> Estimate {
        self.compare(self.attacks, self.benign).estimate()
    }

    /// The AUC, that of other scores of the same records, and how much higher it is.
    pub(super) fn against(&self, attacks: &Scores, benign: &Scores) -> [Estimate; 3] {
        let (own, other) = (self.compare(self.attacks, self.benign), self.compare(attacks, benign));
        [own.estimate(), other.estimate(), own.spread.minus(&other.spread).estimate()]
    }

    fn compare(&self, attacks: &Scores, benign: &Scores) -> Compared {
        self.samples.compare([&attacks.each(), &benign.each()])
    }

    /// Recall at a false-positive rate.
    pub(super) fn recall_at(&self, rate: f64) -> Estimate {
        self.samples.recall_at([&self.attacks.values, &self.benign.values], rate).estimate()
    }

    /// The cells of AUC and of the recall at each of [`RATES`]; empty ones where a group is.
    pub(super) fn cells(ranked: Option<Self>) -> [Cell; 4] {
        let figures = |ranked: Self| {
            let [lowest, middle, highest] = RATES.map(|rate| ranked.recall_at(rate));
            [ranked.auc(), lowest, middle, highest].map(Some)
        };
        ranked.map_or([None; 4], figures).map(|figure| Cell::estimate(figure, DECIMALS))
    }

    /// The ROC curve.
    pub(super) fn curve(&self, name: impl Into<String>) -> Series {
        let points = roc(&self.attacks.values, &self.benign.values);
        Series { name: name.into(), mark: Mark::Line, points: thinned(points) }
    }
}

/// Names of the columns of [`Ranked::cells`].
pub(super) const CELLS: [&str; 4] = ["AUC", "recall at FPR .1 %", "recall at FPR .5 %", "recall at FPR 1 %"];

/// ROC curves in one plot. False-positive rates above a tenth are of no use to a gateway, so only those below are drawn.
pub(super) fn roc_plot(id: &str, title: &str, curves: Vec<Series>) -> Plot {
    let levels = vec![Level { name: "FPR 1 %".to_owned(), at: 0.01, upright: true }];
    Plot {
        id: id.to_owned(),
        title: title.to_owned(),
        x: Axis::new("false-positive rate", 0.0, 0.1),
        y: Axis::share("recall"),
        series: curves.into_iter().map(|curve| Series { points: until(curve.points, 0.1), ..curve }).collect(),
        levels,
    }
}

/// Histograms of scores from 0 to 1: the share of each group in each bar.
pub(super) fn histogram(id: &str, title: &str, groups: &[(&str, &Scores)], levels: Vec<Level>) -> Plot {
    let series = groups.iter().map(|(name, scores)| Series::bars(*name, &scores.values, 1.0));
    Plot {
        id: id.to_owned(),
        title: title.to_owned(),
        x: Axis::share("score"),
        y: Axis::share("share of the group"),
        series: series.collect(),
        levels,
    }
}

/// A curve up to an x; where it goes on beyond, the straight line ends there.
fn until(points: Vec<[f64; 2]>, end: f64) -> Vec<[f64; 2]> {
    let inside = points.iter().take_while(|[x, _]| *x <= end).count();
    let mut kept = points[..inside].to_vec();
    if let (Some(&[x, y]), Some(&[next, above])) = (kept.last(), points.get(inside)) {
        kept.push([end, y + (above - y) * (end - x) / (next - x)]);
    }
    kept
}

/// Every so many points, the first and the last among them.
fn thinned(points: Vec<[f64; 2]>) -> Vec<[f64; 2]> {
    let step = points.len().div_ceil(POINTS).max(1);
    let last = points.len().saturating_sub(1);
    points.into_iter().enumerate().filter(|(at, _)| at % step == 0 || *at == last).map(|(_, point)| point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(values: &[f64]) -> Scores {
        let mut scores = Scores::default();
        values.iter().enumerate().for_each(|(unit, value)| scores.push(*value, &unit.to_string()));
        scores
    }

    #[test]
    fn ends_of_curves() {
        assert_eq!(until(vec![[0.0, 0.0], [0.05, 0.5], [0.15, 1.0]], 0.1), [[0.0, 0.0], [0.05, 0.5], [0.1, 0.75]]);
        assert_eq!(until(vec![[0.0, 0.0], [0.1, 0.5]], 0.1), [[0.0, 0.0], [0.1, 0.5]]);
        let many: Vec<[f64; 2]> = (0..1000).map(|at| [f64::from(at), 0.0]).collect();
        let thin = thinned(many);
        assert!(thin.len() < 402 && thin.last() == Some(&[999.0, 0.0]), "{}", thin.len());
    }

    #[test]
    fn a_better_score_has_a_higher_area() {
        let (attacks, benign) = (scores(&[0.9, 0.8, 0.7, 0.2]), scores(&[0.5, 0.4, 0.3, 0.1]));
        let (worse, flat) = (scores(&[0.5; 4]), scores(&[0.5; 4]));
        let ranked = Ranked::new(&attacks, &benign, Plan { draws: 100, seed: 1 }).unwrap();
        // .9, .8 and .7 lie above all four, .2 above one: 13 of 16 pairs.
        assert_eq!((ranked.auc().value, ranked.against(&worse, &flat).map(|estimate| estimate.value)), (0.8125, [0.8125, 0.5, 0.3125]));
        assert_eq!(ranked.recall_at(0.25).value, 0.75);
        assert!(Ranked::new(&attacks, &Scores::default(), Plan { draws: 10, seed: 1 }).is_none());
    }
}
