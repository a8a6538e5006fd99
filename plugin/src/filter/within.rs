//! An exchange within its run: found by what the request says, loaded, judged, stored; and what its response adds.

use std::rc::Rc;

use floodmark_core::run::{Caller, Context, Counted, History, Noted, Opened, Run, Settled};
use floodmark_core::streamed::Streamed;
use floodmark_core::wire::{Body, Direction, Format, IdKind, IssueKind};
use floodmark_core::{Hint, Judgement};

use super::Exchange;
use super::asking::Asking;
use super::proof::Proof;
use crate::config::{OnBlock, Ruleset, RunFrom, UnseenAssistant};
use crate::headers::Fields;
use crate::host::Host;
use crate::session::{Identity, NONE, Named, Taught};
use crate::state::State;
use crate::state::table::{Outcome, StateError, Updated};

/// The run of an exchange.
#[derive(Clone, Copy, Debug)]
pub(super) struct Within {
    /// `None` where nothing names one: only the caller is remembered then.
    pub(super) named: Option<Named>,
    history: History,
    /// That of the run as it is now.
    heat: f32,
    /// Of its caller.
    pub(super) proof: Proof,
}

impl Within {
    /// The same of a caller that is proven.
    pub(super) fn proven(self) -> Self {
        Within { proof: Proof::Given, ..self }
    }
}

/// What a response's identifiers name in later requests.
const TAUGHT: [(IdKind, RunFrom); 3] =
    [(IdKind::Response, RunFrom::PreviousResponse), (IdKind::Conversation, RunFrom::Conversation), (IdKind::Context, RunFrom::A2aContext)];

impl Exchange {
    /// The request's headers say who it is from.
    pub(super) fn identify(&mut self, host: &dyn Host, fields: &Fields) {
        let identity = self.shared.state.as_ref().map(|state| Identity::of(state, &self.rules.settings.session, fields, host));
        self.identity = identity.map(Rc::new);
    }

    /// A request without a body: its response is one of the run that its headers name.
    pub(super) fn enter_by_headers(&mut self, host: &dyn Host) {
        let shared = Rc::clone(&self.shared);
        if let (Some(state), Some(identity)) = (&shared.state, &self.identity) {
            let history = if self.hint.format.is_some_and(Format::is_json_rpc) { History::Kept } else { History::Resent };
            let named = identity.named_by_headers(state, host, now_ms(host));
            // A request that names no model's work may be answered to anybody.
            let proof = Proof::of(&identity.caller, state, host, false);
            self.within = Some(Within { named, history, heat: 0.0, proof });
        }
    }

    /// Judges a request's body: within its run where anything is remembered and it is AI traffic, else alone.
    pub(super) fn judge_request<'j>(
        &mut self,
        host: &dyn Host,
        rules: &'j Ruleset,
        opened: &mut Opened<'j, '_>,
        body: &Body<'_>,
        hint: Hint,
    ) -> Judgement<'j> {
        let shared = Rc::clone(&self.shared);
        let is_ai = hint.ai_path || opened.document().format != Format::Unknown;
        let (Some(state), Some(identity), true) = (&shared.state, self.identity.clone(), is_ai) else { return opened.alone() };
        let named = identity.named(state, &rules.settings.session, opened, body, host, now_ms(host));
        let proof = Proof::of(&identity.caller, state, host, true);
        self.within = Some(Within { named, history: History::of(opened.document()), heat: 0.0, proof });
        shared.metrics.state.source(host, named.map_or(NONE, |named| named.source));
        if !identity.caller.is_known {
            shared.metrics.state.caller_unknown(host);
        }
        let mut judgement = self.settle(host, rules, opened, hint, self.is_enforced());
        if identity.caller.is_ambiguous {
            rules.judge.note(&mut judgement, IssueKind::RunAmbiguousCaller, hint);
        }
        judgement
    }

    /// Judges a whole response: within the run where the server keeps the history, else alone.
    pub(super) fn judge_response<'j>(
        &mut self,
        host: &dyn Host,
        rules: &'j Ruleset,
        opened: &mut Opened<'j, '_>,
        hint: Hint,
    ) -> Judgement<'j> {
        match self.within {
            Some(Within { history: History::Kept, .. }) => self.settle(host, rules, opened, hint, false),
            _ => opened.alone(),
        }
    }

    /// Loads the run, judges within it, stores it, and takes what counted to the caller. With `asks` an approval is looked for where one is needed.
    fn settle<'j>(&mut self, host: &dyn Host, rules: &'j Ruleset, opened: &mut Opened<'j, '_>, hint: Hint, asks: bool) -> Judgement<'j> {
        let shared = Rc::clone(&self.shared);
        let (Some(state), Some(identity), Some(within)) = (&shared.state, self.identity.clone(), self.within) else {
            return opened.alone();
        };
        let mut context = self.context(state, within, host, hint.direction);
        let now_ms = context.now_ms;
        let mut asking = Asking::new(&state.approvals, &shared.metrics.approvals, identity.caller.tag(), within, now_ms);
        let (mut last, mut lost) = (None, false);
        let mut judge = |standing: Option<&[u8]>| {
            let (run, readable) = stored_run(standing);
            lost |= !readable;
            let mut settled = opened.settle(&run, &context);
            if asks && let Some(approved) = asking.approved(host, &settled.judgement) {
                context.approved = Some(approved);
                settled = opened.settle(&run, &context);
            }
            let (payload, heat) = (settled.run.encode(), settled.run.heat());
            last = Some(settled);
            within.proof.store(payload, heat)
        };
        let stored = match within.named {
            Some(named) => state.runs.update(host, &named.id, Some(&identity.caller.tag()), now_ms, &mut judge),
            None => {
                judge(None);
                Ok(Updated { outcome: Outcome::Kept, was_unreadable: false })
            }
        };
        if asks {
            self.approval = asking.answer;
        }
        if stored == Err(StateError::Unavailable) {
            shared.metrics.state.unavailable(host);
        }
        let Some(Settled { mut judgement, run, counted }) = last else { return opened.alone() };
        lost |= is_lost(stored, run.heat());
        self.waiting.run = within.proof.waits(stored).then(|| run.encode());
        self.within = Some(Within { heat: run.heat(), ..within });
        if judgement.run.is_some_and(|run| run.restarted) {
            shared.metrics.state.restarted(host);
        }
        if identity.caller.is_known && !counted.is_empty() {
            let added = add_to_caller(host, state, rules, &identity, &mut judgement, &counted, &context);
            lost |= added.is_lost;
            self.waiting.caller = added.waiting;
        }
        if lost {
            rules.judge.note(&mut judgement, IssueKind::RunLost, hint);
        }
        judgement
    }

    fn context<'c>(&self, state: &'c State, within: Within, host: &dyn Host, direction: Direction) -> Context<'c> {
        let settings = &self.rules.settings;
        let refuses = match direction {
            Direction::Request => settings.action == OnBlock::Reject,
            // Only requests are redacted.
            Direction::Response => settings.action != OnBlock::Label,
        };
        Context {
            key: &state.event_key,
            history: within.history,
            fallback: within.named.is_none_or(|named| named.is_fallback()),
            unseen_assistant: settings.responses.read && settings.session.unseen_assistant == UnseenAssistant::User,
            refuses: refuses && self.is_enforced(),
            half_life_ms: state.half_life_ms,
            now_ms: now_ms(host),
            approved: None,
        }
    }

    /// A stream is judged within the run as it stands now.
    pub(super) fn follow_within(&self, host: &dyn Host, streamed: &mut Streamed) {
        if let (Some(state), Some(identity), Some(within)) = (&self.shared.state, &self.identity, self.within) {
            let context = self.context(state, within, host, Direction::Response);
            let stands = within.named.map(|named| state.runs.get(host, &named.id, Some(&identity.caller.tag()), context.now_ms));
            let run = match stands {
                Some(Ok(Some(entry))) => stored_run(Some(&entry.payload)).0,
                _ => Run::default(),
            };
            streamed.within(&run, &context);
        }
    }

    /// A whole response passes: its text is the run's, and its identifiers name it from now on.
    pub(super) fn leave(&mut self, host: &dyn Host, opened: &Opened<'_, '_>) {
        let shared = Rc::clone(&self.shared);
        let (Some(state), Some(within)) = (&shared.state, self.within) else { return };
        // Where the server keeps the history, its events are in the run already.
        if within.history == History::Resent {
            self.absorb(host, &opened.outgoing(&state.event_key));
        }
        let ids = &opened.document().ids;
        self.learn_ids(host, 0, &mut |kind| ids.iter().find(|id| id.kind == kind).map(|id| &*id.value));
    }

    /// The same of what came of a stream. A client may go on before the stream's end is told, so it is done as soon as anything is whole. Gives the bits of the kinds
    /// of identifiers that are taught by now.
    pub(super) fn leave_in_stream(&mut self, host: &dyn Host, streamed: &mut Streamed, taught: u8) -> u8 {
        if self.within.is_none() {
            return taught;
        }
        self.absorb(host, &streamed.take_noted());
        self.learn_ids(host, taught, &mut |kind| streamed.id(kind))
    }

    /// What left in a response is added to the run, whatever it is by now.
    fn absorb(&mut self, host: &dyn Host, noted: &Noted) {
        let shared = Rc::clone(&self.shared);
        let (Some(state), Some(identity), Some(within)) = (&shared.state, &self.identity, self.within) else { return };
        let Some(named) = within.named.filter(|_| !noted.is_empty()) else { return };
        let context = self.context(state, within, host, Direction::Response);
        let mut heat = 0.0;
        let mut add = |standing: Option<&[u8]>| {
            let (mut run, _) = stored_run(standing);
            run.absorb(noted, &self.rules.judge, &context);
            heat = run.heat();
            within.proof.store(run.encode(), heat)
        };
        // What cannot be stored is counted by the table.
        if state.runs.update(host, &named.id, Some(&identity.caller.tag()), context.now_ms, &mut add) == Err(StateError::Unavailable) {
            shared.metrics.state.unavailable(host);
        }
        self.within = Some(Within { heat, ..within });
        if identity.caller.is_known && !noted.counted().is_empty() {
            let mut add = |standing: Option<&[u8]>| {
                let (mut caller, _) = stored_caller(standing);
                caller.absorb(noted.counted(), &self.rules.judge, &context);
                Proof::from(caller.is_proven()).store(caller.encode(), caller.heat())
            };
            let _ = state.callers.update(host, &identity.caller.key(), Some(&identity.caller.tag()), context.now_ms, &mut add);
        }
    }

    /// The header by which an MCP server names its session.
    pub(super) fn learn_session(&self, host: &dyn Host, value: &[u8]) {
        self.learn(host, RunFrom::McpSession, value.trim_ascii());
    }

    /// Identifiers that a response gives out: `id` says which value it has of a kind. Gives the bits of the kinds that are taught now or were, by `taught`.
    fn learn_ids<'i>(&self, host: &dyn Host, taught: u8, id: &mut dyn FnMut(IdKind) -> Option<&'i str>) -> u8 {
        TAUGHT.into_iter().zip(0..).fold(taught, |taught, ((kind, from), bit)| match id(kind) {
            Some(value) if taught >> bit & 1 == 0 => {
                self.learn(host, from, value.as_bytes());
                taught | 1 << bit
            }
            _ => taught,
        })
    }

    fn learn(&self, host: &dyn Host, from: RunFrom, value: &[u8]) {
        let (Some(state), Some(identity), Some(within)) = (&self.shared.state, &self.identity, self.within) else { return };
        let is_named_so = within.named.is_some_and(|named| named.source == from.name()) && from != RunFrom::PreviousResponse;
        if !value.is_empty() && !is_named_so {
            let heat = within.proof.is_given().then_some(within.heat);
            let taught = Taught { from, id: value, run: within.named.map(|named| named.id), heat };
            identity.teach(state, host, &taught, now_ms(host));
        }
    }

    /// The run's id; `None` where nothing is remembered or nothing names it.
    pub(super) fn run_id(&self) -> Option<String> {
        self.within?.named.map(|named| named.hex())
    }

    /// The end of a log line; empty where nothing is remembered.
    pub(super) fn run_words(&self) -> String {
        let Some(within) = self.within else { return String::new() };
        let source = within.named.map_or(NONE, |named| named.source);
        [" run=", self.run_id().as_deref().unwrap_or("-"), " run_source=", source].concat()
    }
}

/// What became of a caller's record.
struct Added {
    is_lost: bool,
    /// It waits for its caller to be proven.
    waiting: Option<Vec<u8>>,
}

/// Takes what counted to the caller's record, which may raise the judgement.
fn add_to_caller<'j>(
    host: &dyn Host,
    state: &State,
    rules: &'j Ruleset,
    identity: &Identity,
    judgement: &mut Judgement<'j>,
    counted: &Counted,
    context: &Context<'_>,
) -> Added {
    let (mut raised, mut unreadable, mut next) = (None, false, Caller::default());
    let mut add = |standing: Option<&[u8]>| {
        let (caller, readable) = stored_caller(standing);
        unreadable |= !readable;
        let mut own = judgement.clone();
        let caller = rules.judge.caller(&mut own, &caller, counted, context);
        raised = Some(own);
        next = caller;
        Proof::from(next.is_proven()).store(next.encode(), next.heat())
    };
    let stored = state.callers.update(host, &identity.caller.key(), Some(&identity.caller.tag()), context.now_ms, &mut add);
    if let Some(raised) = raised {
        *judgement = raised;
    }
    let waits = Proof::from(next.is_proven()).waits(stored);
    Added { is_lost: unreadable || is_lost(stored, next.heat()), waiting: waits.then(|| next.encode()) }
}

/// The run of a record, a new one without any; and whether the record could be read.
#[inline(never)]
pub(super) fn stored_run(record: Option<&[u8]>) -> (Run, bool) {
    match record.map(Run::decode) {
        None => (Run::default(), true),
        Some(Ok(run)) => (run, true),
        Some(Err(_)) => (Run::default(), false),
    }
}

/// The same for a caller.
#[inline(never)]
pub(super) fn stored_caller(record: Option<&[u8]>) -> (Caller, bool) {
    match record.map(Caller::decode) {
        None => (Caller::default(), true),
        Some(Ok(caller)) => (caller, true),
        Some(Err(_)) => (Caller::default(), false),
    }
}

/// Whether anything that was known or counted is lost. Where there is no shared data nothing ever was.
fn is_lost(stored: Result<Updated, StateError>, heat: f32) -> bool {
    match stored {
        Ok(Updated { outcome, was_unreadable }) => was_unreadable || outcome == Outcome::Full && heat > 0.0,
        Err(StateError::Unavailable) => false,
        Err(StateError::Contended | StateError::TooLong) => true,
    }
}

pub(super) fn now_ms(host: &dyn Host) -> u64 {
    host.now_ns() / 1_000_000
}
