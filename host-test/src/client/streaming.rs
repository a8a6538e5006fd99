//! An answer that is read piece by piece.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

/// An answer whose head has come.
#[derive(Debug)]
pub struct Streaming {
    pub(super) started: Instant,
    pub(super) timeout: Duration,
    pub(super) address: SocketAddr,
    pub(super) body: Incoming,
    /// Status code.
    pub status: u16,
}

impl Streaming {
    /// The next piece of the body; `None` at its end. Trailers are passed over.
    ///
    /// # Errors
    /// When the server breaks off or nothing comes within the call's timeout.
    pub async fn next(&mut self) -> anyhow::Result<Option<Bytes>> {
        loop {
            let Ok(frame) = tokio::time::timeout(self.timeout, self.body.frame()).await else {
                bail!("no further piece of the answer from {} within {} ms", self.address, self.timeout.as_millis());
            };
            let Some(frame) = frame else { return Ok(None) };
            if let Ok(data) = frame.with_context(|| format!("the answer from {} broke off", self.address))?.into_data() {
                return Ok(Some(data));
            }
        }
    }

    /// All that is left of the body.
    ///
    /// # Errors
    /// As for [`Streaming::next`].
    pub async fn rest(&mut self) -> anyhow::Result<Vec<u8>> {
        let mut all = Vec::new();
        while let Some(piece) = self.next().await? {
            all.extend_from_slice(&piece);
        }
        Ok(all)
    }

    /// Time since the request was sent.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}
