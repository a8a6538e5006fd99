//! The scan of a document: which patterns its events hold, in which view, and what that makes of each turn.

use alloc::string::String;
use alloc::vec::Vec;

use crate::conversation::{Profile, Resampling, Turn};
use crate::limits::{MAX_REASONS, RESAMPLING_MIN_BYTES, RESAMPLING_MIN_PAIRS};
use crate::reason::Reason;
use crate::rules::{Exempt, RuleUse};
use crate::score::CategorySet;
use crate::text::{Decoded, Folded, View, decode};
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
    /// Whether some text holds more in encodings than is decoded.
    pub undecoded: bool,
    pub raised: Raised<'t>,
    /// Indices of the events that are turns and hold a hit which counts.
    pub hit_events: Vec<usize>,
    /// Messages that hold a hit which blocks alone.
    pub blocked_messages: Vec<u32>,
    /// A hit that blocks alone stands outside the messages.
    pub blocked_elsewhere: bool,
    pub exempt_hits: u32,
}

/// The first hit that raises the verdict by itself, for each verdict that it can raise to.
#[derive(Debug, Default)]
pub(crate) struct Raised<'t> {
    pub flag: Option<Reason<'t>>,
    pub label: Option<Reason<'t>>,
    pub block: Option<Reason<'t>>,
}

impl<'t> Raised<'t> {
    /// Where the first hit of this meaning belongs, if it raises anything.
    fn slot(&mut self, counts_as: Option<RuleUse>) -> Option<&mut Option<Reason<'t>>> {
        match counts_as? {
            RuleUse::Flag => Some(&mut self.flag),
            RuleUse::Label => Some(&mut self.label),
            RuleUse::Block => Some(&mut self.block),
            RuleUse::Off | RuleUse::Score => None,
        }
    }
}

/// A pattern that an event holds.
struct EventHit {
    event: usize,
    pattern: u16,
    view: View,
    /// Bytes of the event's text.
    span: (usize, usize),
}

/// Scans for a set's patterns; what only scores and is of weight 0 is switched off.
pub(crate) struct Scanner<'s, 't> {
    pub set: &'t CategorySet<'t>,
    pub weights: &'s [f64],
    /// What a hit means, by the rule's number, of which patterns have the first; `None` where nothing is said.
    pub uses: &'s [Option<RuleUse>],
    pub exempt: Exempt<'s>,
    /// Whose resampling check is made, if any.
    pub resampling: Option<Profile>,
}

impl<'t> Scanned<'t> {
    /// Notes a hit in `event`; `reason` is made only where it is kept.
    fn take(&mut self, event: &Event<'_>, counts_as: Option<RuleUse>, reason: impl FnOnce() -> Option<Reason<'t>>) {
        self.exempt_hits += u32::from(counts_as.is_none());
        if counts_as == Some(RuleUse::Block) {
            self.blocked_messages.extend(event.message);
            self.blocked_elsewhere |= event.message.is_none();
        }
        let first = self.raised.slot(counts_as).filter(|slot| slot.is_none());
        let reasons = if event.channel.is_turn() { &mut self.turn_reasons } else { &mut self.other_reasons };
        if first.is_some() || reasons.len() < MAX_REASONS {
            let reason = reason();
            if let Some(first) = first {
                first.clone_from(&reason);
            }
            if reasons.len() < MAX_REASONS {
                reasons.extend(reason);
            }
        }
    }
}

impl<'t> Scanner<'_, 't> {
    /// Looks at every event. Text outside the turns is scanned too, but gives reasons only.
    pub fn scan(&self, document: &Document<'_>) -> Scanned<'t> {
        let mut scanned = Scanned::default();
        let folds = &self.set.folds;
        let mut decoded: Vec<(usize, Decoded)> = Vec::new();
        for (number, event) in document.events.iter().enumerate() {
            scanned.undecoded |= !decode(&event.text, |found| decoded.push((number, found)));
        }
        let view = |text| Folded::ascii(text).unwrap_or_else(|| Folded::new(text, folds));
        let mut views: Vec<Folded<'_>> = document.events.iter().map(|event| view(&event.text)).collect();
        views.extend(decoded.iter().map(|(_, decoded)| view(decoded.as_str())));
        let hits = self.hits(document, &decoded, &views);
        let mut hits = hits.as_slice();
        let mut resampling = self.resampling.filter(|_| may_resample(document)).map(Resampling::new);
        for (number, event) in document.events.iter().enumerate() {
            let (own, rest) = hits.split_at_checked(hits.partition_point(|hit| hit.event <= number)).unwrap_or_default();
            hits = rest;
            self.event(number, event, own, &mut scanned);
            if let (Channel::User, Some(resampling)) = (event.channel, &mut resampling) {
                // Records are not the message's words: random metadata must not make repeated messages look different.
                match (event.parts(), views.get(number)) {
                    (plain, _) if plain.is_ascii() => resampling.push(plain),
                    (whole, Some(view)) if whole.len() == event.text.len() => resampling.push(view.as_str()),
                    (other, _) => resampling.push(String::from(Folded::new(other, folds).as_str())),
                }
                if resampling.seen() && scanned.resampling.is_none() {
                    scanned.resampling = event.message;
                }
            }
        }
        scanned
    }

    /// What the events hold in any view, event by event and each pattern once, first what stands there undisguised.
    fn hits(&self, document: &Document<'_>, decoded: &[(usize, Decoded)], views: &[Folded<'_>]) -> Vec<EventHit> {
        let mut hits: Vec<EventHit> = Vec::new();
        let wanted = |pattern| self.rule_use(pattern) != RuleUse::Off;
        self.set.scan(views, wanted, |number, hit| {
            let Some(folded) = views.get(number) else { return };
            let (event, view, span) = match number.checked_sub(document.events.len()).and_then(|at| decoded.get(at)) {
                None => (number, hit.view, None),
                Some((event, decoded)) => (*event, View::Decoded, Some(decoded)),
            };
            let Some(original) = document.events.get(event).map(|event| &event.text) else { return };
            let span = match span {
                None => folded.span(original, hit.start, hit.end),
                Some(decoded) => decoded.span(original, folded.span(decoded.as_str(), hit.start, hit.end)),
            };
            hits.push(EventHit { event, pattern: hit.pattern, view, span });
        });
        // Stable, so what was decoded stays behind what was not.
        hits.sort_by_key(|hit| hit.event);
        hits
    }

    /// Takes what one event holds.
    fn event(&self, number: usize, event: &Event<'_>, hits: &[EventHit], scanned: &mut Scanned<'t>) {
        let (mut found, mut counting): (Vec<u16>, Vec<u16>) = (Vec::new(), Vec::new());
        for hit in hits {
            if found.contains(&hit.pattern) {
                continue;
            }
            found.push(hit.pattern);
            let counts_as = self.counts_as(hit.pattern, event.channel);
            if let Some(RuleUse::Score | RuleUse::Block) = counts_as {
                counting.push(hit.pattern);
            }
            scanned.take(event, counts_as, || Some(Reason { counts_as, ..self.reason(event, hit)? }));
        }
        if event.channel.is_turn() {
            if !counting.is_empty() {
                scanned.hit_events.push(number);
            }
            let weighty = counting.iter().filter(|&&pattern| self.weight(pattern) > 0.0);
            let categories = weighty.fold(0, |bits, &pattern| bits | self.set.category_bit(pattern));
            scanned.turns.push(Turn { user: event.channel == Channel::User, categories });
            scanned.turn_messages.push(event.message.unwrap_or_default());
            // Of equals `max_by` takes the last, so the order is turned.
            scanned.turn_patterns.push(counting.into_iter().rev().max_by(|one, other| self.weight(*one).total_cmp(&self.weight(*other))));
        }
    }

    /// What a hit means in a turn.
    fn rule_use(&self, pattern: u16) -> RuleUse {
        match self.uses.get(usize::from(pattern)).copied().flatten() {
            None | Some(RuleUse::Score) if self.weight(pattern) > 0.0 => RuleUse::Score,
            None | Some(RuleUse::Score) => RuleUse::Off,
            Some(rule_use) => rule_use,
        }
    }

    /// What a hit on `channel` means; `None` when it is exempt.
    fn counts_as(&self, pattern: u16, channel: Channel) -> Option<RuleUse> {
        match self.rule_use(pattern) {
            _ if self.exempt.covers(usize::from(pattern), Some(channel)) => None,
            RuleUse::Score if !channel.is_turn() => Some(RuleUse::Flag),
            rule_use => Some(rule_use),
        }
    }

    fn weight(&self, pattern: u16) -> f64 {
        let category = self.set.patterns.get(usize::from(pattern)).map(|pattern| usize::from(pattern.category));
        category.and_then(|category| self.weights.get(category)).copied().unwrap_or_default()
    }

    fn reason(&self, event: &Event<'_>, hit: &EventHit) -> Option<Reason<'t>> {
        let pattern = self.set.patterns.get(usize::from(hit.pattern))?;
        let category = self.set.categories.get(usize::from(pattern.category))?;
        Some(Reason {
            rule: pattern.id,
            category: Some(category.name),
            channel: Some(event.channel),
            turn: event.message,
            span: Some(hit.span),
            view: Some(hit.view),
            counts_as: None,
        })
    }
}

/// Whether there are enough user messages long enough to resample: three pairs need four. Most requests are spared the work.
fn may_resample(document: &Document<'_>) -> bool {
    let long = |event: &&Event<'_>| event.channel == Channel::User && event.records_at >= RESAMPLING_MIN_BYTES;
    document.events.iter().filter(long).nth(RESAMPLING_MIN_PAIRS).is_some()
}
