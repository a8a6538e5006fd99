//! The state of one HTTP stream: what the proxy holds, what the plugin may see, and what was passed on.

use std::collections::BTreeMap;

use super::headers::Headers;

/// One direction of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Request,
    Response,
}

/// What has been passed on to the other end of one direction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Header fields; `None` while they are held.
    pub headers: Option<Headers>,
    /// Body bytes.
    pub body: Vec<u8>,
    /// Trailers.
    pub trailers: Option<Headers>,
    /// Whether the message came to its end.
    pub complete: bool,
}

/// One direction while it passes the plugin.
#[derive(Debug, Default)]
pub(super) struct Half {
    pub(super) headers: Option<Headers>,
    /// Envoy forgets the map when the headers callback returns Continue.
    pub(super) headers_visible: bool,
    pub(super) trailers: Option<Headers>,
    pub(super) trailers_visible: bool,
    /// The chunk of the callback that is running.
    pub(super) chunk: Option<Vec<u8>>,
    /// Everything held since the first Pause.
    pub(super) held: Vec<u8>,
    pub(super) holding: bool,
    /// Nothing more reaches the plugin from this direction, for the reason given.
    pub(super) stuck: Option<&'static str>,
    pub(super) passed: Passed,
    /// All body bytes that were ever passed on.
    pub(super) passed_bytes: usize,
    /// Whether somebody has taken the passed headers.
    pub(super) headers_taken: bool,
}

impl Half {
    /// The body bytes that the plugin can read now.
    pub(super) fn readable(&self) -> &[u8] {
        if self.holding { &self.held } else { self.chunk.as_deref().unwrap_or_default() }
    }

    /// The buffer that the plugin can change now.
    pub(super) fn writable(&mut self) -> Option<&mut Vec<u8>> {
        if self.holding { Some(&mut self.held) } else { self.chunk.as_mut() }
    }

    /// Passes on headers, if still held, and all body bytes.
    pub(super) fn pass(&mut self, end: bool) {
        if self.passed.headers.is_none() {
            self.passed.headers.clone_from(&self.headers);
        }
        self.held.append(&mut self.chunk.take().unwrap_or_default());
        self.passed_bytes += self.held.len();
        self.passed.body.append(&mut self.held);
        self.holding = false;
        if end {
            self.passed.trailers.clone_from(&self.trailers);
            self.passed.complete = true;
        }
    }
}

impl Half {
    /// Hands over what was passed on since the last time; headers once.
    pub(super) fn take(&mut self) -> Passed {
        let headers = self.passed.headers.as_ref().filter(|_| !self.headers_taken).cloned();
        self.headers_taken |= headers.is_some();
        let Passed { trailers, complete, .. } = &self.passed;
        Passed { headers, trailers: trailers.clone(), complete: *complete, body: std::mem::take(&mut self.passed.body) }
    }

    /// The end of what HTTP/1.1 peers read, who go by `content-length`. Envoy sends on one that a plugin forgot to change.
    pub(super) fn readable_bytes(&self) -> usize {
        self.declared_bytes().map_or(self.passed_bytes, |declared| declared.min(self.passed_bytes))
    }

    /// Whether the other end waits for more than will ever come.
    pub(super) fn falls_short(&self) -> bool {
        self.passed.complete && self.declared_bytes().is_some_and(|declared| self.passed_bytes < declared)
    }

    fn declared_bytes(&self) -> Option<usize> {
        self.passed.headers.as_ref()?.text("content-length")?.parse().ok()
    }
}

/// A reply that the plugin, or the gateway itself, sends instead of the upstream's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalReply {
    /// HTTP status.
    pub status: u16,
    /// Envoy's `response_code_details`.
    pub details: String,
    /// Fields beside status, length and type.
    pub headers: Headers,
    /// Body bytes.
    pub body: Vec<u8>,
    /// Whether the gateway sent it by itself (body over its limit).
    pub by_gateway: bool,
}

/// What the plugin asked for during a callback; done when the callback has returned.
#[derive(Debug, Default)]
pub(super) struct Wishes {
    pub(super) local_replies: Vec<LocalReply>,
    pub(super) resume_request: bool,
    pub(super) resume_response: bool,
    pub(super) close: bool,
}

/// One HTTP stream.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// The client's address and port.
    pub(super) source: Option<String>,
    pub(super) request: Half,
    pub(super) response: Half,
    pub(super) filter_state: BTreeMap<String, Vec<u8>>,
    pub(super) wishes: Wishes,
    /// The reply that the client gets instead of the upstream's.
    pub(super) local_reply: Option<LocalReply>,
    pub(super) replies_ordered: usize,
    pub(super) upstream_reset: bool,
    /// The stream was broken, for this reason.
    pub(super) reset: Option<&'static str>,
    pub(super) logging: bool,
    pub(super) callbacks: Vec<super::Callback>,
    pub(super) fuel: u64,
}

impl Stream {
    pub(super) fn half(&mut self, side: Side) -> &mut Half {
        match side {
            Side::Request => &mut self.request,
            Side::Response => &mut self.response,
        }
    }

    /// Whether nothing of this direction may reach the plugin any more.
    pub(super) fn over(&self, side: Side) -> bool {
        self.reset.is_some()
            || match side {
                Side::Request => self.local_reply.is_some() || self.request.stuck.is_some(),
                Side::Response => self.response.stuck.is_some() || self.response.passed.complete,
            }
    }
}
