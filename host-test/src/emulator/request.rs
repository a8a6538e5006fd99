//! What a test sends into the gateway: a client's request, and the upstream's answer to it.

use std::marker::PhantomData;

use super::headers::Headers;

/// Marks a [`Message`] as a client's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FromClient {}

/// Marks a [`Message`] as the upstream's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FromUpstream {}

/// A client's request.
pub type Request = Message<FromClient>;

/// What the upstream answers once it has the whole request.
pub type UpstreamReply = Message<FromUpstream>;

/// A message as it arrives at the gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message<From> {
    /// All fields, pseudo-header fields such as `:method` or `:status` first.
    pub headers: Headers,
    /// The body as it arrives, one callback each. An empty last chunk is how HTTP/2 and chunked bodies often end.
    pub chunks: Vec<Vec<u8>>,
    /// Trailers; with them the body never says end of stream.
    pub trailers: Option<Headers>,
    /// Where a request comes from, as Envoy's `source.address` says it: address and port. Without it the property is not found.
    pub source: Option<String>,
    from: PhantomData<From>,
}

impl Request {
    /// A request without a body.
    #[must_use]
    pub fn new(method: &str, path: &str) -> Self {
        Self::of([(":method", method), (":path", path), (":authority", "gateway.test"), (":scheme", "http")].into_iter().collect())
    }

    /// A request of which only the headers are known yet; `last` when nothing follows them.
    #[must_use]
    pub fn from_headers(headers: Headers, last: bool) -> Self {
        let chunks = if last { Vec::new() } else { vec![Vec::new()] };
        Self { chunks, ..Self::of(headers) }
    }

    /// Says where it comes from.
    #[must_use]
    pub fn from_address(self, address: impl ToString) -> Self {
        Self { source: Some(address.to_string()), ..self }
    }

    /// A JSON body in one piece with its length announced.
    #[must_use]
    pub fn post_json(path: &str, body: impl Into<Vec<u8>>) -> Self {
        Self::new("POST", path).json_body(body.into())
    }
}

impl UpstreamReply {
    /// A reply with a JSON body in one piece.
    #[must_use]
    pub fn json(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self::of([(":status", status.to_string())].into_iter().collect()).json_body(body.into())
    }

    /// 200 with `{}`.
    #[must_use]
    pub fn ok() -> Self {
        Self::json(200, "{}")
    }
}

impl<From> Message<From> {
    fn of(headers: Headers) -> Self {
        Self { headers, chunks: Vec::new(), trailers: None, source: None, from: PhantomData }
    }

    fn json_body(self, body: Vec<u8>) -> Self {
        let length = body.len().to_string();
        self.header("content-type", "application/json").chunks([body]).header("content-length", &length)
    }

    /// Adds a header field.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.add(name, value);
        self
    }

    /// Sets the body's chunks, without announcing their length.
    #[must_use]
    pub fn chunks(mut self, chunks: impl IntoIterator<Item = impl Into<Vec<u8>>>) -> Self {
        self.headers.remove("content-length");
        self.chunks = chunks.into_iter().map(Into::into).collect();
        self
    }

    /// Ends the message in trailers.
    #[must_use]
    pub fn trailers<'a>(mut self, fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        self.trailers = Some(fields.into_iter().collect());
        self
    }
}
