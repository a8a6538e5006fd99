//! How much grafts change their own carriers: each graft's statistic less that of the native trajectory that it was made from.

use anyhow::{Context as _, ensure};

use super::figures::samples;
use super::paths::Paths;
use super::receipt::{Receipt, Trajectory};
use super::statistics::{peak, persistence};
use crate::stats::{Auc, Plan, median, settled};

/// The deltas of attack grafts against those of sham grafts.
#[derive(Clone, Debug)]
pub(super) struct Deltas {
    /// Persistence, peak.
    pub lines: [Delta; 2],
    /// Number of attack grafts and of sham grafts.
    pub grafts: [usize; 2],
}

/// One statistic's deltas.
#[derive(Clone, Debug)]
pub(super) struct Delta {
    pub name: &'static str,
    /// Of attack grafts, of sham grafts.
    pub medians: [f64; 2],
    pub auc: Auc,
    pub interval: Option<(f64, f64)>,
}

impl Deltas {
    /// Takes the statistics of attack and sham grafts and of their carriers with the same drift.
    pub(super) fn of(grafts: [&[&Trajectory]; 2], baseline: &Receipt, drift: f64, plan: Plan, paths: &mut Paths) -> anyhow::Result<Self> {
        ensure!(grafts.iter().all(|group| !group.is_empty()), "deltas need grafts of both groups, `attack` and `sham`");
        let samples = samples(grafts[0], grafts[1], plan);
        let mut line = |name, statistic: &dyn Fn(&[f64]) -> f64| -> anyhow::Result<Delta> {
            let [attack, sham] = grafts.map(|group| {
                let deltas = group.iter().map(|graft| Ok(settled(statistic(&graft.scores) - statistic(&carrier(graft, baseline)?.scores))));
                deltas.collect::<anyhow::Result<Vec<f64>>>()
            });
            let deltas = [attack?, sham?];
            let compared = samples.compare([&each(&deltas[0]), &each(&deltas[1])]);
            paths.tied_pairs += compared.auc.ties;
            deltas.iter().for_each(|group| paths.median_of(group.len()));
            let medians = deltas.map(|group| median(&group).unwrap_or(f64::NAN));
            Ok(Delta { name, medians, auc: compared.auc, interval: compared.interval() })
        };
        let lines = [line("persistence", &|scores| persistence(scores, drift, 0.0))?, line("peak", &peak)?];
        Ok(Self { lines, grafts: grafts.map(<[_]>::len) })
    }
}

fn carrier<'b>(graft: &Trajectory, baseline: &'b Receipt) -> anyhow::Result<&'b Trajectory> {
    let line = graft.line;
    let name = graft
        .carrier
        .as_ref()
        .with_context(|| format!("line {line}: no carrier; a graft names its native trajectory in the column `carrier`"))?;
    baseline.get(name).with_context(|| format!("line {line}: carrier `{name}` is not in the baseline receipt"))
}

fn each(deltas: &[f64]) -> Vec<Vec<f64>> {
    deltas.iter().map(|&delta| vec![delta]).collect()
}
