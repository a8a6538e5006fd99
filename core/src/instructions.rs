//! Whether a text is like an instruction: what an entry of a memory that nobody vouches for must not be.

use alloc::vec::Vec;

use serde::Serialize;

use crate::judge::{Hint, Judge};
use crate::rules::RuleUse;
use crate::wire::{Channel, Event};

/// What makes a text like an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Likeness {
    /// A pattern of a category.
    Category,
    /// The detector's score is at its blocking level.
    Detector,
    /// It tells somebody to do something.
    Imperative,
    /// It asks somebody to do something.
    Request,
    /// It says what somebody must do.
    Obligation,
    /// It says when or how often something is to be done.
    Schedule,
}

impl Judge<'_> {
    /// What makes `text` like an instruction; `None` for a plain fact. Linear in its length.
    pub fn instruction_like(&self, text: &str) -> Option<Likeness> {
        let event = Event {
            message: None,
            channel: Channel::Other,
            role: None,
            tool: None,
            call_id: None,
            text: text.into(),
            records_at: text.len(),
            strings: Vec::new(),
            trusted: false,
            slot: (0, 0),
            whole: true,
        };
        let scanner = self.scanner(Hint::default(), false);
        let (looked, _) = scanner.look(&[&event]);
        let found = looked.first()?;
        if found.hits.iter().any(|hit| scanner.rule_use(hit.pattern) != RuleUse::Off) {
            return Some(Likeness::Category);
        }
        let over = |detecting: &crate::detected::Detecting<'_>| found.scored.as_ref().is_some_and(|scored| detecting.is_over(scored.score));
        self.detecting().is_some_and(over).then_some(Likeness::Detector)
    }
}
