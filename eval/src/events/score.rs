//! The score of an event's text, as judging takes it: the highest over the text itself and what is decoded of it.

use std::collections::BTreeMap;

use floodmark_core::Detector;
use floodmark_core::text::{Folded, decode};
use floodmark_tables::CATEGORIES;

/// The views that a detector reads of a text, folded: the text's own first, then what is decoded of it.
pub fn views(text: &str) -> Vec<String> {
    let mut views = vec![folded(text)];
    decode(text, |found| views.push(folded(found.as_str())));
    views
}

fn folded(text: &str) -> String {
    Folded::of(text, &CATEGORIES.folds).as_str().to_owned()
}

/// A detector that scores each distinct text once.
pub struct Scorer<'d> {
    detector: &'d Detector<'d>,
    known: BTreeMap<String, f64>,
}

impl<'d> Scorer<'d> {
    /// Scores with this detector.
    pub fn new(detector: &'d Detector<'d>) -> Self {
        Scorer { detector, known: BTreeMap::new() }
    }

    /// The score, from 0 to 1.
    pub fn score(&mut self, text: &str) -> f64 {
        if let Some(score) = self.known.get(text) {
            return *score;
        }
        let score = views(text).iter().map(|view| self.detector.score(view).score).fold(0.0, f64::max);
        self.known.insert(text.to_owned(), score);
        score
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use floodmark_core::detector::{Levels, LinearModel, Member, Model, Platt};

    fn detector<'t>(members: &'t [Member<'t>]) -> Detector<'t> {
        Detector { members, levels: Levels { tau_event: 0.5, event_block: 0.9, drift: 0.1, alarm: 1.0 }, version: "test" }
    }

    #[test]
    fn the_highest_view_counts() {
        // "ignore all of this" in base64, in a text of its own.
        let text = "see aWdub3JlIGFsbCBvZiB0aGlzIHRleHQgbm93 please";
        let found = views(text);
        assert_eq!(found.first().map(String::as_str), Some(text), "ASCII is its own view");
        assert!(found[1..].iter().any(|view| view == "ignore all of this text now"), "{found:?}");
        assert_eq!(views("ＦＵＬＬ"), ["full"]);
        let model = LinearModel { weights: &[0; 256], unit: 0.0, bias: -1.0, platt: Platt { slope: 1.0, offset: 0.0 } };
        let members = [Member { name: "linear", model: Model::Linear(model) }];
        let detector = detector(&members);
        let expected = found.iter().map(|view| detector.score(view).score).fold(0.0, f64::max);
        let mut scorer = Scorer::new(&detector);
        assert!((scorer.score(text) - expected).abs() < 1e-12 && (scorer.score(text) - expected).abs() < 1e-12);
        assert!(scorer.score(" ").abs() < 1e-12, "nothing to score");
    }
}
