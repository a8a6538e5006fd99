//! The counters. The ABI has no labels, so they stand in the name as `_key=value`; envoy-config/*.yaml turns them back into tags.

use floodmark_core::wire::{IssueKind, Issues};
use floodmark_core::{Action, Verdict};

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

/// Every action but `continue`, with the names of its counters in mode monitor, which only counts it, and in mode enforce.
const ACTED: [(Action, [&str; 2]); 3] = [
    (Action::Label, ["floodmark_would_label", "floodmark_labelled"]),
    (Action::Redact, ["floodmark_would_redact", "floodmark_redacted"]),
    (Action::Reject, ["floodmark_would_block", "floodmark_rejected"]),
];

/// Numbers of all counters; `None` where the host has no metrics.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    /// By mode (monitor, enforce), then verdict.
    judged: [[Option<u32>; Verdict::ALL.len()]; 2],
    /// By mode (monitor, enforce), then action.
    acted: [[Option<u32>; ACTED.len()]; 2],
    not_redacted: Option<u32>,
    exempted: Option<u32>,
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
            acted: [0, 1].map(|mode| ACTED.map(|(_, names)| names.get(mode).and_then(|name| define((*name).to_owned())))),
            not_redacted: define("floodmark_not_redacted".to_owned()),
            exempted: define("floodmark_exempted".to_owned()),
            host_errors: define("floodmark_host_errors".to_owned()),
            passed: Passed::ALL.map(|why| define(format!("floodmark_passed_why={}", why.name()))),
            issues: IssueKind::ALL.iter().map(|issue| define(format!("floodmark_issues_issue={}", issue.name()))).collect(),
        }
    }

    /// A request was judged. Each kind of issue counts once.
    pub fn judged(&self, host: &dyn Host, mode: Mode, verdict: Verdict, issues: &Issues) {
        let position = Verdict::ALL.iter().position(|known| *known == verdict);
        count(host, of_mode(&self.judged, mode, position));
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

    /// A request met this action, or would have in mode enforce.
    pub fn acted(&self, host: &dyn Host, mode: Mode, action: Action) {
        count(host, of_mode(&self.acted, mode, ACTED.iter().position(|(known, _)| *known == action)));
    }

    /// A request was, or would have been, rejected because redaction could not help.
    pub fn not_redacted(&self, host: &dyn Host) {
        count(host, self.not_redacted);
    }

    /// A request was judged whose hits an exemption covers, one at least.
    pub fn exempted(&self, host: &dyn Host) {
        count(host, self.exempted);
    }

    /// A host call failed that should have succeeded.
    pub fn host_error(&self, host: &dyn Host) {
        count(host, self.host_errors);
    }
}

/// The counter at `position` of the mode's own.
fn of_mode<const N: usize>(counters: &[[Option<u32>; N]; 2], mode: Mode, position: Option<usize>) -> Option<u32> {
    let [monitor, enforce] = counters;
    let own = if mode == Mode::Enforce { enforce } else { monitor };
    own.get(position?).copied().flatten()
}

/// A failing counter must not disturb a request, so its error is dropped.
fn count(host: &dyn Host, counter: Option<u32>) {
    if let Some(counter) = counter {
        let _ = host.count(counter);
    }
}
