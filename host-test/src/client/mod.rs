//! A small HTTP client for tests, demo and bench: one request with a body cut and paced as told.

mod body;
mod connect;
mod streaming;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::Request;

use crate::upstream::ID_HEADER;

pub use connect::Connection;
pub use streaming::Streaming;

/// Longest wait for one whole answer unless a call says otherwise.
pub const TIMEOUT: Duration = Duration::from_secs(30);

/// Protocol that a call speaks to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2 without TLS, by prior knowledge.
    Http2,
}

/// One request to send.
#[derive(Clone, Debug)]
pub struct Call {
    method: String,
    path: String,
    host: Option<String>,
    headers: Vec<(String, String)>,
    chunks: Vec<Bytes>,
    pause: Duration,
    trailers: Vec<(String, String)>,
    length_known: bool,
    protocol: Protocol,
    timeout: Duration,
}

/// A whole answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// Header names in lower case with their values, in wire order.
    pub headers: Vec<(String, String)>,
    /// Body bytes.
    pub body: Bytes,
    /// What the body ended in.
    pub trailers: Vec<(String, String)>,
    /// From the first byte sent on an open connection to the last byte received.
    pub elapsed: Duration,
}

impl Call {
    /// A GET.
    #[must_use]
    pub fn get(path: &str) -> Self {
        Self {
            method: "GET".to_owned(),
            path: path.to_owned(),
            host: None,
            headers: Vec::new(),
            chunks: Vec::new(),
            pause: Duration::ZERO,
            trailers: Vec::new(),
            length_known: true,
            protocol: Protocol::Http1,
            timeout: TIMEOUT,
        }
    }

    /// A HEAD.
    #[must_use]
    pub fn head(path: &str) -> Self {
        Self { method: "HEAD".to_owned(), ..Self::get(path) }
    }

    /// Another method.
    #[must_use]
    pub fn method(mut self, method: &str) -> Self {
        method.clone_into(&mut self.method);
        self
    }

    /// A POST of `body` as JSON, with a content-length.
    #[must_use]
    pub fn post(path: &str, body: impl Into<Bytes>) -> Self {
        let call = Self { method: "POST".to_owned(), chunks: vec![body.into()], ..Self::get(path) };
        call.header("content-type", "application/json")
    }

    /// The upstream's journal, the access log and the plugin's event all go by this id.
    #[must_use]
    pub fn id(self, id: &str) -> Self {
        self.header(ID_HEADER, id).header("x-request-id", id)
    }

    /// Sets a header; a second `content-type` replaces the first, other names repeat.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        if name == "content-type" {
            self.headers.retain(|(n, _)| n != name);
        }
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends `host` instead of the server's address.
    #[must_use]
    pub fn host(mut self, host: &str) -> Self {
        self.host = Some(host.to_owned());
        self
    }

    /// Sends the body in pieces of the given sizes (the last size repeats) with `pause` between them, and without a
    /// content-length: chunked in HTTP/1.1, plain DATA frames in HTTP/2.
    #[must_use]
    pub fn cut(mut self, sizes: &[usize], pause: Duration) -> Self {
        self.chunks = body::cut(&self.chunks.concat(), sizes);
        self.pause = pause;
        self.length_known = false;
        self
    }

    /// Ends the body `pause` after its last byte: in HTTP/2 with an empty frame, which is allowed beside a content-length.
    #[must_use]
    pub fn end_late(mut self, pause: Duration) -> Self {
        self.chunks.push(Bytes::new());
        self.pause = pause;
        self
    }

    /// Ends the body in a trailer; drops the content-length, which HTTP/1.1 does not allow beside one.
    #[must_use]
    pub fn trailer(mut self, name: &str, value: &str) -> Self {
        self.trailers.push((name.to_owned(), value.to_owned()));
        self.length_known = false;
        self
    }

    /// Speaks `protocol`.
    #[must_use]
    pub fn over(mut self, protocol: Protocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// Gives up after `timeout`.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Opens a connection of its own and sends the call.
    ///
    /// # Errors
    /// When the server cannot be reached, breaks off, or the timeout passes.
    pub async fn send(self, address: SocketAddr) -> anyhow::Result<Answer> {
        let mut connection = Connection::open(address, self.protocol).await?;
        connection.send(self).await
    }

    fn request(&self, address: SocketAddr) -> anyhow::Result<Request<body::Body>> {
        let host = self.host.clone().unwrap_or_else(|| address.to_string());
        let mut builder = Request::builder().method(self.method.as_str());
        builder = match self.protocol {
            Protocol::Http1 => builder.uri(&self.path).header("host", host),
            Protocol::Http2 => builder.uri(format!("http://{host}{}", self.path)).version(hyper::Version::HTTP_2),
        };
        for (name, value) in &self.headers {
            builder = builder.header(name, value);
        }
        if self.length_known && !self.chunks.is_empty() {
            builder = builder.header("content-length", self.chunks.iter().map(Bytes::len).sum::<usize>());
        }
        if !self.trailers.is_empty() && self.protocol == Protocol::Http1 {
            builder = builder.header("trailer", self.trailers.iter().map(|(n, _)| n.as_str()).collect::<Vec<_>>().join(", "));
        }
        let body = body::stream(self.chunks.clone(), self.pause, &self.trailers)?;
        builder.body(body).with_context(|| format!("the request {} {} cannot be written", self.method, self.path))
    }
}

impl Answer {
    /// First value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// The body as text, with replacement characters where it is not UTF-8.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// When it is not JSON; the message shows the body.
    pub fn json(&self) -> anyhow::Result<serde_json::Value> {
        serde_json::from_slice(&self.body).with_context(|| format!("the answer {} is not JSON: {}", self.status, self.text()))
    }

    async fn read(response: hyper::Response<hyper::body::Incoming>, started: Instant) -> anyhow::Result<Self> {
        let (head, body) = response.into_parts();
        let body = body.collect().await.context("the answer broke off")?;
        let trailers = body.trailers().map_or_else(Vec::new, pairs);
        let headers = pairs(&head.headers);
        Ok(Self { status: head.status.as_u16(), headers, body: body.to_bytes(), trailers, elapsed: started.elapsed() })
    }
}

fn pairs(headers: &hyper::HeaderMap) -> Vec<(String, String)> {
    headers.iter().map(|(n, v)| (n.as_str().to_owned(), String::from_utf8_lossy(v.as_bytes()).into_owned())).collect()
}
