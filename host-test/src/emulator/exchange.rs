//! What happened to one stream, for a test to ask.

use std::collections::BTreeMap;

use super::abi::Action;
use super::headers::Headers;
use super::stream::{Half, LocalReply, Stream};

const SHORT: &str = "the body is shorter than its content-length, and whoever reads it waits for the rest";

/// One stream from its first header to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// What reached the upstream; `None` when not even headers did.
    pub upstream: Option<SeenRequest>,
    /// What the client got.
    pub client: Client,
    /// The reply sent in the upstream's place, as it was ordered.
    pub local_reply: Option<LocalReply>,
    /// How many such replies were ordered, by plugin and gateway together; a well-made plugin orders one at most.
    pub replies_ordered: usize,
    /// Everything written with `set_property`, names with Envoy's prefix `wasm.`.
    pub filter_state: BTreeMap<String, Vec<u8>>,
    /// Every callback that the plugin got for this stream.
    pub callbacks: Vec<Callback>,
    /// Work done by the guest for this stream in the engine's fuel units; 0 where it counts none.
    pub fuel: u64,
}

/// What reached the upstream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenRequest {
    /// Header fields.
    pub headers: Headers,
    /// Body bytes, as an HTTP/1.1 server reads them: no more than `content-length` says.
    pub body: Vec<u8>,
    /// Trailers.
    pub trailers: Option<Headers>,
    /// Whether the request came to its end.
    pub complete: bool,
    /// Whether the stream was reset under the upstream.
    pub reset: bool,
}

/// What the client got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Client {
    /// A whole reply.
    Reply(SeenReply),
    /// A broken stream, with Envoy's details.
    Reset(&'static str),
    /// Nothing, ever; with the reason. A real client runs into its timeout here.
    Hangs(&'static str),
}

/// A whole reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenReply {
    /// HTTP status.
    pub status: u16,
    /// All fields, `:status` first.
    pub headers: Headers,
    /// Body bytes.
    pub body: Vec<u8>,
    /// Trailers.
    pub trailers: Option<Headers>,
    /// Whether it came from the plugin or the gateway instead of the upstream.
    pub local: bool,
}

/// One call into the plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callback {
    /// The export's name.
    pub name: &'static str,
    /// Number of fields, or `body_size`.
    pub size: u32,
    /// What `end_of_stream` said; `None` where the callback has no such argument.
    pub end_of_stream: Option<bool>,
    /// What the plugin answered.
    pub action: Action,
}

impl Exchange {
    /// The client's whole reply, if there was one.
    #[must_use]
    pub fn reply(&self) -> Option<&SeenReply> {
        match &self.client {
            Client::Reply(reply) => Some(reply),
            Client::Reset(_) | Client::Hangs(_) => None,
        }
    }

    /// A filter state by the name that the plugin gave it, when it is UTF-8.
    #[must_use]
    pub fn state(&self, name: &str) -> Option<&str> {
        self.filter_state.get(&format!("wasm.{name}")).and_then(|value| std::str::from_utf8(value).ok())
    }

    /// How often a callback of that name answered Pause.
    #[must_use]
    pub fn pauses(&self, name: &str) -> usize {
        self.callbacks.iter().filter(|call| call.name == name && call.action == Action::Pause).count()
    }

    pub(super) fn of(stream: Stream) -> Self {
        let Stream { request, response, filter_state, local_reply, replies_ordered, upstream_reset, reset, callbacks, fuel, .. } = stream;
        let no_body = request.passed.headers.as_ref().and_then(|headers| headers.text(":method")) == Some("HEAD")
            || response.passed.headers.as_ref().and_then(|headers| headers.text(":status")) == Some("304");
        let client = match reset {
            Some(details) => Client::Reset(details),
            None if response.falls_short() && !no_body => Client::Hangs(SHORT),
            None if response.passed.complete => Client::Reply(seen_reply(&response, local_reply.is_some())),
            None => Client::Hangs(reason(&request, &response)),
        };
        let complete = request.passed.complete && !request.falls_short();
        let readable_bytes = request.readable_bytes();
        let upstream = request.passed.headers.map(|headers| SeenRequest {
            headers,
            body: request.passed.body.into_iter().take(readable_bytes).collect(),
            trailers: request.passed.trailers,
            complete,
            // Whoever waits in vain gives up in the end, and the gateway then drops the upstream too.
            reset: upstream_reset || !complete || !response.passed.complete,
        });
        Self { upstream, client, local_reply, replies_ordered, filter_state, callbacks, fuel }
    }
}

fn seen_reply(response: &Half, local: bool) -> SeenReply {
    let headers = response.passed.headers.clone().unwrap_or_default();
    SeenReply {
        status: headers.text(":status").and_then(|status| status.parse().ok()).unwrap_or(0),
        body: response.passed.body.iter().copied().take(response.readable_bytes()).collect(),
        trailers: response.passed.trailers.clone(),
        headers,
        local,
    }
}

fn reason(request: &Half, response: &Half) -> &'static str {
    request
        .stuck
        .or(response.stuck)
        .or(request.falls_short().then_some(SHORT))
        .or((!request.passed.complete).then_some("the plugin holds the request, and nothing will wake it"))
        .unwrap_or("the plugin holds the response, and nothing will wake it")
}
