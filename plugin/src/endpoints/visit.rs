//! One request to the endpoints, from its headers to its answer.

use floodmark_core::limits::MAX_ENDPOINT_VALUES;
use serde_json::Value;

use super::routes::{self, Call, ROUTES, Route, Takes};
use super::{Answer, Desk, Endpoints, Problem, Token};
use crate::config;
use crate::filter::Flow;
use crate::host::LocalReply;
use crate::request::Request;

/// A request under the prefix. It never goes on: every way through it ends in an answer of ours.
#[derive(Debug)]
pub struct Visit {
    /// `None` once it was answered.
    waiting: Option<Waiting>,
}

/// A call whose headers are in order and whose body is still coming.
#[derive(Debug)]
struct Waiting {
    route: &'static Route,
    part: String,
    /// A copy: the configuration is borrowed for a callback only.
    token: Token,
    event_id: String,
    held_bytes: usize,
}

impl Visit {
    /// Takes a request in, if it is one under the prefix; `last` when no body follows. Pauses: without a body because it is answered, with one until it is whole.
    pub fn begin(desk: &Desk<'_>, request: &Request, last: bool) -> Option<Visit> {
        let rules = &desk.shared.rules;
        let endpoints = rules.endpoints.as_ref()?;
        let below = endpoints.below(request.path())?;
        let waiting = if rules.enabled { admit(desk, endpoints, request, below, last) } else { Err(Problem::Disabled) };
        Some(match waiting {
            // In HTTP/2 the end of a request without a body may come later than its headers. It is not waited for, which needs the gateway's option.
            Ok(waiting) if last || waiting.route.takes == Takes::Nothing => {
                let answer = (waiting.route.handler)(desk, &waiting.call(&Value::Null, &[]));
                close(desk, waiting.route.name, answer)
            }
            Ok(waiting) => Visit { waiting: Some(waiting) },
            Err(problem) => close(desk, "", Err(problem)),
        })
    }

    /// A piece of the body came; `size_bytes` is all that the gateway holds, since nothing of it goes on.
    pub fn body(&mut self, desk: &Desk<'_>, size_bytes: usize, last: bool) -> Flow {
        if let Some(waiting) = &mut self.waiting {
            match waiting.route.takes {
                Takes::Json(most_bytes) if size_bytes > most_bytes => *self = close(desk, "", Err(Problem::TooLarge(most_bytes))),
                _ => {
                    waiting.held_bytes = size_bytes;
                    if last {
                        return self.finish(desk);
                    }
                }
            }
        }
        Flow::Pause
    }

    /// The body is whole.
    pub fn finish(&mut self, desk: &Desk<'_>) -> Flow {
        if let Some(waiting) = self.waiting.take() {
            let answer = waiting.body(desk).and_then(|(body, bytes)| (waiting.route.handler)(desk, &waiting.call(&body, &bytes)));
            *self = close(desk, waiting.route.name, answer);
        }
        Flow::Pause
    }
}

impl Waiting {
    fn call<'c>(&'c self, body: &'c Value, bytes: &'c [u8]) -> Call<'c> {
        Call { token: &self.token, part: &self.part, body, bytes, event_id: &self.event_id }
    }

    /// The body, read and as it came.
    fn body(&self, desk: &Desk<'_>) -> Result<(Value, Vec<u8>), Problem> {
        let bytes = desk.host.request_body(0, self.held_bytes).unwrap_or_default();
        if bytes.len() != self.held_bytes {
            desk.shared.metrics.host_error(desk.host);
            return Err(Problem::Unread);
        }
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(Problem::Malformed("the body is empty; send a JSON object".to_owned()));
        }
        if values(&bytes) > MAX_ENDPOINT_VALUES {
            return Err(Problem::Malformed(format!("the body holds more than {MAX_ENDPOINT_VALUES} JSON values; send less at once")));
        }
        match config::document(&bytes) {
            Ok(body) => Ok((body, bytes)),
            Err(misfit) => Err(Problem::Malformed(misfit.of("the body"))),
        }
    }
}

/// As many values as a JSON document can hold: one for each thing that opens, and one for each comma. What a value takes once it is read has no bound by its bytes.
fn values(bytes: &[u8]) -> usize {
    let (mut values, mut in_string, mut is_escaped) = (1, false, false);
    for byte in bytes {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = in_string,
            b'"' => in_string = !in_string,
            b'{' | b'[' | b',' if !in_string => values += 1,
            _ => {}
        }
    }
    values
}

/// Checks all that the headers say, the token before anything else: who has none learns nothing.
fn admit(desk: &Desk<'_>, endpoints: &Endpoints, request: &Request, below: &str, last: bool) -> Result<Waiting, Problem> {
    let token = endpoints.token(request).ok_or(Problem::Token)?;
    let fields = request.fields();
    let target = fields.value(":path").unwrap_or_default();
    if target.contains(&b'?') {
        return Err(Problem::Query);
    }
    // One spelling is served, so that a rule of the gateway that guards the prefix cannot be written around.
    if target != request.path().as_bytes() || !request.path().starts_with(&endpoints.prefix) {
        return Err(Problem::Spelling);
    }
    let (route, part) = routes::find(&ROUTES, fields.value(":method").unwrap_or_default(), below)?;
    if !token.may(route.scope) {
        return Err(Problem::Scope(route.scope));
    }
    match route.takes {
        Takes::Nothing if announces_a_body(request) => return Err(Problem::Body),
        Takes::Nothing => {}
        Takes::Json(most_bytes) => fit_for_json(request, most_bytes, last)?,
    }
    let event_id = desk.shared.event_ids.for_request(fields.value("x-request-id"), desk.host.now_ns());
    Ok(Waiting { route, part: part.to_owned(), token: token.clone(), event_id, held_bytes: 0 })
}

fn announces_a_body(request: &Request) -> bool {
    let fields = request.fields();
    let length = fields.value("content-length").is_some_and(|length| length != b"0");
    length || fields.value("transfer-encoding").is_some()
}

fn fit_for_json(request: &Request, most_bytes: usize, last: bool) -> Result<(), Problem> {
    let fields = request.fields();
    let json = request.only_value("content-type").is_some_and(|kind| {
        let kind = kind.split(|&byte| byte == b';').next().unwrap_or_default();
        kind.trim_ascii().eq_ignore_ascii_case(b"application/json")
    });
    if !json || fields.foreign_charset() {
        return Err(Problem::ContentType);
    }
    if fields.any_word("content-encoding", &mut |word| !matches!(word, b"" | b"identity")) {
        return Err(Problem::ContentEncoding);
    }
    if fields.length_bytes().is_some_and(|bytes| bytes > most_bytes as u64) {
        return Err(Problem::TooLarge(most_bytes));
    }
    if last { Err(Problem::Malformed("the body is empty; send a JSON object".to_owned())) } else { Ok(()) }
}

fn close(desk: &Desk<'_>, name: &str, answer: Result<Answer, Problem>) -> Visit {
    let reply: LocalReply = match answer {
        Ok(answer) => answer.reply(name),
        Err(problem) => problem.reply(),
    };
    desk.shared.metrics.endpoints.answered(desk.host, reply.status);
    if desk.host.reply(&reply).is_err() {
        desk.shared.metrics.host_error(desk.host);
    }
    Visit { waiting: None }
}
