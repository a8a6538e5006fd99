//! What is recomputed from a receipt: AUCs with intervals, gaps, the drift, deltas against native carriers, and which paths of the code the rows took.

use anyhow::{Context as _, ensure};

use super::deltas::Deltas;
use super::paths::Paths;
use super::receipt::{Group, Receipt, Trajectory};
use super::statistics::{frac_over_tau, peak, persistence};
use crate::stats::{Auc, Compared, Plan, Samples, median};

/// What the statistics are taken with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub tau: f64,
    /// The drift, where it is not to come from the receipt.
    pub drift: Option<f64>,
    pub plan: Plan,
}

/// A number between its ends, if it has any.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ranged {
    pub value: f64,
    pub interval: Option<(f64, f64)>,
}

/// A statistic's AUC.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub name: &'static str,
    pub auc: Auc,
    pub interval: Option<(f64, f64)>,
}

/// Everything that a receipt of attacks and honest trajectories gives.
#[derive(Clone, Debug)]
pub(super) struct Figures {
    pub drift: f64,
    /// Number of benign events that the drift is the median of; `None` when it was given.
    pub drift_events: Option<usize>,
    /// Attacks and those that they are compared with: group, trajectories, events.
    pub groups: [(Group, usize, usize); 2],
    pub fewest_units: usize,
    /// Foil, peak, persistence, frac_over_tau.
    pub lines: Vec<Line>,
    /// Name of the trajectory statistic with the highest AUC, and its gap to the foil.
    pub best: (&'static str, Ranged),
    pub persistence_minus_peak: Ranged,
    pub paths: Paths,
    pub deltas: Option<Deltas>,
}

/// Trajectories of one group, in the order of their ids.
pub(super) fn of_group(receipt: &Receipt, group: Group) -> Vec<&Trajectory> {
    receipt.values().filter(|trajectory| trajectory.group == group).collect()
}

/// Samples of the units of two groups.
pub(super) fn samples(positive: &[&Trajectory], negative: &[&Trajectory], plan: Plan) -> Samples {
    let units = |group: &[&'_ Trajectory]| group.iter().map(|trajectory| trajectory.unit.clone()).collect::<Vec<_>>();
    Samples::new([&units(positive), &units(negative)], plan).however_few()
}

impl Figures {
    pub(super) fn of(receipt: &Receipt, baseline: Option<&Receipt>, settings: Settings) -> anyhow::Result<Self> {
        let [attack, benign, sham] = [Group::Attack, Group::Benign, Group::Sham].map(|group| of_group(receipt, group));
        let benign_scores: Vec<f64> = benign.iter().flat_map(|trajectory| trajectory.scores.iter().copied()).collect();
        let (drift, drift_events) = match settings.drift {
            Some(drift) => (drift, None),
            None => (
                median(&benign_scores).context("no benign trajectory to take the drift from; give it with --drift")?,
                Some(benign_scores.len()),
            ),
        };
        let (against, rest) = if benign.is_empty() { (Group::Sham, &sham) } else { (Group::Benign, &benign) };
        ensure!(!attack.is_empty(), "no trajectory of group `attack`");
        ensure!(!rest.is_empty(), "no trajectory of group `benign` or `sham` to compare with");
        let samples = samples(&attack, rest, settings.plan);
        let compare = |each: &dyn Fn(&[f64]) -> Vec<f64>| {
            let of = |group: &[&Trajectory]| group.iter().map(|trajectory| each(&trajectory.scores)).collect::<Vec<_>>();
            samples.compare([&of(&attack), &of(rest)])
        };
        let foil = ("foil", compare(&|scores| scores.to_vec()));
        let peaks = ("peak", compare(&|scores| vec![peak(scores)]));
        let persistences = ("persistence", compare(&|scores| vec![persistence(scores, drift, 0.0)]));
        let over = ("frac_over_tau", compare(&|scores| vec![frac_over_tau(scores, settings.tau)]));
        let gap = |one: &Compared, other: &Compared| {
            let gap = one.spread.minus(&other.spread);
            Ranged { value: gap.value, interval: gap.interval() }
        };
        let persistence_minus_peak = gap(&persistences.1, &peaks.1);
        // The first of equals. It stays the same in every sample: the best of each sample would be ahead by choice alone.
        let best =
            [&persistences, &over].into_iter().fold(&peaks, |best, next| if next.1.auc.value() > best.1.auc.value() { next } else { best });
        let best = (best.0, gap(&best.1, &foil.1));
        let line = |(name, compared): &(&'static str, Compared)| Line { name, auc: compared.auc, interval: compared.interval() };
        let lines: Vec<Line> = [foil, peaks, persistences, over].iter().map(line).collect();
        let mut paths = Paths::default();
        paths.look_at(receipt, drift);
        paths.tied_pairs = lines.iter().map(|line| line.auc.ties).sum();
        paths.median_of(drift_events.unwrap_or(1));
        let deltas = match baseline {
            Some(baseline) => {
                paths.look_at(baseline, drift);
                Some(Deltas::of([&attack, &sham], baseline, drift, settings.plan, &mut paths)?)
            }
            None => None,
        };
        let events = |group: &[&Trajectory]| group.iter().map(|trajectory| trajectory.scores.len()).sum();
        let groups = [(Group::Attack, &attack), (against, rest)].map(|(group, found)| (group, found.len(), events(found)));
        Ok(Self { drift, drift_events, groups, fewest_units: samples.fewest_units, lines, best, persistence_minus_peak, paths, deltas })
    }

    /// Every figure under the name that `--expect` knows it by.
    pub(super) fn named(&self) -> Vec<(String, f64)> {
        let mut named = vec![("drift".to_owned(), self.drift)];
        let mut add = |name: String, value: f64, interval: Option<(f64, f64)>| {
            if let Some((low, high)) = interval {
                named.push((format!("{name}.low"), low));
                named.push((format!("{name}.high"), high));
            }
            named.push((name, value));
        };
        let mut auc = |name: String, found: Auc, interval| {
            add(format!("{name}.auc"), found.value(), interval);
            add(format!("{name}.numerator"), found.numerator(), None);
            add(format!("{name}.pairs"), found.pairs as f64, None);
            add(format!("{name}.ties"), found.ties as f64, None);
        };
        for line in &self.lines {
            auc(line.name.to_owned(), line.auc, line.interval);
        }
        for delta in self.deltas.iter().flat_map(|deltas| &deltas.lines) {
            auc(format!("{}_delta", delta.name), delta.auc, delta.interval);
        }
        add("best_minus_foil".to_owned(), self.best.1.value, self.best.1.interval);
        add("persistence_minus_peak".to_owned(), self.persistence_minus_peak.value, self.persistence_minus_peak.interval);
        for delta in self.deltas.iter().flat_map(|deltas| &deltas.lines) {
            for (group, median) in ["attack", "sham"].into_iter().zip(delta.medians) {
                add(format!("{group}_{}_delta_median", delta.name), median, None);
            }
        }
        named
    }
}
