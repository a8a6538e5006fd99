//! A small model provider on 127.0.0.1 that writes down everything a request brought.

mod journal;
mod reply;
mod serve;

use std::net::SocketAddr;

use anyhow::Context as _;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub use journal::{Ending, Journal, Received};

/// Requests with this header are written to the journal under its value; others are only answered.
pub const ID_HEADER: &str = "x-test-id";
/// `name=value` in this request header is added to the response: a provider that sends headers of ours.
pub const REPLY_HEADER: &str = "x-upstream-reply-header";

/// A running provider: HTTP/1.1 and HTTP/2 by prior knowledge on one port, stopped on drop.
///
/// It answers `.../chat/completions` in OpenAI's shape, `.../messages` in Anthropic's, echoes websocket frames, and
/// answers anything else with the number of body bytes it got.
#[derive(Debug)]
pub struct Upstream {
    address: SocketAddr,
    journal: Journal,
    accepting: JoinHandle<()>,
}

impl Upstream {
    /// Starts the server on a free port of 127.0.0.1; needs a tokio runtime.
    ///
    /// # Errors
    /// When no port can be bound.
    pub async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("cannot open a port for the upstream on 127.0.0.1")?;
        let address = listener.local_addr().context("cannot read the upstream's own port")?;
        let journal = Journal::default();
        let accepting = tokio::spawn(serve::accept(listener, journal.clone()));
        Ok(Self { address, journal, accepting })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it received so far.
    #[must_use]
    pub fn journal(&self) -> &Journal {
        &self.journal
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}
