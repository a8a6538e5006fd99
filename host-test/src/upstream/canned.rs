//! Answers that a test prepares: given headers, a body in given pieces, trailers.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::Frame;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{HeaderMap, Response};
use tokio::sync::Semaphore;

/// The body of an answer.
pub(super) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// A prepared answer with status 200.
#[derive(Clone, Debug, Default)]
pub struct Canned {
    /// Header fields.
    pub headers: Vec<(&'static str, String)>,
    /// The body; each piece is a frame of its own.
    pub chunks: Vec<Vec<u8>>,
    /// What the body ends in.
    pub trailers: Vec<(&'static str, &'static str)>,
    /// Each piece but the first waits for a permit of this, if it is there.
    pub gate: Option<Arc<Semaphore>>,
    /// Time before each piece.
    pub pause: Duration,
    /// It is given before the request's body came.
    pub early: bool,
}

impl Canned {
    /// An answer of this content-type in pieces.
    #[must_use]
    pub fn new(content_type: &str, chunks: impl IntoIterator<Item = impl Into<Vec<u8>>>) -> Self {
        let chunks = chunks.into_iter().map(Into::into).collect();
        Self { headers: vec![("content-type", content_type.to_owned())], chunks, ..Self::default() }
    }

    /// Adds a header field.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(super) fn response(self) -> Response<Body> {
        let pairs = self.trailers.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let trailers = (!self.trailers.is_empty()).then(|| Frame::trailers(pairs.collect::<HeaderMap>()));
        let frames: Vec<Frame<Bytes>> = self.chunks.into_iter().map(|chunk| Frame::data(chunk.into())).chain(trailers).collect();
        let (gate, pause) = (self.gate, self.pause);
        let frames = stream::unfold((frames.into_iter(), true), move |(mut left, first)| {
            let gate = gate.clone().filter(|_| !first);
            async move {
                let frame = left.next()?;
                if !pause.is_zero() {
                    tokio::time::sleep(pause).await;
                }
                if let Some(gate) = gate {
                    // It is never closed, and a permit is good for one piece.
                    gate.acquire().await.ok()?.forget();
                }
                Some((Ok(frame), (left, false)))
            }
        });
        let mut response = Response::new(StreamBody::new(frames).boxed_unsync());
        for (name, value) in self.headers {
            // A value that is none would be the test's own mistake; the answer then lacks it, which the test sees.
            if let Ok(value) = value.parse() {
                response.headers_mut().append(name, value);
            }
        }
        response
    }
}

/// Prepared answers by name. Cloning shares them.
#[derive(Clone, Debug, Default)]
pub(super) struct Shelf(Arc<Mutex<BTreeMap<String, Canned>>>);

impl Shelf {
    pub(super) fn put(&self, name: &str, canned: Canned) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), canned);
    }

    pub(super) fn get(&self, name: &str) -> Option<Canned> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }
}
