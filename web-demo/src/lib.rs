//! The judgement in a browser: what the page calls, as JSON text both ways. The page's own code is in www.
#![cfg_attr(not(test), deny(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used))]

mod about;
mod lineage;
mod reading;

use floodmark_core::{Hint, Judge, Policy, Report};
use floodmark_tables::TABLES;
use serde::Serialize;
use wasm_bindgen::prelude::wasm_bindgen;

/// A request whose path is known to carry AI traffic: a body that cannot be read is refused, as a gateway would.
const HINT: Hint = Hint { format: None, ai_path: true, direction: floodmark_core::wire::Direction::Request, issue: None, exemptions: 0 };

/// Judges a chat body and gives the report, the same JSON as the gateway and the command line give. `policy` is the JSON of a policy, as in a
/// gateway's configuration; keys that it leaves out have their defaults.
///
/// # Errors
/// A text on what is wrong with the policy; no body can cause one.
#[wasm_bindgen]
pub fn judge(body: &str, policy: &str) -> Result<String, String> {
    let policy: Policy = serde_json::from_str(policy).map_err(|error| format!("policy: {error}"))?;
    let judge = Judge::new(&policy, &TABLES).map_err(|error| format!("{}: {}", error.key, error.problem))?;
    let judgement = judge.judge(body.as_bytes(), HINT);
    to_json(&Report::from(&judgement))
}

/// Gives the texts that `judge` looks at, in wire order: a list of `{"message", "channel", "turn", "text"}`.
///
/// # Errors
/// None that a body can cause.
#[wasm_bindgen]
pub fn read(body: &str) -> Result<String, String> {
    to_json(&reading::events(body))
}

/// Seals the record of an entry of a memory: `request` and the answer as those of `POST v1/lineage/records`. `setup` is what a gateway has by itself:
/// `{"keys": [{"id", "secret"}], "gate": {}, "now_ms", "version"}`.
///
/// # Errors
/// A text on what is wrong, with its place.
#[wasm_bindgen]
pub fn mint(request: &str, setup: &str) -> Result<String, String> {
    to_json(&lineage::mint(request, setup)?)
}

/// Says what may become of an entry that comes back: `request` and the answer as those of `POST v1/lineage/check`, `setup` as for `mint`, with `newest`
/// for the newest version that was seen.
///
/// # Errors
/// A text on what is wrong, with its place.
#[wasm_bindgen]
pub fn check(request: &str, setup: &str) -> Result<String, String> {
    to_json(&lineage::check(request, setup)?)
}

/// Gives version, tables, policy and the meaning of every issue.
///
/// # Errors
/// None that can be caused from outside.
#[wasm_bindgen]
pub fn about() -> Result<String, String> {
    to_json(&about::about())
}

fn to_json(value: &impl Serialize) -> Result<String, String> {
    serde_json::to_string(value).map_err(|error| error.to_string())
}
