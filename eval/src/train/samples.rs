//! What is trained on: the train part of a data folder and our own texts, each with its weight.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::events::{Event, Label, injected_at, is_important_instructions, views};
use crate::stats::Chance;

use super::chunks::Text;
use super::crates::Piece;
use super::own::Own;
use super::recipe::Recipe;

/// As many bytes from where an injection begins are taken for it.
const INJECTION_BYTES: usize = 700;

/// A text to train on.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Texts of one source and label are alike; no source shall drown the others.
    pub source: String,
    /// What it shares with texts that are not independent of it.
    pub unit: String,
    pub attack: bool,
    /// Ours.
    pub own: bool,
    /// Of the family of `important_instructions`.
    pub important: bool,
    pub text: Text,
    /// Blocks that hold the injection, where its place is known.
    pub injected: Option<Range<usize>>,
}

/// Makes samples of events.
pub fn of_event(event: &Event, bits: u32) -> Sample {
    let view = views(&event.text).swap_remove(0);
    let text = Text::new(&view, bits);
    let attack = event.label == Label::Attack;
    // Single texts are the attack; agent runs hold it somewhere.
    let at = injected_at(&view).filter(|_| attack && !event.single);
    let injected = at.map(|at| text.blocks_at(&(at..at + INJECTION_BYTES)));
    let template = if attack && !event.single { event.kind.as_str() } else { "" };
    Sample {
        source: format!("{}/{}/{template}", event.source, event.channel.name()),
        unit: format!("{}/{}", event.set, event.unit),
        attack,
        own: false,
        important: is_important_instructions(&event.text),
        text,
        injected,
    }
}

/// Makes a sample of a text of ours.
pub fn of_own(own: &Own, bits: u32) -> Sample {
    let file = own.family.split('/').next().unwrap_or_default();
    // Each file is a source: those of one language are to weigh up the attacks in it.
    Sample { source: format!("own/{file}"), unit: own.family.clone(), attack: own.attack, own: true, ..honest(&own.text, bits) }
}

/// Makes a sample of a piece of a crate's files.
pub fn of_piece(piece: &Piece, bits: u32) -> Sample {
    Sample { source: if piece.code { "crates/code" } else { "crates/prose" }.to_owned(), unit: piece.unit(), ..honest(&piece.text, bits) }
}

/// Makes a sample of what an assistant answered in a benign conversation.
pub fn of_answer(source: &str, unit: &str, text: &str, bits: u32) -> Sample {
    Sample { source: format!("{source}/assistant"), unit: unit.to_owned(), ..honest(text, bits) }
}

fn honest(text: &str, bits: u32) -> Sample {
    let view = views(text).swap_remove(0);
    let text = Text::new(&view, bits);
    Sample { source: String::new(), unit: String::new(), attack: false, own: false, important: false, text, injected: None }
}

/// Samples and how much each weighs; the weights of each label add up to half of their number.
pub struct Weighed<'s> {
    pub samples: Vec<(&'s Sample, f64)>,
}

impl<'s> Weighed<'s> {
    /// Chooses and weighs.
    pub fn new(samples: impl IntoIterator<Item = &'s Sample>, recipe: &Recipe, chance: &mut Chance) -> Self {
        let mut sources: BTreeMap<(&str, bool), Vec<&Sample>> = BTreeMap::new();
        for sample in samples {
            sources.entry((&sample.source, sample.attack)).or_default().push(sample);
        }
        let numbers = &recipe.samples;
        let mut weighed = Vec::new();
        for ((_, attack), list) in sources {
            let own = list.iter().any(|sample| sample.own);
            let most = match (own, attack) {
                (true, _) => usize::MAX,
                (false, true) => numbers.attacks_per_source,
                (false, false) => numbers.benign_per_source,
            };
            let list = chance.some(list, most);
            let each = libm::pow(list.len() as f64, numbers.balance - 1.0)
                * match (own, attack) {
                    (false, _) => 1.0,
                    (true, true) => numbers.own_attack_weight,
                    (true, false) => numbers.own_benign_weight,
                };
            weighed.extend(list.into_iter().map(|sample| (sample, each)));
        }
        for attack in [false, true] {
            let of_label = |sample: &Sample| sample.attack == attack;
            let sum: f64 = weighed.iter().filter(|(sample, _)| of_label(sample)).map(|(_, weight)| weight).sum();
            let half = weighed.len() as f64 / 2.0;
            weighed.iter_mut().filter(|(sample, _)| of_label(sample)).for_each(|(_, weight)| *weight *= half / sum);
        }
        Weighed { samples: weighed }
    }
}
