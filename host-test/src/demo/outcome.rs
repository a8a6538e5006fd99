//! What became of a conversation, and how that differs from what should have.

use std::time::Duration;

use super::Case;
use crate::upstream::{Ending, Received};

/// What the provider saw of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// No request at all.
    Nothing,
    /// Headers, then a reset, with so many body bytes before it.
    Broken(usize),
    /// A whole request with so many body bytes.
    Whole(usize),
}

/// What became of one conversation.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Verdict by name, if the plugin judged.
    pub verdict: Option<String>,
    /// Conversation score.
    pub score: Option<f64>,
    /// The rule that decided.
    pub rule: Option<String>,
    /// Status that the client got.
    pub status: u16,
    /// What the provider saw.
    pub seen: Seen,
    /// Median time of the request, and of the same request without the plugin.
    pub time: Option<(Duration, Duration)>,
}

impl Seen {
    /// Reads it off the upstream's record of one request.
    #[must_use]
    pub fn of(received: &[Received]) -> Self {
        match received.last() {
            None => Self::Nothing,
            Some(r) if r.ending == Ending::Clean => Self::Whole(r.body.len()),
            Some(r) => Self::Broken(r.body.len()),
        }
    }
}

impl std::fmt::Display for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::Broken(bytes) => write!(f, "headers, {bytes} body bytes"),
            Self::Whole(bytes) => write!(f, "all {bytes} bytes"),
        }
    }
}

impl Outcome {
    /// Everything that is not as the case says; empty when all is.
    #[must_use]
    pub fn mismatches(&self, case: &Case) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut check = |what: &str, expected: String, found: String, same: bool| {
            if !same {
                wrong.push(format!("{}: {what} should be {expected}, is {found}", case.id));
            }
        };
        let expect = &case.expect;
        let verdict = self.verdict.as_deref().unwrap_or("none");
        check("verdict", expect.verdict.clone(), verdict.to_owned(), verdict == expect.verdict);
        let score = self.score.unwrap_or(f64::NAN);
        check("score", expect.score.to_string(), score.to_string(), (score - expect.score).abs() <= 1e-9);
        if let Some(rule) = &expect.rule {
            let found = self.rule.as_deref().unwrap_or("none");
            check("rule", rule.clone(), found.to_owned(), found == rule);
        }
        check("status", expect.status.to_string(), self.status.to_string(), self.status == expect.status);
        let sent = case.body.get().len();
        let (should, right) = if expect.status == 200 {
            (format!("all {sent} bytes"), self.seen == Seen::Whole(sent))
        } else {
            ("no body byte".to_owned(), matches!(self.seen, Seen::Nothing | Seen::Broken(0)))
        };
        check("what the upstream received", should, self.seen.to_string(), right);
        wrong
    }
}
