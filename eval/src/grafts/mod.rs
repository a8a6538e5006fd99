//! Grafts: slow-burn injections made here, in a paired design (design/papers.md B, Results 1 to 3).
//!
//! ```text
//! carriers (benign runs of training tasks, whole tasks dealt to attack or sham)
//!      -> make (sentences drawn, refined against generator's D_gen, placed in tool results) -> gates (leaks, floor, survivors)
//!      -> endpoints (each graft less its own carrier, attacks against shams) -> report::Section; receipts for `eval verify`
//! ```
//!
//! D_gen is a character language model and makes grafts; D_eval is the detector of record and measures them. Of D_eval only the carriers' own scores
//! are used before that, for which runs are carriers and how they are dealt; nothing that it says of a graft is used while grafts are made.

mod carriers;
mod endpoints;
mod gates;
mod generator;
mod make;
mod receipts;
mod sentences;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use floodmark_core::Detector;
use floodmark_core::detector::Levels;
use floodmark_tables::DETECTOR;

pub use sentences::Kind;

use crate::data::{self, DataFile, OnBroken};
use crate::events::{self, Event, Scorer, injected_at, of_record};
use crate::output::deliver;
use crate::report::Section;
use crate::stats::{Chance, Plan};
use crate::temporal;
use carriers::{Carrier, Carriers};
use generator::{Generator, Sample};
use make::{Grafted, Workshop, spread};
use sentences::Sentences;

/// Where carriers come from.
const CARRIERS: (&str, &str) = ("agentdyn", "trajectories");
/// Carriers of the transfer guard.
const GUARDED: usize = 3;
/// The share of the guard's grafts that may leak.
const MOST_LEAKS: f64 = 0.25;
/// Other seeds that all is made again with.
const AGAIN: u64 = 40;
/// Texts of one source and label that D_gen is trained on, and characters of each.
const TEXTS_PER_SOURCE: usize = 300;
const TEXT_CHARS: usize = 1000;
/// Of an injected tool result these characters from where the injection begins are the attack.
const INJECTION_CHARS: usize = 700;

/// Grafts slow-burn injections onto benign agent runs and measures what trajectory statistics make of them.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The data folder; carriers are its set agentdyn.
    #[arg(long)]
    data: PathBuf,
    /// Samples to draw for the intervals.
    #[arg(long, default_value_t = 2000)]
    draws: usize,
    /// Seed of everything that is drawn.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write grafts.csv and native.csv into this folder, for `eval verify`.
    #[arg(long, value_name = "FOLDER")]
    receipts: Option<PathBuf>,
    /// Write the report here instead of printing it.
    #[arg(long)]
    out: Option<PathBuf>,
}

impl Args {
    /// Makes, measures and prints.
    ///
    /// # Errors
    /// When the data cannot be read, which names file and line, or hold no carrier.
    pub fn run(&self) -> anyhow::Result<()> {
        let files = data::files(&self.data)?;
        let plan = Plan { draws: self.draws, seed: self.seed };
        let (set, file) = CARRIERS;
        let study = Study::of(&files, OnBroken::Stop, &DETECTOR, plan)?.with_context(|| {
            format!("no benign agent run of part train in {set}/{file} of {}; give the folder that holds it", self.data.display())
        })?;
        if let Some(folder) = &self.receipts {
            study.write_receipts(folder)?;
        }
        let mut text = String::new();
        study.section().markdown(&mut text);
        deliver(text.trim_start(), self.out.as_deref())
    }
}

/// Grafts as they were made, with what they were made of.
#[derive(Debug)]
pub struct Study {
    carriers: Carriers,
    /// How often tasks were dealt until both halves were alike.
    deals: usize,
    guard: Guard,
    /// What was made of each carrier, in their order; nothing where the guard stopped the study.
    made: Vec<Grafted>,
    /// What comes out under other seeds.
    again: Vec<endpoints::Outcome>,
    /// Attacks and honest texts that D_gen was trained on.
    trained: [usize; 2],
    /// How well D_gen tells them apart, each by models of the other fold.
    generator_auc: f64,
    levels: Levels,
    /// D_eval's version.
    version: String,
    plan: Plan,
}

/// The transfer guard: how many of the first carriers' grafts D_eval sees at tau or over, before any other is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Guard {
    carriers: usize,
    placed: usize,
    leaks: usize,
}

impl Guard {
    /// Whether too many leaked to go on.
    fn stops(self) -> bool {
        self.leaks as f64 > MOST_LEAKS * self.placed as f64
    }
}

impl Study {
    /// Makes the grafts. `None` where the data hold no carrier.
    ///
    /// # Errors
    /// When the data cannot be read, which names file and line.
    pub fn of(files: &[DataFile], on_broken: OnBroken, detector: &Detector<'_>, plan: Plan) -> anyhow::Result<Option<Self>> {
        let Some(file) = files.iter().find(|file| (file.set.as_str(), file.stem()) == CARRIERS) else { return Ok(None) };
        let mut scorer = Scorer::new(detector);
        let carriers = Carriers::read(file, on_broken, &mut scorer, detector.levels.tau_event)?;
        if carriers.list.is_empty() {
            return Ok(None);
        }
        let samples = samples(files, on_broken)?;
        let trained = [true, false].map(|attack| samples.iter().filter(|sample| sample.attack == attack).count());
        let (sentences, generator) = (Sentences::own()?, Generator::train(&samples));
        let drift = carriers.drift();
        let (kinds, deals) = carriers.assign(drift, &mut Chance::new(plan.seed));
        let tau = detector.levels.tau_event;
        let mut workshop = Workshop { sentences: &sentences, generator: &generator, scorer: &mut scorer, tau, seed: plan.seed };
        let mut guard = Guard::default();
        for carrier in guarded(&carriers.list, &kinds) {
            let grafted = workshop.graft(Kind::Attack, carrier);
            guard.carriers += 1;
            guard.placed += grafted.grafts.len();
            guard.leaks += grafted.leaks(tau);
        }
        let made = if guard.stops() {
            Vec::new()
        } else {
            carriers.list.iter().zip(&kinds).map(|(carrier, &kind)| workshop.graft(kind, carrier)).collect()
        };
        let mut again = Vec::new();
        for seed in (1..=AGAIN).map(|more| plan.seed.wrapping_add(more)).filter(|_| !guard.stops()) {
            workshop.seed = seed;
            let (kinds, _) = carriers.assign(drift, &mut Chance::new(seed));
            let made: Vec<Grafted> = carriers.list.iter().zip(&kinds).map(|(carrier, &kind)| workshop.graft(kind, carrier)).collect();
            again.extend(endpoints::Outcome::of(&carriers.list, &made, drift, tau));
        }
        let version = detector.version.to_owned();
        Ok(Some(Study {
            carriers,
            deals,
            guard,
            made,
            again,
            trained,
            generator_auc: generator.auc,
            levels: detector.levels,
            version,
            plan,
        }))
    }

    /// The drift of the study: as in the paper the median of benign events, those of all carriers before grafting.
    pub fn drift(&self) -> f64 {
        self.carriers.drift()
    }

    /// What was made and what it shows.
    pub fn section(&self) -> Section {
        let mut section = Section::new("grafts", "Grafts: slow-burn injections in honest runs");
        gates::show(self, &mut section);
        if !self.made.is_empty() {
            endpoints::show(self, &mut section);
        }
        section
    }

    /// Writes `grafts.csv` (survivors) and `native.csv` (their carriers), as docs/eval/receipts.md has it.
    ///
    /// # Errors
    /// When the folder or a file cannot be written.
    pub fn write_receipts(&self, folder: &Path) -> anyhow::Result<()> {
        receipts::write(self, folder)
    }

    /// Carriers of a kind with what was made of them.
    fn of_kind(&self, kind: Kind) -> impl Iterator<Item = (&Carrier, &Grafted)> {
        made_of(&self.carriers.list, &self.made, kind)
    }

    /// Those that survived the gates.
    fn survivors(&self, kind: Kind) -> Vec<(&Carrier, &Grafted)> {
        self.of_kind(kind).filter(|(_, grafted)| grafted.survives(self.levels.tau_event)).collect()
    }
}

/// Carriers of a kind with what was made of them.
fn made_of<'m>(carriers: &'m [Carrier], made: &'m [Grafted], kind: Kind) -> impl Iterator<Item = (&'m Carrier, &'m Grafted)> {
    carriers.iter().zip(made).filter(move |(_, grafted)| grafted.kind == kind)
}

/// The carriers of the guard: of those that were dealt attacks the ones that can take the most grafts, of a task each.
fn guarded<'c>(carriers: &'c [Carrier], kinds: &[Kind]) -> Vec<&'c Carrier> {
    let mut candidates: Vec<&Carrier> =
        carriers.iter().zip(kinds).filter(|(_, kind)| **kind == Kind::Attack).map(|(carrier, _)| carrier).collect();
    let takes = |carrier: &Carrier| spread(&carrier.edges).iter().filter(|edge| !edge.values.is_empty()).count();
    // Sorting is stable: of equals those that come first in the data.
    candidates.sort_by_key(|carrier| Reverse(takes(carrier)));
    let mut chosen: Vec<&Carrier> = Vec::new();
    for carrier in candidates {
        if chosen.len() < GUARDED && chosen.iter().all(|other| other.task != carrier.task) {
            chosen.push(carrier);
        }
    }
    chosen
}

/// What D_gen is trained on: single texts and events of agent runs, of part train and licences that allow it; each text once, at most
/// [`TEXTS_PER_SOURCE`] of a source,
/// channel and label.
fn samples(files: &[DataFile], on_broken: OnBroken) -> anyhow::Result<Vec<Sample>> {
    let mut taken: BTreeMap<(String, &'static str, bool), usize> = BTreeMap::new();
    let mut known: BTreeSet<[u8; 32]> = BTreeSet::new();
    let mut samples = Vec::new();
    for file in files.iter().filter(|file| ["events", temporal::AGENT_RUNS].iter().any(|kind| file.name.starts_with(kind))) {
        file.read(on_broken, |record| {
            for event in of_record(&file.set, record)?.iter().filter(|event| event.trainable()) {
                let attack = event.label == events::Label::Attack;
                let number = taken.entry((event.source.clone(), event.channel.name(), attack)).or_default();
                let text = piece(event, attack);
                if *number < TEXTS_PER_SOURCE && known.insert(*blake3::hash(text.as_bytes()).as_bytes()) {
                    *number += 1;
                    let unit = blake3::hash(format!("{}/{}", event.set, event.unit).as_bytes());
                    samples.push(Sample { text, attack, fold: unit.as_bytes()[0] % 2 == 1 });
                }
            }
            Ok(())
        })?;
    }
    Ok(samples)
}

/// The part of an event that is trained on.
fn piece(event: &Event, attack: bool) -> String {
    let at = injected_at(&event.text).filter(|_| attack && !event.single);
    match at.and_then(|at| event.text.get(at..)) {
        Some(injected) => injected.chars().take(INJECTION_CHARS).collect(),
        None => event.text.chars().take(TEXT_CHARS).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::make::tests::edge;
    use super::*;

    #[test]
    fn the_guard_stops_at_more_than_its_share() {
        let stops = |leaks| Guard { carriers: 3, placed: 12, leaks }.stops();
        assert_eq!([stops(0), stops(3), stops(4)], [false, false, true]);
    }

    #[test]
    fn the_guard_takes_three_tasks_with_the_most_places() {
        let carrier = |id: &str, places: usize| Carrier {
            id: id.to_owned(),
            task: id[..1].to_owned(),
            suite: "s".to_owned(),
            scores: Vec::new(),
            // Another place has nothing behind it to name.
            edges: (0..places).map(|at| edge(at, &["ann"])).chain([edge(places, &[])]).collect(),
        };
        let list = [carrier("a1", 1), carrier("a2", 3), carrier("b1", 3), carrier("c1", 1), carrier("d1", 2), carrier("e1", 0)];
        let mut kinds = vec![Kind::Attack; 6];
        kinds[2] = Kind::Sham;
        let ids: Vec<&str> = guarded(&list, &kinds).iter().map(|carrier| carrier.id.as_str()).collect();
        assert_eq!(ids, ["a2", "d1", "c1"]);
    }
}
