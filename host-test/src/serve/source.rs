//! The client's body on its way through the plugin to the upstream.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt as _, Empty, Full, StreamBody};
use hyper::body::{Body as _, Frame, Incoming};
use tokio::sync::oneshot;

use super::failure::{Failure, Stop};
use super::stream::Stream;
use super::{Body, BoxError, fields};
use crate::emulator::{Look, Passed};

/// A client that is refused while it still sends is read on this far, so that it reads the answer before the connection closes.
const DRAINED_BYTES: usize = 16 << 20;
const DRAINED_TIME: Duration = Duration::from_secs(1);

/// See the file's first line.
pub(super) struct Source {
    pub(super) stream: Arc<Stream>,
    pub(super) body: Incoming,
    /// Nothing more comes from the client.
    pub(super) ended: bool,
    /// The client sends its body only when asked to.
    pub(super) unasked: bool,
}

impl Source {
    /// Takes the next piece from the client through the plugin.
    pub(super) async fn advance(&mut self) -> Result<Passed, Stop> {
        if self.ended {
            return Err(Failure::Stuck.into());
        }
        // Asks for the body, if the client waits for that.
        self.unasked = false;
        let frame = tokio::time::timeout(self.stream.shared().timeout, self.body.frame()).await.map_err(|_| Failure::ClientSilent)?;
        let look = match frame.transpose().map_err(|_| Failure::ClientBroke)?.map(Frame::into_data) {
            Some(Ok(data)) => {
                self.stream.record().bytes_received += data.len();
                self.ended = self.body.is_end_stream();
                let last = self.ended;
                self.stream.step(move |gateway, id| gateway.send_chunk(id, &data, last)).await?
            }
            Some(Err(frame)) => {
                self.ended = true;
                let trailers = fields::of_trailers(frame.trailers_ref().ok_or(Failure::ClientBroke)?);
                self.stream.step(move |gateway, id| gateway.send_trailers(id, &trailers)).await?
            }
            None => {
                self.ended = true;
                self.stream.step(|gateway, id| gateway.send_chunk(id, &[], true)).await?
            }
        };
        unanswered(look)
    }

    /// Reads on for a moment what nobody wants any more.
    pub(super) async fn drain(mut self) {
        if self.ended || self.unasked {
            return;
        }
        let reading = async {
            let mut drained = 0;
            while let Some(Ok(frame)) = self.body.frame().await {
                drained += frame.data_ref().map_or(0, Bytes::len);
                if drained > DRAINED_BYTES {
                    break;
                }
            }
        };
        // Both ways out are as good.
        let _ = tokio::time::timeout(DRAINED_TIME, reading).await;
    }

    /// The body for the upstream: what passed already, then the rest as it comes. `stopped` hears why it ends early.
    pub(super) fn into_body(self, passed: Passed, stopped: oneshot::Sender<Stop>) -> Body {
        if passed.complete && passed.trailers.is_none() {
            let whole = Bytes::from(passed.body);
            return if whole.is_empty() {
                Empty::new().map_err(never).boxed_unsync()
            } else {
                Full::new(whole).map_err(never).boxed_unsync()
            };
        }
        let state = Pulling { complete: passed.complete, frames: frames(passed), source: self, stopped: Some(stopped) };
        let frames = stream::unfold(state, |mut state| async {
            let frame = state.next().await?;
            Some((frame, state))
        });
        StreamBody::new(frames).boxed_unsync()
    }
}

struct Pulling {
    source: Source,
    frames: std::vec::IntoIter<Frame<Bytes>>,
    complete: bool,
    /// Gone once it was told.
    stopped: Option<oneshot::Sender<Stop>>,
}

impl Pulling {
    async fn next(&mut self) -> Option<Result<Frame<Bytes>, BoxError>> {
        loop {
            if let Some(frame) = self.frames.next() {
                return Some(Ok(frame));
            }
            if self.complete {
                return None;
            }
            match self.source.advance().await {
                Ok(passed) => {
                    self.complete = passed.complete;
                    self.frames = frames(passed);
                }
                Err(stop) => {
                    self.complete = true;
                    let stopped = self.stopped.take()?;
                    // Nobody listens once the upstream has begun to answer; its connection breaks all the same.
                    let _ = stopped.send(stop);
                    return Some(Err("the request was stopped on its way".into()));
                }
            }
        }
    }
}

/// The request's part of a look, unless the request has been answered.
pub(super) fn unanswered(look: Look) -> Result<Passed, Stop> {
    if look.local { Err(Stop::Reply(Box::new(look.response))) } else { Ok(look.request) }
}

/// What passed, as a body's frames.
pub(super) fn frames(passed: Passed) -> std::vec::IntoIter<Frame<Bytes>> {
    let data = (!passed.body.is_empty()).then(|| Frame::data(Bytes::from(passed.body)));
    let trailers = passed.trailers.filter(|_| passed.complete).map(|trailers| Frame::trailers(fields::sent_on(&trailers)));
    data.into_iter().chain(trailers).collect::<Vec<_>>().into_iter()
}

/// Bodies from memory cannot fail.
pub(super) fn never(never: std::convert::Infallible) -> BoxError {
    match never {}
}
