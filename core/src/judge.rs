//! The one way from a body's bytes to a judgement. Every engine (gateway, host, browser, native) calls this.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use crate::catalog::Catalog;
use crate::conversation::{Formula, Params, Profile, Score, Turn, drop_too};
use crate::detected::{Detected, Detecting};
use crate::hash::Fnv1a;
use crate::instructions::wording::Wording;
use crate::limits::{MAX_DROPPED, MAX_EXEMPTIONS, MAX_REASONS};
use crate::policy::{Policy, PolicyError, Unread};
use crate::reason::{Reason, Strongest};
pub use crate::rules::RESAMPLING_RULE;
use crate::rules::{self, Exempt, Exemption, RuleUse};
use crate::run::plan::Plan;
use crate::run::{Opened, RunFacts};
use crate::scan::{Scanned, Scanner};
use crate::scope::Scope;
use crate::tables::Tables;
use crate::text::FoldTable;
use crate::verdict::Verdict;
use crate::wire::{self, Body, Channel, Direction, Document, Effect, Format, IdKind, Issue, IssueKind, Issues, RawString, Rpc};

/// What is known of a request besides its body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hint {
    /// The format that the config or the path names.
    pub format: Option<Format>,
    /// Which way the body goes.
    pub direction: Direction,
    /// The request is AI traffic whatever its body says, so a body that cannot be read is refused.
    pub ai_path: bool,
    /// What is odd about the request's headers.
    pub issue: Option<IssueKind>,
    /// Bit `i` is set when the judge's exemption `i` applies to the request.
    pub exemptions: u64,
}

impl<'t> Judgement<'t> {
    /// Raises the verdict to what a reason means by itself.
    pub(crate) fn raise(&mut self, reason: Reason<'t>) {
        let verdict = reason.counts_as.map_or(Verdict::Allow, RuleUse::verdict);
        if verdict > self.verdict {
            (self.verdict, self.decisive) = (verdict, Some(reason));
        }
    }
}

impl Hint {
    /// The text of a body, with what is odd about its request.
    pub fn body(self, bytes: &[u8]) -> Body<'_> {
        let mut body = Body::new(bytes);
        if let Some(issue) = self.issue {
            body.issues.push(issue, 0);
        }
        body
    }
}

/// What was judged of one body.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement<'t> {
    /// The judgement.
    pub verdict: Verdict,
    /// The reason that decided it; `None` for `allow`.
    pub decisive: Option<Reason<'t>>,
    /// Messages without which the score would be below tau and no rule would block alone, 0-based, ascending; empty where that was not the reason,
    /// or more than [`crate::limits::MAX_DROPPED`] would have to go.
    pub drop_messages: Vec<u32>,
    /// Where the text of the offending turns of these messages stands in the body; empty where that is not known.
    pub offending_strings: Vec<RawString>,
    /// The format that the body was read as.
    pub format: Format,
    /// The conversation's score and its parts.
    pub score: Score,
    /// Message index of each scored turn, beside `score.turn_scores`.
    pub turn_messages: Vec<u32>,
    /// What the detector found; `None` when it was not asked.
    pub detected: Option<Detected<'t>>,
    /// At most [`MAX_REASONS`]: resampling, alarms of the trajectory, those of scored turns, the others, each in wire order.
    pub reasons: Vec<Reason<'t>>,
    /// Hits that count for nothing because an exemption covers them.
    pub exempt_hits: u32,
    /// What was odd about the body.
    pub issues: Issues,
    /// The JSON-RPC requests in it.
    pub rpc: Rpc,
    /// What in it names the conversation.
    pub ids: Vec<IdKind>,
    /// It asks for a stream.
    pub stream: bool,
    /// Number of tool calls in it.
    pub tool_calls: u32,
    /// Number of tool results in it.
    pub tool_results: u32,
    /// What it says of the run that it was judged in; `None` where it was judged alone.
    pub run: Option<RunFacts>,
}

/// A policy made ready for a set of categories.
#[derive(Clone, Debug)]
pub struct Judge<'t> {
    catalog: Catalog<'t>,
    weights: Vec<f64>,
    scope: Scope,
    profile: Profile,
    params: Params,
    oversize: Unread,
    unparsed: Unread,
    /// By rule number; `None` where the policy says nothing.
    uses: Vec<Option<RuleUse>>,
    /// `None` when there is no detector, or none of its rules is looked for.
    detecting: Option<Detecting<'t>>,
    exemptions: Vec<Exemption>,
    wording: Option<&'t Wording<'t>>,
    /// Of the policy and what it is made ready with.
    fingerprint: [u8; 8],
    /// Of the names of the categories.
    catalogue: [u8; 8],
}

impl<'t> Judge<'t> {
    /// Makes `policy` ready.
    ///
    /// # Errors
    /// A value of the policy that is out of its range, with its key.
    pub fn new(policy: &Policy, tables: &Tables<'t>) -> Result<Self, PolicyError> {
        let catalog = Catalog::new(policy, tables)?;
        let weights = catalog.weights(policy)?;
        let mut uses = rules::resolve(&policy.rules, &catalog)?;
        let detector_uses = uses.get_mut(rules::detector_number(&catalog, 0)..).unwrap_or_default();
        // The paper's system has no detector.
        let unsaid = if policy.profile == Profile::Paper { RuleUse::Off } else { RuleUse::Score };
        detector_uses.iter_mut().for_each(|rule_use| *rule_use = rule_use.or(Some(unsaid)));
        let looked_for = detector_uses.iter().any(|rule_use| *rule_use != Some(RuleUse::Off));
        let detector = tables.detector.filter(|_| looked_for);
        let detecting = detector.map(|detector| Detecting::new(detector, &policy.detector));
        let fingerprint = fingerprint(policy, tables);
        let catalogue = catalog.fingerprint();
        let Policy { profile, conversation: ref params, oversize, unparsed, .. } = *policy;
        let scope = policy.scope.clone();
        Ok(Judge {
            catalog,
            weights,
            scope,
            profile,
            params: params.clone(),
            oversize,
            unparsed,
            uses,
            detecting,
            exemptions: Vec::new(),
            wording: tables.instructions,
            fingerprint,
            catalogue,
        })
    }

    /// Adds an exemption: hits of `rules` on `channels` count for nothing in requests whose hint names it by its number. Without rules every rule but
    /// the issues is exempt, without channels they are on all.
    ///
    /// # Errors
    /// A name that means no rule, an issue on a channel, or one exemption too many; the key is the exemption's own.
    pub fn exempt(&mut self, rules: &[String], channels: &[Channel]) -> Result<(), PolicyError> {
        if self.exemptions.len() == MAX_EXEMPTIONS {
            let problem = alloc::format!("there are more than {MAX_EXEMPTIONS} exemptions");
            return Err(PolicyError { key: String::new(), problem });
        }
        self.exemptions.push(Exemption::new(rules, channels, &self.catalog)?);
        Ok(())
    }

    /// Judges one body. Linear in its length; never panics, whatever the bytes.
    pub fn judge(&self, body: &[u8], hint: Hint) -> Judgement<'_> {
        self.open(&hint.body(body), hint).alone()
    }

    /// Reads a body, which [`Hint::body`] gives; nothing of it is judged yet.
    pub fn open<'j, 'b>(&'j self, body: &'b Body<'_>, hint: Hint) -> Opened<'j, 'b> {
        let mut document = wire::read(body, hint.format, hint.direction);
        if matches!(body.text, Cow::Owned(_)) {
            // The body was not read as it stands, so its strings have no place in it.
            document.events.iter_mut().for_each(|event| event.strings.clear());
        }
        Opened::new(self, document, hint)
    }

    /// Adds an issue that was found after the judgement, such as that what it counted could not be stored.
    pub fn note<'j>(&'j self, judgement: &mut Judgement<'j>, kind: IssueKind, hint: Hint) {
        let exempt = Exempt { all: &self.exemptions, applying: hint.exemptions };
        let recognised = hint.ai_path || judgement.format != Format::Unknown;
        judgement.issues.push(kind, 0);
        if let Some(reason) = self.odd(Issue { kind, at: 0 }, recognised, exempt) {
            judgement.raise(reason);
        }
    }

    /// Judges what was read of a body.
    pub fn judge_document(&self, document: Document<'_>, hint: Hint) -> Judgement<'_> {
        Opened::new(self, document, hint).alone()
    }

    /// The wording of instructions.
    pub(crate) fn wording(&self) -> Option<&'t Wording<'t>> {
        self.wording
    }

    /// How texts are folded.
    pub(crate) fn folds(&self) -> &FoldTable<'t> {
        &self.catalog.set.folds
    }

    /// What looks at a body's events and takes what was found.
    pub(crate) fn scanner(&self, hint: Hint, approved: bool) -> Scanner<'_> {
        let Judge { catalog, weights, uses, detecting, .. } = self;
        let exempt = Exempt { all: &self.exemptions, applying: hint.exemptions };
        let resampling = self.params.resampling.then_some(self.profile);
        Scanner { catalog, weights, uses, exempt, resampling, detecting: detecting.as_ref(), approved }
    }

    /// Makes a judgement of what was found. Beside it, the rules that ask for an approval and were met in no event. `approved`: nothing asks.
    pub(crate) fn conclude<'j>(
        &'j self,
        document: &Document<'_>,
        scanned: &mut Scanned<'j>,
        hint: Hint,
        plan: &Plan,
        approved: bool,
    ) -> (Judgement<'j>, Vec<&'j str>) {
        let count = |channel| document.events.iter().map(|event| u32::from(event.channel == channel)).sum();
        let (tool_calls, tool_results) = (count(Channel::ToolCall), count(Channel::ToolResult));
        let exempt = Exempt { all: &self.exemptions, applying: hint.exemptions };
        let mut issues = document.issues.clone();
        for (kind, met) in [
            (IssueKind::EncodedSpans, scanned.undecoded),
            (IssueKind::OperatorPatterns, scanned.own_unread),
            (IssueKind::RunRewritten, plan.rewritten),
        ] {
            if met {
                issues.push(kind, 0);
            }
        }
        let mut asking: Vec<&'j str> = Vec::new();
        let mut asks = |reason: Reason<'j>| match reason.counts_as {
            Some(RuleUse::Ask) if approved => Reason { counts_as: Some(RuleUse::Flag), ..reason },
            counts_as => {
                asking.extend((counts_as == Some(RuleUse::Ask)).then_some(reason.rule));
                reason
            }
        };
        let resampled = self.resampled(scanned, exempt).map(&mut asks);
        // In profile `floodmark` the formula only notes it.
        let noted = self.profile == Profile::Floodmark;
        let adds = resampled.as_ref().is_some_and(|reason| match reason.counts_as {
            Some(RuleUse::Score | RuleUse::Block) => true,
            other => noted && other.is_some(),
        });
        let mut turns = plan.prior.clone();
        turns.extend(&scanned.turns);
        let score = self.formula().score(&turns, adds);
        let prior_peak = score.peak_turn.is_some_and(|peak| peak < plan.prior.len());
        let score = score.behind(plan.prior.len());
        let resampled = resampled.filter(|reason| reason.counts_as != Some(RuleUse::Score) || score.resampling);
        // The first of the strongest decides: what is odd, then what stands at one place, then what needs several.
        let mut strongest = Strongest::default();
        let recognised = hint.ai_path || document.format != Format::Unknown;
        for issue in issues.as_slice() {
            if let Some(reason) = self.odd(*issue, recognised, exempt).map(&mut asks) {
                strongest.raise(reason.counts_as.map_or(Verdict::Allow, RuleUse::verdict), Some(&reason));
            }
        }
        strongest.raise(scanned.strongest.verdict, scanned.strongest.reason.as_ref());
        if score.reaches_tau {
            let before = if prior_peak { self.catalog.of_mask(plan.prior.iter(), plan.prior_pattern) } else { None };
            let before =
                before.map(|known| Reason { category: Some(known.category_name), ..Reason::of_rule(known.id, Some(RuleUse::Score)) });
            strongest.raise(Verdict::Block, self.peak(&score, scanned).or(before).as_ref().or(resampled.as_ref()));
        }
        for reason in [resampled.as_ref(), scanned.alarms.first()].into_iter().flatten() {
            strongest.raise(reason.counts_as.map_or(Verdict::Allow, RuleUse::verdict), Some(reason));
        }
        let Strongest { verdict, reason: decisive } = strongest;
        let sticks = scanned.blocked_elsewhere || resampled.as_ref().is_some_and(|reason| reason.counts_as == Some(RuleUse::Block));
        let blocks = verdict == Verdict::Block && !sticks;
        let drop_messages = if blocks { self.to_drop(scanned, document, plan, adds).unwrap_or_default() } else { Vec::new() };
        let offending_strings = offending(document, &issues, &scanned.hit_events, &drop_messages);
        let mut reasons: Vec<Reason<'_>> = resampled.into_iter().collect();
        reasons.append(&mut scanned.alarms);
        reasons.append(&mut scanned.turn_reasons);
        reasons.append(&mut scanned.other_reasons);
        reasons.truncate(MAX_REASONS);
        let ids = document.ids.iter().map(|id| id.kind).collect();
        let exempt_hits = scanned.exempt_hits + self.exempt_issues(&issues, exempt);
        let detected = core::mem::take(&mut scanned.detected);
        let detected = self.detecting.map(|detecting| Detected { version: detecting.detector.version, ..detected });
        let judgement = Judgement {
            verdict,
            decisive,
            drop_messages,
            offending_strings,
            format: document.format,
            score,
            turn_messages: core::mem::take(&mut scanned.turn_messages),
            detected,
            reasons,
            exempt_hits,
            issues,
            rpc: document.rpc.clone(),
            ids,
            stream: document.stream,
            tool_calls,
            tool_results,
            run: None,
        };
        (judgement, asking)
    }

    /// Which events the policy looks at.
    pub(crate) fn scope(&self) -> &Scope {
        &self.scope
    }

    pub(crate) fn profile(&self) -> Profile {
        self.profile
    }

    pub(crate) fn detecting(&self) -> Option<&Detecting<'t>> {
        self.detecting.as_ref()
    }

    /// Of the policy and the tables: what was found with others says nothing here.
    pub(crate) fn fingerprint(&self) -> [u8; 8] {
        self.fingerprint
    }

    /// Of the names of all categories in their order: what the bits of a mask of categories mean.
    pub(crate) fn catalogue(&self) -> [u8; 8] {
        self.catalogue
    }

    /// What a rule of the detector means, by its number among [`crate::Detector::rules`], with its id; and whether it is exempt on a channel.
    pub(crate) fn detector_rule(&self, rule: usize, exemptions: u64, channel: Option<Channel>) -> (&str, RuleUse, bool) {
        let number = rules::detector_number(&self.catalog, rule);
        let exempt = Exempt { all: &self.exemptions, applying: exemptions };
        let id = self.catalog.detector_rules.get(rule).map_or("", String::as_str);
        (id, self.uses.get(number).copied().flatten().unwrap_or(RuleUse::Off), exempt.covers(number, channel))
    }

    /// Whether the running sum of events is kept.
    pub(crate) fn sums(&self) -> bool {
        self.detecting.as_ref().is_some_and(|detecting| self.detector_rule(detecting.persistence_rule(), 0, None).1 != RuleUse::Off)
    }

    fn formula(&self) -> Formula<'_> {
        Formula { profile: self.profile, params: &self.params, weights: &self.weights }
    }

    /// Resampling as a reason; `None` when it was not seen or does not count.
    fn resampled<'s>(&self, scanned: &mut Scanned<'s>, exempt: Exempt<'_>) -> Option<Reason<'s>> {
        let (turn, rule) = (scanned.resampling?, rules::resampling_number(&self.catalog));
        let rule_use = match self.uses.get(rule).copied().flatten().unwrap_or(RuleUse::Score) {
            // A template that is filled in again and again is normal work, so there it adds nothing to the score.
            RuleUse::Score if self.profile == Profile::Floodmark => RuleUse::Flag,
            given => given,
        };
        if rule_use == RuleUse::Off {
            return None;
        }
        let counts_as = if exempt.covers(rule, Some(Channel::User)) { None } else { Some(rule_use) };
        scanned.exempt_hits += u32::from(counts_as.is_none());
        Some(Reason { turn: Some(turn), channel: Some(Channel::User), ..Reason::of_rule(RESAMPLING_RULE, counts_as) })
    }

    /// Few messages without which nothing would block, chosen one by one; their events that the trajectory alarmed for are noted as hit. `None` when there
    /// are too many, or dropping does not help.
    fn to_drop(&self, scanned: &mut Scanned<'_>, document: &Document<'_>, plan: &Plan, resampling: bool) -> Option<Vec<u32>> {
        let alarms = scanned.alarms.first().is_some_and(|alarm| alarm.counts_as == Some(RuleUse::Block));
        let detecting = self.detecting.as_ref().filter(|_| alarms);
        let messages = scanned.turn_messages.iter().copied().map(Some);
        let mut turns: Vec<(Turn, Option<u32>)> = plan.prior.iter().map(|turn| (*turn, None)).collect();
        turns.extend(scanned.turns.iter().copied().zip(messages));
        let mut dropped = scanned.blocked_messages.clone();
        if alarms {
            // What alarmed within the run does so whatever else is left out.
            for alarmed in scanned.found.iter().filter(|found| found.alarmed) {
                drop_too(&mut dropped, document.events.get(alarmed.event)?.message?);
                scanned.hit_events.push(alarmed.event);
            }
        }
        while dropped.len() <= MAX_DROPPED {
            turns.retain(|(_, message)| message.is_none_or(|message| !dropped.contains(&message)));
            scanned.steps.retain(|step| step.message.is_none_or(|message| !dropped.contains(&message)));
            let next = self.formula().heaviest(&turns, resampling).or_else(|| {
                let heaviest = detecting?.heaviest(&scanned.steps)?;
                let of_message = scanned.steps.iter().filter(|step| step.message == heaviest);
                scanned.hit_events.extend(of_message.map(|step| step.event));
                Some(heaviest)
            });
            let Some(next) = next else { return Some(dropped) };
            drop_too(&mut dropped, next?);
        }
        None
    }

    /// The judgement of a body that was not read, because of `issue`.
    pub fn unread(&self, issue: Issue, hint: Hint) -> Judgement<'_> {
        let mut document = Document::empty(Format::Unknown);
        document.issues.push(issue.kind, issue.at);
        self.judge_document(document, hint)
    }

    /// Whether the start of a body that is too large to judge is already known for AI traffic.
    pub fn recognises(start: &[u8]) -> bool {
        wire::read(&Body::new(start), None, Direction::Request).format != Format::Unknown
    }

    /// The reason that an issue is; `None` when it is only counted.
    fn odd(&self, issue: Issue, recognised: bool, exempt: Exempt<'_>) -> Option<Reason<'t>> {
        let unread = if issue.kind == IssueKind::Oversize { self.oversize } else { self.unparsed };
        let number = rules::issue_number(&self.catalog, issue.kind);
        let rule_use = match (self.uses.get(number).copied().flatten(), issue.kind.effect(), unread) {
            (Some(rule_use), ..) => rule_use,
            (None, Effect::Note, _) => return None,
            (None, Effect::Refuse, Unread::Block) => RuleUse::Block,
            // Where nobody would read the body as AI traffic, nothing about it is worth a word.
            (None, Effect::Refuse, Unread::Flag) if !recognised => return None,
            (None, Effect::Refuse | Effect::Flag, _) => RuleUse::Flag,
        };
        let verdict = rule_use.verdict();
        let raises = verdict > Verdict::Allow && (recognised || verdict < Verdict::Ask);
        (raises && !exempt.covers(number, None)).then(|| Reason::of_rule(issue.kind.rule(), Some(rule_use)))
    }

    /// Whether a body is refused, or asks for an approval, because of an issue of this kind.
    pub(crate) fn refuses(&self, kind: IssueKind, format: Format, hint: Hint) -> bool {
        let exempt = Exempt { all: &self.exemptions, applying: hint.exemptions };
        let reason = self.odd(Issue { kind, at: 0 }, hint.ai_path || format != Format::Unknown, exempt);
        reason.and_then(|reason| reason.counts_as).is_some_and(|rule_use| rule_use.verdict() >= Verdict::Ask)
    }

    /// How many kinds of issues there are that an exemption covers.
    fn exempt_issues(&self, issues: &Issues, exempt: Exempt<'_>) -> u32 {
        issues.kinds().map(|kind| u32::from(exempt.covers(rules::issue_number(&self.catalog, kind), None))).sum()
    }

    /// The reason to name for a conversation that reaches tau: the weightiest pattern of the first turn with the peak score. None when no turn
    /// was hit.
    fn peak(&self, score: &Score, scanned: &Scanned<'_>) -> Option<Reason<'_>> {
        let at = score.peak_turn?;
        let pattern = self.catalog.known(scanned.turn_patterns.get(at).copied().flatten()?)?;
        let user = scanned.turns.get(at).is_some_and(|turn| turn.user);
        let channel = Some(if user { Channel::User } else { Channel::ToolResult });
        let turn = scanned.turn_messages.get(at).copied();
        Some(Reason { category: Some(pattern.category_name), channel, turn, ..Reason::of_rule(pattern.id, Some(RuleUse::Score)) })
    }
}

/// The fingerprint of a policy and the tables.
fn fingerprint(policy: &Policy, tables: &Tables<'_>) -> [u8; 8] {
    // Numbers, names and lists are written in one way only; what could not be written would be like another policy that could not.
    let mut bytes = postcard::to_allocvec(policy).unwrap_or_default();
    bytes.extend(tables.categories.fingerprint.bytes());
    bytes.extend(tables.detector.map_or("", |detector| detector.version).bytes());
    let hash = bytes.iter().fold(Fnv1a::EMPTY, |hash, byte| hash.with(*byte)).value();
    // All zeros stand for a run that was judged with none.
    hash.max(1).to_le_bytes()
}

/// Where the strings of the hit events of `dropped` messages stand in the body. Nowhere when readers may disagree about the body.
fn offending(document: &Document<'_>, issues: &Issues, hit_events: &[usize], dropped: &[u32]) -> Vec<RawString> {
    if issues.worst().is_some_and(|issue| issue.kind.effect() == Effect::Refuse) {
        return Vec::new();
    }
    // Each once, whatever it was hit by.
    let mut hit: Vec<bool> = document.events.iter().map(|_| false).collect();
    for &number in hit_events {
        hit.get_mut(number).into_iter().for_each(|hit| *hit = true);
    }
    let events = document.events.iter().zip(hit).filter(|(_, hit)| *hit).map(|(event, _)| event);
    let offending = events.filter(|event| event.message.is_some_and(|message| dropped.binary_search(&message).is_ok()));
    offending.flat_map(|event| event.strings.iter().copied()).collect()
}
