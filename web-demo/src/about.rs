//! What this build is: version, tables, policy, and words for the issues.
use std::collections::BTreeMap;

use floodmark_core::Policy;
use floodmark_core::wire::{Effect, IssueKind};
use floodmark_tables::CATEGORIES;
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
    issues: BTreeMap<&'static str, Issue>,
}

#[derive(Serialize)]
struct Issue {
    meaning: &'static str,
    effect: &'static str,
}

/// What this build is.
pub fn about() -> About {
    About {
        version: env!("CARGO_PKG_VERSION"),
        git: option_env!("FLOODMARK_GIT").unwrap_or("unknown"),
        tables: CATEGORIES.fingerprint,
        patterns: CATEGORIES.patterns.len(),
        categories: CATEGORIES.categories.iter().map(|category| (category.name, category.weight)).collect(),
        policy: Policy::default(),
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
