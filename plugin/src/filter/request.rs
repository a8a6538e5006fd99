//! A request's way: held or copied until its body is whole, judged, and refused, redacted, labelled or let pass.

use std::rc::Rc;

use floodmark_core::wire::{Codings, Direction, Format, Issue, IssueKind, begins_like_json};
use floodmark_core::{Action, Hint, Judge, Judgement, Verdict};

use super::{Exchange, Flow, joined};
use crate::budget::Copied;
use crate::config::{Mode, OnBlock, Target};
use crate::host::{Host, LogLevel};
use crate::labels;
use crate::metrics::Passed;
use crate::reply::{self, Asked, Denial};
use crate::request::{Body, Request};

/// The request's direction.
#[derive(Debug, Default)]
pub(super) struct Half {
    state: State,
    /// The request's headers have not been sent on.
    headers_held: bool,
}

#[derive(Debug, Default)]
enum State {
    /// Not seen yet, let pass, or judged: nothing more to do with the body.
    #[default]
    Idle,
    /// The host keeps the body back; it is read when it is whole.
    Holding { reading: Reading, buffered_bytes: usize },
    /// The body passes and is copied on the way. With the announced length it is whole, though the end has not been told yet: an upstream that counts has it
    /// all then, and when it answers at once the gateway ends the exchange before the end is seen (HTTP/2, whose last frame may be empty).
    Copying { reading: Reading, copy: Copied, whole_bytes: Option<u64> },
}

/// How a body is read.
#[derive(Debug)]
struct Reading {
    hint: Hint,
    /// How the body is compressed.
    codings: Codings,
    /// The body is let pass as soon as it does not begin like JSON, unpacked.
    only_json: bool,
}

impl Reading {
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
    fn oversize_hint(&self, start: &[u8], max_bytes: usize) -> Hint {
        let start = self.codings.decode(start, max_bytes);
        Hint { ai_path: self.hint.ai_path || self.only_json || Judge::recognises(&start.bytes), ..self.hint }
    }
}

/// As much of a body as tells whether it begins like JSON, unless someone put white space before it.
const START_BYTES: usize = 1024;

impl Half {
    /// Headers came.
    pub(super) fn headers(&mut self, exchange: &mut Exchange, host: &dyn Host, request: &Request, last: bool) -> Flow {
        let shared = Rc::clone(&exchange.shared);
        if !shared.rules.enabled {
            return pass(exchange, host, Passed::Off);
        }
        if request.fields().is_unknown() {
            shared.metrics.host_error(host);
        }
        let target = Target { host: request.host(), path: request.path() };
        let route = || host.property(&["xds", "route_name"]).ok().and_then(|name| String::from_utf8(name).ok());
        exchange.rules = Rc::clone(shared.rules.for_request(target, route));
        let rules = Rc::clone(&exchange.rules);
        exchange.mode = rules.settings.mode;
        if exchange.mode == Mode::Off {
            return pass(exchange, host, Passed::Off);
        }
        if exchange.is_enforced() {
            for name in request.own_headers() {
                exchange.checked(host, host.remove_request_header(name));
            }
        }
        let body = request.body(&rules.settings, rules.exemptions(request, target, route));
        exchange.hint = body.hint();
        exchange.is_ai = exchange.hint.ai_path;
        exchange.asked = Asked::of_path(request);
        exchange.is_head = request.fields().value(":method") == Some(b"HEAD");
        exchange.is_get = request.fields().value(":method") == Some(b"GET");
        if exchange.is_ai {
            ask_for_identity(exchange, host);
        }
        if exchange.is_ai || !last {
            exchange.event_id = shared.event_ids.for_request(request.fields().value("x-request-id"), host.now_ns());
        }
        if !matches!(body, Body::Upgrade | Body::Ignored) && (exchange.is_ai || !last) {
            exchange.identify(host, request.fields());
        }
        if last {
            if exchange.is_ai {
                exchange.enter_by_headers(host);
            }
            return pass(exchange, host, Passed::NoBody);
        }
        let codings = request.fields().codings().unwrap_or_default();
        match body {
            Body::Upgrade => pass(exchange, host, Passed::Upgrade),
            Body::Ignored => pass(exchange, host, Passed::NotAi),
            Body::Oversize(hint) => self.unread_by_headers(exchange, host, IssueKind::Oversize, hint),
            Body::Encoded(hint) => self.unread_by_headers(exchange, host, IssueKind::ContentEncoding, hint),
            Body::Read(hint) => self.read(exchange, Reading { hint, codings, only_json: false }, request.fields().length_bytes()),
            Body::ReadIfJson(hint) => self.read(exchange, Reading { hint, codings, only_json: true }, request.fields().length_bytes()),
        }
    }

    fn read(&mut self, exchange: &Exchange, reading: Reading, whole_bytes: Option<u64>) -> Flow {
        self.headers_held = exchange.is_enforced() && exchange.rules.settings.hold_headers;
        self.state = if exchange.is_enforced() {
            State::Holding { reading, buffered_bytes: 0 }
        } else {
            State::Copying { reading, copy: Copied::new(&exchange.shared.budget), whole_bytes }
        };
        if self.headers_held { Flow::Pause } else { Flow::Continue }
    }

    /// A piece of the body came.
    pub(super) fn body(&mut self, exchange: &mut Exchange, host: &dyn Host, size_bytes: usize, last: bool) -> Flow {
        let max_bytes = exchange.rules.settings.max_body_bytes as usize;
        match core::mem::take(&mut self.state) {
            State::Idle if exchange.replied => Flow::Pause,
            State::Idle => Flow::Continue,
            State::Holding { mut reading, .. } => {
                let start =
                    if reading.only_json { host.request_body(0, size_bytes.min(START_BYTES)).unwrap_or_default() } else { Vec::new() };
                if !reading.goes_on(&start) {
                    return pass(exchange, host, Passed::NotAi);
                }
                if size_bytes > max_bytes {
                    let start = host.request_body(0, max_bytes).unwrap_or_default();
                    return self.unread(exchange, host, IssueKind::Oversize, reading.oversize_hint(&start, max_bytes));
                }
                self.state = State::Holding { reading, buffered_bytes: size_bytes };
                if last { self.finish(exchange, host) } else { Flow::Pause }
            }
            State::Copying { mut reading, mut copy, whole_bytes } => {
                match host.request_body(0, size_bytes) {
                    Ok(piece) if piece.len() == size_bytes => {
                        if !copy.push(&piece) {
                            // In mode enforce the gateway would have held it, so there is nothing to say against it.
                            exchange.shared.metrics.request.issue(host, IssueKind::MemoryBudget);
                            return pass(exchange, host, Passed::Unread);
                        }
                    }
                    _ => return self.missing(exchange, host, &reading),
                }
                if !reading.goes_on(copy.bytes().get(..START_BYTES).unwrap_or(copy.bytes())) {
                    return pass(exchange, host, Passed::NotAi);
                }
                if copy.bytes().len() > max_bytes {
                    let hint = reading.oversize_hint(copy.bytes(), max_bytes);
                    return self.unread(exchange, host, IssueKind::Oversize, hint);
                }
                let whole = last || whole_bytes == Some(copy.bytes().len() as u64);
                self.state = State::Copying { reading, copy, whole_bytes };
                if whole { self.finish(exchange, host) } else { Flow::Continue }
            }
        }
    }

    /// The body is whole: judges it.
    pub(super) fn finish(&mut self, exchange: &mut Exchange, host: &dyn Host) -> Flow {
        match core::mem::take(&mut self.state) {
            State::Idle if exchange.replied => Flow::Pause,
            State::Idle => Flow::Continue,
            // A body of no bytes came after all: there is nothing that anyone could read.
            State::Holding { buffered_bytes: 0, .. } => pass(exchange, host, Passed::NoBody),
            State::Copying { copy, .. } if copy.bytes().is_empty() => pass(exchange, host, Passed::NoBody),
            State::Holding { reading, buffered_bytes } => match host.request_body(0, buffered_bytes) {
                Ok(body) if body.len() == buffered_bytes => self.judge(exchange, host, &reading, &body),
                _ => self.missing(exchange, host, &reading),
            },
            State::Copying { reading, copy, .. } => self.judge(exchange, host, &reading, copy.bytes()),
        }
    }

    /// `body` is what the host holds, byte for byte: a redacted one is put in its place.
    fn judge(&mut self, exchange: &mut Exchange, host: &dyn Host, reading: &Reading, body: &[u8]) -> Flow {
        let rules = Rc::clone(&exchange.rules);
        let max_bytes = rules.settings.max_body_bytes as usize;
        let decoded = reading.codings.decode(body, max_bytes);
        match decoded.issue {
            Some(IssueKind::Oversize) => {
                return self.unread(exchange, host, IssueKind::Oversize, reading.oversize_hint(body, max_bytes));
            }
            // What could be unpacked does not begin as AI traffic does; of nothing but white space nobody knows.
            Some(issue) if reading.only_json && begins_like_json(&decoded.bytes) != Some(true) => {
                let blank = begins_like_json(&decoded.bytes).is_none() && !decoded.bytes.is_empty();
                let hint = Hint { ai_path: reading.hint.ai_path || blank, ..reading.hint };
                return self.unread(exchange, host, issue, hint);
            }
            // A packed body of no bytes.
            None if decoded.bytes.is_empty() => return pass(exchange, host, Passed::NoBody),
            None if reading.only_json && begins_like_json(&decoded.bytes) == Some(false) => return pass(exchange, host, Passed::NotAi),
            _ => {}
        }
        let hint = Hint { issue: reading.hint.issue.or(decoded.issue), ..reading.hint };
        let text = hint.body(&decoded.bytes);
        let mut opened = rules.judge.open(&text, hint);
        let judgement = exchange.judge_request(host, &rules, &mut opened, &text, hint);
        // A packed body cannot keep its length, so it is rejected instead.
        let redacts = judgement.verdict == Verdict::Block && rules.settings.action == OnBlock::Redact && reading.codings.is_identity();
        let redacted = if redacts { rules.judge.redact(body, &judgement, hint) } else { None };
        self.act(exchange, host, &judgement, hint, redacted)
    }

    /// The host did not hand over what it said it had.
    fn missing(&mut self, exchange: &mut Exchange, host: &dyn Host, reading: &Reading) -> Flow {
        exchange.shared.metrics.host_error(host);
        self.unread(exchange, host, IssueKind::BodyMissing, reading.hint)
    }

    fn unread(&mut self, exchange: &mut Exchange, host: &dyn Host, issue: IssueKind, hint: Hint) -> Flow {
        if !hint.ai_path {
            exchange.shared.metrics.request.issue(host, issue);
            return pass(exchange, host, Passed::Unread);
        }
        let rules = Rc::clone(&exchange.rules);
        self.act(exchange, host, &rules.judge.unread(Issue { kind: issue, at: 0 }, hint), hint, None)
    }

    /// The same while the headers are here.
    fn unread_by_headers(&mut self, exchange: &mut Exchange, host: &dyn Host, issue: IssueKind, hint: Hint) -> Flow {
        self.headers_held = true;
        let flow = self.unread(exchange, host, issue, hint);
        self.headers_held = false;
        flow
    }

    /// Makes a judgement known, and acts on it as mode and config say. `redacted` is the body to send on instead, where there is one.
    fn act(&mut self, exchange: &mut Exchange, host: &dyn Host, judgement: &Judgement<'_>, hint: Hint, redacted: Option<Vec<u8>>) -> Flow {
        let rules = Rc::clone(&exchange.rules);
        let shared = Rc::clone(&exchange.shared);
        let metrics = &shared.metrics;
        exchange.verdict = Some(judgement.verdict);
        exchange.is_ai = hint.ai_path || judgement.format != Format::Unknown;
        exchange.hint.format = hint.format.or(Some(judgement.format).filter(|format| *format != Format::Unknown));
        exchange.asked = exchange.asked.or_stream(judgement.stream);
        exchange.rpc = judgement.rpc.clone();
        let wanted = match judgement.verdict {
            Verdict::Block => rules.settings.action.into(),
            Verdict::Ask => Action::Reject,
            Verdict::Label => Action::Label,
            Verdict::Flag | Verdict::Allow => Action::Continue,
        };
        let mut planned = wanted;
        if wanted == Action::Redact && !redacted.is_some_and(|body| !exchange.is_enforced() || replace_body(exchange, host, &body)) {
            metrics.request.failed(host);
            planned = Action::Reject;
        }
        let rules_met = judgement.detected.as_ref().map_or(0, |detected| detected.rules_met);
        metrics.request.judged(host, exchange.mode, judgement.verdict, &judgement.issues, judgement.exempt_hits, rules_met);
        metrics.request.acted(host, exchange.mode, planned);
        exchange.action = if exchange.is_enforced() { planned } else { Action::Continue };
        for (name, value) in labels::filter_state(judgement, exchange.action, &exchange.event_id) {
            exchange.checked(host, host.set_filter_state(name, &value));
        }
        if let Some(run) = exchange.run_id() {
            exchange.checked(host, host.set_filter_state("floodmark.run", &run));
        }
        if judgement.verdict != Verdict::Allow || rules.settings.log_allow {
            host.log(LogLevel::of(judgement.verdict), &log_line(exchange, judgement));
        }
        exchange.log_approval(host, judgement);
        if self.headers_held && exchange.is_ai && !exchange.hint.ai_path && exchange.action != Action::Reject {
            ask_for_identity(exchange, host);
        }
        match exchange.action {
            Action::Continue => Flow::Continue,
            Action::Label | Action::Redact => {
                if self.headers_held {
                    for (name, value) in labels::request_headers(judgement, exchange.action, &exchange.event_id) {
                        exchange.checked(host, host.set_request_header(name, &value));
                    }
                }
                Flow::Continue
            }
            Action::Reject => {
                exchange.replied = true;
                let denial = Denial::of_judgement(judgement, Direction::Request, exchange.told(host));
                let refusal = reply::refusal(&if judgement.verdict == Verdict::Ask { exchange.unless_approved(denial) } else { denial });
                exchange.checked(host, host.reply(&refusal));
                Flow::Pause
            }
        }
    }
}

/// Responses are to come as they are read, where they are and the request may be changed.
fn ask_for_identity(exchange: &Exchange, host: &dyn Host) {
    if exchange.is_enforced() && exchange.rules.settings.responses.read {
        exchange.checked(host, host.set_request_header("accept-encoding", "identity"));
    }
}

fn pass(exchange: &Exchange, host: &dyn Host, why: Passed) -> Flow {
    exchange.shared.metrics.request.passed(host, why);
    Flow::Continue
}

/// Whether the host took `body` for the one that it holds, which is as long.
fn replace_body(exchange: &Exchange, host: &dyn Host, body: &[u8]) -> bool {
    let replaced = host.replace_request_body(body.len(), body);
    exchange.checked(host, replaced);
    replaced.is_ok()
}

/// Names, numbers and ids only: no text of the conversation gets into a log.
fn log_line(exchange: &Exchange, judgement: &Judgement<'_>) -> String {
    let reason = judgement.decisive.as_ref();
    let [event_peak, persistence] = labels::detector(judgement).map(|number| number.unwrap_or_else(|| "-".to_owned()));
    format!(
        "floodmark verdict={} action={} mode={} rule={} turn={} score={} turns={} event_peak={event_peak} persistence={persistence} \
         format={} issues={} exempt={} event={}{}",
        judgement.verdict.name(),
        exchange.action.name(),
        exchange.mode.name(),
        reason.map_or("-", |reason| reason.rule),
        reason.and_then(|reason| reason.turn).map_or("-".to_owned(), |turn| turn.to_string()),
        labels::score(judgement),
        judgement.score.turn_scores.len(),
        judgement.format.name(),
        joined(judgement.issues.kinds().map(IssueKind::name)),
        judgement.exempt_hits,
        exchange.event_id,
        exchange.run_words(),
    )
}
