//! What became of the grafts on their way to being measured: the transfer guard, and the gates with their counts.

use super::carriers::MOST_DEALS;
use super::make::{EPSILON, Grafted, MAX_ITER, MOST_GRAFTS};
use super::sentences::Kind;
use super::{CARRIERS, Carrier, GUARDED, MOST_LEAKS, Study};
use crate::report::{Axis, Cell, Level, Plot, Section, Series, Table};
use crate::stats::median;

/// The paper's Table 2 (design/papers.md B), under these columns as far as it has them.
const PAPER: [(&str, [&str; 8]); 2] = [
    ("paper, git", ["24", "1", ".042", "1", "1", "4 (3 tasks)", ".437", ".523"]),
    ("paper, broadened", ["23", "0", "0", "0", "3", "3", ".416", ".471"]),
];

/// Adds the texts and tables on how the grafts were made.
pub(super) fn show(study: &Study, section: &mut Section) {
    let tau = study.levels.tau_event;
    let (set, file) = CARRIERS;
    section.text(format!(
        "Carriers are benign runs of training tasks of {set}/{file}: {} were read, {} have no tool result that a call follows, {} hold an event \
         that D_eval ({}) already finds at tau {tau} or \
         over, {} remain. Whole tasks are dealt to attack or sham: those of a suite \
         are put in the order of their persistence before grafting (drift: the median of the carriers' events, {:.3}), and of each two neighbours \
         chance (seed {}) gives attacks to one; it is dealt again until carriers of both kinds are alike in persistence and peak (native gate, \
         {MOST_DEALS} \
         deals at most; there were {}). A run gets at most {MOST_GRAFTS} grafts, spread evenly over its tool \
         results that some call follows: each a sentence at the end of a line. The sentence is a mild directive, or for shams a remark of the same \
         make and length that asks for nothing, about \
         an argument of a call that the run makes behind that place and that was executed (directive floor). No agent is run again: since the \
         directive asks for what the \
         run does anyway, the run is one that follows it.",
        study.carriers.read,
        study.carriers.without_edges,
        study.carriers.hot,
        study.version,
        study.carriers.list.len(),
        study.drift(),
        study.plan.seed,
        study.deals
    ));
    section.text(format!(
        "D_gen is the log-likelihood ratio of two character 5-gram models ({} attacks, {} honest texts of part train) through a logistic curve \
         fitted across two folds (AUC there {:.3}). A wording is \
         drawn again while D_gen's score is not below {:.2} (tau less epsilon {EPSILON}), {MAX_ITER} times at most; the first that is below is \
         kept, else the lowest. Shams go through the same \
         loop.",
        study.trained[0],
        study.trained[1],
        study.generator_auc,
        tau - EPSILON
    ));
    let guard = study.guard;
    section.text(format!(
        "Transfer guard, before all others: of {} grafts on the {} carriers with attacks that take the most ({GUARDED} at most, of a task each), \
         D_eval sees {} at tau or over; at more than \
         {:.0} % nothing further is made. {}",
        guard.placed,
        guard.carriers,
        guard.leaks,
        100.0 * MOST_LEAKS,
        if guard.stops() { "That is more: the study ends here." } else { "The study goes on." }
    ));
    if !study.made.is_empty() {
        section.table(gates(study));
        section.plot(scores(study));
    }
    section.text(
        "Not reproduced of the paper: its contrastive member over bge-small-en-v1.5 (the detector of record has a linear member alone), its \
         foundation, git and broadened cohorts and \
         their rosters (not published with the data that we may use), and its templates. What stands here is its design on other carriers, with a \
         detector and sentences of our own.",
    );
}

/// Scores of the events with the grafts of some runs.
fn of_grafts<'g>(made: impl IntoIterator<Item = &'g Grafted>) -> Vec<f64> {
    made.into_iter().flat_map(|grafted| grafted.grafts.iter().map(|graft| graft.score)).collect()
}

fn tasks<'c>(carriers: impl Iterator<Item = &'c Carrier>) -> usize {
    carriers.map(|carrier| carrier.task.as_str()).collect::<std::collections::BTreeSet<_>>().len()
}

fn gates(study: &Study) -> Table {
    let tau = study.levels.tau_event;
    let mut table = Table::new(
        "graft-gates",
        format!(
            "Gates. Attempted: places that were chosen. Floor rejected: places behind which no executed call has an argument to name; nothing is \
             put there. Rewrites: mean \
             number of a sentence. Never below: sentences that no wording took below the threshold of D_gen. Leak: an event that D_eval \
             sees at tau {tau} or over with the graft in it; the share is of attempted. Relabelled: runs with a leak, which would be ordinary peak \
             attacks. Survivors: runs with a \
             graft and no leak. Scores are D_eval's of the events with the grafts, before leaks are taken out. The paper's rows are of its own \
             cohorts, by its own counting."
        ),
        &[
            "grafts",
            "carriers",
            "attempted",
            "floor rejected",
            "rewrites",
            "never below",
            "leaks",
            "leak share",
            "relabelled runs",
            "runs without a graft",
            "survivors",
            "median",
            "highest",
        ],
    );
    for kind in [Kind::Attack, Kind::Sham] {
        let made: Vec<(&Carrier, &Grafted)> = study.of_kind(kind).collect();
        let sum = |of: &dyn Fn(&Grafted) -> usize| made.iter().map(|(_, grafted)| of(grafted)).sum::<usize>();
        let attempted = sum(&|grafted| grafted.attempted);
        let leaks = sum(&|grafted| grafted.leaks(tau));
        let survivors = study.survivors(kind);
        let rewrites: Vec<usize> = made.iter().flat_map(|(_, grafted)| grafted.grafts.iter().map(|graft| graft.refined.rewrites)).collect();
        let scores = of_grafts(made.iter().map(|(_, grafted)| *grafted));
        table.row([
            kind.name().into(),
            format!("{} ({} tasks)", made.len(), tasks(made.iter().map(|(carrier, _)| *carrier))).into(),
            attempted.into(),
            sum(&Grafted::floor_rejected).into(),
            Cell::number(rewrites.iter().sum::<usize>() as f64 / rewrites.len() as f64, 2),
            sum(&|grafted| grafted.grafts.iter().filter(|graft| graft.refined.score >= tau - EPSILON).count()).into(),
            leaks.into(),
            Cell::number(leaks as f64 / attempted as f64, 3),
            sum(&|grafted| usize::from(grafted.leaks(tau) > 0)).into(),
            sum(&|grafted| usize::from(grafted.grafts.is_empty())).into(),
            format!("{} ({} tasks)", survivors.len(), tasks(survivors.iter().map(|(carrier, _)| *carrier))).into(),
            Cell::number(median(&scores), 3),
            Cell::number(scores.iter().copied().reduce(f64::max), 3),
        ]);
    }
    for (name, [attempted, leaks, share, relabelled, floor, survivors, median, highest]) in PAPER {
        let cells = [name, "-", attempted, floor, "-", "-", leaks, share, relabelled, "-", survivors, median, highest];
        table.row(cells.map(Cell::from));
    }
    table
}

fn scores(study: &Study) -> Plot {
    let series = [Kind::Attack, Kind::Sham].map(|kind| {
        let scores = of_grafts(study.of_kind(kind).map(|(_, grafted)| grafted));
        Series::bars(kind.name(), &scores, 1.0)
    });
    let level = |name: &str, at| Level { name: name.to_owned(), at, upright: true };
    Plot {
        id: "graft-scores".to_owned(),
        title: "D_eval's scores of events with grafts".to_owned(),
        x: Axis::share("score"),
        y: Axis::share("share of the grafts"),
        series: series.into(),
        levels: vec![level("drift", study.levels.drift), level("tau", study.levels.tau_event)],
    }
}
