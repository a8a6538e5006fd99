//! What others are told of a judgement: the names and values of our headers and of filter state.

use floodmark_core::{Action, Judgement, Report, Verdict};

/// The start of all header names that are ours. Clients' copies are taken away in enforce mode.
pub const OWN_HEADERS: &str = "x-floodmark-";
/// The verdict, on judged responses in enforce mode, and on labelled requests.
pub const VERDICT_HEADER: &str = "x-floodmark-verdict";
/// What was done, on requests and responses that passed with a label or redacted.
pub const ACTION_HEADER: &str = "x-floodmark-action";
/// The conversation's score, on labelled requests. Clients are not told it.
pub const SCORE_HEADER: &str = "x-floodmark-score";
/// The rule that decided, on labelled requests.
pub const RULE_HEADER: &str = "x-floodmark-rule";
/// The event id, on labelled requests and on refusals.
pub const EVENT_ID_HEADER: &str = "x-floodmark-event-id";
/// The approval id, on refusals that an operator can approve.
pub const APPROVAL_HEADER: &str = "x-floodmark-approval-id";
/// The token of the operator's endpoints, on requests. It goes no further, whatever the mode.
pub const TOKEN_HEADER: &str = "x-floodmark-token";
/// The same as servers read it that take `_` for `-`.
pub const TOKEN_SPELLINGS: [&str; 4] = [TOKEN_HEADER, "x_floodmark-token", "x-floodmark_token", "x_floodmark_token"];

/// Request headers for the upstream.
pub fn request_headers(judgement: &Judgement<'_>, action: Action, event_id: &str) -> Vec<(&'static str, String)> {
    let rule = judgement.decisive.as_ref().map(|reason| (RULE_HEADER, reason.rule.to_owned()));
    let mut headers = vec![
        (VERDICT_HEADER, judgement.verdict.name().to_owned()),
        (ACTION_HEADER, action.name().to_owned()),
        (SCORE_HEADER, score(judgement)),
        (EVENT_ID_HEADER, event_id.to_owned()),
    ];
    headers.extend(rule);
    headers
}

/// The conversation's score as the report spells it.
pub fn score(judgement: &Judgement<'_>) -> String {
    number(judgement.score.score)
}

/// The highest score of an event and the persistence of the trajectory; `None` where the detector was not asked.
pub fn detector(judgement: &Judgement<'_>) -> [Option<String>; 2] {
    let trajectory = judgement.detected.as_ref().map(|detected| detected.trajectory);
    [trajectory.map(|trajectory| number(trajectory.peak())), trajectory.map(|trajectory| number(trajectory.persistence()))]
}

/// A number in JSON's way: `f64`'s own takes 14 KB of code.
pub fn number(number: f64) -> String {
    serde_json::to_string(&number).unwrap_or_default()
}

/// Filter state, for access logs and other filters.
pub fn filter_state(judgement: &Judgement<'_>, action: Action, event_id: &str) -> Vec<(&'static str, String)> {
    let report = Report::from(judgement);
    let mut states = vec![
        ("floodmark.verdict", judgement.verdict.name().to_owned()),
        ("floodmark.action", action.name().to_owned()),
        ("floodmark.score", score(judgement)),
        ("floodmark.event_id", event_id.to_owned()),
    ];
    let names = ["floodmark.event_peak", "floodmark.persistence"];
    states.extend(names.into_iter().zip(detector(judgement)).filter_map(|(name, number)| Some((name, number?))));
    states.extend(report.rule.map(|rule| ("floodmark.rule", rule.to_owned())));
    states.extend(serde_json::to_string(&report).ok().map(|json| ("floodmark.report", json)));
    states
}

/// Filter state of the response.
pub fn response_state(verdict: Verdict, rule: Option<&str>) -> impl Iterator<Item = (&'static str, &str)> {
    let rule = rule.map(|rule| ("floodmark.response_rule", rule));
    [("floodmark.response_verdict", verdict.name())].into_iter().chain(rule)
}
