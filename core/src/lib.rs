//! All judgement of Floodmark, in `no_std` with `alloc`: no I/O, no clock, no SDK.
//!
//! A body's way through it, each step a module:
//!
//! ```text
//! bytes -> wire (format, roles, events, issues) -> text (views) -> score (category hits per event)
//!       -> conversation (one score) -> judge (verdict with reasons) -> report (what every engine prints)
//! ```
//!
//! `policy` holds the numbers that an operator may change, `scope` which events count, `rules` what a hit of each rule means; `limits` bounds the work. `redact` takes out of
//! a body what a judgement was for. `run` is what a gateway remembers of an agent's run between its requests, and how a body is judged within it. `lineage` says what a
//! memory entry or task that comes back may do: records of where it came from, sealed with a key, and the gate that reads them.
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used))]

extern crate alloc;
#[cfg(feature = "schema")]
extern crate std;

mod catalog;
pub mod conversation;
pub mod detected;
pub mod detector;
mod hash;
pub mod instructions;
pub mod judge;
pub mod keys;
pub mod limits;
pub mod lineage;
mod look;
#[cfg(feature = "operator-patterns")]
pub mod operator;
pub mod policy;
pub mod reason;
mod redact;
pub mod report;
pub mod rules;
pub mod run;
mod scan;
pub mod scope;
pub mod score;
pub mod streamed;
mod tables;
pub mod text;
pub mod trajectory;
pub mod verdict;
pub mod wire;

pub use detected::Detected;
pub use detector::Detector;
pub use instructions::Likeness;
pub use judge::{Hint, Judge, Judgement};
pub use policy::Policy;
pub use reason::Reason;
pub use report::Report;
pub use rules::RuleUse;
pub use streamed::Streamed;
pub use tables::Tables;
pub use verdict::{Action, Verdict};
