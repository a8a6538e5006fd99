//! A real HTTP/1.1 gateway before one upstream, with the plugin in it: Envoy's part on one machine, for trying out and for small set-ups.
//!
//! Each VM of the plugin has a thread of its own, as in Envoy. What the plugin holds is not sent on, headers included: the upstream is
//! called when the first body bytes may pass, so it learns nothing of a request that is refused.

mod access;
mod admin;
mod answer;
mod exchange;
mod failure;
mod fields;
mod server;
mod source;
mod stream;
mod upstream;
mod vm;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::runtime::Engine;

pub use server::Server;

/// Errors of bodies and services; hyper wants them boxed.
type BoxError = Box<dyn std::error::Error + Send + Sync>;
/// Bodies in both directions.
type Body = http_body_util::combinators::UnsyncBoxBody<bytes::Bytes, BoxError>;

/// How to serve.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where clients connect; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where `/metrics` and `/ready` are, if anywhere.
    pub admin: Option<SocketAddr>,
    /// The upstream: `http://host:port`.
    pub upstream: String,
    /// The plugin's configuration as JSON text.
    pub config: String,
    /// The built plugin.
    pub wasm: PathBuf,
    /// What runs it.
    pub engine: Engine,
    /// Number of VMs, each on a thread of its own.
    pub workers: usize,
    /// Requests at once; one more is answered 503.
    pub max_requests: usize,
    /// Connections at once; one more waits.
    pub max_connections: usize,
    /// Body bytes that are kept for a request that the plugin holds; one more is answered 413.
    pub max_held_bytes: usize,
    /// Longest silence: of the upstream before its answer, and of either side within a body.
    pub timeout: Duration,
    /// Time that open requests get to end when the server stops.
    pub grace: Duration,
}
