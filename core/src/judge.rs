//! The one way from a body's bytes to a judgement. Every engine (gateway, host, browser, native) calls this.

use alloc::vec::Vec;

use crate::conversation::{self, Params, Resampling, Score, Turn};
use crate::limits::MAX_REASONS;
use crate::policy::{Policy, PolicyError, Unread};
use crate::score::{CategorySet, Hit};
use crate::text::Folded;
use crate::verdict::Verdict;
use crate::wire::{self, Body, Channel, Document, Effect, Event, Format, Issue, IssueKind, Issues};

/// Rule id of a conversation that is blocked, or raised, by its resampling.
pub const RESAMPLING_RULE: &str = "conversation.resampling";

/// What is known of a request besides its body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hint {
    /// The format that the config or the path names.
    pub format: Option<Format>,
    /// The request is AI traffic whatever its body says, so a body that cannot be read is refused.
    pub ai_path: bool,
}

/// Why a verdict is not `allow`, or what was found on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason<'t> {
    /// The rule: `category.pattern`, `conversation.…` or `wire.…`.
    pub rule: &'t str,
    /// The pattern's category.
    pub category: Option<&'t str>,
    /// Where the text came from.
    pub channel: Option<Channel>,
    /// 0-based index in the wire's message list.
    pub turn: Option<u32>,
    /// Byte range in the event's text.
    pub span: Option<(usize, usize)>,
}

/// What was judged of one body.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement<'t> {
    /// The judgement.
    pub verdict: Verdict,
    /// The reason that decided it; `None` for `allow`.
    pub decisive: Option<Reason<'t>>,
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
    set: &'t CategorySet<'t>,
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
        let weights = policy.weights(set)?;
        Ok(Judge { set, weights, params: policy.conversation.clone(), oversize: policy.oversize, unparsed: policy.unparsed })
    }

    /// Judges one body. Linear in its length (up to the sorting of hashes); never panics, whatever the bytes.
    pub fn judge(&self, body: &[u8], hint: Hint) -> Judgement<'t> {
        let Body { text, issues } = Body::new(body);
        let document = wire::read(&text, issues, hint.format);
        let scanned = self.scan(&document);
        let Scanned { turns, turn_messages, resampling, mut turn_reasons, other_reasons } = scanned;
        let score = conversation::score(&turns, resampling.is_some(), &self.weights, &self.params);
        if let (true, Some(turn)) = (score.resampling, resampling) {
            turn_reasons.push(Reason { turn: Some(turn), channel: Some(Channel::User), ..rule(RESAMPLING_RULE) });
        }
        let recognised = hint.ai_path || document.format != Format::Unknown;
        let odd = document.issues.worst().and_then(|issue| self.odd(issue, recognised));
        let by_score = || self.decisive(&score, &turn_messages, &turn_reasons);
        let (verdict, decisive) = match odd {
            Some((Verdict::Block, rule)) => (Verdict::Block, Some(rule)),
            _ if score.reaches_tau => (Verdict::Block, by_score()),
            Some((verdict, rule)) => (verdict, Some(rule)),
            None if other_reasons.is_empty() => (Verdict::Allow, None),
            None => (Verdict::Flag, other_reasons.first().cloned()),
        };
        let mut reasons = turn_reasons;
        reasons.extend(other_reasons);
        reasons.truncate(MAX_REASONS);
        Judgement { verdict, decisive, format: document.format, score, turn_messages, reasons, issues: document.issues }
    }

    /// The judgement of a body that was not read, because of `issue`.
    pub fn unread(&self, issue: Issue, hint: Hint) -> Judgement<'t> {
        let mut issues = Issues::default();
        issues.push(issue.kind, issue.at);
        let (verdict, decisive) = match self.odd(issue, hint.ai_path) {
            Some((verdict, rule)) => (verdict, Some(rule)),
            None => (Verdict::Allow, None),
        };
        let format = hint.format.unwrap_or(Format::Unknown);
        Judgement { verdict, decisive, format, score: Score::default(), turn_messages: Vec::new(), reasons: Vec::new(), issues }
    }

    /// Whether the start of a body that is too large to judge is already known for AI traffic.
    pub fn recognises(start: &[u8]) -> bool {
        let Body { text, issues } = Body::new(start);
        wire::read(&text, issues, None).format != Format::Unknown
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
        Some((verdict, rule(issue.kind.rule())))
    }

    /// Looks for the patterns in every event. Text outside the turns is scanned too, but only flags.
    fn scan(&self, document: &Document<'_>) -> Scanned<'t> {
        let mut scanned = Scanned::default();
        let mut resampling = Resampling::default();
        for event in &document.events {
            let folded = Folded::new(&event.text);
            let scan = self.set.scan(folded.as_str());
            let reasons = if event.channel.is_turn() { &mut scanned.turn_reasons } else { &mut scanned.other_reasons };
            for hit in &scan.hits {
                if reasons.len() < MAX_REASONS {
                    reasons.extend(self.reason(event, &folded, *hit));
                }
            }
            if event.channel.is_turn() {
                let user = event.channel == Channel::User;
                scanned.turns.push(Turn { user, categories: scan.categories & self.active() });
                scanned.turn_messages.push(event.message.unwrap_or_default());
                if user {
                    resampling.push(folded.as_str());
                    if resampling.seen() && scanned.resampling.is_none() {
                        scanned.resampling = event.message;
                    }
                }
            }
        }
        scanned
    }

    /// Bits of the categories that weigh anything; a weight of 0 switches a category off.
    fn active(&self) -> u32 {
        let bits = self.weights.iter().zip(0u32..).filter(|&(&weight, _)| weight > 0.0);
        bits.fold(0, |active, (_, category)| active | 1u32.checked_shl(category).unwrap_or(0))
    }

    /// The reason that `hit` gives; none when its category is switched off.
    fn reason(&self, event: &Event<'_>, folded: &Folded, hit: Hit) -> Option<Reason<'t>> {
        let pattern = self.set.patterns.get(usize::from(hit.pattern))?;
        let category = self.set.categories.get(usize::from(pattern.category))?;
        self.weights.get(usize::from(pattern.category)).filter(|&&weight| weight > 0.0)?;
        let (start, end) = self.set.span(folded.as_str(), hit);
        Some(Reason {
            rule: pattern.id,
            category: Some(category.name),
            channel: Some(event.channel),
            turn: event.message,
            span: Some(folded.span(&event.text, start, end)),
        })
    }

    /// The reason to name for a conversation that reaches tau: the weightiest hit of the first turn with the peak score, or the
    /// resampling where no turn was hit.
    fn decisive(&self, score: &Score, turn_messages: &[u32], reasons: &[Reason<'t>]) -> Option<Reason<'t>> {
        let peak = score.turn_scores.iter().position(|&turn| turn >= score.peak && turn > 0.0);
        let message = peak.and_then(|at| turn_messages.get(at)).copied();
        let weight = |reason: &Reason<'t>| {
            let at = self.set.categories.iter().position(|category| Some(category.name) == reason.category);
            at.and_then(|at| self.weights.get(at)).copied().unwrap_or_default()
        };
        let of_peak = reasons.iter().filter(|reason| reason.turn == message && reason.category.is_some());
        // Of equals `max_by` takes the last, so the order is turned to name the first.
        of_peak.rev().max_by(|one, other| weight(one).total_cmp(&weight(other))).or(reasons.last()).cloned()
    }
}

/// What the scan of a document's events gave.
#[derive(Default)]
struct Scanned<'t> {
    turns: Vec<Turn>,
    turn_messages: Vec<u32>,
    /// The message at which resampling was first seen.
    resampling: Option<u32>,
    turn_reasons: Vec<Reason<'t>>,
    other_reasons: Vec<Reason<'t>>,
}

fn rule(rule: &str) -> Reason<'_> {
    Reason { rule, category: None, channel: None, turn: None, span: None }
}
