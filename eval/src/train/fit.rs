//! From weighed samples to weights: rounds of choosing chunks and training on them.
//!
//! A text is benign in each of its chunks, and an attack in at least one. Where an injection's place is not known, the chunks that the model of the
//! round before finds most like an attack stand for it; of benign texts those that it finds most like one are added (multiple-instance learning).

use std::collections::{BTreeMap, BTreeSet};

use crate::stats::Chance;

use super::chunks::{Chunk, Text};
use super::recipe::{Fit, Recipe};
use super::samples::{Sample, Weighed};
use super::svm::{Example, train};

/// Chunks that stand for an injection whose place is known.
const KNOWN_CHUNKS: usize = 3;
/// Chunks that stand for an attack whose place is not known, at most.
const MOST_CHUNKS: usize = 6;
/// Chunks of a benign text that a round adds.
const ADDED_CHUNKS: usize = 6;
/// A benign chunk below this margin teaches nothing more.
const SAFE_MARGIN: f32 = -1.0;

/// Weights by bucket and the bias.
#[derive(Clone, Debug)]
pub struct Weights {
    pub buckets: Vec<f32>,
    pub bias: f32,
}

impl Weights {
    /// The highest margin of a text; as low as can be without words.
    pub fn margin(&self, text: &Text) -> f64 {
        text.margins(&self.buckets, self.bias).into_iter().fold(f32::NEG_INFINITY, f32::max).into()
    }
}

/// Trains.
pub fn fit(weighed: &Weighed<'_>, recipe: &Recipe, chance: &mut Chance) -> Weights {
    let buckets = 1 << recipe.bits;
    let mut chooser = Chooser { fit: &recipe.fit, benign: BTreeMap::new() };
    let mut scales = Vec::new();
    let mut weights: Option<Weights> = None;
    for _ in 0..recipe.fit.rounds {
        let mut chosen: Vec<(&Sample, Chunk, f64)> = Vec::new();
        for (number, (sample, weight)) in weighed.samples.iter().enumerate() {
            let chunks = chooser.choose(number, sample, weights.as_ref(), chance);
            // An attack's weight is shared by its chunks; more chunks of a benign text say more, but not as much as they are.
            let each = if sample.attack { chunks.len() as f64 } else { (chunks.len() as f64).sqrt() };
            chosen.extend(chunks.into_iter().map(|chunk| (*sample, chunk, weight / each)));
        }
        if scales.is_empty() {
            scales = scales_of(&chosen, buckets, recipe.fit.word_scale);
        }
        let examples: Vec<Example> = chosen.iter().map(|chosen| example(chosen, &scales, recipe.fit.cost)).collect();
        let (mut found, bias) = train(&examples, buckets, recipe.fit.passes, chance);
        found.iter_mut().zip(&scales).for_each(|(weight, scale)| *weight *= scale);
        weights = Some(Weights { buckets: found, bias });
    }
    weights.unwrap_or(Weights { buckets: vec![0.0; buckets], bias: 0.0 })
}

struct Chooser<'f> {
    fit: &'f Fit,
    /// The chunks of each benign sample so far.
    benign: BTreeMap<usize, BTreeSet<(usize, usize)>>,
}

impl Chooser<'_> {
    fn choose(&mut self, number: usize, sample: &Sample, weights: Option<&Weights>, chance: &mut Chance) -> Vec<Chunk> {
        let all = sample.text.chunks();
        if all.is_empty() {
            return all;
        }
        // The chunks by their margins, the highest first.
        let ranked = weights.map(|weights| {
            let margins = sample.text.margins(&weights.buckets, weights.bias);
            let mut ranked: Vec<(f32, Chunk)> = margins.into_iter().zip(all.iter().cloned()).collect();
            ranked.sort_by(|one, other| other.0.total_cmp(&one.0));
            ranked
        });
        if !sample.attack {
            let taken = self.benign.entry(number).or_default();
            match ranked {
                None => taken.extend(chance.some(all, self.fit.first_chunks).into_iter().map(|chunk| (chunk.start, chunk.end))),
                Some(ranked) => {
                    let near = ranked.into_iter().take(ADDED_CHUNKS).filter(|(margin, _)| *margin > SAFE_MARGIN);
                    taken.extend(near.map(|(_, chunk)| (chunk.start, chunk.end)));
                }
            }
            return taken.iter().map(|(start, end)| *start..*end).collect();
        }
        if let Some(injected) = &sample.injected {
            let shared = |chunk: &Chunk| chunk.end.min(injected.end).saturating_sub(chunk.start.max(injected.start));
            let most = all.iter().map(shared).max().unwrap_or_default();
            return chance.some(all.into_iter().filter(|chunk| shared(chunk) == most).collect(), KNOWN_CHUNKS);
        }
        match ranked {
            None => chance.some(all, self.fit.first_chunks),
            Some(ranked) => {
                let share = (all.len() as f64 * self.fit.attack_share).ceil() as usize;
                ranked.into_iter().take(share.clamp(1, MOST_CHUNKS)).map(|(_, chunk)| chunk).collect()
            }
        }
    }
}

/// What each bucket's values are multiplied by before training: the rarer the more, and words more than characters.
fn scales_of(chosen: &[(&Sample, Chunk, f64)], buckets: usize, word_scale: f64) -> Vec<f32> {
    let mut texts = vec![0_u32; buckets];
    for (sample, chunk, _) in chosen {
        let mut found = sample.text.buckets(chunk).to_vec();
        found.sort_unstable();
        found.dedup();
        found.into_iter().for_each(|bucket| texts[bucket as usize] += 1);
    }
    let all = chosen.len() as f64 + 1.0;
    let scale = |(bucket, texts): (usize, u32)| {
        let rarity = libm::log(all / (f64::from(texts) + 1.0)) / 4.0 + 0.1;
        (rarity * if bucket >= buckets / 2 { word_scale } else { 1.0 }) as f32
    };
    texts.into_iter().enumerate().map(scale).collect()
}

/// A chunk as the machine sees it: how often each bucket occurs, over the root of the number of features, as in the member's margin.
fn example((sample, chunk, weight): &(&Sample, Chunk, f64), scales: &[f32], cost: f64) -> Example {
    let mut buckets = sample.text.buckets(chunk).to_vec();
    buckets.sort_unstable();
    let root = (buckets.len().max(1) as f32).sqrt();
    let features = buckets.chunk_by(|one, other| one == other).map(|same| (same[0], same.len() as f32 / root * scales[same[0] as usize]));
    Example { features: features.collect(), attack: sample.attack, cost: (weight * cost) as f32 }
}
