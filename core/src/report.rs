//! The report: a judgement as every engine prints it, so that reports can be compared byte for byte. It holds no message text.

use alloc::vec::Vec;

use serde::Serialize;

use crate::detected::Detected;
use crate::judge::Judgement;
use crate::reason::Reason;
use crate::rules::RuleUse;
use crate::run::RunFacts;

/// A judgement, ready for JSON.
#[derive(Clone, Debug, Serialize)]
pub struct Report<'a> {
    /// `allow`, `flag`, `label`, `ask` or `block`.
    pub verdict: &'static str,
    /// The rule that decided the verdict; null for `allow`.
    pub rule: Option<&'a str>,
    /// The message that the rule was met in, 0-based; null outside the messages.
    pub turn: Option<u32>,
    /// Messages without which the score would be below tau.
    pub drop_messages: &'a [u32],
    /// The conversation's score, 0 to 1.
    pub score: f64,
    /// Score of each user message and tool result, in wire order.
    pub turn_scores: &'a [f64],
    /// Message index of each of them.
    pub turn_messages: &'a [u32],
    /// What the detector found; null where none of its rules is looked for.
    pub detector: Option<DetectorReport<'a>>,
    /// Hits that count for nothing because an exemption covers them.
    pub exempt_hits: u32,
    /// Everything that was found.
    pub reasons: Vec<ReasonReport<'a>>,
    /// What was odd about the body.
    pub issues: Vec<IssueReport>,
    /// The format that the body was read as.
    pub format: &'static str,
    /// Whether the conversation has enough turns to be judged.
    pub evaluated: bool,
    /// First and last of the turns that the parts below are taken of, as indices of `turn_scores`: the whole history in profile `paper`, the
    /// window with the highest score in profile `floodmark`; null when nothing was hit there.
    pub window: Option<(usize, usize)>,
    /// What the parts' sum is multiplied by for the turns that came after the window, 0 to 1.
    pub freshness: f64,
    /// The highest turn score.
    pub peak: f64,
    /// Share of turns that hit anything.
    pub match_ratio: f64,
    /// Number of categories hit.
    pub distinct_categories: u32,
    /// What the distinct categories add.
    pub diversity: f64,
    /// Whether the turns escalate at their end.
    pub escalation: bool,
    /// Whether user messages resample one request.
    pub resampling: bool,
    /// What it says of its run; left out where it was judged alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunFacts>,
}

/// What the detector found, ready for JSON.
#[derive(Clone, Debug, Serialize)]
pub struct DetectorReport<'a> {
    /// Version of the detector.
    pub version: &'a str,
    /// Score of each text that was looked at, in wire order, 0 to 1.
    pub scores: &'a [f64],
    /// Message index of each of them; null outside the messages.
    pub messages: &'a [Option<u32>],
    /// Number of events in the trajectory: user messages, tool results and the arguments of tool calls, where nothing of them is trusted or exempt.
    pub events: u32,
    /// The highest of their scores.
    pub peak: f64,
    /// The message that has it, the first of equals.
    pub peak_message: Option<u32>,
    /// The highest value of the running sum over them.
    pub persistence: f64,
    /// Share of them at or above the threshold of suspicion, which blocks nothing.
    pub frac_over_tau: f64,
    /// The message at which the running sum first reached the alarm level; null where it did not, or nobody looks for it.
    pub alarm_message: Option<u32>,
}

/// A reason, ready for JSON.
#[derive(Clone, Debug, Serialize)]
pub struct ReasonReport<'a> {
    /// The rule's id.
    pub rule: &'a str,
    /// The pattern's category.
    pub category: Option<&'a str>,
    /// Where the text came from.
    pub channel: Option<&'static str>,
    /// 0-based index in the wire's message list.
    pub turn: Option<u32>,
    /// Byte range in the event's text.
    pub span: Option<(usize, usize)>,
    /// The view that the pattern was found in; null where no text was searched.
    pub view: Option<&'static str>,
    /// Of the detector's rules: which of the text's overlapping chunks scored highest, counted from 0.
    pub chunk: Option<u32>,
    /// What it means for the verdict: `flag`, `label`, `ask`, `score`, `block`, or `exempt`.
    pub counts_as: &'static str,
}

/// An issue, ready for JSON.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct IssueReport {
    /// Its name.
    pub issue: &'static str,
    /// Byte offset in the body, unpacked.
    pub at: usize,
}

impl<'a> From<&'a Judgement<'_>> for Report<'a> {
    fn from(judgement: &'a Judgement<'_>) -> Self {
        let score = &judgement.score;
        Report {
            verdict: judgement.verdict.name(),
            rule: judgement.decisive.as_ref().map(|reason| reason.rule),
            turn: judgement.decisive.as_ref().and_then(|reason| reason.turn),
            drop_messages: &judgement.drop_messages,
            score: score.score,
            turn_scores: &score.turn_scores,
            turn_messages: &judgement.turn_messages,
            detector: judgement.detected.as_ref().map(DetectorReport::from),
            exempt_hits: judgement.exempt_hits,
            reasons: judgement.reasons.iter().map(ReasonReport::from).collect(),
            issues: judgement.issues.as_slice().iter().map(|issue| IssueReport { issue: issue.kind.name(), at: issue.at }).collect(),
            format: judgement.format.name(),
            evaluated: score.evaluated,
            window: score.window,
            freshness: score.freshness,
            peak: score.peak,
            match_ratio: score.match_ratio,
            distinct_categories: score.distinct_categories,
            diversity: score.diversity,
            escalation: score.escalation,
            resampling: score.resampling,
            run: judgement.run,
        }
    }
}

impl<'a> From<&'a Detected<'_>> for DetectorReport<'a> {
    fn from(detected: &'a Detected<'_>) -> Self {
        let trajectory = &detected.trajectory;
        DetectorReport {
            version: detected.version,
            scores: &detected.scores,
            messages: &detected.messages,
            events: trajectory.events(),
            peak: trajectory.peak(),
            peak_message: detected.peak_message,
            persistence: trajectory.persistence(),
            frac_over_tau: trajectory.frac_over_tau(),
            alarm_message: detected.alarm_message,
        }
    }
}

impl<'a> From<&'a Reason<'_>> for ReasonReport<'a> {
    fn from(reason: &'a Reason<'_>) -> Self {
        ReasonReport {
            rule: reason.rule,
            category: reason.category,
            channel: reason.channel.map(|channel| channel.name()),
            turn: reason.turn,
            span: reason.span,
            view: reason.view.map(|view| view.name()),
            chunk: reason.chunk,
            counts_as: reason.counts_as.map_or("exempt", RuleUse::name),
        }
    }
}
