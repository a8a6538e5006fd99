//! Recall and false positives of the paper's formula over rho, beside the paper's own points.

use floodmark_core::conversation::Params;

use super::Options;
use super::case::{Case, Group};
use super::scoring::{Differences, Scoring, turn_scores};
use crate::assemble::Kind;
use crate::report::{Axis, Cell, Level, Mark, Plot, Section, Series, Table};
use crate::stats::Share;

/// The paper's points: rho, recall, false-positive rate (.45 is its Table 3, the others are its sweep).
const PAPER: [(f64, f64, f64); 5] =
    [(0.375, 0.774, 0.0111), (0.4, 0.898, 0.0119), (0.45, 0.908, 0.0120), (0.5, 0.918, 0.0128), (0.6, 0.959, 0.0151)];

/// Rho from .15 to .65 by .025, as the paper sweeps it.
fn rhos() -> impl Iterator<Item = f64> {
    (0..=20_u32).map(|step| f64::from(150 + 25 * step) / 1000.0)
}

/// What is blocked at one rho.
#[derive(Default)]
struct Point {
    rho: f64,
    attacks: Share,
    control: Share,
    conversations: Share,
}

/// The last request of a conversation is what is scored, as the paper scores whole conversations.
fn point(cases: &[Case], rho: f64) -> Point {
    let scoring = Scoring::new(Differences::NONE, Params { rho, ..Params::default() });
    let mut point = Point { rho, ..Point::default() };
    for case in cases {
        let counted = match case.group {
            Group::Assembled(kind) if kind.is_attack() => &mut point.attacks,
            Group::Assembled(Kind::Control) => &mut point.control,
            Group::Conversation => &mut point.conversations,
            _ => continue,
        };
        counted.count(&case.unit, scoring.blocks(scoring.at_the_end(case)));
    }
    point
}

pub(super) fn section(cases: &[Case], options: &Options) -> Section {
    let points: Vec<Point> = rhos().map(|rho| point(cases, rho)).collect();
    let mut section = Section::new("rho-sweep", "Peak and accumulation: sweep of rho");
    section.text(format!(
        "Profile paper on whole conversations (the last request), rho from .15 to .65 by .025, everything else at its default. Recall: the assembled attacks of all four kinds; false \
         positives: the benign conversations of {} and the assembled control. The paper's figures are on other data: attacks assembled from WildJailbreak sentences that were harvested \
         with the detector's own patterns, and WildChat, of which neither is here. So its curve cannot be reproduced, only its shape be compared.",
        options.split.name()
    ));
    section.text(explained(cases));
    let columns = ["rho", "recall, assembled attacks", "benign conversations blocked", "control blocked", "paper's recall", "paper's FPR"];
    let caption = "Shares with Wilson's interval at the effective number of units: of attacks the unit of the attack text or the joint unit of several, of the control the joint unit \
                   of its benign texts, else the set's own.";
    let mut table = Table::new("rho-sweep", caption, &columns);
    for Point { rho, attacks, control, conversations } in &points {
        let paper = PAPER.iter().find(|(of, ..)| (of - rho).abs() < 1e-9);
        let [recall, fpr] = [paper.map(|paper| paper.1 * 100.0), paper.map(|paper| paper.2 * 100.0)];
        let shown = |share: Option<f64>, decimals| share.map_or_else(Cell::empty, |share| format!("{share:.decimals$} %").into());
        table.row([Cell::number(*rho, 3), attacks.into(), conversations.into(), control.into(), shown(recall, 1), shown(fpr, 2)]);
    }
    section.table(table);
    let series = |name: &str, value: &dyn Fn(&Point) -> Option<f64>| Series {
        name: name.to_owned(),
        mark: Mark::Line,
        points: points.iter().filter_map(|point| Some([point.rho, value(point)?])).collect(),
    };
    let paper = |value: &dyn Fn(&(f64, f64, f64)) -> f64| Series {
        name: "paper, on its own data".to_owned(),
        mark: Mark::Dots,
        points: PAPER.iter().map(|point| [point.0, value(point)]).collect(),
    };
    let chosen = || vec![Level { name: "default".to_owned(), at: Params::default().rho, upright: true }];
    let x = || Axis::new("rho", 0.15, 0.65);
    section.plot(Plot {
        id: "rho-recall".to_owned(),
        title: "Recall over rho".to_owned(),
        x: x(),
        y: Axis::share("recall"),
        series: vec![series("assembled attacks", &|point| point.attacks.value()), paper(&|point| point.1)],
        levels: chosen(),
    });
    let wrong = [series("benign conversations", &|point| point.conversations.value()), series("control", &|point| point.control.value())];
    let highest = wrong.iter().flat_map(|series| &series.points).map(|point| point[1]).fold(0.02, f64::max);
    section.plot(Plot {
        id: "rho-false-positives".to_owned(),
        title: "False positives over rho".to_owned(),
        x: x(),
        y: Axis::new("share blocked", 0.0, highest * 1.05),
        series: wrong.into_iter().chain([paper(&|point| point.2)]).collect(),
        levels: chosen(),
    });
    section
}

/// Why there is a step at .400, and how much of it is here.
fn explained(cases: &[Case]) -> String {
    let at = |rho| Scoring::new(Differences::NONE, Params { rho, ..Params::default() });
    let (before, after) = (at(0.375), at(0.4));
    let attacks: Vec<&Case> = cases.iter().filter(|case| matches!(case.group, Group::Assembled(kind) if kind.is_attack())).collect();
    let new: Vec<&&Case> =
        attacks.iter().filter(|case| after.blocks(after.at_the_end(case)) && !before.blocks(before.at_the_end(case))).collect();
    let every_turn = |case: &&&&Case| {
        let scores: Vec<f64> = case.chats.iter().flat_map(|chat| turn_scores(&chat.turns)).collect();
        scores.iter().all(|score| (score - 0.3).abs() < 1e-9)
    };
    let (all, crossed, every) = (attacks.len(), new.len(), new.iter().filter(every_turn).count());
    format!(
        "The paper's step from .375 to .400 has a reason: a conversation that hits one category of weight .3 in every turn scores .3 + rho, which reaches tau .7 from rho .4 on. Here {crossed} of \
         {all} assembled attacks are blocked at .400 and not at .375, {every} of them such conversations: attack texts that nobody chose by the patterns hit seldom in every turn."
    )
}

#[cfg(test)]
mod tests {
    use super::super::case::Chat;
    use super::*;
    use floodmark_core::conversation::Turn;

    fn case(group: Group, hits: &[u32]) -> Case {
        let turns: Vec<Turn> = hits.iter().map(|&categories| Turn { user: true, categories }).collect();
        let chat = Chat { ends: vec![turns.len()], turns, ..Chat::default() };
        Case { group, set: "s".to_owned(), unit: "u".to_owned(), chats: vec![chat] }
    }

    /// The bit of a category of this weight.
    fn of_weight(weight: f64) -> u32 {
        1 << super::super::scoring::weights().iter().position(|of| *of == weight).unwrap()
    }

    #[test]
    fn weight_three_in_every_turn_crosses_at_four_tenths() {
        let persistent = Group::Assembled(Kind::Persistent);
        let cases = [
            case(persistent.clone(), &[of_weight(0.3); 4]),
            // .5 + rho / 4: never within the sweep but above .8.
            case(persistent, &[of_weight(0.5), 0, 0, 0]),
            case(Group::Conversation, &[0, 0]),
            case(Group::Assembled(Kind::SparseBenign), &[of_weight(0.5); 3]),
        ];
        let hits: Vec<(f64, u32)> = rhos().map(|rho| (rho, point(&cases, rho).attacks.hits())).collect();
        assert_eq!((hits.len(), hits[0].0, hits[20].0), (21, 0.15, 0.65));
        assert!(hits.iter().all(|(rho, hits)| *hits == u32::from(*rho > 0.39)), "{hits:?}");
        let one = point(&cases, 0.45);
        assert_eq!((one.attacks.records(), one.conversations.records(), one.control.records()), (2, 1, 0), "sparse ones are no control");
        assert!(explained(&cases).contains("Here 1 of 2 assembled attacks are blocked at .400 and not at .375, 1 of them"));
    }
}
