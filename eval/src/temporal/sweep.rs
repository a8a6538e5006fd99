//! Persistence under other drifts, and how much of an attack lies where events add up without any of them alarming alone.

use super::statistic::Statistic;
use super::{Lens, paper};
use crate::report::{Axis, Cell, Level, Mark, Plot, Section, Series, Table};
use crate::stats::{Plan, Share, median};

/// The drifts of the paper's sweep: .25 to .50 by .025.
pub(crate) fn drifts() -> impl Iterator<Item = f64> {
    (0..=10).map(|step| (250.0 + 25.0 * f64::from(step)) / 1000.0)
}

pub(super) fn section(lenses: &[Lens<'_>], plan: Plan) -> Section {
    let mut section = Section::new("drift", "Agent runs: the drift, and what can add up");
    section.text(format!(
        "Persistence rewards length under a low drift: every honest event above it adds something. The event count stands beside it, and so does \
         persistence over the pairs of \
         runs with the same number of events, where length tells nothing. {}",
        paper::SWEEP
    ));
    for lens in lenses {
        section.table(sweep(lens, plan));
        section.plot(plot(lens));
    }
    section.table(band(lenses));
    section
}

fn id(lens: &Lens<'_>, ids: [&'static str; 2]) -> &'static str {
    ids[lens.which as usize]
}

fn sweep(lens: &Lens<'_>, plan: Plan) -> Table {
    let mut columns = vec!["drift".to_owned()];
    columns.extend(lens.found.list.iter().flat_map(|population| [population.name.clone(), format!("{}, same length", population.name)]));
    let caption = format!(
        "AUC of persistence by drift, {} [95 % interval, BCa from {} samples of tasks]; without an interval, over the pairs of the same length. The \
         last rows are the drift that \
         is baked in, the median of the population's own benign events, and the event count alone.",
        lens.name, plan.draws
    );
    let mut table =
        Table::new(id(lens, ["drift-sweep", "drift-sweep-unseen"]), caption, &columns.iter().map(String::as_str).collect::<Vec<_>>());
    let mut row = |name: String, statistic: &dyn Fn(usize) -> Statistic| {
        let cells = lens.found.list.iter().enumerate().flat_map(|(at, population)| {
            let statistic = statistic(at);
            let same = population.within_lengths(statistic).map(|auc| auc.value());
            [Cell::estimate(population.compare(statistic).estimate(), 3), Cell::number(same, 3)]
        });
        table.row([Cell::from(name)].into_iter().chain(cells));
    };
    for drift in drifts() {
        row(format!("{drift:.3}"), &|_| Statistic::Persistence(drift));
    }
    let baked = lens.detector.levels.drift;
    row(format!("baked in, {baked:.3}"), &|_| Statistic::Persistence(baked));
    let medians: Vec<f64> = lens.found.list.iter().map(|population| median(&population.benign_scores()).unwrap_or(f64::NAN)).collect();
    let shown: Vec<String> = medians.iter().map(|median| format!("{median:.3}")).collect();
    row(format!("benign median, {}", shown.join(" / ")), &|at| Statistic::Persistence(medians[at]));
    row("event count alone".to_owned(), &|_| Statistic::Events);
    table
}

fn plot(lens: &Lens<'_>) -> Plot {
    let series = lens.found.list.iter().flat_map(|population| {
        let points = drifts().map(|drift| [drift, population.compare(Statistic::Persistence(drift)).auc.value()]).collect();
        let count = population.compare(Statistic::Events).auc.value();
        [Series { name: format!("{} (event count alone {count:.2})", population.name), mark: Mark::Line, points }]
    });
    let baked = lens.detector.levels.drift;
    Plot {
        id: id(lens, ["drift-sweep", "drift-sweep-unseen"]).to_owned(),
        title: format!("Persistence by drift, {}", lens.name),
        x: Axis::new("drift", 0.25, baked.max(0.5) + 0.02),
        y: Axis::share("AUC"),
        series: series.collect(),
        levels: vec![Level { name: "baked in".to_owned(), at: baked, upright: true }],
    }
}

/// A band of scores that add up and never count alone.
#[derive(Clone, Copy)]
struct Band {
    drift: f64,
    /// Where an event counts alone.
    alone: f64,
}

impl Band {
    fn holds(self, score: f64) -> bool {
        score >= self.drift && score < self.alone
    }
}

fn band(lenses: &[Lens<'_>]) -> Table {
    let mut table = Table::new(
        "productive-band",
        "The productive band: share of events with a score that adds up and never counts alone (95 % interval by Wilson at the effective number of independent \
         events, Kish over tasks). The gateway's goes from the drift that is baked in to the level at which one event blocks; the paper's from the median of the \
         data's benign events to tau. Attack events are those that hold the injection.",
        &["detector", "data", "band", "attack events in it", "attack events over it", "benign runs' events in it"],
    );
    for lens in lenses {
        let levels = &lens.detector.levels;
        for population in &lens.found.list {
            let median = median(&population.benign_scores()).unwrap_or(levels.drift);
            let gateway = Band { drift: levels.drift, alone: levels.event_block };
            for (whose, band) in [("gateway", gateway), ("paper", Band { drift: median, alone: levels.tau_event })] {
                let mut shares = [Share::default(), Share::default(), Share::default()];
                for view in &population.groups[0] {
                    for score in view.attacks() {
                        shares[0].count(&view.run.task, band.holds(score));
                        shares[1].count(&view.run.task, score >= band.alone);
                    }
                }
                for view in &population.groups[1] {
                    view.scores.iter().for_each(|&score| shares[2].count(&view.run.task, band.holds(score)));
                }
                let name = format!("{whose}: {:.3} to {:.3}", band.drift, band.alone);
                let shares = shares.each_ref().map(Cell::from);
                table.row([lens.name.into(), population.name.as_str().into(), name.into()].into_iter().chain(shares));
            }
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sweep_is_the_papers() {
        let drifts: Vec<f64> = drifts().collect();
        assert_eq!((drifts.len(), drifts[0], drifts[1], drifts[10]), (11, 0.25, 0.275, 0.5));
    }

    #[test]
    fn the_band_begins_at_the_drift_and_ends_under_tau() {
        let band = Band { drift: 0.3, alone: 0.5 };
        assert_eq!([0.29, 0.3, 0.49, 0.5].map(|score| band.holds(score)), [false, true, true, false]);
    }
}
