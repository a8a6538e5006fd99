//! The counters. The ABI has no labels, so they stand in the name as `_key=value`; envoy-config/*.yaml turns them back into tags.

use floodmark_core::wire::{Direction, IssueKind, Issues};
use floodmark_core::{Action, Verdict};

use crate::config::Mode;
use crate::host::Host;

/// Why a request or a response passed without being judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// The kill switch or mode `off`.
    Off,
    /// It has no body.
    NoBody,
    /// A protocol upgrade or CONNECT.
    Upgrade,
    /// Neither its path nor its body is one that AI traffic has; of a response, those of its request.
    NotAi,
    /// It is no AI traffic as far as could be told, and its body is too large or in an encoding that is not read; or there was no memory to follow it.
    Unread,
    /// The status is none of success.
    Status,
    /// Its content-type is neither JSON nor a stream that is read.
    ContentType,
}

impl Passed {
    const fn name(self) -> &'static str {
        match self {
            Passed::Off => "off",
            Passed::NoBody => "no_body",
            Passed::Upgrade => "upgrade",
            Passed::NotAi => "not_ai",
            Passed::Unread => "unread",
            Passed::Status => "status",
            Passed::ContentType => "content_type",
        }
    }
}

/// What tells the counters of requests from those of responses.
struct Names {
    /// The start of each.
    prefix: &'static str,
    /// Every action but `continue`, with the names of its counters in mode monitor, which only counts it, and in mode enforce.
    acted: &'static [(Action, [&'static str; 2])],
    /// What could not be done as configured.
    failed: &'static str,
    passed: &'static [Passed],
}

const REQUEST: Names = Names {
    prefix: "floodmark_",
    acted: &[
        (Action::Label, ["would_label", "labelled"]),
        (Action::Redact, ["would_redact", "redacted"]),
        (Action::Reject, ["would_block", "rejected"]),
    ],
    failed: "not_redacted",
    passed: &[Passed::Off, Passed::NoBody, Passed::Upgrade, Passed::NotAi, Passed::Unread],
};

const RESPONSE: Names = Names {
    prefix: "floodmark_response_",
    acted: &[(Action::Label, ["would_label", "labelled"]), (Action::Reject, ["would_block", "blocked"])],
    failed: "not_blocked",
    passed: &[Passed::NoBody, Passed::NotAi, Passed::Unread, Passed::Status, Passed::ContentType],
};

/// Numbers of the counters of one direction; `None` where the host has no metrics.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    /// By mode (monitor, enforce), then verdict.
    judged: Vec<Option<u32>>,
    acted: Vec<(Action, [Option<u32>; 2])>,
    failed: Option<u32>,
    exempted: Option<u32>,
    passed: Vec<(Passed, Option<u32>)>,
    issues: Vec<Option<u32>>,
    /// By the detector's rules.
    detector: Vec<Option<u32>>,
}

/// What happens in a table of shared data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableCount {
    /// An entry was found.
    Hits,
    /// None was.
    Misses,
    /// An entry gave way to another that is as hot or hotter.
    Evictions,
    /// Another VM changed the set in between, and the change was tried again.
    Conflicts,
    /// A change was given up: too many conflicts, no room, or no shared data.
    Lost,
    /// An entry was asked for that belongs to another caller.
    Foreign,
    /// A value was none of ours.
    Unreadable,
}

impl TableCount {
    /// All of them.
    pub const ALL: [TableCount; 7] = [
        TableCount::Hits,
        TableCount::Misses,
        TableCount::Evictions,
        TableCount::Conflicts,
        TableCount::Lost,
        TableCount::Foreign,
        TableCount::Unreadable,
    ];

    const fn name(self) -> &'static str {
        match self {
            TableCount::Hits => "hits",
            TableCount::Misses => "misses",
            TableCount::Evictions => "evictions",
            TableCount::Conflicts => "conflicts",
            TableCount::Lost => "lost",
            TableCount::Foreign => "foreign",
            TableCount::Unreadable => "unreadable",
        }
    }
}

/// The counters of one table, in the order of [`TableCount::ALL`].
#[derive(Clone, Debug, Default)]
pub struct TableCounters(Vec<Option<u32>>);

impl TableCounters {
    /// Defines the counters of the table of this name.
    pub fn define(host: &dyn Host, table: &str) -> Self {
        TableCounters(TableCount::ALL.iter().map(|what| define(host, &["floodmark_state_", what.name(), "_table=", table])).collect())
    }

    /// Adds one.
    pub fn count(&self, host: &dyn Host, what: TableCount) {
        count(host, self.0.get(what as usize).copied().flatten());
    }
}

/// What names a run, as counters and logs have it: the config's sources, then the first turn, then nothing.
pub const RUN_SOURCES: [&str; 8] =
    ["header", "mcp_session", "conversation", "previous_response", "a2a_context", "metadata", "fallback", "none"];

/// Numbers of the counters of what is remembered across requests.
#[derive(Clone, Debug, Default)]
pub struct StateCounters {
    /// In the order of [`crate::state::TABLES`].
    pub tables: Vec<TableCounters>,
    /// In the order of [`RUN_SOURCES`].
    sources: Vec<Option<u32>>,
    unavailable: Option<u32>,
    caller_unknown: Option<u32>,
    restarts: Option<u32>,
}

impl StateCounters {
    fn define(host: &dyn Host) -> Self {
        StateCounters {
            tables: crate::state::TABLES.iter().map(|table| TableCounters::define(host, table)).collect(),
            sources: RUN_SOURCES.iter().map(|source| define(host, &["floodmark_runs_source=", source])).collect(),
            unavailable: define(host, &["floodmark_state_unavailable"]),
            caller_unknown: define(host, &["floodmark_caller_unknown"]),
            restarts: define(host, &["floodmark_run_restarts"]),
        }
    }

    /// A request was put into a run that this named.
    pub fn source(&self, host: &dyn Host, source: &str) {
        let position = RUN_SOURCES.iter().position(|known| *known == source);
        count(host, position.and_then(|at| self.sources.get(at).copied().flatten()));
    }

    /// A request or response was judged alone because there is no shared data.
    pub fn unavailable(&self, host: &dyn Host) {
        count(host, self.unavailable);
    }

    /// A request says nothing of its caller.
    pub fn caller_unknown(&self, host: &dyn Host) {
        count(host, self.caller_unknown);
    }

    /// A request began another conversation of the same caller and opening.
    pub fn restarted(&self, host: &dyn Host) {
        count(host, self.restarts);
    }
}

/// Numbers of all counters.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    /// Of requests.
    pub request: Counters,
    /// Of responses.
    pub response: Counters,
    /// Of the operator's endpoints.
    pub endpoints: Answers,
    /// Of approvals.
    pub approvals: ApprovalCounters,
    /// Of the lineage gate.
    pub lineage: LineageCounters,
    /// Of what is remembered.
    pub state: StateCounters,
    host_errors: Option<u32>,
}

impl Metrics {
    /// Defines every counter. Their number is fixed, whatever the traffic: it is the cardinality of the names in this file.
    pub fn define(host: &dyn Host) -> Self {
        Metrics {
            request: Counters::define(host, &REQUEST),
            response: Counters::define(host, &RESPONSE),
            endpoints: Answers::define(host),
            approvals: ApprovalCounters::define(host),
            lineage: LineageCounters::define(host),
            state: StateCounters::define(host),
            host_errors: host.define_counter("floodmark_host_errors").ok(),
        }
    }

    /// The counters of a direction.
    pub fn of(&self, direction: Direction) -> &Counters {
        match direction {
            Direction::Request => &self.request,
            Direction::Response => &self.response,
        }
    }

    /// A host call failed that should have succeeded.
    pub fn host_error(&self, host: &dyn Host) {
        count(host, self.host_errors);
    }
}

/// Numbers of the counters of endpoints, by status.
#[derive(Clone, Debug, Default)]
pub struct Answers(Vec<(u32, Option<u32>)>);

/// Every status that an endpoint answers with.
const STATUSES: [u32; 10] = [200, 400, 401, 403, 404, 405, 409, 413, 415, 503];

impl Answers {
    fn define(host: &dyn Host) -> Self {
        let define = |status: u32| host.define_counter(&format!("floodmark_endpoints_status={status}")).ok();
        Answers(STATUSES.iter().map(|status| (*status, define(*status))).collect())
    }

    /// A call was answered.
    pub fn answered(&self, host: &dyn Host, status: u32) {
        count(host, self.0.iter().find(|(known, _)| *known == status).and_then(|(_, counter)| *counter));
    }
}

/// What happens with approvals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalCount {
    /// One was asked for that was not asked for before.
    Asked,
    /// One was given.
    Approved,
    /// One was denied.
    Denied,
    /// One was used: a request passed.
    Used,
    /// One would have been asked for, and could not be kept.
    Impossible,
}

impl ApprovalCount {
    const ALL: [(ApprovalCount, &'static str); 5] = [
        (ApprovalCount::Asked, "asked"),
        (ApprovalCount::Approved, "approved"),
        (ApprovalCount::Denied, "denied"),
        (ApprovalCount::Used, "used"),
        (ApprovalCount::Impossible, "impossible"),
    ];
}

/// Numbers of the counters of approvals.
#[derive(Clone, Debug, Default)]
pub struct ApprovalCounters(Vec<Option<u32>>);

impl ApprovalCounters {
    fn define(host: &dyn Host) -> Self {
        ApprovalCounters(ApprovalCount::ALL.iter().map(|(_, name)| define(host, &["floodmark_approvals_what=", name])).collect())
    }

    /// Adds one.
    pub fn count(&self, host: &dyn Host, what: ApprovalCount) {
        count(host, self.0.get(what as usize).copied().flatten());
    }
}

/// What the lineage gate decides, and what is given to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineageCount {
    /// An entry may be used.
    Run,
    /// It may be used with a label.
    Label,
    /// Somebody has to be asked.
    Ask,
    /// It is held back.
    Quarantine,
    /// A record was made of a new entry.
    Minted,
    /// A record was made of an entry that was there already.
    Adopted,
    /// A grant was given.
    Granted,
    /// A content was released.
    Released,
}

impl LineageCount {
    const ALL: [(LineageCount, &'static str); 8] = [
        (LineageCount::Run, "decision=run"),
        (LineageCount::Label, "decision=label"),
        (LineageCount::Ask, "decision=ask"),
        (LineageCount::Quarantine, "decision=quarantine"),
        (LineageCount::Minted, "what=minted"),
        (LineageCount::Adopted, "what=adopted"),
        (LineageCount::Granted, "what=granted"),
        (LineageCount::Released, "what=released"),
    ];
}

/// Numbers of the counters of the lineage gate.
#[derive(Clone, Debug, Default)]
pub struct LineageCounters(Vec<Option<u32>>);

impl LineageCounters {
    fn define(host: &dyn Host) -> Self {
        LineageCounters(LineageCount::ALL.iter().map(|(_, name)| define(host, &["floodmark_lineage_", name])).collect())
    }

    /// Adds one.
    pub fn count(&self, host: &dyn Host, what: LineageCount) {
        count(host, self.0.get(what as usize).copied().flatten());
    }
}

impl Counters {
    fn define(host: &dyn Host, names: &Names) -> Self {
        let define = |parts: &[&str]| host.define_counter(&[&[names.prefix], parts].concat().concat()).ok();
        let judged = |mode: Mode| Verdict::ALL.map(|verdict| define(&["judged_verdict=", verdict.name(), "_mode=", mode.name()]));
        Counters {
            judged: [Mode::Monitor, Mode::Enforce].map(judged).concat(),
            acted: names.acted.iter().map(|(action, [monitor, enforce])| (*action, [define(&[monitor]), define(&[enforce])])).collect(),
            failed: define(&[names.failed]),
            exempted: define(&["exempted"]),
            passed: names.passed.iter().map(|why| (*why, define(&["passed_why=", why.name()]))).collect(),
            issues: IssueKind::ALL.iter().map(|issue| define(&["issues_issue=", issue.name()])).collect(),
            detector: floodmark_tables::DETECTOR.rules().into_iter().map(|rule| define(&["detector_rule=", rule])).collect(),
        }
    }

    /// A body was judged. Each kind of issue counts once, and so do hits that an exemption covers, and each of the detector's rules that was met.
    pub fn judged(&self, host: &dyn Host, mode: Mode, verdict: Verdict, issues: &Issues, exempt_hits: u32, rules_met: u32) {
        let own = if mode == Mode::Enforce { Verdict::ALL.len() } else { 0 };
        let position = Verdict::ALL.iter().position(|known| *known == verdict);
        count(host, position.and_then(|at| self.judged.get(own + at).copied().flatten()));
        for kind in issues.kinds() {
            self.issue(host, kind);
        }
        for (rule, counter) in self.detector.iter().enumerate() {
            if rules_met >> (rule % 32) & 1 == 1 {
                count(host, *counter);
            }
        }
        if exempt_hits > 0 {
            count(host, self.exempted);
        }
    }

    /// Something odd was seen.
    pub fn issue(&self, host: &dyn Host, kind: IssueKind) {
        let position = IssueKind::ALL.iter().position(|known| *known == kind);
        count(host, position.and_then(|at| self.issues.get(at).copied().flatten()));
    }

    /// A message passed without being judged.
    pub fn passed(&self, host: &dyn Host, why: Passed) {
        count(host, self.passed.iter().find(|(known, _)| *known == why).and_then(|(_, counter)| *counter));
    }

    /// A message met this action, or would have in mode enforce.
    pub fn acted(&self, host: &dyn Host, mode: Mode, action: Action) {
        let counters = self.acted.iter().find(|(known, _)| *known == action);
        count(host, counters.and_then(|(_, [monitor, enforce])| if mode == Mode::Enforce { *enforce } else { *monitor }));
    }

    /// A request was, or would have been, rejected because redaction could not help; or a response that should not have passed was gone already.
    pub fn failed(&self, host: &dyn Host) {
        count(host, self.failed);
    }
}

/// A new counter of a name in parts; `None` where the host has no metrics.
#[inline(never)]
fn define(host: &dyn Host, parts: &[&str]) -> Option<u32> {
    host.define_counter(&parts.concat()).ok()
}

/// A failing counter must not disturb a request, so its error is dropped.
fn count(host: &dyn Host, counter: Option<u32>) {
    if let Some(counter) = counter {
        let _ = host.count(counter);
    }
}
