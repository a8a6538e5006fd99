//! The upstream's answer on its way through the plugin to the client, piece by piece as it comes.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt as _, Empty, Full, StreamBody};
use hyper::body::{Body as _, Frame, Incoming};
use hyper::{Response, StatusCode};

use super::failure::{Failure, Stop};
use super::source::{frames, never};
use super::stream::Stream;
use super::{Body, BoxError, fields};
use crate::emulator::{Headers, Passed};

/// See the file's first line.
pub(super) struct Answer {
    stream: Arc<Stream>,
    upstream: Incoming,
    ended: bool,
}

impl Answer {
    /// Passes the answer through the plugin until its headers may go to the client; the rest follows as the response is read.
    ///
    /// # Errors
    /// When the plugin breaks the stream, or the upstream breaks off before the client is told anything.
    pub(super) async fn begin(stream: Arc<Stream>, response: Response<Incoming>, bodyless: bool) -> Result<Response<Body>, Stop> {
        let (head, upstream) = response.into_parts();
        stream.record().details = "via_upstream".to_owned();
        let (headers, ended) = (fields::of_response(&head), upstream.is_end_stream() || bodyless);
        let look = stream.step(move |gateway, id| gateway.respond_headers(id, headers, ended)).await?;
        let mut answer = Self { stream, upstream, ended };
        let mut passed = look.response;
        while passed.headers.is_none() {
            passed = answer.advance().await?;
        }
        let headers = passed.headers.take().unwrap_or_default();
        let stream = Arc::clone(&answer.stream);
        // An answer without a body may announce the one that it would have.
        let bytes = (passed.complete && !passed.body.is_empty()).then_some(passed.body.len());
        let body = if passed.complete && passed.trailers.is_none() { whole(&stream, passed.body) } else { answer.into_body(passed) };
        let mut response = response_of(&stream, &headers, body);
        if let Some(bytes) = bytes {
            fields::correct_length(response.headers_mut(), bytes);
        }
        Ok(response)
    }

    async fn advance(&mut self) -> Result<Passed, Stop> {
        if self.ended {
            return Err(Failure::Stuck.into());
        }
        let frame = tokio::time::timeout(self.stream.shared().timeout, self.upstream.frame()).await.map_err(|_| Failure::UpstreamSilent)?;
        let look = match frame.transpose().map_err(|_| Failure::UpstreamBroke)?.map(Frame::into_data) {
            Some(Ok(data)) => {
                self.ended = self.upstream.is_end_stream();
                let last = self.ended;
                self.stream.step(move |gateway, id| gateway.respond_chunk(id, &data, last)).await?
            }
            Some(Err(frame)) => {
                self.ended = true;
                let trailers = fields::of_trailers(frame.trailers_ref().ok_or(Failure::UpstreamBroke)?);
                self.stream.step(move |gateway, id| gateway.respond_trailers(id, &trailers)).await?
            }
            None => {
                self.ended = true;
                self.stream.step(|gateway, id| gateway.respond_chunk(id, &[], true)).await?
            }
        };
        Ok(look.response)
    }

    fn into_body(self, passed: Passed) -> Body {
        let state = Pulling { complete: passed.complete, frames: frames(passed), answer: self };
        let frames = stream::unfold(state, |mut state| async {
            let frame = state.next().await?;
            Some((frame, state))
        });
        StreamBody::new(frames).boxed_unsync()
    }
}

struct Pulling {
    answer: Answer,
    frames: std::vec::IntoIter<Frame<Bytes>>,
    complete: bool,
}

impl Pulling {
    async fn next(&mut self) -> Option<Result<Frame<Bytes>, BoxError>> {
        loop {
            if let Some(frame) = self.frames.next() {
                self.answer.stream.record().bytes_sent += frame.data_ref().map_or(0, Bytes::len);
                return Some(Ok(frame));
            }
            if self.complete {
                return None;
            }
            match self.answer.advance().await {
                Ok(passed) => {
                    self.complete = passed.complete;
                    self.frames = frames(passed);
                }
                Err(stop) => {
                    self.complete = true;
                    let details = stop.details().to_owned();
                    self.answer.stream.record().details.clone_from(&details);
                    // The headers are out: all that is left is to break the connection, so that the client knows.
                    return Some(Err(details.into()));
                }
            }
        }
    }
}

impl Drop for Pulling {
    fn drop(&mut self) {
        if !self.complete {
            "client_closed".clone_into(&mut self.answer.stream.record().details);
        }
    }
}

/// The response in the upstream's place.
pub(super) fn local(stream: &Stream, passed: Passed) -> Response<Body> {
    let headers = passed.headers.unwrap_or_default();
    let body = whole(stream, passed.body);
    response_of(stream, &headers, body)
}

fn whole(stream: &Stream, body: Vec<u8>) -> Body {
    stream.record().bytes_sent += body.len();
    if body.is_empty() { Empty::new().map_err(never).boxed_unsync() } else { Full::new(Bytes::from(body)).map_err(never).boxed_unsync() }
}

fn response_of(stream: &Stream, headers: &Headers, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let status = headers.text(":status").and_then(|status| status.parse::<StatusCode>().ok());
    *response.status_mut() = status.unwrap_or(StatusCode::BAD_GATEWAY);
    *response.headers_mut() = fields::sent_on(headers);
    stream.record().status = Some(response.status().as_u16());
    response
}
