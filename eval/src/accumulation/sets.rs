//! What is blocked in each set and kind: profile paper, profile floodmark and the weighted average, beside the paper's tables.

use std::collections::BTreeMap;

use floodmark_core::conversation::Params;
use floodmark_core::limits::SCORE_TOLERANCE;

use super::Options;
use super::case::{Case, Group};
use super::scoring::{Scoring, turn_scores, weighted_average};
use crate::assemble::Kind;
use crate::markdown::percent;
use crate::report::{Cell, Section, Table};
use crate::stats::{BY_ENDS, Ends, Estimate, Share};

/// The paper's Table 3: attacks and those found, benign conversations and those blocked.
const ATTACKS: (f64, f64) = (588.0, 534.0);
const BENIGN: (f64, f64) = (10_066.0, 121.0);

/// What each way to judge blocks.
#[derive(Clone, Default)]
struct Blocked {
    /// Profile paper, of the last request, as the paper scores whole conversations.
    paper: Share,
    /// Profile paper, of any request, as a gateway would.
    paper_any: Share,
    /// Profile floodmark, of any request.
    floodmark: Share,
    /// The weighted average, of the last request.
    average: Share,
}

impl Blocked {
    fn count(&mut self, case: &Case, [paper, floodmark]: [&Scoring; 2]) {
        let unit = &case.unit;
        self.paper.count(unit, paper.blocks(paper.at_the_end(case)));
        self.paper_any.count(unit, paper.blocks(paper.highest(case)));
        self.floodmark.count(unit, floodmark.blocks(floodmark.highest(case)));
        let average = case.chats.iter().map(|chat| weighted_average(&turn_scores(&chat.turns))).fold(0.0, f64::max);
        self.average.count(unit, average >= Params::default().tau - SCORE_TOLERANCE);
    }

    fn add(&mut self, other: &Blocked) {
        self.paper.add(&other.paper);
        self.paper_any.add(&other.paper_any);
        self.floodmark.add(&other.floodmark);
        self.average.add(&other.average);
    }

    fn cells(&self) -> [Cell; 4] {
        [(&self.paper).into(), (&self.paper_any).into(), (&self.floodmark).into(), (&self.average).into()]
    }
}

pub(super) fn section(cases: &[Case], options: &Options, [missing, left_out]: [Option<&str>; 2]) -> Section {
    let (paper, floodmark) = (Scoring::paper(), Scoring::floodmark());
    let mut groups: BTreeMap<(Group, String), Blocked> = BTreeMap::new();
    for case in cases {
        // Of assembled ones the kind says it all.
        let set = if matches!(case.group, Group::Assembled(_)) { String::new() } else { case.set.clone() };
        groups.entry((case.group.clone(), set)).or_default().count(case, [&paper, &floodmark]);
    }
    let of = |wanted: &dyn Fn(&Group) -> bool| {
        let mut all = Blocked::default();
        groups.iter().filter(|((group, _), _)| wanted(group)).for_each(|(_, blocked)| all.add(blocked));
        all
    };
    let mut section = Section::new("accumulation-sets", "Peak and accumulation: sets");
    section.text(format!(
        "Conversations of {} that the patterns block, without the detector. A whole conversation is scored at its last request, as the paper does it; a gateway scores every request, each with \
         the history so far, and what it blocks once is blocked. The weighted average is the paper's baseline: weights rise evenly from 1.0 to 2.0. hh_redteam_dialogues is talk that was \
         meant to draw harmful text, mostly no injection; multi_turn_attacks aims at harmful content, not at an application.",
        options.split.name()
    ));
    if let Some(missing) = missing {
        section.text(format!("No conversations were assembled: {missing}."));
    }
    if let Some(left_out) = left_out {
        section.text(format!("Conversations are not assembled from: {left_out}."));
    }
    let columns = ["group", "set or kind", "paper, whole", "paper, any request", "floodmark, any request", "weighted average, whole"];
    let caption = "Blocked. Shares with Wilson's interval at the effective number of units; the unit is the set's own, of assembled conversations that of the attack text or \
                   the joint unit of several, of the control the joint unit of its benign texts (at most 24 \
                   for each channel). Fillers are shared, so the intervals of assembled ones leave their share out.";
    let mut table = Table::new("accumulation-sets", caption, &columns);
    for ((group, set), blocked) in &groups {
        let (group, set) = match group {
            Group::Conversation => ("benign conversations", set.as_str()),
            Group::Run => ("benign agent runs", set.as_str()),
            Group::Attacked => ("attacked conversations", set.as_str()),
            Group::Assembled(kind) if kind.is_attack() => ("assembled attacks", kind.name()),
            Group::Assembled(kind) => ("assembled, benign label", kind.name()),
        };
        table.row([group.into(), set.into()].into_iter().chain(blocked.cells()));
    }
    section.table(table);
    let attacks = of(&|group| matches!(group, Group::Assembled(kind) if kind.is_attack()));
    let conversations = of(&|group| *group == Group::Conversation);
    let control = of(&|group| *group == Group::Assembled(Kind::Control));
    let sparse = of(&|group| *group == Group::Assembled(Kind::SparseBenign));
    section.text(
        "What differs from the paper: its attacks were assembled from WildJailbreak sentences that its own patterns had harvested, so its recall measures the aggregation (a later, broader run by its \
         authors gave 75.1 %); ours are whole attack texts of held-out units that no pattern chose, so a text that no pattern finds is a miss of the patterns, not of the formula. Its benign \
         conversations are WildChat's, ours other people's. Neither of its sets is here, so its Tables 3 and 4 could not be reproduced; nor are its 15 handcrafted conversations.",
    );
    section.table(table_3([
        (&attacks.paper, &conversations.paper),
        (&attacks.floodmark, &conversations.floodmark),
        (&attacks.average, &conversations.average),
    ]));
    let columns = ["paper's set", "paper, right", "ours in its place", "profile paper, blocked", "profile floodmark, any request, blocked"];
    let mut table =
        Table::new("accumulation-table-4", "The paper's Table 4 (right decisions) and what stands in its place here (blocked).", &columns);
    let mut row = |cells: [&str; 3], blocked: Option<&Blocked>| {
        let [paper, floodmark] = match blocked {
            Some(blocked) => [(&blocked.paper).into(), (&blocked.floodmark).into()],
            None => ["-".into(), "-".into()],
        };
        table.row(cells.map(Cell::from).into_iter().chain([paper, floodmark]));
    };
    row(["handcrafted attacks", "9/9", "not here; see the worked examples"], None);
    row(["WildJailbreak, assembled", "525/579 (90.7 %)", "assembled attacks"], Some(&attacks));
    row(["handcrafted benign", "6/6", "not here"], None);
    row(["sparse-benign", "60/60", "sparse_benign, made of attack texts that no pattern chose"], Some(&sparse));
    row(["WildChat", "9,879/10,000 (98.8 %)", "benign conversations"], Some(&conversations));
    row(["-", "-", "assembled control"], Some(&control));
    section.table(table);
    section
}

/// The paper's figures beside those of ours, each way to judge with its attacks and its benign conversations.
fn table_3(ours: [(&Share, &Share); 3]) -> Table {
    let columns = ["figure", "paper's Table 3", "profile paper", "profile floodmark, any request", "weighted average"];
    let caption = "Assembled attacks of all kinds against the benign conversations. Shares with Wilson's interval at the effective number of units. Precision, F1 and accuracy hang on the mix, so ours \
                   are taken at the paper's, 588 attacks to 10,066 benign; their interval is from the ends of both shares' intervals, which is conservative.";
    let mut table = Table::new("accumulation-table-3", caption, &columns);
    for (name, figure) in FIGURES {
        let (paper, cells) = match figure {
            Figure::Recall => (counted(ATTACKS), ours.map(|(attacks, _)| attacks.into())),
            Figure::FalsePositives => (counted(BENIGN), ours.map(|(_, benign)| benign.into())),
            Figure::Mixed(of) => {
                let paper = of(ATTACKS.1 / ATTACKS.0, BENIGN.1 / BENIGN.0);
                (Cell::number(paper, 3), ours.map(|(attacks, benign)| Cell::estimate(mixed(of, attacks, benign), 3)))
            }
        };
        table.row([name.into(), paper].into_iter().chain(cells));
    }
    table
}

/// A count of the paper's, of which no units are known.
fn counted((all, hits): (f64, f64)) -> Cell {
    format!("{hits}/{all} ({})", percent(hits / all)).into()
}

/// A figure that rises with recall and falls with false positives: from the ends of both intervals. Where nothing is found or blocked wrongly at an end, there is none.
fn mixed(of: fn(f64, f64) -> Option<f64>, attacks: &Share, benign: &Share) -> Option<Estimate> {
    let (recall, rate) = (attacks.estimate()?, benign.estimate()?);
    let ends = recall.ends.zip(rate.ends).and_then(|(recall, rate)| {
        let (low, high) = of(recall.low, rate.high).zip(of(recall.high, rate.low))?;
        Some(Ends { low, high, method: BY_ENDS })
    });
    Some(Estimate { value: of(recall.value, rate.value)?, ends })
}

/// Figures of Table 3.
#[derive(Clone, Copy)]
enum Figure {
    Recall,
    FalsePositives,
    /// From recall and false-positive rate at the paper's mix.
    Mixed(fn(f64, f64) -> Option<f64>),
}

const FIGURES: [(&str, Figure); 5] = [
    ("recall", Figure::Recall),
    ("precision", Figure::Mixed(precision)),
    ("F1", Figure::Mixed(f1)),
    ("false-positive rate", Figure::FalsePositives),
    ("accuracy", Figure::Mixed(|recall, fpr| Some((recall * ATTACKS.0 + (1.0 - fpr) * BENIGN.0) / (ATTACKS.0 + BENIGN.0)))),
];

fn f1(recall: f64, fpr: f64) -> Option<f64> {
    // Of nothing found it is 0, whatever is blocked wrongly.
    precision(recall, fpr).map(|precision| if recall > 0.0 { 2.0 * precision * recall / (precision + recall) } else { 0.0 })
}

fn precision(recall: f64, fpr: f64) -> Option<f64> {
    let (found, wrong) = (recall * ATTACKS.0, fpr * BENIGN.0);
    (found + wrong > 0.0).then(|| found / (found + wrong))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper's own line of Table 3 comes out of its counts: 90.8, 81.5, 85.9, 1.2 and 98.4 %.
    #[test]
    fn figures_are_those_of_the_papers_table() {
        let none = Share::default();
        let table = table_3([(&none, &none); 3]);
        let found: Vec<String> = table.rows.iter().map(|row| row[1].shown()).collect();
        assert_eq!(found, ["534/588 (91 %)", "0.815", "0.859", "121/10066 (1.20 %)", "0.984"]);
        assert_eq!([precision(0.0, 0.0), f1(0.0, 0.5)], [None, Some(0.0)]);
    }

    /// Ours have intervals: of 10 attacks 5, of 100 benign none. By hand from Wilson's formula: .2366 to .7634, 0 to .0370.
    #[test]
    fn our_figures_have_intervals() {
        let share = |hits: u32, all: u32| {
            let mut share = Share::default();
            (0..all).for_each(|unit| share.count(&unit.to_string(), unit < hits));
            share
        };
        let (attacks, benign) = (share(5, 10), share(0, 100));
        let table = table_3([(&attacks, &benign); 3]);
        let shown: Vec<String> = table.rows.iter().map(|row| row[2].shown()).collect();
        // Precision: 139.1 of 139.1 + 372.4. F1 at .5 and 1: 2/3; from .2366 and .2719 to .7634 and 1. Accuracy: (294 + 10,066) / 10,654.
        let expected =
            ["5/10 (50 %; 24 to 76 %)", "1.000 [0.272, 1.000]", "0.667 [0.253, 0.866]", "0/100 (0 %; 0 to 3.70 %)", "0.972 [0.923, 0.987]"];
        assert_eq!(shown, expected);
        assert!(matches!(table.rows[0][3], Cell::Share { units: 10, .. }) && matches!(table.rows[3][4], Cell::Share { units: 100, .. }));
    }
}
