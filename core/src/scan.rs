//! The scan of a document: which patterns its events hold, in which view, and what that makes of each turn.

use alloc::vec::Vec;

use crate::conversation::{Resampling, Turn};
use crate::limits::{MAX_REASONS, RESAMPLING_MIN_BYTES, RESAMPLING_MIN_PAIRS};
use crate::reason::Reason;
use crate::score::{CategorySet, Hit};
use crate::text::{Folded, Glued, View};
use crate::wire::{Channel, Document, Event};

/// What the scan of a document's events gave.
#[derive(Debug, Default)]
pub(crate) struct Scanned<'t> {
    pub turns: Vec<Turn>,
    /// Message index of each turn.
    pub turn_messages: Vec<u32>,
    /// The weightiest pattern of each turn, the first of equals.
    pub turn_patterns: Vec<Option<u16>>,
    /// The message at which resampling was first seen.
    pub resampling: Option<u32>,
    /// At most [`MAX_REASONS`] of each kind.
    pub turn_reasons: Vec<Reason<'t>>,
    pub other_reasons: Vec<Reason<'t>>,
}

/// Scans for a set's patterns; a category of weight 0 is switched off.
pub(crate) struct Scanner<'s, 't> {
    pub set: &'t CategorySet<'t>,
    pub weights: &'s [f64],
}

impl<'t> Scanner<'_, 't> {
    /// Looks at every event. Text outside the turns is scanned too, but gives reasons only.
    pub fn scan(&self, document: &Document<'_>) -> Scanned<'t> {
        let mut scanned = Scanned::default();
        let mut resampling = may_resample(document).then(Resampling::default);
        for event in &document.events {
            let folded = Folded::new(&event.text);
            let found = self.event(event, &folded, &mut scanned);
            if !event.channel.is_turn() {
                continue;
            }
            let user = event.channel == Channel::User;
            let categories = found.iter().fold(0, |bits, &pattern| bits | self.set.category_bit(pattern));
            scanned.turns.push(Turn { user, categories });
            scanned.turn_messages.push(event.message.unwrap_or_default());
            // Of equals `max_by` takes the last, so the order is turned.
            let weightiest = found.into_iter().rev().max_by(|one, other| self.weight(*one).total_cmp(&self.weight(*other)));
            scanned.turn_patterns.push(weightiest);
            if let (true, Some(resampling)) = (user, &mut resampling) {
                // Records are not the message's words: random metadata must not make repeated messages look different.
                if event.records_at < event.text.len() {
                    resampling.push(Folded::new(event.parts()).as_str());
                } else {
                    resampling.push(folded.as_str());
                }
                if resampling.seen() && scanned.resampling.is_none() {
                    scanned.resampling = event.message;
                }
            }
        }
        scanned
    }

    /// The patterns that one event holds in any view, each once. The first views' reasons come first.
    fn event(&self, event: &Event<'_>, folded: &Folded, scanned: &mut Scanned<'t>) -> Vec<u16> {
        let reasons = if event.channel.is_turn() { &mut scanned.turn_reasons } else { &mut scanned.other_reasons };
        let mut found = Vec::new();
        let mut take = |hits: &[Hit], view, span: &dyn Fn(Hit) -> (usize, usize)| {
            for &hit in hits {
                if self.weight(hit.pattern) > 0.0 && !found.contains(&hit.pattern) {
                    found.push(hit.pattern);
                    if reasons.len() < MAX_REASONS {
                        reasons.extend(self.reason(event, hit.pattern, view, span(hit)));
                    }
                }
            }
        };
        let span = |hit| {
            let (start, end) = self.set.span(folded.as_str(), hit);
            folded.span(&event.text, start, end)
        };
        take(&self.set.scan(folded.as_str()), View::Folded, &span);
        if let Some(glued) = Glued::new(event.parts(), &event.joints) {
            let folded = Folded::new(glued.as_str());
            let span = |hit| {
                let (start, end) = self.set.span(folded.as_str(), hit);
                glued.span(folded.span(glued.as_str(), start, end))
            };
            take(&self.set.scan(folded.as_str()), View::Glued, &span);
        }
        found
    }

    fn weight(&self, pattern: u16) -> f64 {
        let category = self.set.patterns.get(usize::from(pattern)).map(|pattern| usize::from(pattern.category));
        category.and_then(|category| self.weights.get(category)).copied().unwrap_or_default()
    }

    fn reason(&self, event: &Event<'_>, pattern: u16, view: View, span: (usize, usize)) -> Option<Reason<'t>> {
        let pattern = self.set.patterns.get(usize::from(pattern))?;
        let category = self.set.categories.get(usize::from(pattern.category))?;
        Some(Reason {
            rule: pattern.id,
            category: Some(category.name),
            channel: Some(event.channel),
            turn: event.message,
            span: Some(span),
            view: Some(view),
        })
    }
}

/// Whether there are enough user messages long enough to resample: three pairs need four. Most requests are spared the work.
fn may_resample(document: &Document<'_>) -> bool {
    let long = |event: &&Event<'_>| event.channel == Channel::User && event.records_at >= RESAMPLING_MIN_BYTES;
    document.events.iter().filter(long).nth(RESAMPLING_MIN_PAIRS).is_some()
}
