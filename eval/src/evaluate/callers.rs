//! Callers: the sum over all runs of one caller has no end, so what counts is how seldom honest work alarms, and how soon attacks do.

use std::collections::BTreeMap;

use floodmark_core::detector::Levels;
use floodmark_core::limits::SCORE_TOLERANCE;
use floodmark_core::trajectory::{Params, Trajectory};

use super::conversations::of_kind;
use super::run::Run;
use crate::report::{Cell, Section, Table};
use crate::stats::{Chance, Plan, Share};

/// Orders in which a caller's runs are taken.
const ORDERS: usize = 100;
const ALL: &str = "all sets";

/// How often one caller alarms who does these runs one after another.
#[derive(Debug, PartialEq)]
struct Caller {
    runs: usize,
    events: usize,
    /// Alarms of each order.
    alarms: Vec<usize>,
}

impl Caller {
    fn new(runs: &[&[f64]], levels: &Levels, chance: &mut Chance) -> Self {
        let mut order: Vec<&[f64]> = runs.to_vec();
        let alarms = (0..ORDERS).map(|_| {
            chance.shuffle(&mut order);
            alarms(order.iter().copied().flatten().copied(), levels.drift, levels.caller_alarm)
        });
        let alarms = alarms.collect();
        Caller { runs: runs.len(), events: runs.iter().map(|run| run.len()).sum(), alarms }
    }

    fn cells(&self) -> [Cell; 5] {
        let mean = self.alarms.iter().sum::<usize>() as f64 / self.alarms.len() as f64;
        let [least, most] = [self.alarms.iter().min(), self.alarms.iter().max()].map(|alarms| alarms.copied().unwrap_or_default());
        [
            self.runs.into(),
            self.events.into(),
            Cell::number(mean, 2),
            format!("{least} to {most}").into(),
            Cell::number((mean > 0.0).then(|| self.events as f64 / mean), 0),
        ]
    }
}

/// How often the sum of these scores reaches a level, beginning anew each time.
fn alarms(scores: impl IntoIterator<Item = f64>, drift: f64, level: f64) -> usize {
    let mut sum = Trajectory::default();
    let reached = scores.into_iter().filter(|&score| {
        // The threshold for single events plays no part; a score that is no number alarms, as in the gateway.
        let alarm = sum.push(score, Params { tau: 0.0, drift }).unwrap_or(f64::INFINITY) >= level - SCORE_TOLERANCE;
        if alarm {
            sum = Trajectory::default();
        }
        alarm
    });
    reached.count()
}

fn scores(run: &Run) -> Vec<f64> {
    run.events.iter().map(|event| event.score).collect()
}

/// The section; `None` where the data hold no conversation or run with events.
pub(super) fn section(runs: &[Run], levels: &Levels, plan: Plan) -> Option<Section> {
    let mut benign: BTreeMap<&str, Vec<Vec<f64>>> = BTreeMap::new();
    for run in of_kind(runs, false).filter(|run| !run.events.is_empty()) {
        benign.entry(&run.set).or_default().push(scores(run));
    }
    let mut attacks: BTreeMap<[&str; 2], [Share; 2]> = BTreeMap::new();
    for run in of_kind(runs, true).filter(|run| !run.events.is_empty()) {
        let [of_run, of_caller] = attacks.entry([&run.set, run.template.as_deref().unwrap_or("-")]).or_default();
        for (share, level) in [(of_run, levels.alarm), (of_caller, levels.caller_alarm)] {
            share.count(&run.unit, alarms(scores(run), levels.drift, level) > 0);
        }
    }
    if benign.is_empty() && attacks.is_empty() {
        return None;
    }
    let mut section = Section::new("callers", "Callers: the sum over all their runs");
    section.text(format!(
        "Beside each run's own sum the gateway keeps one over all runs of a caller, so that a new session for each message gains nothing; it alarms at `caller_alarm`, {} \
         here, and begins anew. Each row is a caller who does nothing but the runs of that set, one after another, in {ORDERS} random orders; no time passes between them, \
         though in a gateway it would take from the sum. A gateway's key that many users share is the last row.",
        levels.caller_alarm
    ));
    let columns = ["runs", "events", "alarms, mean", "least to most", "events from alarm to alarm"];
    let mut chance = Chance::new(plan.seed);
    let mut table = Table::new("callers-benign", "Benign runs: every alarm is wrong.", &[&["caller"][..], &columns].concat());
    for (set, runs) in &benign {
        let runs: Vec<&[f64]> = runs.iter().map(Vec::as_slice).collect();
        table.row([Cell::from(*set)].into_iter().chain(Caller::new(&runs, levels, &mut chance).cells()));
    }
    let all: Vec<&[f64]> = benign.values().flatten().map(Vec::as_slice).collect();
    table.row([Cell::from(ALL)].into_iter().chain(Caller::new(&all, levels, &mut chance).cells()));
    section.table(table);
    if !attacks.is_empty() {
        let caption = "Attacked runs whose own sum reaches the run's level, and the caller's with nothing before it. Intervals by Wilson at the effective number of injections.";
        let mut table = Table::new("callers-attacks", caption, &["set", "template", "alarm", "caller_alarm"]);
        for (names, [of_run, of_caller]) in &attacks {
            table.row(names.map(Cell::from).into_iter().chain([of_run.into(), of_caller.into()]));
        }
        section.table(table);
    }
    Some(section)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVELS: Levels = Levels { tau_event: 0.5, event_block: 1.0, drift: 0.5, alarm: 0.5, caller_alarm: 0.75 };

    /// .25 an event: three events reach .75, whatever run they are in.
    #[test]
    fn sums_go_on_over_runs_and_begin_anew_behind_an_alarm() {
        assert_eq!(alarms([0.75; 7], 0.5, 0.75), 2);
        assert_eq!(alarms([0.75, 0.75, 0.25, 0.75, 0.75], 0.5, 0.75), 1);
        assert_eq!(alarms([0.5; 100], 0.5, 0.000_001), 0);
        let runs: [&[f64]; 3] = [&[0.75], &[0.75], &[0.75]];
        let caller = Caller::new(&runs, &LEVELS, &mut Chance::new(1));
        assert_eq!(caller, Caller { runs: 3, events: 3, alarms: vec![1; ORDERS] });
    }

    /// Of two hot runs and a cool one, no order alarms in which the cool one is between them: two of six.
    #[test]
    fn orders_are_drawn_alike() {
        let runs: [&[f64]; 3] = [&[0.75, 0.75], &[0.75], &[0.0]];
        let caller = Caller::new(&runs, &LEVELS, &mut Chance::new(1));
        let share = caller.alarms.iter().sum::<usize>() as f64 / ORDERS as f64;
        assert!((share - 2.0 / 3.0).abs() < 0.15, "{share}");
    }
}
