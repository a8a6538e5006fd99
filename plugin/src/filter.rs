//! The filter: one exchange's way through the plugin, as plain Rust over a [`Host`]. Each direction has a file; here is what both know.

mod asking;
mod following;
mod found;
mod proof;
mod request;
mod response;
mod within;

use std::rc::Rc;

use floodmark_core::wire::Rpc;
use floodmark_core::{Action, Hint, Verdict};

use crate::approvals::Answer;
use crate::budget::Budget;
use crate::config::{Mode, Rules, Ruleset};
use crate::endpoints::{Desk, Visit};
use crate::event_id::EventIds;
use crate::host::{Host, HostError};
use crate::labels::{ACTION_HEADER, EVENT_ID_HEADER, RULE_HEADER, SCORE_HEADER, TOKEN_SPELLINGS, VERDICT_HEADER};
use crate::metrics::Metrics;
use crate::reply::{self, Asked};
use crate::request::Request;
use crate::session::Identity;
use crate::state::State;
use proof::Waiting;
use within::Within;

/// What a callback tells the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    Continue,
    /// Keep what came and call again with more.
    Pause,
}

/// What all exchanges of one configuration share.
#[derive(Debug)]
pub struct Shared {
    /// The configuration.
    pub rules: Rules,
    /// The counters.
    pub metrics: Metrics,
    /// The source of event ids.
    pub event_ids: EventIds,
    /// Memory for copies.
    pub budget: Budget,
    /// What is remembered across requests; `None` when nothing is.
    pub state: Option<State>,
}

impl Shared {
    /// What the exchanges of a checked configuration share. `bytes` is the configuration.
    pub fn new(host: &dyn Host, rules: Rules, bytes: &[u8]) -> Self {
        let metrics = Metrics::define(host);
        let state = rules
            .state
            .as_ref()
            .zip(rules.keys.first())
            .map(|(config, secret)| State::new(secret, config, &rules.approvals, &metrics.state));
        if state.is_some() {
            State::warn_without(host);
        }
        Shared { event_ids: EventIds::new(host.now_ns(), bytes), rules, metrics, budget: Budget::default(), state }
    }
}

/// One exchange: a request and its response.
#[derive(Debug)]
pub struct Filter {
    exchange: Exchange,
    request: request::Half,
    response: response::Half,
    /// The request is one to the operator's endpoints: nothing of it goes on, and nothing else is done with it.
    visit: Option<Box<Visit>>,
}

/// What both directions of an exchange know.
#[derive(Debug)]
struct Exchange {
    shared: Rc<Shared>,
    rules: Rc<Ruleset>,
    mode: Mode,
    event_id: String,
    /// What the request's headers say, and the format that its body was read as.
    hint: Hint,
    /// The request is AI traffic: its path is listed, or its body was judged to be of a known format.
    is_ai: bool,
    /// The request's method is HEAD, whose responses have a length and no body.
    is_head: bool,
    /// The request's method is GET, whose response may be a stream without end.
    is_get: bool,
    /// What the request asks for.
    asked: Asked,
    /// The JSON-RPC requests in it.
    rpc: Rpc,
    /// The judgement of the request.
    verdict: Option<Verdict>,
    action: Action,
    /// Who it is from, where anything is remembered.
    identity: Option<Rc<Identity>>,
    /// Its run.
    within: Option<Within>,
    /// What is to be stored when its caller is proven.
    waiting: Waiting,
    /// What came of asking for the approval that the request needs.
    approval: Option<Answer>,
    /// We answered in the upstream's place: whatever comes now in the response's callbacks is our own.
    replied: bool,
}

impl Filter {
    /// A filter for a new request.
    pub fn new(shared: Rc<Shared>) -> Self {
        let exchange = Exchange {
            rules: Rc::clone(&shared.rules.defaults),
            shared,
            mode: Mode::Off,
            event_id: String::new(),
            hint: Hint::default(),
            is_ai: false,
            is_head: false,
            is_get: false,
            asked: Asked::default(),
            rpc: Rpc::default(),
            verdict: None,
            action: Action::Continue,
            identity: None,
            within: None,
            waiting: Waiting::default(),
            approval: None,
            replied: false,
        };
        Filter { exchange, request: request::Half::default(), response: response::Half::default(), visit: None }
    }

    /// Request headers came. `last` when no body follows. May run again when the gateway restarts the request.
    pub fn request_headers(&mut self, host: &dyn Host, last: bool) -> Flow {
        *self = Filter::new(Rc::clone(&self.exchange.shared));
        let request = Request::new(host.request_headers().unwrap_or_default());
        self.exchange.keep_tokens(host, &request);
        self.visit = Visit::begin(&self.exchange.desk(host), &request, last).map(Box::new);
        if self.visit.is_some() {
            self.exchange.replied = true;
            return Flow::Pause;
        }
        self.request.headers(&mut self.exchange, host, &request, last)
    }

    /// A piece of the request body came. `size_bytes` is what the host can give now: everything so far while it is held, otherwise the piece.
    /// `last` is never said when trailers follow.
    pub fn request_body(&mut self, host: &dyn Host, size_bytes: usize, last: bool) -> Flow {
        if let Some(visit) = &mut self.visit {
            return visit.body(&self.exchange.desk(host), size_bytes, last);
        }
        self.request.body(&mut self.exchange, host, size_bytes, last)
    }

    /// Request trailers came: the body is whole, though nothing said so.
    pub fn request_trailers(&mut self, host: &dyn Host) -> Flow {
        for name in TOKEN_SPELLINGS {
            self.exchange.checked(host, host.remove_request_trailer(name));
        }
        if let Some(visit) = &mut self.visit {
            return visit.finish(&self.exchange.desk(host));
        }
        self.request.finish(&mut self.exchange, host)
    }

    /// Response headers came; `last` when no body follows. They also come for our own replies, which are complete already.
    pub fn response_headers(&mut self, host: &dyn Host, last: bool) -> Flow {
        self.response.headers(&mut self.exchange, host, last)
    }

    /// A piece of the response body came; sizes are as with the request's.
    pub fn response_body(&mut self, host: &dyn Host, size_bytes: usize, last: bool) -> Flow {
        self.response.body(&mut self.exchange, host, size_bytes, last)
    }

    /// Response trailers came: the body is whole.
    pub fn response_trailers(&mut self, host: &dyn Host) -> Flow {
        self.response.trailers(&mut self.exchange, host)
    }

    /// The exchange is over, whether or not it came to its end.
    pub fn log(&mut self, host: &dyn Host) {
        self.response.over(&mut self.exchange, host);
    }
}

impl Exchange {
    fn checked(&self, host: &dyn Host, result: Result<(), HostError>) {
        if result.is_err() {
            self.shared.metrics.host_error(host);
        }
    }

    /// Takes tokens of the endpoints away, in every mode: an upstream that got one could use it.
    fn keep_tokens(&self, host: &dyn Host, request: &Request) {
        // Of headers that could not be read nobody knows, so every spelling goes.
        let unread = if request.fields().is_unknown() { &TOKEN_SPELLINGS[..] } else { &[] };
        for name in request.token_headers().chain(unread.iter().copied()) {
            self.checked(host, host.remove_request_header(name));
        }
    }

    fn desk<'d>(&'d self, host: &'d dyn Host) -> Desk<'d> {
        Desk { host, shared: &self.shared }
    }

    /// The request's judgement in the response's headers; copies of ours that the upstream sends are taken away.
    fn tell(&self, host: &dyn Host) {
        for name in [EVENT_ID_HEADER, RULE_HEADER, SCORE_HEADER] {
            self.checked(host, host.set_response_header(name, None));
        }
        self.checked(host, host.set_response_header(VERDICT_HEADER, self.verdict.map(Verdict::name)));
        let action = Some(self.action).filter(|action| *action != Action::Continue);
        self.checked(host, host.set_response_header(ACTION_HEADER, action.map(Action::name)));
    }

    /// What a refusal has to know.
    fn told(&self, host: &dyn Host) -> reply::Exchange<'_> {
        reply::Exchange {
            pinned: self.hint.format,
            rpc: &self.rpc,
            asked: self.asked,
            event_id: &self.event_id,
            now_ns: host.now_ns(),
            reply: &self.rules.settings.reply,
        }
    }

    fn is_enforced(&self) -> bool {
        self.mode == Mode::Enforce
    }
}

/// Names that commas join, for a log line.
fn joined<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "-".to_owned() } else { names.join(",") }
}

#[cfg(test)]
pub(crate) mod tests;
