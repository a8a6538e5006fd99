//! What a request's headers say: whether its body is read, and as what.

use floodmark_core::Hint;

use crate::config::{OtherPaths, Settings};
use crate::host::Header;

/// The start of all header names that are ours.
pub const OWN_HEADERS: &str = "x-floodmark-";

/// A request's headers.
#[derive(Clone, Debug, Default)]
pub struct Request {
    headers: Vec<Header>,
}

/// What is to be done with a request's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// It is a protocol upgrade or a tunnel: its bytes are not a body.
    Upgrade,
    /// It is not looked at.
    Ignored,
    /// It is read and judged.
    Read(Hint),
    /// It would be read, but its `content-length` is over the cap.
    Oversize(Hint),
    /// It would be read, but its `content-encoding` is none that is read.
    Encoded(Hint),
}

impl Request {
    /// Takes the headers as the host gave them.
    pub fn new(headers: Vec<Header>) -> Self {
        Request { headers }
    }

    /// The first value of a header; names compare without regard to case.
    pub fn value(&self, name: &str) -> Option<&[u8]> {
        self.values(name).next()
    }

    /// The same as text; empty when it is missing or no UTF-8.
    pub fn text(&self, name: &str) -> &str {
        self.value(name).and_then(|value| core::str::from_utf8(value).ok()).unwrap_or_default()
    }

    /// Names of headers that only we may set.
    pub fn own_headers(&self) -> impl Iterator<Item = &str> {
        let names = self.headers.iter().filter_map(|(name, _)| core::str::from_utf8(name).ok());
        names.filter(|name| name.get(..OWN_HEADERS.len()).is_some_and(|start| start.eq_ignore_ascii_case(OWN_HEADERS)))
    }

    /// What is to be done with the body. A listed path wins over every header, since servers there read JSON whatever the headers say.
    pub fn body(&self, settings: &Settings) -> Body {
        if self.is_upgrade() {
            return Body::Upgrade;
        }
        let path = self.text(":path");
        let path = path.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
        let listed = settings.paths.iter().find(|listed| path.ends_with(listed.suffix.trim_end_matches('/')));
        let hint = Hint { ai_path: listed.is_some(), format: listed.and_then(|listed| listed.format).map(Into::into) };
        if !hint.ai_path && !(settings.other_paths == OtherPaths::Json && self.may_be_json()) {
            return Body::Ignored;
        }
        if self.values("content-encoding").any(|value| !matches!(value.trim_ascii(), b"" | b"identity")) {
            return Body::Encoded(hint);
        }
        let length = core::str::from_utf8(self.value("content-length").unwrap_or_default()).ok().and_then(|length| length.trim().parse::<u64>().ok());
        if length.is_some_and(|length| length > u64::from(settings.max_body_bytes)) {
            return Body::Oversize(hint);
        }
        Body::Read(hint)
    }

    /// CONNECT, or a GET that asks for an upgrade. Any other method with an `upgrade` header is an ordinary request to most servers, so
    /// the header must not hide its body.
    fn is_upgrade(&self) -> bool {
        let method = self.value(":method").unwrap_or_default();
        method == b"CONNECT" || (method == b"GET" && self.value("upgrade").is_some() && self.value("content-length").is_none())
    }

    fn may_be_json(&self) -> bool {
        self.values("content-type").all(|value| {
            let kind = value.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii().to_ascii_lowercase();
            kind.is_empty() || kind.ends_with(b"/json") || kind.ends_with(b"+json")
        })
    }

    fn values(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        self.headers.iter().filter(move |(own, _)| own.eq_ignore_ascii_case(name.as_bytes())).map(|(_, value)| value.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use floodmark_core::wire::Format;

    fn body(headers: &[(&str, &str)]) -> Body {
        let headers = headers.iter().map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec())).collect();
        Request::new(headers).body(&Settings::default())
    }

    const OPENAI: Hint = Hint { ai_path: true, format: Some(Format::OpenAiChat) };
    const OTHER: Hint = Hint { ai_path: false, format: None };

    #[test]
    fn paths_win_over_headers() {
        for path in ["/v1/chat/completions", "/openai/deployments/x/chat/completions?api-version=1", "/chat/completions/"] {
            assert_eq!(body(&[(":method", "POST"), (":path", path)]), Body::Read(OPENAI));
        }
        let disguised = [(":path", "/v1/chat/completions"), ("content-type", "application/grpc"), ("upgrade", "websocket"), (":method", "POST")];
        assert_eq!(body(&disguised), Body::Read(OPENAI));
        let anthropic = Hint { ai_path: true, format: Some(Format::AnthropicMessages) };
        assert_eq!(body(&[(":path", "/v1/messages")]), Body::Read(anthropic));
    }

    #[test]
    fn other_paths_are_read_when_they_may_hold_json() {
        for kind in ["application/json", "Application/JSON; charset=utf-8", "application/vnd.api+json", ""] {
            assert_eq!(body(&[(":path", "/x"), ("content-type", kind)]), Body::Read(OTHER), "{kind}");
        }
        assert_eq!(body(&[(":path", "/x")]), Body::Read(OTHER));
        for kind in ["application/octet-stream", "multipart/form-data; boundary=x", "application/grpc", "text/plain", "application/jsonx"] {
            assert_eq!(body(&[(":path", "/x"), ("content-type", kind)]), Body::Ignored, "{kind}");
        }
        assert_eq!(body(&[(":path", "/chat/completionsx"), ("content-type", "text/plain")]), Body::Ignored);
    }

    #[test]
    fn what_cannot_be_read_is_known_from_the_headers() {
        assert_eq!(body(&[(":path", "/chat/completions"), ("content-length", "1000001")]), Body::Oversize(OPENAI));
        assert_eq!(body(&[(":path", "/chat/completions"), ("content-length", "1000000")]), Body::Read(OPENAI));
        assert_eq!(body(&[(":path", "/x"), ("content-length", "99999999999999999999")]), Body::Read(OTHER));
        assert_eq!(body(&[(":path", "/chat/completions"), ("content-encoding", "gzip")]), Body::Encoded(OPENAI));
        assert_eq!(body(&[(":path", "/chat/completions"), ("content-encoding", "identity"), ("content-encoding", "br")]), Body::Encoded(OPENAI));
    }

    #[test]
    fn upgrades_are_left_alone() {
        assert_eq!(body(&[(":method", "GET"), (":path", "/chat/completions"), ("upgrade", "websocket")]), Body::Upgrade);
        assert_eq!(body(&[(":method", "CONNECT"), (":path", "/chat/completions")]), Body::Upgrade);
    }
}
