//! What is kept of a conversation or agent run: scores, labels and what became of its requests, never its text.

use crate::data::{Label, Split};
use crate::engine::Judged;
use crate::events::{self, Channel};

/// A conversation or agent run that was judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The set's folder.
    pub set: String,
    /// The file in it, without its ending.
    pub file: String,
    /// The record's id.
    pub id: String,
    /// Where it comes from, finer than its set.
    pub source: String,
    /// What it is.
    pub label: Label,
    /// Kind of attack; `None` of benign ones.
    pub template: Option<String>,
    /// Whether the attack was met: benign ones and those that never met it are honest in content.
    pub met: bool,
    /// The part of the data.
    pub split: Split,
    /// Every part that is named for it (task, injection, template) is as much held out as the run itself.
    pub strict: bool,
    /// Its independence unit, named apart from those of other benchmarks: of attacks what is injected.
    pub unit: String,
    /// The user's task, which benign and attacked runs share; the unit where there is none.
    pub task: String,
    /// User messages and tool results.
    pub turns: usize,
    /// Its events in order.
    pub events: Vec<Scored>,
    /// What became of its requests.
    pub outcome: Outcome,
}

/// An event with its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scored {
    /// Where it came in.
    pub channel: Channel,
    /// What it is.
    pub label: events::Label,
    /// The detector's score.
    pub score: f64,
    /// The score of the detector that was trained without the most common attack template, where there is one.
    pub unseen: Option<f64>,
    /// Number of the chat, in runs that went over several.
    pub session: Option<u32>,
    /// Of a tool's result: which tool it is of, where that is known.
    pub tool: Option<ToolKey>,
}

/// A tool's name in eight bytes, so that events stay small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ToolKey([u8; 8]);

impl ToolKey {
    /// The key of a name: the start of its hash.
    pub fn of(name: &str) -> Self {
        let mut key = [0; 8];
        blake3::Hasher::new().update(name.as_bytes()).finalize_xof().fill(&mut key);
        ToolKey(key)
    }
}

/// What became of the requests of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Some request had a verdict above `allow`.
    pub flagged: bool,
    /// Some request was blocked.
    pub blocked: bool,
    /// The highest score of the conversation in any request.
    pub score: f64,
    /// The rule that decided of the first request that was blocked.
    pub rule: Option<String>,
}

/// A single text that was judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Single {
    /// The set's folder.
    pub set: String,
    /// Where it comes from, finer than its set.
    pub source: String,
    /// Kind of attack or of text.
    pub kind: String,
    /// Its independence unit.
    pub unit: String,
    /// What it is.
    pub label: events::Label,
    /// Its event; `None` where the detector was not asked: it is over the gateway's cap, refused unread, or the detector's rules are off.
    pub event: Option<Scored>,
    /// The score of its patterns: the sum of the weights of its categories.
    pub pattern: f64,
    /// What became of it alone and behind a user's question.
    pub outcome: Outcome,
}

impl Outcome {
    /// Takes one more request. Requests come from the last to the first.
    pub fn take(&mut self, judged: &Judged) {
        self.flagged |= judged.verdict != "allow";
        self.score = self.score.max(judged.score);
        if judged.blocks() {
            self.blocked = true;
            self.rule.clone_from(&judged.rule);
        }
    }
}

impl Run {
    /// Whether it is benign, or an attack that was met; the rest belongs to neither.
    pub fn is_attack(&self) -> Option<bool> {
        match (self.label == Label::Benign, self.met) {
            (true, _) => Some(false),
            (false, true) => Some(true),
            (false, false) => None,
        }
    }
}
