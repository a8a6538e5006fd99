//! The one way from a body's bytes to a judgement. Every engine (gateway, host, browser, native) calls this.

use alloc::vec::Vec;

use crate::catalog::Catalog;
use crate::conversation::{self, Params, Score};
use crate::limits::MAX_REASONS;
use crate::policy::{Policy, PolicyError, Unread};
use crate::reason::Reason;
use crate::scan::{Scanned, Scanner};
use crate::score::CategorySet;
use crate::verdict::Verdict;
use crate::wire::{self, Body, Channel, Effect, Format, Issue, IssueKind, Issues};

/// Rule id of a conversation that is blocked, or raised, by its resampling.
pub const RESAMPLING_RULE: &str = "conversation.resampling";

/// What is known of a request besides its body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hint {
    /// The format that the config or the path names.
    pub format: Option<Format>,
    /// The request is AI traffic whatever its body says, so a body that cannot be read is refused.
    pub ai_path: bool,
    /// What is odd about the request's headers.
    pub issue: Option<IssueKind>,
}

/// What was judged of one body.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement<'t> {
    /// The judgement.
    pub verdict: Verdict,
    /// The reason that decided it; `None` for `allow`.
    pub decisive: Option<Reason<'t>>,
    /// Messages without which the score would be below tau, 0-based, ascending; empty where that was not the reason, or more than
    /// [`crate::limits::MAX_DROPPED`] would have to go.
    pub drop_messages: Vec<u32>,
    /// The format that the body was read as.
    pub format: Format,
    /// The conversation's score and its parts.
    pub score: Score,
    /// Message index of each scored turn, beside `score.turn_scores`.
    pub turn_messages: Vec<u32>,
    /// At most [`MAX_REASONS`], those of scored turns first, in wire order.
    pub reasons: Vec<Reason<'t>>,
    /// What was odd about the body.
    pub issues: Issues,
}

/// A policy made ready for a set of categories.
#[derive(Clone, Debug)]
pub struct Judge<'t> {
    catalog: Catalog<'t>,
    weights: Vec<f64>,
    params: Params,
    oversize: Unread,
    unparsed: Unread,
}

impl<'t> Judge<'t> {
    /// Makes `policy` ready.
    ///
    /// # Errors
    /// A value of the policy that is out of its range, with its key.
    pub fn new(policy: &Policy, set: &'t CategorySet<'t>) -> Result<Self, PolicyError> {
        let catalog = Catalog::new(policy, set)?;
        let weights = catalog.weights(policy)?;
        Ok(Judge { catalog, weights, params: policy.conversation.clone(), oversize: policy.oversize, unparsed: policy.unparsed })
    }

    /// Judges one body. Linear in its length (up to the sorting of hashes); never panics, whatever the bytes.
    pub fn judge(&self, body: &[u8], hint: Hint) -> Judgement<'_> {
        let mut body = Body::new(body);
        if let Some(issue) = hint.issue {
            body.issues.push(issue, 0);
        }
        let mut document = wire::read(&body, hint.format);
        let mut scanned = Scanner { catalog: &self.catalog, weights: &self.weights }.scan(&document);
        if scanned.undecoded {
            document.issues.push(IssueKind::EncodedSpans, 0);
        }
        if scanned.own_unread {
            document.issues.push(IssueKind::OperatorPatterns, 0);
        }
        let resampling = scanned.resampling.is_some();
        let score = conversation::score(&scanned.turns, resampling, &self.weights, &self.params);
        let by_resampling = scanned.resampling.filter(|_| score.resampling).map(|turn| Reason {
            turn: Some(turn),
            channel: Some(Channel::User),
            ..Reason::of_rule(RESAMPLING_RULE)
        });
        let odd = document.issues.worst().and_then(|issue| self.odd(issue, hint.ai_path || document.format != Format::Unknown));
        let (verdict, decisive) = match odd {
            Some((Verdict::Block, rule)) => (Verdict::Block, Some(rule)),
            _ if score.reaches_tau => (Verdict::Block, self.peak(&score, &scanned).or(by_resampling.clone())),
            Some((verdict, rule)) => (verdict, Some(rule)),
            None => match scanned.other_reasons.first() {
                Some(reason) => (Verdict::Flag, Some(reason.clone())),
                None => (Verdict::Allow, None),
            },
        };
        let mut drop_messages = Vec::new();
        if score.reaches_tau {
            drop_messages =
                conversation::without(&scanned.turns, &scanned.turn_messages, &self.weights, resampling, &self.params).unwrap_or_default();
        }
        let mut reasons: Vec<Reason<'_>> = by_resampling.into_iter().collect();
        reasons.append(&mut scanned.turn_reasons);
        reasons.append(&mut scanned.other_reasons);
        reasons.truncate(MAX_REASONS);
        let (format, issues, turn_messages) = (document.format, document.issues, scanned.turn_messages);
        Judgement { verdict, decisive, drop_messages, format, score, turn_messages, reasons, issues }
    }

    /// The judgement of a body that was not read, because of `issue`.
    pub fn unread(&self, issue: Issue, hint: Hint) -> Judgement<'t> {
        let mut issues = Issues::default();
        issues.push(issue.kind, issue.at);
        let (verdict, decisive) = match self.odd(issue, hint.ai_path) {
            Some((verdict, rule)) => (verdict, Some(rule)),
            None => (Verdict::Allow, None),
        };
        Judgement {
            verdict,
            decisive,
            drop_messages: Vec::new(),
            format: Format::Unknown,
            score: Score::default(),
            turn_messages: Vec::new(),
            reasons: Vec::new(),
            issues,
        }
    }

    /// Whether the start of a body that is too large to judge is already known for AI traffic.
    pub fn recognises(start: &[u8]) -> bool {
        wire::read(&Body::new(start), None).format != Format::Unknown
    }

    /// What an issue makes of the verdict, and its rule; `None` when it is only counted.
    fn odd(&self, issue: Issue, recognised: bool) -> Option<(Verdict, Reason<'t>)> {
        let unread = if issue.kind == IssueKind::Oversize { self.oversize } else { self.unparsed };
        let verdict = match (issue.kind.effect(), unread) {
            (Effect::Note, _) => return None,
            (Effect::Refuse, _) if !recognised => return None,
            (Effect::Refuse, Unread::Block) => Verdict::Block,
            (Effect::Refuse, Unread::Flag) | (Effect::Flag, _) => Verdict::Flag,
        };
        Some((verdict, Reason::of_rule(issue.kind.rule())))
    }

    /// The reason to name for a conversation that reaches tau: the weightiest pattern of the first turn with the peak score. None when no turn
    /// was hit.
    fn peak(&self, score: &Score, scanned: &Scanned<'_>) -> Option<Reason<'_>> {
        let at = score.turn_scores.iter().position(|&turn| turn > 0.0 && turn >= score.peak)?;
        let pattern = self.catalog.known(scanned.turn_patterns.get(at).copied().flatten()?)?;
        let user = scanned.turns.get(at).is_some_and(|turn| turn.user);
        let channel = Some(if user { Channel::User } else { Channel::ToolResult });
        let turn = scanned.turn_messages.get(at).copied();
        Some(Reason { category: Some(pattern.category_name), channel, turn, ..Reason::of_rule(pattern.id) })
    }
}
