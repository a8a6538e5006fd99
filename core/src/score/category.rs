//! Category hits: which patterns of a set occur in the views of texts, and which categories they belong to.

use alloc::vec;
use alloc::vec::Vec;

use super::filter::Filter;
use super::phrase::{Reader, is_border};
use super::tails::Tails;
use super::{lanes, mention};
use crate::limits::MAX_MENTIONS;
use crate::text::{FoldTable, Folded, View};

/// A category of attack phrases (DESIGN.md 7; the four of arXiv 2602.11247 are the default set).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CategoryInfo<'t> {
    /// Its name in config, metrics and reports, for example `role_confusion`.
    pub name: &'t str,
    /// What a turn that hits it adds to the turn's score, 0 to 1, unless the config says otherwise.
    pub weight: f64,
}

/// A pattern of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PatternInfo<'t> {
    /// Its rule id, `category.name`; shown to clients and operators, never the pattern itself.
    pub id: &'t str,
    /// Index of its category in [`CategorySet::categories`].
    pub category: u8,
    /// The whole phrase, for [`Reader`].
    pub program: &'t [u8],
    /// Where in it the last piece ends and the gap before it begins; 0 if it has one piece.
    pub gap_at: u16,
}

/// Categories, their patterns and what finds them. Filled by `floodmark-tables`; tests use tiny ones.
#[derive(Clone, Copy, Debug)]
pub struct CategorySet<'t> {
    /// At most [`crate::limits::MAX_CATEGORIES`].
    pub categories: &'t [CategoryInfo<'t>],
    /// In the order of their numbers.
    pub patterns: &'t [PatternInfo<'t>],
    /// Finds where patterns may end.
    pub filter: Filter<'t>,
    /// Finds which patterns' last pieces end there.
    pub tails: Tails<'t>,
    /// What characters outside ASCII become before patterns are looked for.
    pub folds: FoldTable<'t>,
    /// First 16 hex digits of the blake3 hash of the tables; logged at VM start.
    pub fingerprint: &'t str,
}

/// The first place where a pattern stands in a view, as byte offsets into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Index into [`CategorySet::patterns`].
    pub pattern: u16,
    /// Offset of the first letter.
    pub start: usize,
    /// Offset behind the last letter.
    pub end: usize,
    /// How it is spelt: [`View::Folded`] or [`View::Squashed`].
    pub view: View,
}

impl CategorySet<'_> {
    /// Calls `found(view, hit)` for each pattern that `wanted` asks for and each of `views` that holds it, view by view, in order of the hits' ends. A phrase
    /// that its own sentence plainly quotes or describes is no hit. Linear in the texts.
    pub fn scan(&self, views: &[Folded<'_>], wanted: impl Fn(u16) -> bool, mut found: impl FnMut(usize, Hit)) {
        let mut seen = vec![false; self.patterns.len()];
        let mut mentions = 0;
        let mut reader: Option<(usize, Reader<'_>)> = None;
        lanes::scan(&self.filter, views.iter(), |candidate| {
            let Some(view) = views.get(candidate.text).filter(|view| is_border(view, candidate.end)) else { return };
            self.tails.read(view.as_str().as_bytes(), candidate.end, |start, patterns| {
                let reader = match &mut reader {
                    Some((text, reader)) if *text == candidate.text => reader,
                    other => {
                        seen.fill(false);
                        &mut other.insert((candidate.text, Reader::new(view))).1
                    }
                };
                for &pattern in patterns {
                    let number = usize::from(pattern);
                    let (Some(seen), Some(info)) = (seen.get_mut(number), self.patterns.get(number)) else { continue };
                    if *seen || !wanted(pattern) {
                        continue;
                    }
                    let Some(phrase) = reader.find(info, start, candidate.end) else { continue };
                    let hit = Hit { pattern, start: phrase.start, end: candidate.end, view: phrase.view };
                    // Who speaks of phrases without end uses them.
                    if hit.view == View::Folded
                        && mentions < MAX_MENTIONS
                        && mention::is_mention(view.as_str().as_bytes(), hit.start, hit.end)
                    {
                        mentions += 1;
                        continue;
                    }
                    *seen = true;
                    found(candidate.text, hit);
                }
            });
        });
    }

    /// The patterns that one text holds in plain or folded spelling, for tests and tools.
    pub fn scan_text(&self, text: &str) -> Vec<Hit> {
        let view = [Folded::of(text, &self.folds)];
        let mut hits = Vec::new();
        self.scan(&view, |_| true, |_, hit| hits.push(hit));
        hits
    }
}
