//! The filter: one request's way through the plugin, as plain Rust over a [`Host`].

use std::rc::Rc;

use floodmark_core::wire::{Codings, Direction, Issue, IssueKind, begins_like_json};
use floodmark_core::{Action, Hint, Judge, Judgement, Verdict};

use crate::config::{Mode, OnBlock, Rules, Ruleset, Target};
use crate::event_id::EventIds;
use crate::host::{Host, LogLevel};
use crate::labels::{self, ACTION_HEADER, EVENT_ID_HEADER, RULE_HEADER, SCORE_HEADER, VERDICT_HEADER};
use crate::metrics::{Metrics, Passed};
use crate::reply::{self, Asked, Denial, Exchange};
use crate::request::{Body, Request};

/// What a callback tells the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    Continue,
    /// Keep what came and call again with more.
    Pause,
}

/// What all requests of one configuration share.
#[derive(Debug)]
pub struct Shared {
    /// The configuration.
    pub rules: Rules,
    /// The counters.
    pub metrics: Metrics,
    /// The source of event ids.
    pub event_ids: EventIds,
}

/// One request.
#[derive(Debug)]
pub struct Filter {
    shared: Rc<Shared>,
    state: State,
    event_id: String,
    mode: Mode,
    /// What the request's path asks for.
    asked: Asked,
    /// The request's headers have not been sent on.
    headers_held: bool,
    verdict: Option<Verdict>,
    action: Action,
    replied: bool,
}

#[derive(Debug)]
enum State {
    /// Not seen yet, let pass, or judged: nothing more to do with the body.
    Idle,
    /// The host keeps the body back; it is read when it is whole.
    Holding { reading: Reading, buffered_bytes: usize },
    /// The body passes and is copied on the way.
    Copying { reading: Reading, copy: Vec<u8> },
}

/// How a body is read.
#[derive(Debug)]
struct Reading {
    rules: Rc<Ruleset>,
    hint: Hint,
    /// How the body is compressed.
    codings: Codings,
    /// The body is let pass as soon as it does not begin like JSON, unpacked.
    only_json: bool,
}

impl Reading {
    fn max_bytes(&self) -> usize {
        self.rules.settings.max_body_bytes as usize
    }

    /// Looks at the start of the body. `false` when it is not to be read after all.
    fn goes_on(&mut self, start: &[u8]) -> bool {
        if !self.only_json {
            return true;
        }
        match begins_like_json(&self.codings.decode(start, START_BYTES).bytes) {
            Some(json) => {
                self.only_json = false;
                json
            }
            None => true,
        }
    }

    /// What is known once the body is over the cap: it is taken for AI traffic when it begins like it, or with nothing but white space.
    fn oversize_hint(&self, start: &[u8]) -> Hint {
        let start = self.codings.decode(start, self.max_bytes());
        Hint { ai_path: self.hint.ai_path || self.only_json || Judge::recognises(&start.bytes), ..self.hint }
    }
}

/// As much of a body as tells whether it begins like JSON, unless someone put white space before it.
const START_BYTES: usize = 1024;

impl Filter {
    /// A filter for a new request.
    pub fn new(shared: Rc<Shared>) -> Self {
        Filter {
            shared,
            state: State::Idle,
            event_id: String::new(),
            mode: Mode::Off,
            asked: Asked::default(),
            headers_held: false,
            verdict: None,
            action: Action::Continue,
            replied: false,
        }
    }

    /// Request headers came. `last` when no body follows. May run again when the gateway restarts the request.
    pub fn request_headers(&mut self, host: &dyn Host, last: bool) -> Flow {
        let shared = Rc::clone(&self.shared);
        self.state = State::Idle;
        (self.verdict, self.action) = (None, Action::Continue);
        if !shared.rules.enabled {
            return self.pass(host, Passed::Off);
        }
        let request = Request::new(host.request_headers().unwrap_or_default());
        if request.is_unknown() {
            shared.metrics.host_error(host);
        }
        let target = Target { host: request.host(), path: request.path() };
        let route = || host.property(&["xds", "route_name"]).ok().and_then(|name| String::from_utf8(name).ok());
        let rules = shared.rules.for_request(target, route);
        self.mode = rules.settings.mode;
        if self.mode == Mode::Off {
            return self.pass(host, Passed::Off);
        }
        if self.mode == Mode::Enforce {
            for name in request.own_headers() {
                self.checked(host, host.remove_request_header(name));
            }
        }
        if last {
            return self.pass(host, Passed::NoBody);
        }
        self.asked = Asked::of_path(&request);
        self.event_id = shared.event_ids.for_request(request.value("x-request-id"), host.now_ns());
        let codings = request.codings().unwrap_or_default();
        match request.body(&rules.settings, rules.exemptions(&request, target, route)) {
            Body::Upgrade => self.pass(host, Passed::Upgrade),
            Body::Ignored => self.pass(host, Passed::NotAi),
            Body::Oversize(hint) => self.unread_by_headers(host, rules, IssueKind::Oversize, hint),
            Body::Encoded(hint) => self.unread_by_headers(host, rules, IssueKind::ContentEncoding, hint),
            Body::Read(hint) => self.read(Reading { rules: Rc::clone(rules), hint, codings, only_json: false }),
            Body::ReadIfJson(hint) => self.read(Reading { rules: Rc::clone(rules), hint, codings, only_json: true }),
        }
    }

    fn read(&mut self, reading: Reading) -> Flow {
        self.headers_held = self.mode == Mode::Enforce && reading.rules.settings.hold_headers;
        self.state = if self.mode == Mode::Enforce {
            State::Holding { reading, buffered_bytes: 0 }
        } else {
            State::Copying { reading, copy: Vec::new() }
        };
        if self.headers_held { Flow::Pause } else { Flow::Continue }
    }

    /// A piece of the request body came. `size_bytes` is what the host can give now: everything so far while it is held, otherwise the piece.
    /// `last` is never said when trailers follow.
    pub fn request_body(&mut self, host: &dyn Host, size_bytes: usize, last: bool) -> Flow {
        match core::mem::replace(&mut self.state, State::Idle) {
            State::Idle if self.replied => Flow::Pause,
            State::Idle => Flow::Continue,
            State::Holding { mut reading, .. } => {
                let start =
                    if reading.only_json { host.request_body(0, size_bytes.min(START_BYTES)).unwrap_or_default() } else { Vec::new() };
                if !reading.goes_on(&start) {
                    return self.pass(host, Passed::NotAi);
                }
                if size_bytes > reading.max_bytes() {
                    let start = host.request_body(0, reading.max_bytes()).unwrap_or_default();
                    return self.unread(host, &reading.rules, IssueKind::Oversize, reading.oversize_hint(&start));
                }
                self.state = State::Holding { reading, buffered_bytes: size_bytes };
                if last { self.finish(host) } else { Flow::Pause }
            }
            State::Copying { mut reading, mut copy } => {
                match host.request_body(0, size_bytes) {
                    Ok(piece) if piece.len() == size_bytes => copy.extend_from_slice(&piece),
                    _ => return self.missing(host, &reading),
                }
                if !reading.goes_on(copy.get(..START_BYTES).unwrap_or(&copy)) {
                    return self.pass(host, Passed::NotAi);
                }
                if copy.len() > reading.max_bytes() {
                    let hint = reading.oversize_hint(&copy);
                    return self.unread(host, &reading.rules, IssueKind::Oversize, hint);
                }
                self.state = State::Copying { reading, copy };
                if last { self.finish(host) } else { Flow::Continue }
            }
        }
    }

    /// Request trailers came: the body is whole, though nothing said so.
    pub fn request_trailers(&mut self, host: &dyn Host) -> Flow {
        self.finish(host)
    }

    /// Response headers came. They also come for our own replies, which are complete already.
    pub fn response_headers(&mut self, host: &dyn Host) -> Flow {
        if self.mode == Mode::Enforce && !self.replied {
            for name in [EVENT_ID_HEADER, RULE_HEADER, SCORE_HEADER] {
                self.checked(host, host.set_response_header(name, None));
            }
            self.checked(host, host.set_response_header(VERDICT_HEADER, self.verdict.map(Verdict::name)));
            let action = Some(self.action).filter(|action| *action != Action::Continue);
            self.checked(host, host.set_response_header(ACTION_HEADER, action.map(Action::name)));
        }
        Flow::Continue
    }

    /// The body is whole: judges it.
    fn finish(&mut self, host: &dyn Host) -> Flow {
        match core::mem::replace(&mut self.state, State::Idle) {
            State::Idle if self.replied => Flow::Pause,
            State::Idle => Flow::Continue,
            // A body of no bytes came after all: there is nothing that anyone could read.
            State::Holding { buffered_bytes: 0, .. } => self.pass(host, Passed::NoBody),
            State::Copying { copy, .. } if copy.is_empty() => self.pass(host, Passed::NoBody),
            State::Holding { reading, buffered_bytes } => match host.request_body(0, buffered_bytes) {
                Ok(body) if body.len() == buffered_bytes => self.judge(host, &reading, &body),
                _ => self.missing(host, &reading),
            },
            State::Copying { reading, copy } => self.judge(host, &reading, &copy),
        }
    }

    /// `body` is what the host holds, byte for byte: a redacted one is put in its place.
    fn judge(&mut self, host: &dyn Host, reading: &Reading, body: &[u8]) -> Flow {
        let decoded = reading.codings.decode(body, reading.max_bytes());
        match decoded.issue {
            Some(IssueKind::Oversize) => {
                return self.unread(host, &reading.rules, IssueKind::Oversize, reading.oversize_hint(body));
            }
            // What could be unpacked does not begin as AI traffic does; of nothing but white space nobody knows.
            Some(issue) if reading.only_json && begins_like_json(&decoded.bytes) != Some(true) => {
                let blank = begins_like_json(&decoded.bytes).is_none() && !decoded.bytes.is_empty();
                let hint = Hint { ai_path: reading.hint.ai_path || blank, ..reading.hint };
                return self.unread(host, &reading.rules, issue, hint);
            }
            // A packed body of no bytes.
            None if decoded.bytes.is_empty() => return self.pass(host, Passed::NoBody),
            None if reading.only_json && begins_like_json(&decoded.bytes) == Some(false) => return self.pass(host, Passed::NotAi),
            _ => {}
        }
        let hint = Hint { issue: reading.hint.issue.or(decoded.issue), ..reading.hint };
        let judge = &reading.rules.judge;
        let judgement = judge.judge(&decoded.bytes, hint);
        // A packed body cannot keep its length, so it is rejected instead.
        let redacts =
            judgement.verdict == Verdict::Block && reading.rules.settings.action == OnBlock::Redact && reading.codings.is_identity();
        let redacted = if redacts { judge.redact(body, &judgement, hint) } else { None };
        self.act(host, &reading.rules, &judgement, hint, redacted)
    }

    /// The host did not hand over what it said it had.
    fn missing(&mut self, host: &dyn Host, reading: &Reading) -> Flow {
        self.shared.metrics.host_error(host);
        self.unread(host, &reading.rules, IssueKind::BodyMissing, reading.hint)
    }

    fn unread(&mut self, host: &dyn Host, rules: &Ruleset, issue: IssueKind, hint: Hint) -> Flow {
        if !hint.ai_path {
            self.shared.metrics.issue(host, issue);
            return self.pass(host, Passed::Unread);
        }
        self.act(host, rules, &rules.judge.unread(Issue { kind: issue, at: 0 }, hint), hint, None)
    }

    /// The same while the headers are here.
    fn unread_by_headers(&mut self, host: &dyn Host, rules: &Ruleset, issue: IssueKind, hint: Hint) -> Flow {
        self.headers_held = true;
        let flow = self.unread(host, rules, issue, hint);
        self.headers_held = false;
        flow
    }

    fn pass(&mut self, host: &dyn Host, why: Passed) -> Flow {
        self.shared.metrics.passed(host, why);
        Flow::Continue
    }

    /// Makes a judgement known, and acts on it as mode and config say. `redacted` is the body to send on instead, where there is one.
    fn act(&mut self, host: &dyn Host, rules: &Ruleset, judgement: &Judgement<'_>, hint: Hint, redacted: Option<Vec<u8>>) -> Flow {
        self.verdict = Some(judgement.verdict);
        let shared = Rc::clone(&self.shared);
        let metrics = &shared.metrics;
        let wanted = match judgement.verdict {
            Verdict::Block => rules.settings.action.into(),
            Verdict::Label => Action::Label,
            Verdict::Flag | Verdict::Allow => Action::Continue,
        };
        let mut planned = wanted;
        if wanted == Action::Redact && !redacted.is_some_and(|body| self.mode != Mode::Enforce || self.replace_body(host, &body)) {
            metrics.not_redacted(host);
            planned = Action::Reject;
        }
        metrics.judged(host, self.mode, judgement.verdict, &judgement.issues);
        metrics.acted(host, self.mode, planned);
        if judgement.exempt_hits > 0 {
            metrics.exempted(host);
        }
        self.action = if self.mode == Mode::Enforce { planned } else { Action::Continue };
        for (name, value) in labels::filter_state(judgement, self.action, &self.event_id) {
            self.checked(host, host.set_filter_state(name, &value));
        }
        if judgement.verdict != Verdict::Allow || rules.settings.log_allow {
            let level = if judgement.verdict == Verdict::Block { LogLevel::Warn } else { LogLevel::Info };
            host.log(level, &self.log_line(judgement));
        }
        match self.action {
            Action::Continue => Flow::Continue,
            Action::Label | Action::Redact => {
                if self.headers_held {
                    for (name, value) in labels::request_headers(judgement, self.action, &self.event_id) {
                        self.checked(host, host.set_request_header(name, &value));
                    }
                }
                Flow::Continue
            }
            Action::Reject => {
                self.replied = true;
                let exchange = Exchange {
                    pinned: hint.format,
                    rpc: &judgement.rpc,
                    asked: self.asked.or_stream(judgement.stream),
                    event_id: &self.event_id,
                    now_ns: host.now_ns(),
                    reply: &rules.settings.reply,
                };
                let refusal = reply::refusal(&Denial::of_judgement(judgement, Direction::Request, exchange));
                self.checked(host, host.reply(&refusal));
                Flow::Pause
            }
        }
    }

    /// Whether the host took `body` for the one that it holds, which is as long.
    fn replace_body(&self, host: &dyn Host, body: &[u8]) -> bool {
        let replaced = host.replace_request_body(body.len(), body);
        self.checked(host, replaced);
        replaced.is_ok()
    }

    /// Names, numbers and ids only: no text of the conversation gets into a log.
    fn log_line(&self, judgement: &Judgement<'_>) -> String {
        let reason = judgement.decisive.as_ref();
        let issues: Vec<&str> = judgement.issues.kinds().map(IssueKind::name).collect();
        format!(
            "floodmark verdict={} action={} mode={} rule={} turn={} score={} turns={} format={} issues={} exempt={} event={}",
            judgement.verdict.name(),
            self.action.name(),
            self.mode.name(),
            reason.map_or("-", |reason| reason.rule),
            reason.and_then(|reason| reason.turn).map_or("-".to_owned(), |turn| turn.to_string()),
            labels::score(judgement),
            judgement.score.turn_scores.len(),
            judgement.format.name(),
            if issues.is_empty() { "-".to_owned() } else { issues.join(",") },
            judgement.exempt_hits,
            self.event_id,
        )
    }

    fn checked(&self, host: &dyn Host, result: Result<(), crate::host::HostError>) {
        if result.is_err() {
            self.shared.metrics.host_error(host);
        }
    }
}

#[cfg(test)]
mod tests;
