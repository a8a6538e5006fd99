//! The demo's conversations: one JSON object a line in `testdata/demo.jsonl`.

use std::path::Path;

use anyhow::{Context as _, ensure};
use floodmark_core::{Hint, Judge, Policy};
use serde::Deserialize;
use serde_json::value::RawValue;

/// One conversation and what should become of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Short name; also the request id.
    pub id: String,
    /// What it shows, in one line.
    pub about: String,
    /// Path of the request.
    pub path: String,
    /// The request's body, sent exactly as it stands in the file.
    pub body: Box<RawValue>,
    /// What should become of it.
    pub expect: Expected,
}

/// The expected outcome.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// Verdict by name.
    pub verdict: String,
    /// Conversation score, computed by hand from DESIGN.md 7.
    pub score: f64,
    /// Status that the client gets.
    pub status: u16,
    /// The rule that decides, where the case is about one.
    pub rule: Option<String>,
}

impl Case {
    /// Number of its scored turns: user messages and tool results.
    ///
    /// # Errors
    /// When the shipped policy is not valid.
    pub fn turns(&self) -> anyhow::Result<usize> {
        let refused = |error: floodmark_core::policy::PolicyError| anyhow::anyhow!("{}: {}", error.key, error.problem);
        let judge = Judge::new(&Policy::default(), &floodmark_tables::TABLES).map_err(refused)?;
        Ok(judge.judge(self.body.get().as_bytes(), Hint::default()).score.turn_scores.len())
    }
}

/// Reads a file of cases.
///
/// # Errors
/// When the file cannot be read, is empty, or a line is not a case; the message names the line.
pub fn load(path: &Path) -> anyhow::Result<Vec<Case>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let cases = lines
        .map(|(at, line)| serde_json::from_str(line).with_context(|| format!("{} line {} is not a demo case", path.display(), at + 1)));
    let cases: Vec<Case> = cases.collect::<anyhow::Result<_>>()?;
    ensure!(!cases.is_empty(), "{} holds no case", path.display());
    Ok(cases)
}
