//! The caller: one running sum over all runs of one identity, so that a new session for each step of an attack does not begin anew.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::noted::HotEvent;
use super::record::{Fingerprint, MAX_SUM};
use super::{Context, Counted, MAX_MS, Unreadable, fits, heat, passed};
use crate::conversation::drop_too;
use crate::judge::{Judge, Judgement};
use crate::limits::{CALLER_ALARMS, CALLER_KNOWN, MAX_CALLER_BYTES, MAX_DROPPED, MAX_REASONS};
use crate::reason::Reason;
use crate::rules::RuleUse;
use crate::trajectory::Trajectory;
use crate::verdict::Verdict;

/// First byte of a caller's record.
const VERSION: u8 = 1;

/// What is remembered of a caller.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Caller {
    cusum: f64,
    touched_ms: u64,
    alarms: u32,
    is_proven: bool,
    /// Events by which the sum rose, the newest last.
    known: Vec<Fingerprint>,
    /// Events with which it reached the alarm level, the newest last.
    alarmed: Vec<Fingerprint>,
}

impl Caller {
    /// Reads a record. Never panics, whatever the bytes.
    ///
    /// # Errors
    /// When it is none of this version, has bytes behind its end, or holds a number that no record does.
    pub fn decode(bytes: &[u8]) -> Result<Self, Unreadable> {
        let Some((&VERSION, rest)) = bytes.split_first().filter(|_| bytes.len() <= MAX_CALLER_BYTES) else { return Err(Unreadable) };
        let (caller, rest) = postcard::take_from_bytes::<Caller>(rest).map_err(|_| Unreadable)?;
        let fits = caller.known.len() <= CALLER_KNOWN && caller.alarmed.len() <= CALLER_ALARMS;
        let sound = caller.touched_ms <= MAX_MS && (0.0..=MAX_SUM).contains(&caller.cusum) && fits && rest.is_empty();
        if sound { Ok(caller) } else { Err(Unreadable) }
    }

    /// The record, at most [`MAX_CALLER_BYTES`].
    pub fn encode(&self) -> Vec<u8> {
        // Only a failing allocation fails here, and that does not return.
        postcard::to_extend(self, Vec::from([VERSION])).unwrap_or_default()
    }

    /// How much an eviction of it would forget, which is what eviction compares.
    pub fn heat(&self) -> f32 {
        heat(self.cusum, self.alarms > 0)
    }

    /// Whether an upstream ever accepted a request of it. Of others nobody knows that they are anybody's.
    pub fn is_proven(&self) -> bool {
        self.is_proven
    }

    /// An upstream accepted a request of it.
    pub fn prove(&mut self) {
        self.is_proven = true;
    }

    /// The running sum since the last alarm, as it was at [`Caller::touched_ms`].
    pub fn cusum(&self) -> f64 {
        self.cusum
    }

    /// How often it reached the alarm level.
    pub fn alarms(&self) -> u32 {
        self.alarms
    }

    /// Unix time in milliseconds of the last request that counted.
    pub fn touched_ms(&self) -> u64 {
        self.touched_ms
    }

    /// Takes what a body or a streamed response counted; whether the sum reaches the alarm level with
    /// one of its events, or did before.
    pub fn absorb(&mut self, counted: &Counted, judge: &Judge<'_>, context: &Context<'_>) -> bool {
        !self.take(counted, judge, context).is_empty()
    }

    fn take(&mut self, counted: &Counted, judge: &Judge<'_>, context: &Context<'_>) -> Vec<HotEvent> {
        let (now_ms, left) = passed(self.touched_ms, context.now_ms, context.half_life_ms);
        self.touched_ms = now_ms;
        self.cusum *= left;
        let Some(detecting) = judge.detecting() else { return Vec::new() };
        let rule = |channel| judge.detector_rule(detecting.caller_rule(), counted.exemptions, Some(channel));
        if counted.kept {
            // What is said anew there is no retry of what alarmed.
            self.alarmed.retain(|alarmed| counted.steps.iter().all(|step| step.fingerprint != *alarmed));
        }
        let mut alarms: Vec<HotEvent> = Vec::new();
        let mut sum = Trajectory::stored([0, 0], [0.0, self.cusum, self.cusum]);
        for step in &counted.steps {
            let (_, rule_use, exempt) = rule(step.channel);
            if exempt || rule_use == RuleUse::Off || step.in_history && self.known.contains(&step.fingerprint) {
                continue;
            }
            if detecting.is_hot(step.score) {
                note(&mut self.known, step.fingerprint, CALLER_KNOWN);
            }
            // What is no number alarms.
            let sum_after = sum.push(step.score, detecting.params()).unwrap_or(f64::INFINITY);
            if detecting.alarms_caller(sum_after) {
                sum = Trajectory::default();
                self.alarms = self.alarms.saturating_add(1);
                note(&mut self.alarmed, step.fingerprint, CALLER_ALARMS);
            }
        }
        self.cusum = sum.cusum();
        for hot in &counted.hot {
            let (_, rule_use, exempt) = rule(hot.channel);
            if !exempt && rule_use != RuleUse::Off && self.alarmed.contains(&hot.fingerprint) {
                alarms.push(*hot);
            }
        }
        alarms
    }
}

/// Puts a fingerprint at the end of a list.
fn note(list: &mut Vec<Fingerprint>, fingerprint: Fingerprint, most: usize) {
    list.retain(|known| *known != fingerprint);
    list.push(fingerprint);
    fits(list, most);
}

impl<'t> Judge<'t> {
    /// Takes what a body counted to its caller: raises the judgement when that reaches the alarm level, or when the body holds an event that did before, and
    /// gives the caller to be stored. May be called again with another record of the caller after a conflict, on a clone of the judgement.
    pub fn caller<'j>(&'j self, judgement: &mut Judgement<'j>, caller: &Caller, counted: &Counted, context: &Context<'_>) -> Caller {
        let mut next = caller.clone();
        let alarms = next.take(counted, self, context);
        if let Some(run) = &mut judgement.run {
            run.caller_cusum = Some(next.cusum);
        }
        let (Some(alarm), Some(detecting)) = (alarms.first(), self.detecting()) else { return next };
        let number = detecting.caller_rule();
        let (id, rule_use, _) = self.detector_rule(number, counted.exemptions, Some(alarm.channel));
        let rule_use = match rule_use {
            RuleUse::Score => RuleUse::Block,
            other => other,
        };
        let reason = Reason { channel: Some(alarm.channel), turn: alarm.message, ..Reason::of_rule(id, Some(rule_use)) };
        if let Some(detected) = &mut judgement.detected {
            detected.met(number, Some(rule_use));
        }
        if rule_use == RuleUse::Block {
            // With other text in their place the caller's sum is the same, so nothing of the body can be replaced.
            judgement.offending_strings.clear();
            if judgement.verdict < Verdict::Block || !judgement.drop_messages.is_empty() {
                alarms.iter().filter_map(|alarm| alarm.message).for_each(|message| drop_too(&mut judgement.drop_messages, message));
                if judgement.drop_messages.len() > MAX_DROPPED {
                    judgement.drop_messages.clear();
                }
            }
        }
        judgement.raise(reason.clone());
        judgement.reasons.insert(0, reason);
        judgement.reasons.truncate(MAX_REASONS);
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alarms_make_it_hotter_once() {
        let heats = [0, 1, 2, u32::MAX].map(|alarms| Caller { cusum: 0.5, alarms, ..Caller::default() }.heat());
        assert_eq!(heats, [0.5, 1.5, 1.5, 1.5]);
    }

    #[test]
    fn what_was_proven_stays_so() {
        let mut caller = Caller { cusum: 0.5, ..Caller::default() };
        assert!(!caller.is_proven());
        caller.prove();
        assert_eq!(Caller::decode(&caller.encode()).map(|caller| (caller.is_proven(), caller.cusum())), Ok((true, 0.5)));
    }

    #[test]
    fn the_longest_record_fits() {
        let (known, alarmed) = ([[255; 4]; CALLER_KNOWN].to_vec(), [[255; 4]; CALLER_ALARMS].to_vec());
        let caller = Caller { cusum: 0.1, touched_ms: MAX_MS, alarms: u32::MAX, is_proven: true, known, alarmed };
        let bytes = caller.encode();
        assert!(bytes.len() <= MAX_CALLER_BYTES, "{} bytes", bytes.len());
        assert_eq!(Caller::decode(&bytes), Ok(caller.clone()));
        for cusum in [-0.1, f64::NAN, f64::INFINITY, 1e300] {
            assert_eq!(Caller::decode(&Caller { cusum, ..caller.clone() }.encode()), Err(Unreadable), "{cusum}");
        }
    }
}
