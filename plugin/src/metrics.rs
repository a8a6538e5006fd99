//! The counters. The ABI has no labels, so they stand in the name as `_key=value`; envoy-config/*.yaml turns them back into tags.

use floodmark_core::Verdict;
use floodmark_core::wire::{IssueKind, Issues};

use crate::config::Mode;
use crate::host::Host;

/// Why a request passed without being judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// The kill switch or mode `off`.
    Off,
    /// It has no body.
    NoBody,
    /// A protocol upgrade or CONNECT.
    Upgrade,
    /// Neither its path nor its content-type is one that AI traffic has.
    NotAi,
    /// It is no AI traffic as far as could be told, and its body is too large or in an encoding that is not read.
    Unread,
}

impl Passed {
    const ALL: [Passed; 5] = [Passed::Off, Passed::NoBody, Passed::Upgrade, Passed::NotAi, Passed::Unread];

    const fn name(self) -> &'static str {
        match self {
            Passed::Off => "off",
            Passed::NoBody => "no_body",
            Passed::Upgrade => "upgrade",
            Passed::NotAi => "not_ai",
            Passed::Unread => "unread",
        }
    }
}

/// Numbers of all counters; `None` where the host has no metrics.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    /// By mode (monitor, enforce), then verdict.
    judged: [[Option<u32>; Verdict::ALL.len()]; 2],
    would_block: Option<u32>,
    rejected: Option<u32>,
    host_errors: Option<u32>,
    passed: [Option<u32>; Passed::ALL.len()],
    issues: Vec<Option<u32>>,
}

impl Metrics {
    /// Defines every counter. Their number is fixed, whatever the traffic: it is the cardinality of the names in this file.
    pub fn define(host: &dyn Host) -> Self {
        let define = |name: String| host.define_counter(&name).ok();
        let judged =
            |mode: Mode| Verdict::ALL.map(|verdict| define(format!("floodmark_judged_verdict={}_mode={}", verdict.name(), mode.name())));
        Metrics {
            judged: [Mode::Monitor, Mode::Enforce].map(judged),
            would_block: define("floodmark_would_block".to_owned()),
            rejected: define("floodmark_rejected".to_owned()),
            host_errors: define("floodmark_host_errors".to_owned()),
            passed: Passed::ALL.map(|why| define(format!("floodmark_passed_why={}", why.name()))),
            issues: IssueKind::ALL.iter().map(|issue| define(format!("floodmark_issues_issue={}", issue.name()))).collect(),
        }
    }

    /// A request was judged. Each kind of issue counts once.
    pub fn judged(&self, host: &dyn Host, mode: Mode, verdict: Verdict, issues: &Issues) {
        let of_mode = if mode == Mode::Enforce { self.judged.last() } else { self.judged.first() };
        let position = Verdict::ALL.iter().position(|known| *known == verdict);
        count(host, of_mode.zip(position).and_then(|(counters, at)| counters.get(at).copied().flatten()));
        if (mode, verdict) == (Mode::Monitor, Verdict::Block) {
            count(host, self.would_block);
        }
        for kind in issues.kinds() {
            self.issue(host, kind);
        }
    }

    /// Something odd was seen.
    pub fn issue(&self, host: &dyn Host, kind: IssueKind) {
        let position = IssueKind::ALL.iter().position(|known| *known == kind);
        count(host, position.and_then(|at| self.issues.get(at).copied().flatten()));
    }

    /// A request passed without being judged.
    pub fn passed(&self, host: &dyn Host, why: Passed) {
        let position = Passed::ALL.iter().position(|known| *known == why);
        count(host, position.and_then(|at| self.passed.get(at).copied().flatten()));
    }

    /// A request was answered in the upstream's place.
    pub fn rejected(&self, host: &dyn Host) {
        count(host, self.rejected);
    }

    /// A host call failed that should have succeeded.
    pub fn host_error(&self, host: &dyn Host) {
        count(host, self.host_errors);
    }
}

/// A failing counter must not disturb a request, so its error is dropped.
fn count(host: &dyn Host, counter: Option<u32>) {
    if let Some(counter) = counter {
        let _ = host.count(counter);
    }
}
