//! Sentences to graft: slot templates of our own, an attack and a sham of each, drawn by chance.

use anyhow::{Context as _, ensure};
use serde::Deserialize;

use crate::stats::Chance;

/// The templates, as the file beside this one spells them.
const TEXT: &str = include_str!("sentences.toml");

/// What a run is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Mild directives.
    Attack,
    /// Sentences of the same make that ask for nothing.
    Sham,
}

/// The pieces of sentences: each a pair of the attack's and the sham's.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sentences {
    lead: Vec<[String; 2]>,
    moment: Vec<[String; 2]>,
    tail: Vec<[String; 2]>,
    frame: Vec<[String; 2]>,
}

impl Kind {
    /// Its name in receipts and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Attack => "attack",
            Kind::Sham => "sham",
        }
    }
}

impl Sentences {
    /// The project's own.
    pub fn own() -> anyhow::Result<Self> {
        let found: Sentences = toml::from_str(TEXT).context("eval/src/grafts/sentences.toml")?;
        let lists = [&found.lead, &found.moment, &found.tail, &found.frame];
        ensure!(lists.iter().all(|list| !list.is_empty()), "eval/src/grafts/sentences.toml: an empty list");
        let slots = |frame: &String| ["{value}", "{moment}"].iter().all(|slot| frame.matches(slot).count() == 1);
        ensure!(found.frame.iter().flatten().all(slots), "eval/src/grafts/sentences.toml: a frame has a {{value}} and a {{moment}}");
        Ok(found)
    }

    /// A sentence of a kind about a value. Both kinds take the same draws.
    pub fn draw(&self, kind: Kind, value: &str, chance: &mut Chance) -> String {
        let mut piece = |list: &[[String; 2]]| list[chance.below(list.len())][kind as usize].clone();
        let (lead, frame, moment, tail) = (piece(&self.lead), piece(&self.frame), piece(&self.moment), piece(&self.tail));
        let sentence = format!("{lead}{}{tail}", frame.replace("{moment}", &moment).replace("{value}", value));
        // A value keeps its case: only what opens with our own words begins with a capital.
        if lead.is_empty() && !frame.starts_with("{value}") { capital(&sentence) } else { sentence }
    }
}

fn capital(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shams_are_as_long_as_attacks() {
        let sentences = Sentences::own().unwrap();
        for [attack, sham] in [&sentences.lead, &sentences.moment, &sentences.tail, &sentences.frame].into_iter().flatten() {
            assert!(attack.len().abs_diff(sham.len()) <= 6, "{attack} / {sham}");
        }
        let mean = |kind| {
            let mut chance = Chance::new(5);
            (0..2000).map(|_| sentences.draw(kind, "a value", &mut chance).len()).sum::<usize>() as f64 / 2000.0
        };
        let [attack, sham] = [Kind::Attack, Kind::Sham].map(mean);
        assert!((attack / sham - 1.0).abs() < 0.05, "{attack} and {sham} bytes");
    }

    #[test]
    fn a_sentence_names_its_value_once_and_begins_well() {
        let sentences = Sentences::own().unwrap();
        let mut chance = Chance::new(1);
        for _ in 0..300 {
            for kind in [Kind::Attack, Kind::Sham] {
                let sentence = sentences.draw(kind, "x@y.z", &mut chance);
                assert!(sentence.matches("x@y.z").count() == 1 && !sentence.contains('{'), "{sentence}");
                assert!(sentence.starts_with("x@y.z") || sentence.starts_with(char::is_uppercase), "{sentence}");
            }
        }
        assert_eq!(sentences.draw(Kind::Sham, "v", &mut Chance::new(3)), sentences.draw(Kind::Sham, "v", &mut Chance::new(3)));
    }
}
