//! A body judged within its run: what of it is new, what that adds, and the record afterwards.

use alloc::vec::Vec;

use super::kept::{Last, body_digest};
use super::key::Of;
use super::marks::{ALARM, FORGED, HIT, HOT};
use super::noted::{CountedStep, HotEvent, has_left};
use super::opened::{Digests, Opened};
use super::plan::{Count, Plan, Planned};
use super::record::{FRAME_HIT, Fingerprint, Head, LAST};
use super::{Context, Counted, History, Run, RunFacts, Settled, conditions, fits};
use crate::conversation::{Profile, Streak};
use crate::limits::{MAX_JOINED_TEXTS, RUN_TAIL};
use crate::scan::{Found, Scanned};
use crate::trajectory::Trajectory;
use crate::verdict::Verdict;
use crate::wire::{Channel, Direction, Event, IssueKind};

/// How a body that brings its history stands to what was judged.
struct Standing {
    /// The judged history that it goes on from.
    head: Option<Head>,
    /// There is one, and it does not.
    broken: bool,
    /// Where new events begin, among those in messages.
    new_from: usize,
    /// It was judged under other conditions than these.
    stale: bool,
    /// What this body is judged under.
    under: [u8; 3],
}

pub(super) fn settle<'j>(opened: &mut Opened<'j, '_>, run: &Run, context: &Context<'_>) -> Settled<'j> {
    let judge = opened.judge;
    let digests = opened.digests(context.key);
    let mut next = run.clone();
    next.catalogued(judge);
    let (stats, cusum) = next.at(context);
    let standing = Standing::of(&next, &digests, context.history, conditions(opened, context));
    let (is_kept, direction) = (context.history == History::Kept, opened.hint.direction);
    let body = if is_kept { body_digest(opened, &digests, context) } else { None };
    let again = next.last.same(direction, body).cloned();
    let mut plan = match context.history {
        History::Kept => kept(opened, &next, again.as_ref(), context),
        History::Resent => resent(opened, &next, &digests, &standing, context),
    };
    (plan.within, plan.stats, plan.cusum) = (true, stats, cusum);
    let mut scanned = opened.scan(&plan, false);
    let mut trajectory = scanned.detected.trajectory;
    let (mut judgement, rules) = judge.conclude(&opened.document, &mut scanned, opened.hint, &plan, false);
    let mut asked = asked(opened, &digests, &plan, &scanned.found, &rules, context);
    let approved = asked.is_some() && asked == context.approved;
    if approved {
        scanned = opened.scan(&plan, true);
        trajectory = scanned.detected.trajectory;
        (judgement, _) = judge.conclude(&opened.document, &mut scanned, opened.hint, &plan, true);
        asked = None;
    }
    let mut counted = counted(opened, &digests, &scanned);
    counted.kept = is_kept;
    let refused = context.refuses && judgement.verdict >= Verdict::Ask;
    let was_told = again.as_ref().is_some_and(|again| again.told);
    if refused || was_told {
        // A client cannot take back what never reached the server.
        counted.turns.clear();
    }
    next.store(trajectory, scanned.run);
    let new_alarms = scanned.found.iter().filter(|found| found.alarmed && !planned(&plan, found).alarmed).count();
    next.alarms = next.alarms.saturating_add(u16::try_from(new_alarms).unwrap_or(u16::MAX));
    match context.history {
        History::Kept => {
            if let Some(body) = body {
                let mut last = again.unwrap_or_else(|| Last::new(body, &next.turns, &scanned.found));
                last.told = was_told || !refused;
                next.last.set(direction, Some(last));
            }
            next.add_turns(&counted.turns);
        }
        History::Resent => remember(opened, &mut next, &digests, &plan, &scanned, &standing, approved),
    }
    let is_new = |planned: &&Planned| planned.in_scope && planned.is_new;
    let restarted = standing.broken && context.fallback;
    next.restarts = next.restarts.saturating_add(restarted.into());
    next.rewritten = next.rewritten.saturating_add(plan.rewritten.into());
    judgement.run = Some(RunFacts {
        events: next.events,
        new_events: u32::try_from(plan.events.iter().filter(is_new).count()).unwrap_or(u32::MAX),
        cusum: next.cusum,
        restarted,
        rewritten: plan.rewritten,
        overflow: next.overflow,
        caller_cusum: None,
        asked,
    });
    Settled { judgement, run: next, counted }
}

impl Standing {
    fn of(run: &Run, digests: &Digests, history: History, under: [u8; 3]) -> Self {
        let nothing = Standing { head: None, broken: false, new_from: 0, stale: false, under };
        if history == History::Kept || run.heads.is_empty() {
            return nothing;
        }
        let goes_on = |head: &&Head| digests.chains.get(usize::from(head.events)) == Some(&head.chain);
        if let Some(head) = run.heads.iter().filter(goes_on).max_by_key(|head| head.events).copied() {
            return Standing { head: Some(head), new_from: head.events.into(), stale: head.under != under, ..nothing };
        }
        // A body without messages brings no history.
        let broken = !digests.messages.is_empty();
        Standing { broken, new_from: anchor(&run.tail, digests).unwrap_or(0), ..nothing }
    }

    /// All of the body is looked at again.
    fn is_whole(&self, run: &Run) -> bool {
        self.broken || self.head.is_some() && (self.stale || run.overflow)
    }
}

/// Where, among the events in messages, the last events of the history that was judged last end, the last time that they stand there in a row. A client
/// that leaves out the oldest messages still brings them.
fn anchor(tail: &[Fingerprint], digests: &Digests) -> Option<usize> {
    let prints: Vec<Fingerprint> = digests.messages.iter().map(|event| digests.fingerprint(*event)).collect();
    let found = prints.windows(tail.len().max(1)).rposition(|prints| prints == tail)?;
    Some(found + tail.len())
}

fn planned(plan: &Plan, found: &Found) -> Planned {
    plan.events.get(found.event).copied().unwrap_or_default()
}

/// Every event is new, unless the body is the last one sent `again`: then it counts nothing and is judged as the first time.
fn kept(opened: &Opened<'_, '_>, run: &Run, again: Option<&Last>, context: &Context<'_>) -> Plan {
    // The server has its own answers; those that a client brings along are the client's words. In JSON-RPC they are another model's, or an agent's.
    let brings = opened.hint.direction == Direction::Request && !opened.document.format.is_json_rpc();
    let events = opened.document.events.iter().zip(&opened.in_scope).enumerate().map(|(number, (event, &in_scope))| {
        let forged = brings && is_unseen(number, event, opened, run, context);
        let count = match again {
            Some(_) => Count::Nothing,
            None if forged => Count::Rising,
            None => opened.counts.get(number).copied().unwrap_or_default(),
        };
        let alarmed = again.is_some_and(|again| again.alarmed(number));
        Planned { in_scope, look: in_scope, is_new: again.is_none(), count, forged, alarmed, ..Planned::default() }
    });
    let mut plan = Plan { events: events.collect(), ..Plan::default() };
    // The paper scores what a body holds.
    if opened.judge.profile() == Profile::Floodmark {
        (plan.prior, plan.prior_pattern) = again.map_or_else(|| (run.turns.last(), run.turns.pattern()), |again| again.prior(&run.turns));
    }
    plan
}

/// Only what follows the judged history is new.
fn resent(opened: &Opened<'_, '_>, run: &Run, digests: &Digests, standing: &Standing, context: &Context<'_>) -> Plan {
    let whole = standing.is_whole(run);
    let fresh = run.heads.is_empty();
    let same_frame = standing.head.filter(|head| head.frame == digests.frame);
    let anchored = standing.new_from > 0;
    let mut told: Vec<(Fingerprint, u8)> = Vec::new();
    let places = if run.marks.approve() { digests.places() } else { Vec::new() };
    let mut position = 0;
    let mut events: Vec<Planned> = Vec::new();
    for (number, (event, &in_scope)) in opened.document.events.iter().zip(&opened.in_scope).enumerate() {
        let fingerprint = digests.fingerprint(number);
        let mark = run.marks.of(fingerprint);
        let was_approved = places.get(number).is_some_and(|place| mark.is_approved(*place, !standing.broken));
        // Whether the same stood before it in this body less often than it was counted.
        let mut known = || match told.iter_mut().find(|(told, _)| *told == fingerprint) {
            Some((_, times)) => {
                *times = times.saturating_add(1);
                *times <= mark.times
            }
            None => {
                if mark.times > 0 {
                    told.push((fingerprint, 1));
                }
                mark.times > 0
            }
        };
        let planned = if event.message.is_none() {
            let count = match (fresh, same_frame) {
                (true, _) => Count::Ordinary,
                (false, None) if !known() => Count::Rising,
                _ => Count::Nothing,
            };
            let look = whole || same_frame.is_none_or(|head| head.bits & FRAME_HIT != 0);
            let (is_new, alarmed) = (same_frame.is_none(), mark.bits & ALARM != 0);
            Planned { look, is_new, count, alarmed, approved: !is_new && was_approved, ..Planned::default() }
        } else {
            let is_new = position >= standing.new_from;
            position += 1;
            let count = match (is_new, standing.broken) {
                (false, false) => Count::Nothing,
                (true, false) => Count::Ordinary,
                (true, true) if anchored => Count::Ordinary,
                (_, true) if known() => Count::Nothing,
                (true, true) if context.fallback => Count::Ordinary,
                (_, true) => Count::Rising,
            };
            // What was known of it was known under the same conditions only.
            let forged = if is_new || standing.stale { is_unseen(number, event, opened, run, context) } else { mark.bits & FORGED != 0 };
            // What nobody can say who wrote lowers nothing: else invented answers would wash what tools gave back.
            let count = if forged && count == Count::Ordinary { Count::Rising } else { count };
            let alarmed = (!is_new || standing.broken) && mark.bits & ALARM != 0;
            let approved = !is_new && was_approved;
            Planned { look: is_new || whole || mark.bits != 0, is_new, count, forged, alarmed, approved, ..Planned::default() }
        };
        events.push(Planned { in_scope, look: planned.look && in_scope, ..planned });
    }
    let streak = standing.head.filter(|_| !standing.stale).and_then(|head| Streak::unpack(head.streak));
    // Of the history that it goes on from, or of all of it.
    let from = standing.head.filter(|_| !standing.stale);
    let sum = from.map_or(0.0, |head| head.sum.into());
    let alone = Some(Trajectory::stored([0, 0], [0.0, sum, sum]));
    Plan { events, alone, anew: from.is_none(), streak, rewritten: standing.broken && !context.fallback, ..Plan::default() }
}

/// Whether an event says that it is the assistant's, and no such text left through this gateway.
fn is_unseen(number: usize, event: &Event<'_>, opened: &Opened<'_, '_>, run: &Run, context: &Context<'_>) -> bool {
    if !context.unseen_assistant || event.channel != Channel::Assistant || event.trusted || event.text.bytes().all(|byte| byte <= b' ') {
        return false;
    }
    // A message's events stand side by side.
    let events = &opened.document.events;
    let of_message = |other: &&Event<'_>| other.message == event.message;
    let before = events.get(..number).unwrap_or_default().iter().rev().take_while(of_message).count();
    let message = events.iter().skip(number - before).take_while(of_message).filter(|other| other.channel == Channel::Assistant);
    let message: Vec<&Event<'_>> = message.take(MAX_JOINED_TEXTS).collect();
    !has_left(&run.outgoing, context.key, event, &message)
}

/// What a caller and a streamed response take over.
fn counted(opened: &Opened<'_, '_>, digests: &Digests, scanned: &Scanned<'_>) -> Counted {
    let events = &opened.document.events;
    let last_answer = events.iter().filter(|event| event.channel == Channel::Assistant).filter_map(|event| event.message).max();
    let mut counted = Counted { sums: opened.judge.sums(), exemptions: opened.hint.exemptions, ..Counted::default() };
    for found in &scanned.found {
        let Some(event) = events.get(found.event) else { continue };
        let (fingerprint, channel, message) = (digests.fingerprint(found.event), event.channel, event.message);
        if let Some(score) = found.score.filter(|_| found.counted) {
            let in_history = last_answer.zip(message).is_some_and(|(last, message)| message < last);
            counted.steps.push(CountedStep { score, hot: found.hot, fingerprint, channel, message, in_history });
        }
        if found.hot {
            counted.hot.push(HotEvent { event: found.event, fingerprint, channel, message });
        }
        counted.turns.extend(found.turn);
    }
    counted
}

/// Notes what the next body with this history needs.
fn remember(
    opened: &Opened<'_, '_>,
    run: &mut Run,
    digests: &Digests,
    plan: &Plan,
    scanned: &Scanned<'_>,
    standing: &Standing,
    approved: bool,
) {
    let same_frame = standing.head.filter(|head| head.frame == digests.frame);
    let mut frame_hit = same_frame.is_some_and(|head| head.bits & FRAME_HIT != 0) && !standing.is_whole(run);
    let places = if scanned.found.iter().any(|found| found.asks) { digests.places() } else { Vec::new() };
    for found in &scanned.found {
        let (planned, fingerprint) = (planned(plan, found), digests.fingerprint(found.event));
        let mut mark = run.marks.of(fingerprint);
        mark.bits = mark.bits & !HIT | if found.hit { HIT } else { 0 };
        if found.counted && found.hot {
            mark.bits |= HOT;
            mark.times = mark.times.saturating_add(1);
        }
        if found.alarmed {
            mark.bits |= ALARM;
        }
        if planned.forged && (found.hit || found.hot) {
            mark.bits |= FORGED;
        }
        if found.asks && (approved || !planned.approved) {
            mark.approve(places.get(found.event).copied().unwrap_or(u8::MAX), approved);
        }
        let outside = opened.document.events.get(found.event).is_none_or(|event| event.message.is_none());
        if outside {
            frame_hit |= found.hit || found.hot || found.alarmed;
            mark.bits &= !HIT;
        }
        run.overflow |= !run.marks.put(mark);
    }
    // A history that a rule refuses is not one that another may go on from: sent again, it is as rewritten as the first time.
    if plan.rewritten && !approved && opened.judge.refuses(IssueKind::RunRewritten, opened.document.format, opened.hint) {
        return;
    }
    let Ok(events) = u16::try_from(digests.messages.len()) else { return };
    let (Some(&chain), true) = (digests.chains.last(), events > 0) else { return };
    let streak = scanned.streak.map_or(0, Streak::pack);
    run.heads.retain(|old| (old.events, old.chain) != (events, chain));
    let from = standing.head.map(|head| head.chain);
    run.heads.iter_mut().filter(|old| Some(old.chain) == from).for_each(|old| old.bits &= !LAST);
    let bits = if frame_hit { FRAME_HIT | LAST } else { LAST };
    run.heads.insert(
        0,
        Head { events, chain, frame: digests.frame, under: standing.under, bits, sum: rounded_up(scanned.alone.cusum()), streak },
    );
    if run.heads.len() > run.most_heads() {
        // The one that the body went on from stays, for a turn that is said in other words. Other parts of histories go before ends of histories do.
        let spare = run.heads.iter().rposition(|old| old.bits & LAST == 0 && Some(old.chain) != from);
        run.heads.remove(spare.unwrap_or(run.heads.len() - 1));
    }
    run.tail = digests.messages.iter().map(|event| digests.fingerprint(*event)).collect();
    fits(&mut run.tail, RUN_TAIL);
}

/// A sum in half the bytes, and no lower.
fn rounded_up(sum: f64) -> f32 {
    let rounded = sum as f32;
    if f64::from(rounded) < sum { rounded.next_up() } else { rounded }
}

/// The digest of what has to be approved; `None` when nothing asks that was not.
fn asked(
    opened: &Opened<'_, '_>,
    digests: &Digests,
    plan: &Plan,
    found: &[Found],
    rules: &[&str],
    context: &Context<'_>,
) -> Option<[u8; 16]> {
    let asking = || found.iter().filter(|found| found.asks && !planned(plan, found).approved);
    if rules.is_empty() && asking().next().is_none() {
        return None;
    }
    let mut digest = context.key.digest(Of::Asked);
    for event in asking().filter_map(|found| opened.document.events.get(found.event)) {
        digest.text(event.channel.name());
        digest.text(event.tool.as_deref().unwrap_or_default());
        digest.text(&event.text);
    }
    for rule in rules {
        digest.text(rule);
    }
    // What asks without an event asks for the whole body.
    for event in digests.events.iter().filter(|_| !rules.is_empty()) {
        digest.bytes(event);
    }
    Some(super::first(&digest.end()))
}
