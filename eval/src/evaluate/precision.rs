//! How much of what is blocked is an attack, where attacks are as rare as they are; and which of two scores ranks the same records better.

use std::collections::BTreeSet;

use super::conversations::{Group, groups, of_kind};
use super::ranked::{DECIMALS, Ranked, Scores};
use super::run::{Run, Scored, Single};
use super::texts;
use crate::detector::Benchmark;
use crate::events;
use crate::report::{Cell, Section, Table};
use crate::stats::{PREVALENCES, Plan, Share, precision};
use floodmark_core::detector::Levels;

/// The sections that the data have something for.
pub(super) fn sections(singles: &[Single], runs: &[Run], levels: &Levels, plan: Plan) -> Vec<Section> {
    [of_blocks(singles, runs, levels), paired(singles, runs, plan)].into_iter().flatten().collect()
}

/// Precision of what the gateway blocks.
fn of_blocks(singles: &[Single], runs: &[Run], levels: &Levels) -> Option<Section> {
    let mut section = Section::new("precision", "Precision");
    section.text(
        "The share of attacks among what is blocked, if attacks are .1, 1 and 10 % of the traffic: R p / (R p + F (1 - p)) of recall R, false-positive rate F and \
         prevalence p. Its interval is taken of the ends of both rates' intervals (Wilson, clustered), so it is wide.",
    );
    let columns = ["what is blocked", "recall", "false positives", "precision at .1 %", "at 1 %", "at 10 %"];
    let mut table = Table::new("precision", "By what is judged.", &columns);
    let mut add = |what: String, recall: &Share, wrong: &Share| {
        let (Some(found), Some(rate)) = (recall.estimate(), wrong.estimate()) else { return };
        let at = PREVALENCES.map(|prevalence| Cell::estimate(precision(found, rate, prevalence), DECIMALS));
        table.row([what.into(), recall.into(), wrong.into()].into_iter().chain(at));
    };
    let texts = texts::Group::of(singles, levels, |single| single.label == events::Label::Attack);
    if let [Some(benign), Some(attacks)] = [texts.get(&false), texts.get(&true)] {
        add("single texts, by the gateway".to_owned(), &attacks.blocked, &benign.blocked);
        add("single texts, by the detector at event_block".to_owned(), &attacks.event_block, &benign.event_block);
        add("single texts, by the detector at tau_event".to_owned(), &attacks.tau, &benign.tau);
    }
    let family = |run: &Run| Benchmark::of(&run.set).map_or_else(|| run.set.clone(), |benchmark| benchmark.name().to_owned());
    let [benign, attacks] = [false, true].map(|attack| groups(of_kind(runs, attack), family));
    for (set, Group { blocked, .. }) in &attacks {
        if let Some(honest) = benign.get(set) {
            add(format!("runs of {set}, by the gateway"), blocked, &honest.blocked);
        }
    }
    if table.rows.is_empty() {
        return None;
    }
    section.table(table);
    Some(section)
}

/// Scores in pairs.
fn paired(singles: &[Single], runs: &[Run], plan: Plan) -> Option<Section> {
    let mut section = Section::new("paired", "Paired comparisons");
    section.text(
        "Which of two scores ranks the same records better: the difference of their AUCs, each sample of units drawn for both (bootstrap, BCa). An interval that holds 0 \
         decides nothing.",
    );
    let columns = ["records", "score", "against", "AUC", "AUC of the other", "difference", "finding"];
    let mut table = Table::new("paired", "Attacks against what is benign.", &columns);
    let mut compare = |records: &str, names: [&str; 2], one: &[Scores; 2], other: &[Scores; 2]| {
        let Some(ranked) = Ranked::new(&one[0], &one[1], plan) else { return };
        let found = ranked.against(&other[0], &other[1]);
        let finding = match found[2].ends {
            Some(ends) if ends.low > 0.0 => format!("{} ranks better", names[0]),
            Some(ends) if ends.high < 0.0 => format!("{} ranks better", names[1]),
            Some(_) => "nothing decided".to_owned(),
            None => "no interval".to_owned(),
        };
        let cells = found.map(|estimate| Cell::estimate(estimate, DECIMALS));
        table.row([records.into(), names[0].into(), names[1].into()].into_iter().chain(cells).chain([finding.into()]));
    };
    let of_singles = |value: &dyn Fn(&Single, &Scored) -> f64| {
        let mut scores = [Scores::default(), Scores::default()];
        for single in singles {
            if let Some(event) = &single.event {
                scores[usize::from(single.label != events::Label::Attack)].push(value(single, event), &single.unit);
            }
        }
        scores
    };
    let detector = of_singles(&|_, event| event.score);
    compare("single texts", ["detector", "patterns"], &detector, &of_singles(&|single, _| single.pattern));
    if singles.iter().any(|single| single.event.is_some_and(|event| event.unseen.is_some())) {
        let unseen = of_singles(&|_, event| event.unseen.unwrap_or(f64::NAN));
        compare("single texts", ["detector", "detector without the wrapper's family"], &detector, &unseen);
    }
    // Only sets that hold both: elsewhere the sets differ, not the attacks.
    let sets = |attack: bool| of_kind(runs, attack).map(|run| run.set.as_str()).collect::<BTreeSet<_>>();
    let both: BTreeSet<&str> = sets(true).intersection(&sets(false)).copied().collect();
    for set in both {
        let of_runs = |value: &dyn Fn(&Run) -> f64| {
            let mut scores = [Scores::default(), Scores::default()];
            for run in runs.iter().filter(|run| run.set == set && !run.events.is_empty()) {
                if let Some(attack) = run.is_attack() {
                    // Benign and attacked runs share tasks: their pairs stay together.
                    scores[usize::from(!attack)].push(value(run), &run.task);
                }
            }
            scores
        };
        let peak = |run: &Run| run.events.iter().map(|event| event.score).fold(0.0, f64::max);
        compare(&format!("runs of {set}"), ["peak", "conversation score"], &of_runs(&peak), &of_runs(&|run| run.outcome.score));
    }
    if table.rows.is_empty() {
        return None;
    }
    section.table(table);
    Some(section)
}
