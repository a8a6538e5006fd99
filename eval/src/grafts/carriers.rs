//! The runs that grafts are put into: benign ones of training tasks, with the tool results that can take a graft and the values that the run goes on to use.

use std::collections::{BTreeMap, VecDeque};

use anyhow::Context as _;
use serde_json::Value;

use crate::data::{DataFile, Label, Message, OnBroken, Record, Split, unit_of};
use crate::events::{self, Channel, Scorer, of_record};
use crate::stats::{Auc, Chance, median};
use crate::temporal::accumulated;

use super::sentences::Kind;

/// Lengths of a value that a sentence can name, in characters.
const VALUE_CHARS: std::ops::RangeInclusive<usize> = 3..=40;
/// Where the AUC of carriers alone has to lie for a difference of grafts to mean something (the paper's native gate).
pub(super) const NATIVE_GATE: std::ops::RangeInclusive<f64> = 0.45..=0.55;
/// Deals at most, until the carriers pass that gate.
pub(super) const MOST_DEALS: usize = 1000;
/// More carriers than any set has; they are kept with the texts of their tool results.
const MAX_CARRIERS: usize = 2000;

/// A run to graft on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Carrier {
    /// Set, file and record id.
    pub id: String,
    /// The user's task, its independence unit.
    pub task: String,
    /// The task's suite.
    pub suite: String,
    /// D_eval's scores of its events by position.
    pub scores: Vec<f64>,
    /// Its tool results that some call follows, in order.
    pub edges: Vec<Edge>,
}

/// A tool result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edge {
    /// Position of its event.
    pub position: usize,
    /// What it says.
    pub text: String,
    /// Argument values of calls behind it that were executed.
    pub values: Vec<String>,
}

/// Carriers, and what could not be one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Carriers {
    pub list: Vec<Carrier>,
    /// Benign runs of training tasks that were looked at.
    pub read: usize,
    /// Without a tool result that some call follows.
    pub without_edges: usize,
    /// With an event that D_eval finds at tau or over before anything is grafted: nothing below tau can be shown on them.
    pub hot: usize,
}

impl Carriers {
    /// Reads the carriers of a file.
    pub fn read(file: &DataFile, on_broken: OnBroken, scorer: &mut Scorer<'_>, tau: f64) -> anyhow::Result<Self> {
        let mut found = Carriers::default();
        file.read(on_broken, |record| {
            if record.label != Label::Benign || record.split != Split::Train {
                return Ok(());
            }
            found.read += 1;
            let carrier = Carrier::of(file, record, scorer)?;
            if carrier.edges.is_empty() {
                found.without_edges += 1;
            } else if carrier.scores.iter().any(|&score| score >= tau) {
                found.hot += 1;
            } else if found.list.len() < MAX_CARRIERS {
                found.list.push(carrier);
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// The median score of all their events.
    pub fn drift(&self) -> f64 {
        let events: Vec<f64> = self.list.iter().flat_map(|carrier| carrier.scores.iter().copied()).collect();
        median(&events).unwrap_or_default()
    }

    /// Deals until the carriers with attacks are like those with shams in persistence and peak before anything is grafted (the native gate), [`MOST_DEALS`] times at most: a
    /// rerandomised design (Morgan and Rubin 2012), which looks at what was there before and at nothing that grafts do. Gives the deal and how many there were.
    pub fn assign(&self, drift: f64, chance: &mut Chance) -> (Vec<Kind>, usize) {
        let natives = self.list.iter().map(|carrier| accumulated(&carrier.scores, 0.0, drift));
        let natives: Vec<[f64; 2]> = natives.map(|native| [native.persistence(), native.peak()]).collect();
        let alike = |kinds: &[Kind]| {
            [0, 1].into_iter().all(|statistic| {
                let of = |wanted: Kind| {
                    let values = natives.iter().zip(kinds).filter(|(_, kind)| **kind == wanted);
                    values.map(|(values, _)| values[statistic]).collect::<Vec<f64>>()
                };
                NATIVE_GATE.contains(&Auc::of(&of(Kind::Attack), &of(Kind::Sham)).value())
            })
        };
        let mut kinds = self.deal(drift, chance);
        let mut deals = 1;
        while deals < MOST_DEALS && !alike(&kinds) {
            kinds = self.deal(drift, chance);
            deals += 1;
        }
        (kinds, deals)
    }

    /// Which carriers get attacks and which shams, in the order of `list`. Whole tasks are dealt: those of a suite stand in the order of their carriers' median persistence (then
    /// number of events), and of each two neighbours chance gives attacks to one.
    fn deal(&self, drift: f64, chance: &mut Chance) -> Vec<Kind> {
        let mut tasks: BTreeMap<(&str, &str), [Vec<f64>; 2]> = BTreeMap::new();
        for carrier in &self.list {
            let [persistences, events] = tasks.entry((&carrier.suite, &carrier.task)).or_default();
            persistences.push(accumulated(&carrier.scores, 0.0, drift).persistence());
            events.push(carrier.scores.len() as f64);
        }
        let mut ordered: Vec<(&str, [f64; 2], &str)> = Vec::new();
        for ((suite, task), values) in &tasks {
            ordered.push((suite, values.each_ref().map(|values| median(values).unwrap_or_default()), task));
        }
        ordered.sort_by(|one, other| {
            let [ours, theirs] = [one, other].map(|(_, medians, _)| medians);
            one.0.cmp(other.0).then(ours[0].total_cmp(&theirs[0])).then(ours[1].total_cmp(&theirs[1])).then(one.2.cmp(other.2))
        });
        let mut kinds: BTreeMap<&str, Kind> = BTreeMap::new();
        for suite in ordered.chunk_by(|one, next| one.0 == next.0) {
            for pair in suite.chunks(2) {
                let first = chance.below(2);
                for (at, (_, _, task)) in pair.iter().enumerate() {
                    kinds.insert(task, if at == first { Kind::Attack } else { Kind::Sham });
                }
            }
        }
        self.list.iter().map(|carrier| kinds.get(carrier.task.as_str()).copied().unwrap_or(Kind::Sham)).collect()
    }
}

impl Carrier {
    fn of(file: &DataFile, record: &Record, scorer: &mut Scorer<'_>) -> anyhow::Result<Self> {
        let messages = record.messages.as_deref().context("no messages; a carrier is an agent run")?;
        let all = of_record(&file.set, record)?;
        let executed = executed(messages);
        let last_call = messages.iter().rposition(|message| !message.tool_calls.is_empty()).unwrap_or_default();
        let results = all.iter().enumerate().filter(|(_, event)| event.channel == Channel::ToolResult && event.message < last_call);
        let edge = |(position, event): (usize, &events::Event)| {
            let behind = executed.iter().filter(|(message, _)| *message > event.message);
            let mut values: Vec<String> = behind.flat_map(|(_, values)| values.iter().cloned()).collect();
            values.sort();
            values.dedup();
            Edge { position, text: event.text.clone(), values }
        };
        Ok(Carrier {
            id: format!("{}/{}/{}", file.set, file.stem(), record.id),
            task: unit_of(&file.set, record, false),
            suite: record.suite.clone().unwrap_or_default(),
            edges: results.map(edge).collect(),
            scores: all.iter().map(|event| scorer.score(&event.text)).collect(),
        })
    }
}

/// The calls that were executed: number of the calling message, and the argument values that a sentence can name. A call is executed if its result is no error.
fn executed(messages: &[Message]) -> Vec<(usize, Vec<String>)> {
    let mut waiting: VecDeque<(usize, Vec<String>)> = VecDeque::new();
    let mut done = Vec::new();
    for (number, message) in messages.iter().enumerate() {
        if message.role == "tool" {
            // Results come in the order of their calls.
            if let Some(call) = waiting.pop_front().filter(|_| message.error.is_none()) {
                done.push(call);
            }
        } else if !message.tool_calls.is_empty() {
            waiting = message.tool_calls.iter().map(|call| (number, values(&call.spelled()))).collect();
        }
    }
    done
}

/// The strings of a call's arguments that a sentence can name.
fn values(arguments: &str) -> Vec<String> {
    fn take(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::String(text) => found.extend(Some(text.trim()).filter(|text| nameable(text)).map(str::to_owned)),
            Value::Array(list) => list.iter().for_each(|value| take(value, found)),
            Value::Object(keys) => keys.values().for_each(|value| take(value, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    if let Ok(value) = serde_json::from_str(arguments) {
        take(&value, &mut found);
    }
    found
}

/// One short line with a letter or digit.
fn nameable(text: &str) -> bool {
    VALUE_CHARS.contains(&text.chars().count()) && !text.chars().any(char::is_control) && text.chars().any(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(text: &str) -> Vec<Message> {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn values_come_from_calls_that_were_executed() {
        let run = messages(
            r#"[{"role":"user","content":"u"},
                {"role":"assistant","content":"","tool_calls":[{"name":"f","arguments":{"to":"ann@x.y","deep":["/a b","no"],"n":12}},{"name":"g","arguments":{"path":"/tmp/z"}}]},
                {"role":"tool","content":"done"},{"role":"tool","content":"","error":"no such file"},
                {"role":"assistant","content":"","tool_calls":[{"name":"f","arguments":"{\"to\":\"bob\",\"long\":\"two\\nlines\"}"}]},
                {"role":"tool","content":"done"},
                {"role":"assistant","content":"","tool_calls":[{"name":"f","arguments":{"to":"never answered"}}]}]"#,
        );
        let text = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>();
        // Keys of an object stand in the order of the record.
        assert_eq!(executed(&run), [(1, text(&["ann@x.y", "/a b"])), (4, text(&["bob"]))]);
    }

    fn carrier(suite: &str, task: &str, scores: &[f64]) -> Carrier {
        Carrier { id: String::new(), task: task.to_owned(), suite: suite.to_owned(), scores: scores.to_vec(), edges: Vec::new() }
    }

    /// Tasks of suite a by persistence over .25: low .0, mid .25 and .25 with more events, high .5; they are dealt in two pairs. Suite b has one task.
    #[test]
    fn tasks_are_dealt_whole_and_in_pairs_that_are_alike() {
        let list = vec![
            carrier("a", "high", &[0.75]),
            carrier("a", "low", &[0.25]),
            carrier("a", "longer", &[0.5, 0.0]),
            carrier("b", "alone", &[0.9]),
            carrier("a", "mid", &[0.5]),
            carrier("a", "low", &[0.0]),
        ];
        let carriers = Carriers { list, ..Carriers::default() };
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..60 {
            let kinds = carriers.deal(0.25, &mut Chance::new(seed));
            let [high, low, longer, alone, mid, again] = kinds.as_slice() else { panic!("{kinds:?}") };
            assert_eq!(low, again, "a task is dealt whole");
            assert!(low != mid && longer != high, "{kinds:?}");
            seen.insert((*low, *high, *alone));
        }
        assert_eq!(seen.len(), 8, "chance deals in each pair");
    }

    /// Of four tasks in two pairs four deals can be made; .5 of the pairs are won only where one gets the lower of the one pair and the higher of the other.
    #[test]
    fn it_is_dealt_until_the_halves_are_alike() {
        let list = vec![carrier("a", "1", &[0.25]), carrier("a", "2", &[0.375]), carrier("a", "3", &[0.75]), carrier("a", "4", &[0.875])];
        let carriers = Carriers { list, ..Carriers::default() };
        let mut most = 0;
        for seed in 0..40 {
            let (kinds, deals) = carriers.assign(0.25, &mut Chance::new(seed));
            assert!(kinds[0] != kinds[1] && kinds[2] != kinds[3] && kinds[0] == kinds[3], "{kinds:?}");
            most = most.max(deals);
        }
        assert!((2..40).contains(&most), "{most}");
        // One task alone cannot be like another: it is dealt as often as may be.
        let alone = Carriers { list: vec![carrier("a", "1", &[0.25])], ..Carriers::default() };
        assert_eq!(alone.assign(0.25, &mut Chance::new(1)).1, MOST_DEALS);
    }
}
