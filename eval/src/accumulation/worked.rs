//! The worked examples of arXiv 2602.11247 and the sequences that its weighted average lets pass, computed here and shown beside the paper's values.

use floodmark_core::conversation::{Formula, Params, Profile, Turn};

use super::scoring::{weighted_average, weights};
use crate::report::{Cell, Section, Table};

/// A sequence of turns: of each turn the weights of the categories that hit.
struct Example {
    name: &'static str,
    turns: &'static [&'static [f64]],
    /// What the paper says: of the formula, or of the weighted average where that is what it says something of.
    paper: Option<(f64, bool)>,
    average: Option<(f64, bool)>,
}

/// All that the paper says of single sequences. Five handcrafted ones hit on every turn with .3 to .5 and pass the average; it names these three.
const EXAMPLES: [Example; 7] = [
    Example { name: "0, 0, 0, .3", turns: &[&[], &[], &[], &[0.3]], paper: Some((0.4125, false)), average: None },
    Example { name: "0, .3, 0, .5, two categories", turns: &[&[], &[0.3], &[], &[0.5]], paper: Some((0.875, true)), average: None },
    Example { name: "four turns of .5", turns: &[&[0.5], &[0.5], &[0.5], &[0.5]], paper: Some((0.95, true)), average: Some((0.5, false)) },
    Example { name: "role confusion, 4 turns", turns: &[&[0.5], &[0.5], &[0.5], &[0.5]], paper: None, average: Some((0.5, false)) },
    Example { name: "role confusion with persona, 3 turns", turns: &[&[0.5], &[0.5], &[0.5]], paper: None, average: Some((0.5, false)) },
    Example { name: "escalation probing, 4 turns", turns: &[&[0.3], &[0.3], &[0.3], &[0.3]], paper: None, average: Some((0.3, false)) },
    Example { name: "one category of .2 in every turn of 20", turns: &[&[0.2] as &[f64]; 20], paper: None, average: None },
];

/// What this program makes of an example: the formula, profile floodmark, the weighted average.
struct Computed {
    paper: f64,
    floodmark: f64,
    average: f64,
}

impl Example {
    fn computed(&self) -> Computed {
        // The first category of each weight; a second one of the same weight is not needed here, but .2 is resampling's, which has no patterns.
        let mut all = weights();
        let mut turns = Vec::new();
        for hits in self.turns {
            let mut categories = 0;
            for hit in *hits {
                let number = all.iter().position(|weight| weight == hit).unwrap_or_else(|| {
                    all.push(*hit);
                    all.len() - 1
                });
                categories |= 1 << number;
            }
            turns.push(Turn { user: true, categories });
        }
        let params = Params::default();
        let score = |profile| Formula { profile, params: &params, weights: &all }.score(&turns, false);
        let paper = score(Profile::Paper);
        Computed { paper: paper.score, floodmark: score(Profile::Floodmark).score, average: weighted_average(&paper.turn_scores) }
    }
}

/// The table of examples.
pub(super) fn section() -> Section {
    let mut section = Section::new("worked-examples", "Peak and accumulation: worked examples");
    section.text(
        "Sequences of turn scores that arXiv 2602.11247 gives values of, computed by the code that the gateway runs. Its theorem 1 says why an average cannot find persistence: equal turns \
         average to themselves, however many they are. Of the five handcrafted attacks that the average lets pass, the notes that this project quotes from name three; the two others \
         are not reproduced.",
    );
    let columns = ["turn scores", "formula", "paper's value", "profile floodmark", "weighted average", "paper's value"];
    let mut table = Table::new("worked-examples", "Scores and what becomes of them at tau .7.", &columns);
    let shown = |value: f64| -> Cell { format!("{value:.4} {}", verdict(value)).into() };
    let said = |said: Option<(f64, bool)>| -> Cell {
        said.map_or_else(Cell::empty, |(value, blocks)| format!("{value} {}", if blocks { "block" } else { "allow" }).into())
    };
    for example in &EXAMPLES {
        let Computed { paper, floodmark, average } = example.computed();
        table.row([example.name.into(), shown(paper), said(example.paper), shown(floodmark), shown(average), said(example.average)]);
    }
    section.table(table);
    section
}

fn verdict(value: f64) -> &'static str {
    if value >= Params::default().tau - floodmark_core::limits::SCORE_TOLERANCE { "block" } else { "allow" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_values_come_out() {
        for example in &EXAMPLES {
            let Computed { paper, average, .. } = example.computed();
            for (computed, said) in [(paper, example.paper), (average, example.average)] {
                if let Some((value, blocks)) = said {
                    assert!((computed - value).abs() < 1e-9, "{}: {computed}", example.name);
                    assert_eq!(verdict(computed) == "block", blocks, "{}", example.name);
                }
            }
        }
    }

    /// In profile floodmark by hand: the last turn alone is a window of one in four, .3 + .45 / 4; two hits of four with two categories, .5 + .45 / 2 + .15.
    #[test]
    fn the_other_profile_by_hand() {
        let found: Vec<f64> = EXAMPLES[..2].iter().map(|example| example.computed().floodmark).collect();
        assert!((found[0] - 0.4125).abs() < 1e-9 && (found[1] - 0.875).abs() < 1e-9, "{found:?}");
        // .2 + .45: at any length below tau.
        assert!((EXAMPLES[6].computed().paper - 0.65).abs() < 1e-9);
    }
}
