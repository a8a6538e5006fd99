//! What grafts do to trajectory statistics: each graft less its own carrier, attacks against shams; and whether the carriers alone already differ.

use std::collections::{BTreeMap, BTreeSet};

use super::carriers::{Carrier, NATIVE_GATE};
use super::make::Grafted;
use super::sentences::Kind;
use super::{Study, made_of};
use crate::report::{Axis, Cell, Level, Mark, Plot, Section, Series, Table};
use crate::stats::{Auc, Compared, Permutation, Samples, Share, median, permutation, settled};
use crate::temporal::{accumulated, drifts};

/// With fewer tasks of a kind the lowest p that there can be is of interest.
const FEW_TASKS: usize = 6;

/// A statistic of one run's scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Statistic {
    Persistence(f64),
    Peak,
}

impl Statistic {
    pub fn name(self) -> &'static str {
        match self {
            Statistic::Persistence(_) => "persistence",
            Statistic::Peak => "peak",
        }
    }

    pub fn of(self, scores: &[f64]) -> f64 {
        match self {
            Statistic::Persistence(drift) => accumulated(scores, 0.0, drift).persistence(),
            Statistic::Peak => accumulated(scores, 0.0, 0.0).peak(),
        }
    }

    /// How much a graft adds to its carrier.
    pub fn delta(self, carrier: &Carrier, grafted: &Grafted) -> f64 {
        settled(self.of(&grafted.scores) - self.of(&carrier.scores))
    }
}

/// What one dealing of carriers and drawing of sentences comes to: AUCs of attacks against shams.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Outcome {
    /// Persistence of the carriers before grafting.
    native: f64,
    /// Deltas of the survivors.
    persistence: f64,
    peak: f64,
}

impl Outcome {
    /// `None` where a kind has no survivor.
    pub fn of(carriers: &[Carrier], made: &[Grafted], drift: f64, tau: f64) -> Option<Self> {
        let persistence = Statistic::Persistence(drift);
        let auc = |surviving: bool, of: &dyn Fn(&Carrier, &Grafted) -> f64| {
            let values = |kind| {
                let runs = made_of(carriers, made, kind).filter(|(_, grafted)| !surviving || grafted.survives(tau));
                runs.map(|(carrier, grafted)| of(carrier, grafted)).collect::<Vec<f64>>()
            };
            Some(Auc::of(&values(Kind::Attack), &values(Kind::Sham))).filter(|auc| auc.pairs > 0).map(Auc::value)
        };
        Some(Outcome {
            native: auc(false, &|carrier, _| persistence.of(&carrier.scores))?,
            persistence: auc(true, &|carrier, grafted| persistence.delta(carrier, grafted))?,
            peak: auc(true, &|carrier, grafted| Statistic::Peak.delta(carrier, grafted))?,
        })
    }
}

/// Runs of both kinds with their tasks; attacks first.
struct Roster<'s> {
    runs: [Vec<(&'s Carrier, &'s Grafted)>; 2],
    samples: Samples,
}

impl<'s> Roster<'s> {
    fn new(study: &'s Study, of: impl Fn(Kind) -> Vec<(&'s Carrier, &'s Grafted)>) -> Self {
        let runs = [Kind::Attack, Kind::Sham].map(of);
        let names = runs.each_ref().map(|runs| runs.iter().map(|(carrier, _)| carrier.task.clone()).collect::<Vec<_>>());
        Roster { samples: Samples::new([&names[0], &names[1]], study.plan), runs }
    }

    fn is_empty(&self) -> bool {
        self.runs.iter().any(Vec::is_empty)
    }

    fn size(&self) -> String {
        let [attack, sham] = self.runs.each_ref().map(|runs| {
            let tasks: BTreeSet<&str> = runs.iter().map(|(carrier, _)| carrier.task.as_str()).collect();
            format!("{} of {} tasks", runs.len(), tasks.len())
        });
        format!("{attack} with attacks, {sham} with shams")
    }

    fn values(&self, of: &dyn Fn(&Carrier, &Grafted) -> f64) -> [Vec<f64>; 2] {
        self.runs.each_ref().map(|runs| runs.iter().map(|(carrier, grafted)| of(carrier, grafted)).collect())
    }

    fn compare(&self, of: &dyn Fn(&Carrier, &Grafted) -> f64) -> Compared {
        let [attack, sham] = self.values(of).map(|values| values.into_iter().map(|value| vec![value]).collect::<Vec<_>>());
        self.samples.compare([&attack, &sham])
    }

    /// The permutation test over whole tasks.
    fn permutation(&self, study: &Study, of: &dyn Fn(&Carrier, &Grafted) -> f64) -> Option<Permutation> {
        let [attack, sham] = self.runs.each_ref().map(|runs| {
            let mut tasks: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
            runs.iter().for_each(|(carrier, grafted)| tasks.entry(&carrier.task).or_default().push(of(carrier, grafted)));
            tasks.into_values().collect::<Vec<_>>()
        });
        permutation([&attack, &sham], study.plan)
    }
}

/// Drifts by name: the study's own, and the one that gateways have.
fn named_drifts(study: &Study) -> [(&'static str, f64); 2] {
    [("median of carriers' events", study.drift()), ("baked in", study.levels.drift)]
}

/// Adds the tables and plots.
pub(super) fn show(study: &Study, section: &mut Section) {
    let dealt = Roster::new(study, |kind| study.of_kind(kind).collect());
    let survivors = Roster::new(study, |kind| study.survivors(kind));
    if dealt.is_empty() || survivors.is_empty() {
        section.text("One kind has no run left: nothing can be compared.");
        return;
    }
    section.table(native(study, &dealt));
    section.table(deltas(study, &survivors));
    section.table(again(study));
    section.table(absolute(study, &survivors));
    if study.levels.drift >= study.levels.tau_event {
        section.text(format!(
            "The baked-in drift {:.3} is not below tau {}: with it nothing that stays under tau adds up, and a slow burn of such events is not seen \
             by the gateway's sum at all. What one event blocks by there is event_block {:.3}, not tau, so the gateway's sum is of events between {:.3} and \
             that. A lower drift reaches lower, and pays for it (`policy.detector.drift`; docs/decisions.md 134).",
            study.levels.drift, study.levels.tau_event, study.levels.event_block, study.levels.drift
        ));
    }
    section.table(band(study, &survivors));
    section.table(sweep(study, &dealt, &survivors));
    section.plot(plot(study, &dealt, &survivors));
}

fn native(study: &Study, dealt: &Roster<'_>) -> Table {
    let mut table = Table::new(
        "graft-native",
        format!(
            "Native counterfactual: the carriers as they were before grafting, those that were dealt attacks against those that were dealt shams \
             (all of them, before any gate: {}). AUC \
             [95 % interval, BCa from {} samples of tasks]. Tasks were dealt until persistence and peak lie in .45 to .55 by the study's drift; \
             outside, the halves would differ without any graft. The paper: persistence .750 and peak .778 (git, 6 against 6), .556 and .653 \
             (broadened), gate missed at .292 in its last result.",
            dealt.size(),
            study.plan.draws
        ),
        &["statistic", "drift", "AUC", "gate .45 to .55"],
    );
    for (name, drift) in named_drifts(study) {
        let found = dealt.compare(&|carrier, _| Statistic::Persistence(drift).of(&carrier.scores));
        let gate = if NATIVE_GATE.contains(&found.auc.value()) { "passed" } else { "missed" };
        table.row(["persistence".into(), format!("{name}, {drift:.3}").into(), Cell::estimate(found.estimate(), 3), gate.into()]);
    }
    for (name, of) in [
        ("peak", (&|carrier: &Carrier| Statistic::Peak.of(&carrier.scores)) as &dyn Fn(&Carrier) -> f64),
        ("event count", &|carrier| carrier.scores.len() as f64),
    ] {
        let found = dealt.compare(&|carrier, _| of(carrier));
        table.row([name.into(), "-".into(), Cell::estimate(found.estimate(), 3), "-".into()]);
    }
    table
}

/// Above, below or neither .5, as far as the interval says.
fn verdict(found: &Compared) -> &'static str {
    match found.ends() {
        Some(ends) if ends.low > 0.5 => "attacks exceed shams",
        Some(ends) if ends.high < 0.5 => "attacks fall short of shams",
        _ => "no verdict",
    }
}

fn deltas(study: &Study, survivors: &Roster<'_>) -> Table {
    let tasks = survivors.samples.fewest_units;
    let floor = if tasks < FEW_TASKS { "with so few tasks the floor binds" } else { "there are tasks enough for the floor not to bind" };
    let mut table = Table::new(
        "graft-deltas",
        format!(
            "Graft deltas on the survivors ({}): each graft's statistic less its own carrier's. AUC of attacks against shams [95 % interval, BCa \
             from {} samples of tasks]; the peak's delta is \
             the matched control. p: one-sided permutation of whole tasks over all \
             ways to choose those with attacks, as if they had not been dealt in pairs and to be alike, with its floor 1/C(n, k); {floor}. A \
             verdict is one seed's; the next table has others'.",
            survivors.size(),
            study.plan.draws
        ),
        &["statistic", "drift", "median, attacks", "median, shams", "AUC", "verdict", "p", "floor of p"],
    );
    let mut row = |statistic: Statistic, drift: String| {
        let of = |carrier: &Carrier, grafted: &Grafted| statistic.delta(carrier, grafted);
        let found = survivors.compare(&of);
        let medians = survivors.values(&of).map(|values| Cell::number(median(&values), 4));
        let test = survivors.permutation(study, &of);
        let [attack, sham] = medians;
        table.row([
            statistic.name().into(),
            drift.into(),
            attack,
            sham,
            Cell::estimate(found.estimate(), 3),
            verdict(&found).into(),
            Cell::number(test.map(|test| test.p), 4),
            test.map_or_else(Cell::empty, |test| format!("{:.1e}", test.floor).into()),
        ]);
    };
    for (name, drift) in named_drifts(study) {
        row(Statistic::Persistence(drift), format!("{name}, {drift:.3}"));
    }
    row(Statistic::Peak, "-".to_owned());
    for (name, drift) in named_drifts(study) {
        let [persistence, peak] = [Statistic::Persistence(drift), Statistic::Peak]
            .map(|statistic| survivors.compare(&|carrier, grafted| statistic.delta(carrier, grafted)).spread);
        let gap = persistence.minus(&peak);
        let verdict = match gap.ends() {
            Some(ends) if ends.low > 0.0 => "persistence exceeds peak",
            Some(ends) if ends.high < 0.0 => "persistence falls short of peak",
            _ => "no verdict",
        };
        let cells =
            [Cell::from("difference of AUCs: persistence less peak"), format!("{name}, {drift:.3}").into(), Cell::empty(), Cell::empty()];
        table.row(cells.into_iter().chain([Cell::estimate(gap.estimate(), 3), verdict.into(), Cell::empty(), Cell::empty()]));
    }
    for [name, statistic, attack, sham, auc] in [
        ["paper, git (4 against 6)", "persistence", ".0421", ".0150", ".708"],
        ["paper, git (4 against 6)", "peak", ".0056", ".0136", ".417"],
        ["paper, broadened (3 survivors)", "persistence", "0", ".0235", ".167"],
    ] {
        table.row([statistic, name, attack, sham, auc, "-", "-", "-"].map(Cell::from));
    }
    table
}

/// The same with other seeds: how much hangs on who was dealt what, and on the sentences.
fn again(study: &Study) -> Table {
    let mut table = Table::new(
        "graft-seeds",
        format!(
            "All made again with the {} seeds that follow, each with its own dealing and sentences, with the median of carriers' events as the \
             drift: AUCs of attacks against shams, without intervals; the spread is that of \
             chance in making grafts, on the same carriers. The gate is passed by {} of them.",
            study.again.len(),
            study.again.iter().filter(|outcome| NATIVE_GATE.contains(&outcome.native)).count()
        ),
        &["AUC", "lowest", "median", "highest", "seeds over .5 (difference: over 0)"],
    );
    let mut row = |name: &str, of: &dyn Fn(&Outcome) -> f64| {
        let values: Vec<f64> = study.again.iter().map(of).collect();
        let zero = if name.contains("less") { 0.0 } else { 0.5 };
        let over = values.iter().filter(|&&value| value > zero).count();
        let cells = [values.iter().copied().reduce(f64::min), median(&values), values.iter().copied().reduce(f64::max)];
        table.row([name.into()].into_iter().chain(cells.map(|value| Cell::number(value, 3))).chain([over.into()]));
    };
    row("persistence of carriers alone", &|outcome| outcome.native);
    row("persistence delta", &|outcome| outcome.persistence);
    row("peak delta", &|outcome| outcome.peak);
    row("persistence delta less peak delta", &|outcome| outcome.persistence - outcome.peak);
    table
}

fn absolute(study: &Study, survivors: &Roster<'_>) -> Table {
    let mut table = Table::new(
        "graft-absolute",
        format!(
            "The survivors as they are, grafts and all ({}), and their carriers: AUC [95 % interval, BCa from {} samples of tasks]. The rosters of \
             this table are the survivors; those of the \
             native counterfactual are all that were dealt. The paper on its survivors: persistence .792 and peak .750 (git), .556 and .722 \
             (broadened).",
            survivors.size(),
            study.plan.draws
        ),
        &["statistic", "drift", "with grafts", "carriers alone"],
    );
    let mut row = |statistic: Statistic, drift: String| {
        let grafted = survivors.compare(&|_, grafted| statistic.of(&grafted.scores));
        let native = survivors.compare(&|carrier, _| statistic.of(&carrier.scores));
        let cells = [grafted, native].map(|found| Cell::estimate(found.estimate(), 3));
        table.row([statistic.name().into(), drift.into()].into_iter().chain(cells));
    };
    for (name, drift) in named_drifts(study) {
        row(Statistic::Persistence(drift), format!("{name}, {drift:.3}"));
    }
    row(Statistic::Peak, "-".to_owned());
    table
}

/// Shares of the survivors' grafts whose event lies from the drift to under tau.
fn in_band(survivors: &Roster<'_>, drift: f64, tau: f64) -> [Share; 2] {
    survivors.runs.each_ref().map(|runs| {
        let mut share = Share::default();
        for (carrier, grafted) in runs {
            grafted.grafts.iter().for_each(|graft| share.count(&carrier.task, graft.score >= drift && graft.score < tau));
        }
        share
    })
}

fn band(study: &Study, survivors: &Roster<'_>) -> Table {
    let mut table = Table::new(
        "graft-band",
        "The productive band: share of the survivors' grafts whose event lies from the drift to under tau, where it adds up (95 % interval by \
         Wilson at the effective number of independent \
         grafts, Kish over tasks). The paper: 25 % in .46 to .50 (git), none (broadened).",
        &["drift", "attacks", "shams"],
    );
    for (name, drift) in named_drifts(study) {
        let [attack, sham] = in_band(survivors, drift, study.levels.tau_event);
        table.row([format!("{name}, {drift:.3}").into(), Cell::from(&attack), Cell::from(&sham)]);
    }
    table
}

fn sweep(study: &Study, dealt: &Roster<'_>, survivors: &Roster<'_>) -> Table {
    let mut table = Table::new(
        "graft-drift-sweep",
        format!(
            "Drift sweep: AUC of persistence deltas on the survivors [95 % interval, BCa from {} samples of tasks], share of their grafts in the \
             band, and AUC of persistence of all carriers \
             before grafting.",
            study.plan.draws
        ),
        &["drift", "delta, AUC", "attacks in the band", "shams in the band", "carriers alone, AUC"],
    );
    for drift in drifts() {
        let statistic = Statistic::Persistence(drift);
        let delta = survivors.compare(&|carrier, grafted| statistic.delta(carrier, grafted));
        let native = dealt.compare(&|carrier, _| statistic.of(&carrier.scores));
        let [attack, sham] = in_band(survivors, drift, study.levels.tau_event);
        table.row([
            Cell::number(drift, 3),
            Cell::estimate(delta.estimate(), 3),
            Cell::from(&attack),
            Cell::from(&sham),
            Cell::estimate(native.estimate(), 3),
        ]);
    }
    table
}

fn plot(study: &Study, dealt: &Roster<'_>, survivors: &Roster<'_>) -> Plot {
    let line = |name: &str, of: &dyn Fn(f64) -> f64| Series {
        name: name.to_owned(),
        mark: Mark::Line,
        points: drifts().map(|drift| [drift, of(drift)]).collect(),
    };
    let delta = |drift| survivors.compare(&|carrier, grafted| Statistic::Persistence(drift).delta(carrier, grafted)).auc.value();
    let native = |drift| dealt.compare(&|carrier, _| Statistic::Persistence(drift).of(&carrier.scores)).auc.value();
    Plot {
        id: "graft-drift-sweep".to_owned(),
        title: "Grafts: persistence by drift".to_owned(),
        x: Axis::new("drift", 0.25, 0.5),
        y: Axis::share("AUC"),
        series: vec![line("deltas of survivors", &delta), line("carriers before grafting", &native)],
        levels: vec![Level { name: "baked in".to_owned(), at: study.levels.drift, upright: true }],
    }
}

#[cfg(test)]
mod tests {
    use super::super::make::{Graft, Refined};
    use super::*;

    fn carrier(task: &str, scores: &[f64]) -> Carrier {
        Carrier { id: task.to_owned(), task: task.to_owned(), suite: "s".to_owned(), scores: scores.to_vec(), edges: Vec::new() }
    }

    /// What is grafted at the first event.
    fn grafted(kind: Kind, scores: &[f64]) -> Grafted {
        let refined = Refined { sentence: String::new(), score: 0.1, rewrites: 0 };
        let graft = Graft { position: 0, value: "v".to_owned(), refined, score: scores[0] };
        Grafted { kind, grafts: vec![graft], attempted: 1, scores: scores.to_vec() }
    }

    /// By hand, with drift .25: the first attack's persistence goes from .125 to .25 with its peak as it was; the second leaks and counts in the
    /// native roster alone; of the shams
    /// one stays and one gains .0625 in both.
    #[test]
    fn deltas_are_of_survivors_and_the_native_roster_is_of_all() {
        let carriers =
            [carrier("a", &[0.125, 0.375]), carrier("b", &[0.0, 0.25]), carrier("c", &[0.125, 0.375]), carrier("d", &[0.25, 0.25])];
        let made = [
            grafted(Kind::Attack, &[0.375, 0.375]),
            grafted(Kind::Attack, &[0.75, 0.25]),
            grafted(Kind::Sham, &[0.125, 0.375]),
            grafted(Kind::Sham, &[0.3125, 0.25]),
        ];
        let persistence = Statistic::Persistence(0.25);
        let deltas = |statistic: Statistic| [0, 2, 3].map(|at: usize| statistic.delta(&carriers[at], &made[at]));
        assert_eq!(deltas(persistence), [0.125, 0.0, 0.0625]);
        assert_eq!(deltas(Statistic::Peak), [0.0, 0.0, 0.0625]);
        // Native persistences: attacks .125 and 0, shams .125 and 0: 2 of 4 pairs, two of them ties. Deltas: .125 over both; peak: 0 level with 0,
        // under .0625.
        assert_eq!(Outcome::of(&carriers, &made, 0.25, 0.5), Some(Outcome { native: 0.5, persistence: 1.0, peak: 0.25 }));
        assert_eq!(Outcome::of(&carriers[1..], &made[1..], 0.25, 0.5), None, "no attack survives");
    }
}
