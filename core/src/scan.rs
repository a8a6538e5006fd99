//! The scan of a document: what was found in its events, and what that makes of each turn and of the trajectory.

use alloc::string::String;
use alloc::vec::Vec;

use crate::catalog::Catalog;
use crate::conversation::{Profile, Resampling, Streak, Turn, drop_too};
use crate::detected::{Detected, Detecting, Scored, Step};
use crate::limits::{MAX_ALARMS, MAX_REASONS, RESAMPLING_MIN_BYTES, RESAMPLING_MIN_PAIRS};
use crate::look::{EventHit, Looked};
use crate::reason::{Reason, Strongest};
use crate::rules::{self, Exempt, RuleUse};
use crate::run::plan::{Count, Plan, Planned};
use crate::text::Folded;
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
    /// The same of the body's history alone, where that counts too.
    pub alone: Trajectory,
    /// The events of the trajectory that count, in wire order.
    pub steps: Vec<Step>,
    /// The alarms of the trajectory, at most [`MAX_ALARMS`].
    pub alarms: Vec<Reason<'t>>,
    /// Within a run: what each event that was looked at is to it, by ascending number.
    pub found: Vec<Found>,
    /// Where resampling is afterwards; `None` when it was not followed.
    pub streak: Option<Streak>,
}

/// What an event is to its run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Found {
    pub event: usize,
    /// Anything was found in it, whether it counts or not.
    pub hit: bool,
    /// Its score, if it is a step that counts somewhere.
    pub score: Option<f64>,
    /// Its score is above the drift.
    pub hot: bool,
    /// The trajectory took it.
    pub counted: bool,
    /// The running sum reached the alarm level with it, now or before.
    pub alarmed: bool,
    /// The running sum did now.
    pub reset: bool,
    /// It asks for an approval, or would if it had none.
    pub asks: bool,
    /// If it is a turn: the categories and the weightiest pattern.
    pub turn: Option<(Turn, Option<u16>)>,
}

/// An event as it is taken.
struct Taken<'e, 'b> {
    event: &'e Event<'b>,
    number: usize,
    planned: &'e Planned,
    /// Where it came from: text that only says it is the assistant's counts as a user's.
    channel: Channel,
}

impl Taken<'_, '_> {
    fn is_turn(&self) -> bool {
        self.event.is_turn() || self.planned.forged
    }

    fn is_step(&self) -> bool {
        self.event.is_step() || self.planned.forged
    }
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
    /// Everything that asks was approved.
    pub approved: bool,
}

impl<'t> Scanned<'t> {
    /// Notes a hit in `event`; `reason` is made only where it is kept.
    #[inline(never)]
    fn take(&mut self, taken: &Taken<'_, '_>, counts_as: Option<RuleUse>, reason: &dyn Fn() -> Option<Reason<'t>>) {
        self.exempt_hits += u32::from(counts_as.is_none());
        let verdict = counts_as.map_or(Verdict::Allow, RuleUse::verdict);
        if verdict == Verdict::Block {
            if let Some(message) = taken.event.message {
                drop_too(&mut self.blocked_messages, message);
            }
            self.blocked_elsewhere |= taken.event.message.is_none();
        }
        let reasons = if taken.is_turn() { &mut self.turn_reasons } else { &mut self.other_reasons };
        if verdict > self.strongest.verdict || reasons.len() < MAX_REASONS {
            let reason = reason();
            self.strongest.raise(verdict, reason.as_ref());
            if reasons.len() < MAX_REASONS {
                reasons.extend(reason);
            }
        }
    }

    /// Adds a turn.
    fn turn(&mut self, turn: Turn, message: Option<u32>, pattern: Option<u16>) {
        self.turns.push(turn);
        self.turn_messages.push(message.unwrap_or_default());
        self.turn_patterns.push(pattern);
    }
}

impl<'s> Scanner<'s> {
    /// Takes what was found in the events, as far as the plan says. Text outside the turns gives reasons only.
    pub fn scan(&self, document: &Document<'_>, looked: &[Option<Looked>], plan: &Plan) -> Scanned<'s> {
        let mut scanned = Scanned { run: plan.cusum, alone: plan.alone.unwrap_or_default(), ..Scanned::default() };
        scanned.detected.trajectory = plan.stats;
        let events = || document.events.iter().zip(&plan.events);
        let mut resampling = self.resampling.filter(|_| may_resample(events())).map(|profile| {
            let resumed = plan.streak.and_then(|streak| self.resume(profile, streak, document, plan));
            (resumed.is_some(), resumed.unwrap_or_else(|| Resampling::new(profile)))
        });
        for (number, ((event, planned), looked)) in events().zip(looked).enumerate() {
            if !planned.in_scope {
                continue;
            }
            let taken = Taken { event, number, planned, channel: if planned.forged { Channel::User } else { event.channel } };
            match looked.as_ref().filter(|_| planned.look) {
                Some(looked) => {
                    let found = self.take(&taken, looked, plan, &mut scanned);
                    if plan.within {
                        scanned.found.push(found);
                    }
                }
                // It was looked at before, and nothing was found.
                None if event.is_turn() => scanned.turn(Turn { user: event.channel == Channel::User, categories: 0 }, event.message, None),
                None => (),
            }
            if let (true, Channel::User, Some((resumed, resampling))) = (event.is_turn(), event.channel, &mut resampling)
                && (planned.is_new || !*resumed)
            {
                self.with_words(event, |text| match text {
                    Ok(text) => resampling.push(text),
                    Err(text) => resampling.push(text),
                });
                if resampling.seen() && scanned.resampling.is_none() {
                    scanned.resampling = event.message;
                }
            }
        }
        scanned.streak = resampling.and_then(|(_, resampling)| resampling.streak());
        scanned
    }

    /// Goes on with a streak, for which the last long messages of those that are not new are needed; `None` when they are not there.
    fn resume<'d>(&self, profile: Profile, streak: Streak, document: &'d Document<'_>, plan: &Plan) -> Option<Resampling<'d>> {
        let mut resampling = Resampling::resumed(profile, streak);
        for (event, planned) in document.events.iter().zip(&plan.events).rev() {
            if resampling.needs_no_more() {
                break;
            }
            if planned.in_scope && !planned.is_new && event.is_turn() && event.channel == Channel::User {
                self.with_words(event, |text| match text {
                    Ok(text) => resampling.push_before(text),
                    Err(text) => resampling.push_before(text),
                });
            }
        }
        resampling.needs_no_more().then_some(resampling)
    }

    /// Gives a message's own words as resampling wants them. Records are not among them: random metadata must not make repeated messages look different.
    fn with_words<'d>(&self, event: &'d Event<'_>, take: impl FnOnce(Result<&'d str, String>)) {
        let plain = event.parts();
        take(if plain.is_ascii() { Ok(plain) } else { Err(Folded::new(plain, &self.catalog.set.folds).as_str().into()) });
    }

    /// Takes what was found in one event.
    fn take(&self, taken: &Taken<'_, '_>, looked: &Looked, plan: &Plan, scanned: &mut Scanned<'s>) -> Found {
        scanned.undecoded |= looked.undecoded;
        let hit = looked.undecoded || !looked.hits.is_empty();
        let mut found = Found { event: taken.number, hit, ..Found::default() };
        self.event(taken, &looked.hits, &mut found, scanned);
        if let Some((detecting, scored)) = self.detecting.zip(looked.scored.as_ref()) {
            self.detect(detecting, taken, scored, plan, &mut found, scanned);
        }
        found
    }

    /// Takes the patterns that one event holds.
    fn event(&self, taken: &Taken<'_, '_>, hits: &[EventHit], found: &mut Found, scanned: &mut Scanned<'s>) {
        let (mut known, mut counting): (Vec<u16>, Vec<u16>) = (Vec::new(), Vec::new());
        for hit in hits {
            if known.contains(&hit.pattern) {
                continue;
            }
            known.push(hit.pattern);
            let counts_as = self.counts_as(hit.pattern, taken, found);
            if let Some(RuleUse::Score | RuleUse::Block) = counts_as {
                counting.push(hit.pattern);
            }
            scanned.take(taken, counts_as, &|| Some(Reason { counts_as, ..self.reason(taken, hit)? }));
        }
        if taken.is_turn() {
            if !counting.is_empty() {
                scanned.hit_events.push(taken.number);
            }
            let weighty = counting.iter().filter(|&&pattern| self.weight(pattern) > 0.0);
            let categories = weighty.fold(0, |bits, &pattern| bits | self.catalog.category_bit(pattern));
            // What nobody can say who wrote is a turn for what it holds, and none that makes others older.
            if categories == 0 && !taken.event.is_turn() {
                return;
            }
            let turn = Turn { user: taken.channel == Channel::User, categories };
            // Of equals `max_by` takes the last, so the order is turned.
            let pattern = counting.into_iter().rev().max_by(|one, other| self.weight(*one).total_cmp(&self.weight(*other)));
            found.turn = Some((turn, pattern));
            scanned.turn(turn, taken.event.message, pattern);
        }
    }

    /// Takes what the detector says of one event: a hit by itself, and a step of the trajectory. After an alarm the sum begins anew.
    fn detect(
        &self,
        detecting: &Detecting<'_>,
        taken: &Taken<'_, '_>,
        scored: &Scored,
        plan: &Plan,
        found: &mut Found,
        scanned: &mut Scanned<'s>,
    ) {
        let (score, channel, turn) = (scored.score, Some(taken.channel), taken.event.message);
        scanned.detected.scores.push(score);
        scanned.detected.messages.push(turn);
        let (id, rule_use, exempt) = self.detector_rule(scored.rule, taken.channel);
        if rule_use == RuleUse::Off {
            return;
        }
        if detecting.is_over(score) {
            found.hit = true;
            let counts_as = match rule_use {
                _ if exempt => None,
                RuleUse::Score if taken.is_turn() => Some(RuleUse::Block),
                RuleUse::Score => Some(RuleUse::Flag),
                other => Some(self.approved(other, taken, found)),
            };
            scanned.detected.met(scored.rule, counts_as);
            if counts_as == Some(RuleUse::Block) && taken.is_turn() {
                scanned.hit_events.push(taken.number);
            }
            scanned.take(taken, counts_as, &|| {
                let (span, view, chunk) = (Some(scored.span), Some(scored.view), Some(scored.chunk));
                Some(Reason { channel, turn, span, view, chunk, ..Reason::of_rule(id, counts_as) })
            });
        }
        let (id, rule_use, sum_exempt) = self.detector_rule(detecting.persistence_rule(), taken.channel);
        if exempt || sum_exempt || !taken.is_step() {
            return;
        }
        scanned.steps.push(Step { event: taken.number, message: turn, score });
        (found.score, found.hot) = (Some(score), detecting.is_hot(score));
        found.counted = match taken.planned.count {
            Count::Ordinary => true,
            Count::Rising => found.hot,
            Count::Nothing => false,
        };
        if found.counted {
            scanned.detected.push(detecting, score, turn);
        }
        if rule_use == RuleUse::Off {
            return;
        }
        found.alarmed = taken.planned.alarmed;
        if found.counted && detecting.alarms(&mut scanned.run, score) {
            scanned.run = Trajectory::default();
            (found.alarmed, found.reset) = (true, true);
        }
        let alone = plan.alone.is_some() && (plan.anew || taken.planned.is_new) && (found.hot || !taken.planned.forged);
        found.alarmed |= alone && detecting.alarms(&mut scanned.alone, score);
        if alone && found.alarmed {
            // It begins anew where the run's did, now or before.
            scanned.alone = Trajectory::default();
        }
        if found.alarmed {
            let counts_as = Some(if rule_use == RuleUse::Score { RuleUse::Block } else { self.approved(rule_use, taken, found) });
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
    fn detector_rule(&self, rule: usize, channel: Channel) -> (&'s str, RuleUse, bool) {
        let number = rules::detector_number(self.catalog, rule);
        let id = self.catalog.detector_rules.get(rule).map_or("", String::as_str);
        let rule_use = self.uses.get(number).copied().flatten().unwrap_or(RuleUse::Off);
        (id, rule_use, self.exempt.covers(number, Some(channel)))
    }

    /// What a rule means that may ask: an approved event is only worth a word. Notes that it asks.
    fn approved(&self, rule_use: RuleUse, taken: &Taken<'_, '_>, found: &mut Found) -> RuleUse {
        found.asks |= rule_use == RuleUse::Ask;
        if rule_use == RuleUse::Ask && (self.approved || taken.planned.approved) { RuleUse::Flag } else { rule_use }
    }

    /// What a hit means in a turn.
    pub fn rule_use(&self, pattern: u16) -> RuleUse {
        match self.uses.get(usize::from(pattern)).copied().flatten() {
            None | Some(RuleUse::Score) if self.weight(pattern) > 0.0 => RuleUse::Score,
            None | Some(RuleUse::Score) => RuleUse::Off,
            Some(rule_use) => rule_use,
        }
    }

    /// What a hit in an event means; `None` when it is exempt.
    fn counts_as(&self, pattern: u16, taken: &Taken<'_, '_>, found: &mut Found) -> Option<RuleUse> {
        match self.rule_use(pattern) {
            _ if self.exempt.covers(usize::from(pattern), Some(taken.channel)) => None,
            RuleUse::Score if !taken.is_turn() => Some(RuleUse::Flag),
            rule_use => Some(self.approved(rule_use, taken, found)),
        }
    }

    fn weight(&self, pattern: u16) -> f64 {
        self.catalog.known(pattern).and_then(|known| self.weights.get(known.category)).copied().unwrap_or_default()
    }

    fn reason(&self, taken: &Taken<'_, '_>, hit: &EventHit) -> Option<Reason<'s>> {
        let known = self.catalog.known(hit.pattern)?;
        Some(Reason {
            rule: known.id,
            category: Some(known.category_name),
            channel: Some(taken.channel),
            turn: taken.event.message,
            span: Some(hit.span),
            view: Some(hit.view),
            chunk: None,
            counts_as: None,
        })
    }
}

/// Whether there are enough user messages long enough to resample: three pairs need four. Most requests are spared the work.
fn may_resample<'e>(mut events: impl Iterator<Item = (&'e Event<'e>, &'e Planned)>) -> bool {
    let long = |(event, planned): &(&Event<'_>, &Planned)| {
        planned.in_scope && event.channel == Channel::User && event.records_at >= RESAMPLING_MIN_BYTES
    };
    events.by_ref().filter(long).nth(RESAMPLING_MIN_PAIRS).is_some()
}
