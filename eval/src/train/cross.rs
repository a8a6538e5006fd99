//! The recipe by grouped cross-validation over train and dev: what it finds in units that it was not trained on, and in sources that it was not.

use std::collections::{BTreeMap, BTreeSet};

use crate::data::Split;
use crate::events::{Channel, Corpus, Event, Label};
use crate::markdown::{self, percent, row, table};
use crate::stats::{Chance, Threshold};

use super::Read;
use super::fit::{Weights, fit};
use super::recipe::Recipe;
use super::samples::{Sample, Weighed, of_event};

/// Parts that the units are dealt to.
const FOLDS: usize = 3;
/// A source with fewer attacks says nothing.
const LEAST_ATTACKS: usize = 8;
/// Shares of benign single texts that thresholds are fixed at.
const NOMINAL: [f64; 2] = [0.01, 0.001];

/// An event with what it is for training.
struct Case<'e> {
    event: &'e Event,
    sample: Sample,
    fold: usize,
    trains: bool,
}

/// The report, as Markdown. Every model is trained on `others` too; `without_important` trains on nothing of the family of `important_instructions`.
pub fn report(read: &Read, others: &[Sample], without_important: bool, recipe: &Recipe, command: &str) -> String {
    let mut cases = cases(&read.corpus, recipe);
    cases.iter_mut().for_each(|case| case.trains &= !(without_important && case.sample.important));
    let mut text = format!(
        "# The detector's recipe, cross-validated\n\nWritten by this command; do not edit.\n\n```sh\n{command}\n```\n\n\
         Train and dev only; {}. Thresholds are fixed on the benign single texts of the same part. Margins of the models of different folds are taken for comparable.\n\n\
         ## Units left out\n\nEach third of the units is scored by a model that was trained on the others.\n\n",
        if without_important { "nothing of the family of important_instructions was trained on" } else { "all families were trained on" },
    );
    let mut margins = vec![f64::NEG_INFINITY; cases.len()];
    for fold in 0..FOLDS {
        let known = cases.iter().filter(|case| case.trains && case.fold != fold).map(|case| &case.sample);
        let model = train(known.chain(others), recipe);
        for (case, margin) in cases.iter().zip(&mut margins).filter(|(case, _)| case.fold == fold) {
            *margin = model.margin(&case.sample.text);
        }
    }
    found(&mut text, &cases, &margins);
    text.push_str("\n## Sources left out\n\nA model that was trained on none of the source's attacks.\n\n");
    table(&mut text, &["source", "attacks", "recall at 1 %", "recall at .1 %"]);
    let sources: BTreeSet<&str> = attacks(&cases).map(|case| family(case.event)).collect();
    for source in sources {
        let left_out = |case: &Case<'_>| case.sample.attack && family(case.event) == source;
        let known = cases.iter().filter(|case| case.trains && case.event.split == Split::Train && !left_out(case)).map(|case| &case.sample);
        let model = train(known.chain(others), recipe);
        let margin = |case: &Case<'_>| model.margin(&case.sample.text);
        let honest: Vec<f64> = cases.iter().filter(|case| honest(case) && case.event.split == Split::Dev).map(margin).collect();
        let scored: Vec<f64> = cases.iter().filter(|case| left_out(case)).map(margin).collect();
        if scored.len() < LEAST_ATTACKS {
            continue;
        }
        let recall = NOMINAL.map(|nominal| Threshold::fix(honest.clone(), nominal).map_or(0.0, |threshold| share(&scored, &threshold)));
        row(&mut text, &[source, &scored.len().to_string(), &percent(recall[0]), &percent(recall[1])]);
    }
    markdown::data(&mut text, &read.origins);
    text
}

/// The events of train and dev, each text once, dealt to folds by unit within each set.
fn cases<'e>(corpus: &'e Corpus, recipe: &Recipe) -> Vec<Case<'e>> {
    let trained: BTreeSet<*const Event> = corpus.training().0.into_iter().map(std::ptr::from_ref).collect();
    let mut seen = BTreeSet::new();
    let wanted = |event: &&Event| event.split != Split::Test && event.label != Label::Unclear && (event.single || event.trains);
    let events = corpus.events.iter().filter(wanted).filter(|event| seen.insert((event.label, event.text.as_str())));
    let mut cases: Vec<Case<'e>> = events
        .map(|event| {
            let trains = event.trains && (event.split == Split::Dev || trained.contains(&std::ptr::from_ref(event)));
            Case { event, sample: of_event(event, recipe.bits), fold: 0, trains }
        })
        .collect();
    // By hash, so that neighbours in a set are not neighbours here. By set, so that translations stay with their originals.
    let mut order: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for case in &cases {
        let hash = blake3::hash(case.sample.unit.as_bytes()).to_hex().to_string();
        order.entry(case.event.set.clone()).or_default().insert(hash, case.sample.unit.clone());
    }
    let dealt: BTreeMap<(String, String), usize> = order
        .into_iter()
        .flat_map(|(set, units)| units.into_values().enumerate().map(move |(number, unit)| ((set.clone(), unit), number % FOLDS)))
        .collect();
    for case in &mut cases {
        case.fold = dealt[&(case.event.set.clone(), case.sample.unit.clone())];
    }
    cases
}

/// A model of these samples.
fn train<'s>(samples: impl Iterator<Item = &'s Sample>, recipe: &Recipe) -> Weights {
    let mut chance = Chance::new(recipe.seed);
    fit(&Weighed::new(samples, recipe, &mut chance), recipe, &mut chance)
}

/// A source without what tells its translations apart.
fn family(event: &Event) -> &str {
    event.source.trim_end_matches("_multilingual")
}

/// Attacks that stand alone: in agent runs few templates make up nearly all. Those of BIPIA are mostly harmless questions in the wrong place.
fn attacks<'c, 'e>(cases: &'c [Case<'e>]) -> impl Iterator<Item = &'c Case<'e>> {
    cases.iter().filter(|case| case.sample.attack && case.event.single && case.event.trains)
}

/// Benign single texts: what thresholds are fixed on.
fn honest(case: &Case<'_>) -> bool {
    !case.sample.attack && case.event.single
}

fn share(scores: &[f64], threshold: &Threshold) -> f64 {
    scores.iter().filter(|score| threshold.reached_by(**score)).count() as f64 / scores.len().max(1) as f64
}

/// What the margins find.
fn found(text: &mut String, cases: &[Case<'_>], margins: &[f64]) {
    let scored = || cases.iter().zip(margins);
    let honest_margins: Vec<f64> = scored().filter(|(case, _)| honest(case)).map(|(_, margin)| *margin).collect();
    let thresholds = NOMINAL.map(|nominal| Threshold::fix(honest_margins.clone(), nominal));
    let mut sources: BTreeMap<(&str, bool), Vec<f64>> = BTreeMap::new();
    let mut templates: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let (mut clean, mut pooled) = (Vec::new(), Vec::new());
    for (case, margin) in scored() {
        if case.event.single {
            sources.entry((&case.event.source, case.sample.attack)).or_default().push(*margin);
            if case.sample.attack && case.event.trains {
                pooled.push(*margin);
            }
        } else if case.sample.attack {
            templates.entry(&case.event.kind).or_default().push(*margin);
        } else if case.event.channel == Channel::ToolResult {
            clean.push(*margin);
        }
    }
    let at = |scores: &[f64]| thresholds.map(|threshold| threshold.map_or(0.0, |threshold| share(scores, &threshold)));
    table(text, &["texts", "label", "number", "at 1 %", "at .1 %"]);
    let mut mean = [Vec::new(), Vec::new()];
    for (&(source, attack), scores) in &sources {
        let reached = at(scores);
        row(
            text,
            &[source, if attack { "attack" } else { "benign" }, &scores.len().to_string(), &percent(reached[0]), &percent(reached[1])],
        );
        if attack && scores.len() >= LEAST_ATTACKS && source != "bipia" {
            mean.iter_mut().zip(reached).for_each(|(list, share)| list.push(share));
        }
    }
    let mean = mean.map(|list| list.iter().sum::<f64>() / list.len().max(1) as f64);
    row(text, &["mean over attack sources", "", &sources.len().to_string(), &percent(mean[0]), &percent(mean[1])]);
    let reached = at(&pooled);
    row(text, &["all attacks but bipia's", "", &pooled.len().to_string(), &percent(reached[0]), &percent(reached[1])]);
    text.push_str("\nInjected tool results at 1 % of clean ones.\n\n");
    table(text, &["template", "number", "recall"]);
    if let Some(threshold) = Threshold::fix(clean, NOMINAL[0]) {
        for (template, scores) in &templates {
            row(text, &[*template, &scores.len().to_string(), &percent(share(scores, &threshold))]);
        }
    }
}
