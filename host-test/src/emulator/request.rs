//! What a test sends into the gateway: a client's request, and the upstream's answer to it.

use super::headers::Headers;

/// A client's request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// All fields, pseudo-header fields first.
    pub headers: Headers,
    /// The body as it arrives, one callback each. An empty last chunk is how HTTP/2 and chunked bodies often end.
    pub chunks: Vec<Vec<u8>>,
    /// Trailers; with them the body never says end of stream.
    pub trailers: Option<Headers>,
}

impl Request {
    /// A request without a body.
    #[must_use]
    pub fn new(method: &str, path: &str) -> Self {
        let headers = [(":method", method), (":path", path), (":authority", "gateway.test"), (":scheme", "http")];
        Self { headers: headers.into_iter().collect(), chunks: Vec::new(), trailers: None }
    }

    /// A JSON body in one piece with its length announced.
    #[must_use]
    pub fn post_json(path: &str, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        Self::new("POST", path).header("content-type", "application/json").header("content-length", &body.len().to_string()).chunks([body])
    }

    /// Adds a header field.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.add(name, value);
        self
    }

    /// Sets the body's chunks.
    #[must_use]
    pub fn chunks(mut self, chunks: impl IntoIterator<Item = impl Into<Vec<u8>>>) -> Self {
        self.chunks = chunks.into_iter().map(Into::into).collect();
        self
    }

    /// Ends the request in trailers.
    #[must_use]
    pub fn trailers<'a>(mut self, fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        self.trailers = Some(fields.into_iter().collect());
        self
    }
}

/// What the upstream answers once it has the whole request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamReply {
    /// All fields, `:status` first.
    pub headers: Headers,
    /// The body as it arrives.
    pub chunks: Vec<Vec<u8>>,
    /// Trailers.
    pub trailers: Option<Headers>,
}

impl UpstreamReply {
    /// A reply with a JSON body in one piece.
    #[must_use]
    pub fn json(status: u16, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        let headers =
            [(":status", status.to_string()), ("content-type", "application/json".to_owned()), ("content-length", body.len().to_string())];
        Self { headers: headers.into_iter().collect(), chunks: vec![body], trailers: None }
    }

    /// 200 with `{}`.
    #[must_use]
    pub fn ok() -> Self {
        Self::json(200, "{}")
    }

    /// Adds a header field.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.add(name, value);
        self
    }

    /// Sets the body's chunks.
    #[must_use]
    pub fn chunks(mut self, chunks: impl IntoIterator<Item = impl Into<Vec<u8>>>) -> Self {
        self.chunks = chunks.into_iter().map(Into::into).collect();
        self
    }

    /// Ends the reply in trailers.
    #[must_use]
    pub fn trailers<'a>(mut self, fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        self.trailers = Some(fields.into_iter().collect());
        self
    }
}
