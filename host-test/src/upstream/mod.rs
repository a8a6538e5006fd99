//! A small model provider on 127.0.0.1 that writes down everything a request brought.

mod canned;
mod completion;
mod journal;
mod reply;
mod serve;

use std::net::SocketAddr;

use anyhow::Context as _;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub use canned::Canned;
pub use completion::completion_events;
pub use journal::{Ending, Journal, Received};

/// Requests with this header are written to the journal under its value; others are only answered.
pub const ID_HEADER: &str = "x-test-id";
/// `name=value` in this request header is added to the response: a provider that sends headers of ours.
pub const REPLY_HEADER: &str = "x-upstream-reply-header";

/// Requests with this header get the answer that was prepared under its value.
pub const CANNED_HEADER: &str = "x-upstream-canned";

/// A running provider: HTTP/1.1 and HTTP/2 by prior knowledge on one port, stopped on drop.
///
/// It answers `.../chat/completions` in OpenAI's shape, `.../messages` in Anthropic's, echoes websocket frames, and
/// answers anything else with the number of body bytes it got.
#[derive(Debug)]
pub struct Upstream {
    address: SocketAddr,
    journal: Journal,
    shelf: canned::Shelf,
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
        let shelf = canned::Shelf::default();
        let accepting = tokio::spawn(serve::accept(listener, journal.clone(), shelf.clone()));
        Ok(Self { address, journal, shelf, accepting })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Prepares an answer for requests whose [`CANNED_HEADER`] is `name`.
    pub fn prepare(&self, name: &str, canned: Canned) {
        self.shelf.put(name, canned);
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

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::client::{Call, Protocol};

    #[tokio::test]
    async fn what_a_client_sends_is_in_the_journal() {
        let upstream = Upstream::start().await.unwrap();
        for (protocol, version) in [(Protocol::Http1, "HTTP/1.1"), (Protocol::Http2, "HTTP/2.0")] {
            let id = format!("{protocol:?}");
            let call = Call::post("/v1/chat/completions?x=1", r#"{"model":"m"}"#).over(protocol).id(&id).header(REPLY_HEADER, "x-a=b");
            let answer = call.cut(&[1, 4], Duration::ZERO).trailer("x-sum", "7").send(upstream.address()).await.unwrap();
            assert_eq!((answer.status, answer.header("x-a")), (200, Some("b")));
            assert_eq!(answer.json().unwrap()["model"], "m");
            let received = upstream.journal().received(&id);
            assert_eq!(received.len(), 1);
            let Received { method, path, version: spoken, body, trailers, ending, .. } = &received[0];
            assert_eq!((method.as_str(), path.as_str(), spoken.as_str()), ("POST", "/v1/chat/completions?x=1", version));
            assert_eq!((&body[..], ending), (&br#"{"model":"m"}"#[..], &Ending::Clean));
            assert_eq!(trailers, &[("x-sum".to_owned(), b"7".to_vec())]);
            assert_eq!(received[0].header("content-type").as_deref(), Some("application/json"));
        }
        assert_eq!(upstream.journal().open(), 0);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_body_that_breaks_off_shows_as_reset() {
        let upstream = Upstream::start().await.unwrap();
        let mut socket = std::net::TcpStream::connect(upstream.address()).unwrap();
        write!(socket, "POST / HTTP/1.1\r\nhost: x\r\nx-test-id: broken\r\ncontent-length: 10\r\n\r\nabc").unwrap();
        let seen = |wanted: Ending| {
            let journal = upstream.journal().clone();
            async move {
                let started = Instant::now();
                while journal.received("broken").first().is_none_or(|r| r.ending != wanted || r.body != b"abc") {
                    assert!(started.elapsed() < Duration::from_secs(30), "never {wanted:?}: {:?}", journal.received("broken"));
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
        };
        seen(Ending::Open).await;
        assert_eq!(upstream.journal().open(), 1);
        drop(socket);
        seen(Ending::Reset).await;
        assert_eq!(upstream.journal().open(), 0);
    }
}
