//! The scan of a document: which patterns its events hold, in which view, what the detector says of them, and what that makes of each turn.

use alloc::string::String;
use alloc::vec::Vec;

use crate::catalog::Catalog;
use crate::conversation::{Profile, Resampling, Turn, drop_too};
use crate::detected::{Detected, Detecting, Scored, Step};
use crate::limits::{MAX_ALARMS, MAX_REASONS, RESAMPLING_MIN_BYTES, RESAMPLING_MIN_PAIRS};
use crate::reason::{Reason, Strongest};
use crate::rules::{self, Exempt, RuleUse};
use crate::text::{Decoded, Folded, View, decode};
use crate::trajectory::Trajectory;
use crate::verdict::Verdict;
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
    /// Whether the operator's own patterns would have had to be looked at more closely than is allowed.
    pub own_unread: bool,
    /// What hits raise the verdict to by themselves.
    pub strongest: Strongest<'t>,
    /// Indices of the events that are turns and hold a hit which counts.
    pub hit_events: Vec<usize>,
    /// Messages that hold a hit which blocks alone, ascending; no more than show that there are too many.
    pub blocked_messages: Vec<u32>,
    /// A hit that blocks alone stands outside the messages.
    pub blocked_elsewhere: bool,
    pub exempt_hits: u32,
    /// What the detector found; nothing when it was not asked.
    pub detected: Detected<'t>,
    /// The trajectory since the last alarm.
    pub run: Trajectory,
    /// The events of the trajectory that count, in wire order.
    pub steps: Vec<Step>,
    /// The alarms of the trajectory, at most [`MAX_ALARMS`].
    pub alarms: Vec<Reason<'t>>,
}

/// The texts of a document's events in all the forms that are looked at.
pub(crate) struct Texts<'d, 'b> {
    pub document: &'d Document<'b>,
    /// With the number of the event that each stands in, ascending.
    pub decoded: &'d [(usize, Decoded)],
    /// One of each event, then one of each decoded text.
    pub views: &'d [Folded<'d>],
}

impl Texts<'_, '_> {
    /// The event, the view to name and the bytes of the event's text that bytes of the view of this number come from.
    pub fn place(&self, number: usize, view: View, (start, end): (usize, usize)) -> Option<(usize, View, (usize, usize))> {
        let folded = self.views.get(number)?;
        let Some(decoded) = number.checked_sub(self.document.events.len()) else {
            let original = &self.document.events.get(number)?.text;
            return Some((number, view, folded.span(original, start, end)));
        };
        let (event, decoded) = self.decoded.get(decoded)?;
        let original = &self.document.events.get(*event)?.text;
        Some((*event, View::Decoded, decoded.span(original, folded.span(decoded.as_str(), start, end))))
    }
}

/// A pattern that an event holds.
struct EventHit {
    pattern: u16,
    view: View,
    /// Bytes of the event's text.
    span: (usize, usize),
}

/// Scans for a catalog's patterns; what only scores and is of weight 0 is switched off.
pub(crate) struct Scanner<'s> {
    pub catalog: &'s Catalog<'s>,
    pub weights: &'s [f64],
    /// What a hit means, by the rule's number, of which patterns have the first; `None` where nothing is said.
    pub uses: &'s [Option<RuleUse>],
    pub exempt: Exempt<'s>,
    /// Whose resampling check is made, if any.
    pub resampling: Option<Profile>,
    /// What scores the events, where any of its rules is looked for.
    pub detecting: Option<&'s Detecting<'s>>,
}

impl<'t> Scanned<'t> {
    /// Notes a hit in `event`; `reason` is made only where it is kept.
    #[inline(never)]
    fn take(&mut self, event: &Event<'_>, counts_as: Option<RuleUse>, reason: &dyn Fn() -> Option<Reason<'t>>) {
        self.exempt_hits += u32::from(counts_as.is_none());
        let verdict = counts_as.map_or(Verdict::Allow, RuleUse::verdict);
        if verdict == Verdict::Block {
            if let Some(message) = event.message {
                drop_too(&mut self.blocked_messages, message);
            }
            self.blocked_elsewhere |= event.message.is_none();
        }
        let reasons = if event.is_turn() { &mut self.turn_reasons } else { &mut self.other_reasons };
        if verdict > self.strongest.verdict || reasons.len() < MAX_REASONS {
            let reason = reason();
            self.strongest.raise(verdict, reason.as_ref());
            if reasons.len() < MAX_REASONS {
                reasons.extend(reason);
            }
        }
    }
}

impl<'s> Scanner<'s> {
    /// Looks at every event. Text outside the turns is scanned too, but gives reasons only.
    pub fn scan(&self, document: &Document<'_>) -> Scanned<'s> {
        let mut scanned = Scanned::default();
        let folds = &self.catalog.set.folds;
        let mut decoded: Vec<(usize, Decoded)> = Vec::new();
        for (number, event) in document.events.iter().enumerate() {
            scanned.undecoded |= !decode(&event.text, |found| decoded.push((number, found)));
        }
        // Patterns of the operator's own want white space folded too.
        let own = self.catalog.patterns() > self.catalog.set.patterns.len();
        let view = |text| if own { Folded::new(text, folds) } else { Folded::of(text, folds) };
        let mut views: Vec<Folded<'_>> = document.events.iter().map(|event| view(&event.text)).collect();
        views.extend(decoded.iter().map(|(_, decoded)| view(decoded.as_str())));
        let texts = Texts { document, decoded: &decoded, views: &views };
        let (hits, whole) = self.hits(&texts);
        scanned.own_unread = !whole;
        let scores = self.detecting.map_or(Vec::new(), |detecting| detecting.scores(&texts));
        let mut resampling = self.resampling.filter(|_| may_resample(document)).map(Resampling::new);
        for (number, (event, hits)) in document.events.iter().zip(&hits).enumerate() {
            self.event(number, event, hits, &mut scanned);
            if let Some((detecting, scored)) = self.detecting.zip(scores.get(number)) {
                self.detect(detecting, number, event, scored, &mut scanned);
            }
            if let (true, Channel::User, Some(resampling)) = (event.is_turn(), event.channel, &mut resampling) {
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

    /// What each event holds in any view, each pattern once a view, first what stands there undisguised; and whether that is all.
    fn hits(&self, texts: &Texts<'_, '_>) -> (Vec<Vec<EventHit>>, bool) {
        let mut hits: Vec<Vec<EventHit>> = texts.document.events.iter().map(|_| Vec::new()).collect();
        let wanted = |pattern| self.rule_use(pattern) != RuleUse::Off;
        let mut take = |number: usize, pattern, view, start, end| {
            let Some((event, view, span)) = texts.place(number, view, (start, end)) else { return };
            hits.get_mut(event).into_iter().for_each(|hits| hits.push(EventHit { pattern, view, span }));
        };
        self.catalog.set.scan(texts.views, wanted, |number, hit| take(number, hit.pattern, hit.view, hit.start, hit.end));
        let folded = texts.views.iter().map(Folded::as_str);
        let whole = self.catalog.scan_own(folded, |number, pattern, start, end| {
            if wanted(pattern) {
                take(number, pattern, View::Folded, start, end);
            }
        });
        (hits, whole)
    }

    /// Takes what one event holds.
    fn event(&self, number: usize, event: &Event<'_>, hits: &[EventHit], scanned: &mut Scanned<'s>) {
        let (mut found, mut counting): (Vec<u16>, Vec<u16>) = (Vec::new(), Vec::new());
        for hit in hits {
            if found.contains(&hit.pattern) {
                continue;
            }
            found.push(hit.pattern);
            let counts_as = self.counts_as(hit.pattern, event);
            if let Some(RuleUse::Score | RuleUse::Block) = counts_as {
                counting.push(hit.pattern);
            }
            scanned.take(event, counts_as, &|| Some(Reason { counts_as, ..self.reason(event, hit)? }));
        }
        if event.is_turn() {
            if !counting.is_empty() {
                scanned.hit_events.push(number);
            }
            let weighty = counting.iter().filter(|&&pattern| self.weight(pattern) > 0.0);
            let categories = weighty.fold(0, |bits, &pattern| bits | self.catalog.category_bit(pattern));
            scanned.turns.push(Turn { user: event.channel == Channel::User, categories });
            scanned.turn_messages.push(event.message.unwrap_or_default());
            // Of equals `max_by` takes the last, so the order is turned.
            scanned.turn_patterns.push(counting.into_iter().rev().max_by(|one, other| self.weight(*one).total_cmp(&self.weight(*other))));
        }
    }

    /// Takes what the detector says of one event: a hit by itself, and a step of the trajectory. After an alarm the sum begins anew.
    fn detect(&self, detecting: &Detecting<'_>, number: usize, event: &Event<'_>, scored: &Scored, scanned: &mut Scanned<'s>) {
        let (score, channel, turn) = (scored.score, Some(event.channel), event.message);
        scanned.detected.scores.push(score);
        scanned.detected.messages.push(turn);
        let (id, rule_use, exempt) = self.detector_rule(scored.rule, event);
        if rule_use == RuleUse::Off {
            return;
        }
        if detecting.is_over(score) {
            let counts_as = match rule_use {
                _ if exempt => None,
                RuleUse::Score if event.is_turn() => Some(RuleUse::Block),
                RuleUse::Score => Some(RuleUse::Flag),
                other => Some(other),
            };
            scanned.detected.met(scored.rule, counts_as);
            if counts_as == Some(RuleUse::Block) && event.is_turn() {
                scanned.hit_events.push(number);
            }
            scanned.take(event, counts_as, &|| {
                let (span, view, chunk) = (Some(scored.span), Some(scored.view), Some(scored.chunk));
                Some(Reason { channel, turn, span, view, chunk, ..Reason::of_rule(id, counts_as) })
            });
        }
        let (id, rule_use, sum_exempt) = self.detector_rule(detecting.persistence_rule(), event);
        if exempt || sum_exempt || !event.is_step() {
            return;
        }
        scanned.steps.push(Step { event: number, message: turn, score });
        scanned.detected.push(detecting, score, turn);
        if rule_use != RuleUse::Off && detecting.alarms(&mut scanned.run, score) {
            scanned.run = Trajectory::default();
            let counts_as = Some(if rule_use == RuleUse::Score { RuleUse::Block } else { rule_use });
            if scanned.alarms.is_empty() {
                scanned.detected.alarm_message = turn;
                scanned.detected.met(detecting.persistence_rule(), counts_as);
            }
            if scanned.alarms.len() < MAX_ALARMS {
                scanned.alarms.push(Reason { channel, turn, ..Reason::of_rule(id, counts_as) });
            }
        }
    }

    /// A rule of the detector: its id, what a hit means in a turn, and whether it is exempt in an event.
    #[inline(never)]
    fn detector_rule(&self, rule: usize, event: &Event<'_>) -> (&'s str, RuleUse, bool) {
        let number = rules::detector_number(self.catalog, rule);
        let id = self.catalog.detector_rules.get(rule).map_or("", String::as_str);
        let rule_use = self.uses.get(number).copied().flatten().unwrap_or(RuleUse::Off);
        (id, rule_use, self.exempt.covers(number, Some(event.channel)))
    }

    /// What a hit means in a turn.
    fn rule_use(&self, pattern: u16) -> RuleUse {
        match self.uses.get(usize::from(pattern)).copied().flatten() {
            None | Some(RuleUse::Score) if self.weight(pattern) > 0.0 => RuleUse::Score,
            None | Some(RuleUse::Score) => RuleUse::Off,
            Some(rule_use) => rule_use,
        }
    }

    /// What a hit in an event means; `None` when it is exempt.
    fn counts_as(&self, pattern: u16, event: &Event<'_>) -> Option<RuleUse> {
        match self.rule_use(pattern) {
            _ if self.exempt.covers(usize::from(pattern), Some(event.channel)) => None,
            RuleUse::Score if !event.is_turn() => Some(RuleUse::Flag),
            rule_use => Some(rule_use),
        }
    }

    fn weight(&self, pattern: u16) -> f64 {
        self.catalog.known(pattern).and_then(|known| self.weights.get(known.category)).copied().unwrap_or_default()
    }

    fn reason(&self, event: &Event<'_>, hit: &EventHit) -> Option<Reason<'s>> {
        let known = self.catalog.known(hit.pattern)?;
        Some(Reason {
            rule: known.id,
            category: Some(known.category_name),
            channel: Some(event.channel),
            turn: event.message,
            span: Some(hit.span),
            view: Some(hit.view),
            chunk: None,
            counts_as: None,
        })
    }
}

/// Whether there are enough user messages long enough to resample: three pairs need four. Most requests are spared the work.
fn may_resample(document: &Document<'_>) -> bool {
    let long = |event: &&Event<'_>| event.channel == Channel::User && event.records_at >= RESAMPLING_MIN_BYTES;
    document.events.iter().filter(long).nth(RESAMPLING_MIN_PAIRS).is_some()
}
