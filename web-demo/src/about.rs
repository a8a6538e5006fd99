//! What this build is: version, tables, policy, and words for the issues.
use std::collections::BTreeMap;

use floodmark_core::Policy;
use floodmark_core::detector;
use floodmark_core::wire::{Effect, IssueKind};
use floodmark_tables::{CATEGORIES, DETECTOR};
use serde::Serialize;

/// What the page needs to explain a report.
#[derive(Serialize)]
pub struct About {
    version: &'static str,
    /// Commit that it was built from.
    git: &'static str,
    /// Fingerprint of the tables, the same that a gateway logs at start.
    tables: &'static str,
    /// Number of patterns.
    patterns: usize,
    /// Weight of each category.
    categories: BTreeMap<&'static str, f64>,
    policy: Policy,
    detector: Levels,
    issues: BTreeMap<&'static str, Issue>,
}

/// The detector's version and levels.
#[derive(Serialize)]
struct Levels {
    version: &'static str,
    tau_event: f64,
    event_block: f64,
    drift: f64,
    alarm: f64,
    caller_alarm: f64,
}

#[derive(Serialize)]
struct Issue {
    meaning: &'static str,
    effect: &'static str,
}

/// What this build is.
pub fn about() -> About {
    let detector::Levels { tau_event, event_block, drift, alarm, caller_alarm } = DETECTOR.levels;
    About {
        version: env!("CARGO_PKG_VERSION"),
        git: option_env!("FLOODMARK_GIT").unwrap_or("unknown"),
        tables: CATEGORIES.fingerprint,
        patterns: CATEGORIES.patterns.len(),
        categories: CATEGORIES.categories.iter().map(|category| (category.name, category.weight)).collect(),
        policy: Policy::default(),
        detector: Levels { version: DETECTOR.version, tau_event, event_block, drift, alarm, caller_alarm },
        issues: IssueKind::ALL.iter().map(|kind| (kind.name(), issue(*kind))).collect(),
    }
}

fn issue(kind: IssueKind) -> Issue {
    let effect = match kind.effect() {
        Effect::Note => "note",
        Effect::Flag => "flag",
        Effect::Refuse => "refuse",
    };
    Issue { meaning: kind.describe().trim(), effect }
}
