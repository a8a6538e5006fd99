//! A streamed response, judged while it comes: what may pass, and whether it must end.

use alloc::string::String;

use crate::judge::{Hint, Judge};
use crate::verdict::Verdict;
use crate::wire::{Format, Framing, Issues};

/// What was judged of a stream so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The strongest judgement of all that came.
    pub verdict: Verdict,
    /// The rule that decided it first; `None` for `allow`.
    pub rule: Option<String>,
    /// The format that the first message was read as.
    pub format: Format,
    /// Messages that came.
    pub messages: u32,
    /// What was odd.
    pub issues: Issues,
    /// Whole tool calls.
    pub tool_calls: u32,
    /// Tool results.
    pub tool_results: u32,
    /// Hits that count for nothing because an exemption covers them.
    pub exempt_hits: u32,
}

/// The state of one streamed response.
#[derive(Clone, Debug)]
pub struct Streamed {
    framing: Framing,
    hint: Hint,
    bytes: u64,
    outcome: Outcome,
}

impl Streamed {
    /// A stream of which nothing came yet.
    pub fn new(framing: Framing, hint: Hint) -> Self {
        let outcome = Outcome {
            verdict: Verdict::Allow,
            rule: None,
            format: Format::Unknown,
            messages: 0,
            issues: Issues::default(),
            tool_calls: 0,
            tool_results: 0,
            exempt_hits: 0,
        };
        Streamed { framing, hint, bytes: 0, outcome }
    }

    /// Takes the next bytes, as they came.
    pub fn push(&mut self, judge: &Judge<'_>, bytes: &[u8]) {
        let _ = (judge, self.framing, self.hint);
        self.bytes += bytes.len() as u64;
    }

    /// Nothing more will come.
    pub fn end(&mut self, judge: &Judge<'_>) {
        let _ = judge;
    }

    /// Bytes from the start of the stream that end with a whole frame.
    pub fn whole_bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes from the start of the stream whose frames are whole and of which none belongs to a tool call that is still coming.
    pub fn settled_bytes(&self) -> u64 {
        self.bytes
    }

    /// Where the frame begins that made the verdict `block`.
    pub fn blocked_at(&self) -> Option<u64> {
        None
    }

    /// The judgement so far.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// Memory that the state takes beside its fixed size, in bytes.
    pub fn held_bytes(&self) -> usize {
        0
    }
}
