//! The run: what a gateway remembers between the requests of one agent's session, and how a body is judged within it (DESIGN.md 8 and 11).
//!
//! ```text
//! bytes -> Judge::open -> Opened (read, looked at as far as needed) -- settle(Run) --> Settled { judgement, Run, Counted } -- Judge::caller(Caller)
//! ```
//!
//! Nothing here knows a clock or a store: times and records come from outside, and go there.

mod caller;
mod kept;
mod key;
mod marks;
mod noted;
mod opened;
pub(crate) mod plan;
mod record;
mod settle;
mod turns;
mod within;

pub use caller::Caller;
pub use key::RunKey;
pub use noted::{Counted, Noted};
pub use opened::Opened;
pub use record::{Run, Unreadable};
pub(crate) use within::Within;

use alloc::vec::Vec;

use serde::Serialize;

use crate::judge::Judgement;
use crate::wire::{Direction, Document, IdKind};

/// Who keeps the history of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum History {
    /// The server: every event of a body is new.
    Kept,
    /// The client: each body brings all of it.
    Resent,
}

impl History {
    /// Whose part it is, as far as a request's body says: the server's in JSON-RPC and where the body goes on from what the server stored.
    pub fn of(document: &Document<'_>) -> Self {
        let stored = |kind| matches!(kind, IdKind::Conversation | IdKind::PreviousResponse);
        let kept = document.format.is_json_rpc() || document.ids.iter().any(|id| stored(id.kind));
        if kept { History::Kept } else { History::Resent }
    }
}

/// What is known of a request besides its body and its run.
#[derive(Clone, Copy, Debug)]
pub struct Context<'c> {
    /// What texts are digested with; always the same for one run.
    pub key: &'c RunKey,
    /// Who keeps the history.
    pub history: History,
    /// The run was found by its caller and its first turn only, so a history that does not go on from it is another conversation, not a rewritten one.
    pub fallback: bool,
    /// Assistant text that did not leave through this gateway counts as user text. Only where responses are read.
    pub unseen_assistant: bool,
    /// The gateway refuses what is judged block or ask, so it never reaches the server.
    pub refuses: bool,
    /// After so many milliseconds the half is left of what was counted; 0: all of it.
    pub half_life_ms: u64,
    /// Unix time in milliseconds. A clock that runs back stands still here.
    pub now_ms: u64,
    /// What was approved of what this body asks for: [`RunFacts::asked`] of the judgement that asked. Events of it do not ask again while they stay in the
    /// history.
    pub approved: Option<[u8; 16]>,
}

/// What a judgement within a run says of the run, as reports print it: without identifiers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RunFacts {
    /// Events of the run that counted so far, with this body's.
    pub events: u32,
    /// Events of this body that are new.
    pub new_events: u32,
    /// The running sum after it.
    pub cusum: f64,
    /// It begins another conversation of the same caller and opening.
    pub restarted: bool,
    /// It does not go on from a history that was judged.
    pub rewritten: bool,
    /// More stood in the run than is remembered, so bodies that bring their history are scanned whole.
    pub overflow: bool,
    /// The running sum of the caller's runs; `None` until [`crate::Judge::caller`] took it.
    pub caller_cusum: Option<f64>,
    /// What has to be approved before the body may pass: a digest of channel, tool and text of the events that ask, and of the rules that ask without
    /// one. `None` where nothing asks. Not printed.
    #[serde(skip)]
    pub asked: Option<[u8; 16]>,
}

/// A body's judgement within its run.
#[derive(Clone, Debug)]
pub struct Settled<'t> {
    /// The judgement; [`Judgement::run`] is there.
    pub judgement: Judgement<'t>,
    /// The run with this body, to be stored.
    pub run: Run,
    /// What the body adds to its caller.
    pub counted: Counted,
}

/// The last time that is stored, in Unix milliseconds; the year 19,000 is far before it. What is later is taken for it.
const MAX_MS: u64 = (1 << 49) - 1;

/// The time that counts when a clock says `now_ms`, and what is left of a sum that was touched at `touched_ms`.
fn passed(touched_ms: u64, now_ms: u64, half_life_ms: u64) -> (u64, f64) {
    let now_ms = now_ms.min(MAX_MS).max(touched_ms);
    let halves = if half_life_ms == 0 || touched_ms == 0 { 0.0 } else { (now_ms - touched_ms) as f64 / half_life_ms as f64 };
    (now_ms, libm::exp2(-halves))
}

/// How much is lost with a record: its running sum, and 1 if that ever reached the alarm level. How often it did is no matter, since whoever alarms on purpose can
/// do so at will.
fn heat(cusum: f64, has_alarmed: bool) -> f32 {
    cusum as f32 + f32::from(u8::from(has_alarmed))
}

/// A short digest of what a body is judged under besides its run: under other conditions the judgement says nothing.
fn conditions(opened: &Opened<'_, '_>, context: &Context<'_>) -> [u8; 3] {
    let mut digest = context.key.digest(key::Of::Conditions);
    digest.bytes(&opened.judge.fingerprint());
    digest.bytes(&opened.hint.exemptions.to_le_bytes());
    let unseen = context.unseen_assistant && opened.hint.direction == Direction::Request;
    digest.bytes(&[unseen.into()]);
    first(&digest.end())
}

/// The first bytes of a digest.
fn first<const N: usize>(digest: &[u8; 16]) -> [u8; N] {
    digest.first_chunk().copied().unwrap_or([0; N])
}

/// Takes the oldest out of a list, the newest last, until it is no longer than `most`.
fn fits<T>(list: &mut Vec<T>, most: usize) {
    list.drain(..list.len().saturating_sub(most));
}
