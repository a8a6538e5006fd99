//! Conversations and agent runs as a whole: those in which the detector alone would block.

use std::collections::BTreeMap;

use floodmark_core::detector::Levels;
use floodmark_core::limits::SCORE_TOLERANCE;
use floodmark_core::trajectory::{Params, Trajectory};

use crate::data::{Label, Record, Split};
use crate::events::{Channel, Event};
use crate::stats::Share;

/// Upper borders of the bands of events, and their names.
const BANDS: [(usize, &str); 5] =
    [(3, "1: 1 or 2 events"), (6, "2: 3 to 5"), (12, "3: 6 to 11"), (24, "4: 12 to 23"), (usize::MAX, "5: 24 and more")];

/// What the scores of a conversation reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reached {
    /// A user message or tool result reached the level of single events.
    pub event: bool,
    /// Persistence reached the level of trajectories.
    pub persistence: bool,
}

/// Shares of conversations.
#[derive(Debug, Default)]
pub(super) struct Alarms {
    pub event: Share,
    pub persistence: Share,
    pub any: Share,
}

/// What conversations are counted by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Group {
    pub set: String,
    /// `None` of benign ones.
    pub template: Option<String>,
    pub band: &'static str,
    pub split: Split,
}

/// All conversations that were measured.
#[derive(Debug, Default)]
pub(super) struct Conversations {
    pub groups: BTreeMap<Group, Alarms>,
    /// Records of benign ones that alarmed, by set.
    pub false_alarms: BTreeMap<(String, Split), Vec<String>>,
}

impl Conversations {
    /// Counts a record's events with their scores. Runs that never met their attack are honest ones in what they hold, but are no honest runs of their
    /// own: they are left out.
    pub fn count(&mut self, record: &Record, events: &[Event], scores: &[f64], levels: &Levels) {
        let Some(first) = events.first() else { return };
        let benign = record.label == Label::Benign;
        if !benign && record.injection_seen == Some(false) {
            return;
        }
        let scored: Vec<(&Event, f64)> = events.iter().zip(scores.iter().copied()).collect();
        let chats: Vec<&[(&Event, f64)]> = scored.chunk_by(|(one, _), (next, _)| one.session == next.session).collect();
        let mut reached = Reached::default();
        for chat in &chats {
            let of = reached_by(chat.iter().map(|(event, score)| (event.channel != Channel::ToolCall, *score)), levels);
            reached = Reached { event: reached.event | of.event, persistence: reached.persistence | of.persistence };
        }
        let group = Group {
            set: first.set.clone(),
            template: (!benign).then(|| first.kind.clone()),
            band: band(chats.iter().map(|chat| chat.len()).max().unwrap_or_default()),
            split: record.split,
        };
        if benign && (reached.event || reached.persistence) {
            self.false_alarms.entry((group.set.clone(), group.split)).or_default().push(record.id.clone());
        }
        // Attacked runs are counted by what is injected.
        let unit = crate::data::unit(&first.set, record);
        self.groups.entry(group).or_default().count(&format!("{}: {unit}", first.set), reached);
    }

    /// The alarms of all groups that `wanted` holds, by `key`.
    pub fn by<K: Ord>(&self, wanted: impl Fn(&Group) -> bool, key: impl Fn(&Group) -> K) -> BTreeMap<K, Alarms> {
        let mut all: BTreeMap<K, Alarms> = BTreeMap::new();
        for (group, alarms) in self.groups.iter().filter(|(group, _)| wanted(group)) {
            all.entry(key(group)).or_default().add(alarms);
        }
        all
    }
}

impl Alarms {
    fn count(&mut self, unit: &str, reached: Reached) {
        self.event.count(unit, reached.event);
        self.persistence.count(unit, reached.persistence);
        self.any.count(unit, reached.event || reached.persistence);
    }

    fn add(&mut self, other: &Alarms) {
        self.event.add(&other.event);
        self.persistence.add(&other.persistence);
        self.any.add(&other.any);
    }
}

/// What events in their order reach, as in judging: whether each is a turn, and its score. A call's score alone only flags. A score that is no number counts
/// as the worst.
fn reached_by(events: impl Iterator<Item = (bool, f64)>, levels: &Levels) -> Reached {
    let mut trajectory = Trajectory::default();
    let mut reached = Reached::default();
    for (turn, score) in events {
        reached.event |= turn && (score >= levels.event_block - SCORE_TOLERANCE || score.is_nan());
        reached.persistence |= trajectory.push(score, Params { tau: levels.tau_event, drift: levels.drift }).is_err();
    }
    reached.persistence |= trajectory.persistence() >= levels.alarm - SCORE_TOLERANCE;
    reached
}

fn band(events: usize) -> &'static str {
    BANDS.iter().find(|(below, _)| events < *below).map_or("", |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::of_record;

    const LEVELS: Levels = Levels { tau_event: 0.5, event_block: 0.9, drift: 0.125, alarm: 1.0, caller_alarm: 3.0 };

    #[test]
    fn both_levels_are_inclusive() {
        let of = |scores: &[f64]| {
            let Reached { event, persistence } = reached_by(scores.iter().map(|score| (true, *score)), &LEVELS);
            (event, persistence)
        };
        assert_eq!(of(&[0.0, 0.9, 0.0]), (true, false));
        assert_eq!(of(&[0.875, 0.125, 0.375]), (false, true), "0.75 + 0 + 0.25");
        assert_eq!(of(&[0.375, 0.0, 0.875]), (false, false), "0.25 - 0.125 + 0.75");
        let calls = reached_by([(false, 0.9), (false, 0.9)].into_iter(), &LEVELS);
        assert_eq!(calls, Reached { event: false, persistence: true }, "a call does not block alone");
    }

    #[test]
    fn chats_of_a_run_do_not_add_up_and_runs_that_never_met_the_attack_are_left_out() {
        let mut found = Conversations::default();
        let mut count = |label: &str, more: &str, sessions: [u32; 2]| {
            let keys = format!(
                r#"{{"id":"{label}","source":"s","label":"{label}","split":"dev","unit":"u","attack":"direct"{more},"messages":[
                {{"role":"user","content":"a","session":{}}},{{"role":"user","content":"b","session":{}}}]}}"#,
                sessions[0], sessions[1]
            );
            let record: Record = serde_json::from_str(&keys).unwrap();
            found.count(&record, &of_record("x", &record).unwrap(), &[0.7; 2], &LEVELS);
        };
        count("benign", "", [0, 1]);
        count("benign", "", [0, 0]);
        count("attack_failed", r#","injection_seen":true"#, [0, 0]);
        count("attack_failed", r#","injection_seen":false"#, [0, 0]);
        let all = found.by(|_| true, |group| group.template.clone());
        let benign = &all[&None];
        assert_eq!((benign.any.records(), benign.event.hits(), benign.persistence.hits(), benign.any.hits()), (2, 0, 1, 1));
        assert_eq!(all[&Some("direct".to_owned())].any.records(), 1);
        assert_eq!(found.false_alarms[&("x".to_owned(), Split::Dev)], ["benign"]);
        assert_eq!([band(2), band(3), band(24)], [BANDS[0].1, BANDS[1].1, BANDS[4].1]);
    }
}
