//! Whether a response is read, and how: decided by its headers, or where they do not say it by its first bytes.

use std::rc::Rc;

use floodmark_core::Hint;
use floodmark_core::streamed::Streamed;
use floodmark_core::wire::{Direction, Framing, IssueKind, begins_like_json};

use super::{Half, Reading, State, pass, taken};
use crate::budget::Copied;
use crate::config::{Hold, Mode, OnBlock};
use crate::filter::following::{Following, Window};
use crate::filter::{Exchange, Flow};
use crate::headers::Fields;
use crate::host::Host;
use crate::metrics::Passed;
use crate::session::MCP_SESSION_HEADER;

/// As much of a body as tells what it is.
const START_BYTES: usize = 64;

impl Half {
    /// Headers came.
    pub(in crate::filter) fn headers(&mut self, exchange: &mut Exchange, host: &dyn Host, last: bool) -> Flow {
        *self = Half::default();
        if exchange.replied || exchange.mode == Mode::Off {
            return Flow::Continue;
        }
        exchange.prove(host);
        if exchange.is_enforced() {
            exchange.tell(host);
        }
        let rules = Rc::clone(&exchange.rules);
        let (settings, metrics) = (&rules.settings, &exchange.shared.metrics);
        if !settings.responses.read {
            return Flow::Continue;
        }
        if !exchange.is_ai {
            return pass(exchange, host, Passed::NotAi);
        }
        let fields = Fields::new(host.response_headers().unwrap_or_default());
        if fields.is_unknown() {
            metrics.host_error(host);
            return pass(exchange, host, Passed::Unread);
        }
        if !matches!(fields.value(":status"), Some([b'2', _, _])) {
            return pass(exchange, host, Passed::Status);
        }
        if last || exchange.is_head {
            return pass(exchange, host, Passed::NoBody);
        }
        let (mut framing, mut json, mut kinds) = (None, false, 0);
        fields.any_word("content-type", &mut |kind| {
            framing = framing.or_else(|| Framing::of_content_type(kind));
            json |= is_json(kind);
            kinds += usize::from(!kind.is_empty());
            false
        });
        // Clients of an AI path read JSON and events whatever they are called.
        let unsaid = framing.is_none() && !json;
        if unsaid && !exchange.hint.ai_path {
            return pass(exchange, host, Passed::ContentType);
        }
        let issue = fields.foreign_charset().then_some(IssueKind::Charset);
        self.reading = Reading {
            hint: Hint { direction: Direction::Response, issue, ..exchange.hint },
            codings: fields.codings().unwrap_or_default(),
            framing,
            acts: exchange.is_enforced() && settings.action != OnBlock::Label,
            mcp_session: fields.value(MCP_SESSION_HEADER).is_some(),
        };
        if let Some(session) = fields.value(MCP_SESSION_HEADER) {
            exchange.learn_session(host, session);
        }
        let Reading { codings, acts, .. } = self.reading;
        if acts && fields.value("content-length").is_some() {
            exchange.checked(host, host.set_response_header("content-length", None));
        }
        if fields.codings().is_none() {
            return self.unread_by_headers(exchange, host, IssueKind::ContentEncoding, self.reading.hint);
        }
        // A stream is read as UTF-8, in one way.
        let issue = if kinds > 1 { Some(IssueKind::ContentType) } else { issue };
        if let Some(issue) = issue.filter(|issue| framing.is_some() || *issue == IssueKind::ContentType) {
            return self.unread_by_headers(exchange, host, issue, self.reading.hint);
        }
        let is_held = !unsaid && framing.is_none() || !codings.is_identity();
        if is_held && fields.length_bytes().is_some_and(|bytes| bytes > settings.max_response_bytes() as u64) {
            return self.unread_by_headers(exchange, host, IssueKind::Oversize, self.reading.hint);
        }
        self.state = if unsaid && codings.is_identity() { State::Unsaid } else { self.start(exchange, host) };
        Flow::Continue
    }

    /// How the body is to be read from its start.
    fn start(&self, exchange: &Exchange, host: &dyn Host) -> State {
        let budget = &exchange.shared.budget;
        match self.reading.framing {
            Some(framing) if self.reading.codings.is_identity() => {
                let hold = match exchange.rules.settings.responses.hold {
                    // It need not ever end.
                    Hold::All if exchange.is_get => Hold::Calls,
                    hold => hold,
                };
                let (mut streamed, window) = (Streamed::new(framing, self.reading.hint), Window::new(framing, hold));
                exchange.follow_within(host, &mut streamed);
                State::Following(Box::new(Following {
                    streamed,
                    window,
                    held_bytes: 0,
                    carried: Vec::new(),
                    share: budget.share(),
                    taught: 0,
                }))
            }
            // A compressed stream is judged when it is whole, though it was asked for as it is.
            _ if self.reading.acts => State::Holding { buffered_bytes: 0 },
            _ => State::Copying(Copied::new(budget)),
        }
    }

    /// The first bytes of a body whose headers do not say what it is.
    pub(super) fn told_by_start(&mut self, exchange: &mut Exchange, host: &dyn Host, size_bytes: usize, last: bool) -> Flow {
        if self.reading.acts && size_bytes < START_BYTES && !last {
            self.state = State::Unsaid;
            return Flow::Pause;
        }
        let start = taken(host, 0, size_bytes.min(START_BYTES)).unwrap_or_default();
        self.reading.framing = Framing::of_start(&start);
        if self.reading.framing.is_none() && begins_like_json(&start) == Some(false) {
            return pass(exchange, host, Passed::ContentType);
        }
        self.state = self.start(exchange, host);
        self.body(exchange, host, size_bytes, last)
    }
}

/// JSON, and what is written in it.
fn is_json(kind: &[u8]) -> bool {
    let name = kind.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii();
    name == b"application/json" || name.ends_with(b"+json")
}
