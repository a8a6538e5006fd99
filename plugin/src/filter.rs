//! The filter: one request's way through the plugin, as plain Rust over a [`Host`].

use std::rc::Rc;

use floodmark_core::wire::{Issue, IssueKind};
use floodmark_core::{Action, Hint, Judge, Judgement, Report, Verdict};

use crate::config::{Mode, Rules, Ruleset, Target};
use crate::event_id::EventIds;
use crate::host::{Host, LogLevel};
use crate::metrics::{Metrics, Passed};
use crate::reply::{self, EVENT_ID_HEADER, VERDICT_HEADER};
use crate::request::{Body, Request, begins_like_json};

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
    verdict: Option<Verdict>,
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
    /// The body is let pass as soon as it does not begin like JSON.
    only_json: bool,
}

impl Reading {
    fn max_bytes(&self) -> usize {
        self.rules.settings.max_body_bytes as usize
    }

    /// Looks at the start of the body. `false` when it is not to be read after all.
    fn goes_on(&mut self, start: &[u8]) -> bool {
        match begins_like_json(start) {
            Some(json) if self.only_json => {
                self.only_json = false;
                json
            }
            _ => true,
        }
    }

    /// What is known once the body is over the cap: it is taken for AI traffic when it begins like it, or with nothing but white space.
    fn oversize_hint(&self, start: &[u8]) -> Hint {
        Hint { ai_path: self.hint.ai_path || self.only_json || Judge::recognises(start), ..self.hint }
    }
}

/// As much of a body as tells whether it begins like JSON, unless someone put white space before it.
const START_BYTES: usize = 1024;

impl Filter {
    /// A filter for a new request.
    pub fn new(shared: Rc<Shared>) -> Self {
        Filter { shared, state: State::Idle, event_id: String::new(), mode: Mode::Off, verdict: None, replied: false }
    }

    /// Request headers came. `last` when no body follows. May run again when the gateway restarts the request.
    pub fn request_headers(&mut self, host: &dyn Host, last: bool) -> Flow {
        let shared = Rc::clone(&self.shared);
        self.state = State::Idle;
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
        self.event_id = shared.event_ids.for_request(request.value("x-request-id"), host.now_ns());
        match request.body(&rules.settings) {
            Body::Upgrade => self.pass(host, Passed::Upgrade),
            Body::Ignored => self.pass(host, Passed::NotAi),
            Body::Oversize(hint) => self.unread(host, rules, IssueKind::Oversize, hint),
            Body::Encoded(hint) => self.unread(host, rules, IssueKind::ContentEncoding, hint),
            Body::Read(hint) => self.read(Reading { rules: Rc::clone(rules), hint, only_json: false }),
            Body::ReadIfJson(hint) => self.read(Reading { rules: Rc::clone(rules), hint, only_json: true }),
        }
    }

    fn read(&mut self, reading: Reading) -> Flow {
        let hold_headers = self.mode == Mode::Enforce && reading.rules.settings.hold_headers;
        self.state = if self.mode == Mode::Enforce {
            State::Holding { reading, buffered_bytes: 0 }
        } else {
            State::Copying { reading, copy: Vec::new() }
        };
        if hold_headers { Flow::Pause } else { Flow::Continue }
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
                if !reading.goes_on(&copy) {
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
            self.checked(host, host.set_response_header(EVENT_ID_HEADER, None));
            self.checked(host, host.set_response_header(VERDICT_HEADER, self.verdict.map(Verdict::name)));
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

    fn judge(&mut self, host: &dyn Host, reading: &Reading, body: &[u8]) -> Flow {
        self.act(host, &reading.rules, &reading.rules.judge.judge(body, reading.hint), reading.hint)
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
        self.act(host, rules, &rules.judge.unread(Issue { kind: issue, at: 0 }, hint), hint)
    }

    fn pass(&mut self, host: &dyn Host, why: Passed) -> Flow {
        self.shared.metrics.passed(host, why);
        Flow::Continue
    }

    /// Makes a judgement known, and acts on it as the mode says.
    fn act(&mut self, host: &dyn Host, rules: &Ruleset, judgement: &Judgement<'_>, hint: Hint) -> Flow {
        self.verdict = Some(judgement.verdict);
        let action = match (self.mode, judgement.verdict) {
            (Mode::Enforce, Verdict::Block) => Action::Reject,
            _ => Action::Continue,
        };
        self.shared.metrics.judged(host, self.mode, judgement.verdict, &judgement.issues);
        self.publish(host, judgement);
        if judgement.verdict != Verdict::Allow || rules.settings.log_allow {
            let level = if judgement.verdict == Verdict::Block { LogLevel::Warn } else { LogLevel::Info };
            host.log(level, &self.log_line(judgement, action));
        }
        if action == Action::Continue {
            return Flow::Continue;
        }
        self.replied = true;
        self.shared.metrics.rejected(host);
        let refusal = reply::refusal(judgement, hint.format, rules.settings.reply.status, &self.event_id);
        self.checked(host, host.reply(&refusal));
        Flow::Pause
    }

    /// Writes filter state, for access logs and other filters.
    fn publish(&self, host: &dyn Host, judgement: &Judgement<'_>) {
        let report = Report::from(judgement);
        let mut states = vec![
            ("floodmark.verdict", judgement.verdict.name().to_owned()),
            ("floodmark.score", judgement.score.score.to_string()),
            ("floodmark.event_id", self.event_id.clone()),
        ];
        states.extend(report.rule.map(|rule| ("floodmark.rule", rule.to_owned())));
        states.extend(serde_json::to_string(&report).ok().map(|json| ("floodmark.report", json)));
        for (name, value) in states {
            self.checked(host, host.set_filter_state(name, &value));
        }
    }

    /// Names, numbers and ids only: no text of the conversation gets into a log.
    fn log_line(&self, judgement: &Judgement<'_>, action: Action) -> String {
        let reason = judgement.decisive.as_ref();
        let issues: Vec<&str> = judgement.issues.kinds().map(IssueKind::name).collect();
        format!(
            "floodmark verdict={} action={} mode={} rule={} turn={} score={} turns={} format={} issues={} event={}",
            judgement.verdict.name(),
            action.name(),
            self.mode.name(),
            reason.map_or("-", |reason| reason.rule),
            reason.and_then(|reason| reason.turn).map_or("-".to_owned(), |turn| turn.to_string()),
            judgement.score.score,
            judgement.score.turn_scores.len(),
            judgement.format.name(),
            if issues.is_empty() { "-".to_owned() } else { issues.join(",") },
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
