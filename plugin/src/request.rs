//! What a request's headers say: whether its body is read, and as what.

use floodmark_core::Hint;
use floodmark_core::wire::IssueKind;

use crate::config::{OtherPaths, Settings};
use crate::headers::Fields;
use crate::host::Header;
use crate::labels::{OWN_HEADERS, TOKEN_HEADER};
use crate::path;

/// A request's headers.
#[derive(Clone, Debug, Default)]
pub struct Request {
    fields: Fields,
    path: String,
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
    /// It is read and judged if it begins like JSON.
    ReadIfJson(Hint),
    /// It would be read, but its `content-length` is over the cap.
    Oversize(Hint),
    /// It would be read, but its `content-encoding` is none that is read.
    Encoded(Hint),
}

impl Body {
    /// What is known of the body; nothing of one that is not read.
    pub fn hint(&self) -> Hint {
        match *self {
            Body::Upgrade | Body::Ignored => Hint::default(),
            Body::Read(hint) | Body::ReadIfJson(hint) | Body::Oversize(hint) | Body::Encoded(hint) => hint,
        }
    }
}

impl Request {
    /// Takes the headers as the host gave them; none when they could not be had.
    pub fn new(headers: Vec<Header>) -> Self {
        let fields = Fields::new(headers);
        let path = path::normalize(fields.value(":path").unwrap_or_default());
        Request { fields, path }
    }

    /// Its header fields.
    pub fn fields(&self) -> &Fields {
        &self.fields
    }

    /// The normalized path.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The value of a header that comes once.
    pub fn only_value(&self, name: &str) -> Option<&[u8]> {
        let mut values = self.fields.values(name);
        values.next().filter(|_| values.next().is_none())
    }

    /// The host that was asked for; empty when it is missing or no UTF-8.
    pub fn host(&self) -> &str {
        self.fields.value(":authority").and_then(|value| core::str::from_utf8(value).ok()).unwrap_or_default()
    }

    /// Names of headers that only we may set, also as servers read them that take `_` for `-`.
    pub fn own_headers(&self) -> impl Iterator<Item = &str> {
        self.fields
            .names()
            .filter(|name| name.get(..OWN_HEADERS.len()).is_some_and(|start| start.replace('_', "-").eq_ignore_ascii_case(OWN_HEADERS)))
    }

    /// Names of headers that bring a token of the endpoints, also as servers read them that take `_` for `-`; each as often as it comes.
    pub fn token_headers(&self) -> impl Iterator<Item = &str> {
        self.fields.names().filter(|name| name.replace('_', "-").eq_ignore_ascii_case(TOKEN_HEADER))
    }

    /// What is to be done with the body; `exemptions` go into its hint. A listed path wins over every header, since servers there read JSON whatever the headers say; so
    /// does a request whose headers could not be had.
    pub fn body(&self, settings: &Settings, exemptions: u64) -> Body {
        if self.fields.is_unknown() {
            return Body::Read(Hint { ai_path: true, exemptions, ..Hint::default() });
        }
        if self.is_upgrade() {
            return Body::Upgrade;
        }
        let listed = settings.paths.iter().find(|listed| path::ends_with(&self.path, &listed.suffix));
        let format = listed.and_then(|listed| listed.format).map(Into::into);
        let issue = self.fields.foreign_charset().then_some(IssueKind::Charset);
        let hint = Hint { ai_path: listed.is_some(), format, issue, exemptions, ..Hint::default() };
        if !hint.ai_path && (settings.other_paths == OtherPaths::Ignore || self.is_grpc()) {
            return Body::Ignored;
        }
        let unknown_coding = self.fields.codings().is_none();
        if !hint.ai_path {
            // Many servers do not heed the coding of a request, so a body that is JSON as it stands is looked at all the same.
            let issue = if unknown_coding { Some(IssueKind::ContentEncoding) } else { hint.issue };
            return Body::ReadIfJson(Hint { issue, ..hint });
        }
        if unknown_coding {
            return Body::Encoded(hint);
        }
        match self.fields.length_bytes() {
            Some(bytes) if bytes > u64::from(settings.max_body_bytes) => Body::Oversize(hint),
            _ => Body::Read(hint),
        }
    }

    /// CONNECT, or a GET that asks for an upgrade. Any other method with an `upgrade` header is an ordinary request to most servers, so
    /// the header must not hide its body.
    fn is_upgrade(&self) -> bool {
        let value = |name| self.fields.value(name);
        let method = value(":method").unwrap_or_default();
        method == b"CONNECT" || (method == b"GET" && value("upgrade").is_some() && value("content-length").is_none())
    }

    fn is_grpc(&self) -> bool {
        self.fields.any_word("content-type", &mut |kind| kind.starts_with(b"application/grpc"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use floodmark_core::wire::{Direction, Format};

    fn body(headers: &[(&str, &str)]) -> Body {
        let headers = headers.iter().map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec())).collect();
        Request::new(headers).body(&Settings::default(), 0)
    }

    const OPENAI: Hint =
        Hint { ai_path: true, format: Some(Format::OpenAiChat), direction: Direction::Request, issue: None, exemptions: 0 };
    const OTHER: Hint = Hint { ai_path: false, format: None, direction: Direction::Request, issue: None, exemptions: 0 };

    #[test]
    fn paths_win_over_headers() {
        for path in ["/v1/chat/completions", "/openai/deployments/x/chat/completions?api-version=1", "/Chat//completions/"] {
            assert_eq!(body(&[(":method", "POST"), (":path", path)]), Body::Read(OPENAI));
        }
        let disguised =
            [(":path", "/v1/chat/completions"), ("content-type", "application/grpc"), ("upgrade", "websocket"), (":method", "POST")];
        assert_eq!(body(&disguised), Body::Read(OPENAI));
        for (path, format) in [
            ("/v1/messages", Format::AnthropicMessages),
            ("/v1/responses", Format::OpenAiResponses),
            ("/openai/responses?api-version=1", Format::OpenAiResponses),
            ("/v1beta/models/gemini-x:generateContent", Format::Gemini),
            ("/v1/projects/p/locations/l/publishers/google/models/g%3AstreamGenerateContent?alt=sse", Format::Gemini),
            ("/model/a.b-v1:0/converse", Format::BedrockConverse),
            ("/model/arn%3Aaws%3Abedrock%3A%3A%3Ax%2Fy/converse-stream", Format::BedrockConverse),
            ("/api/chat", Format::Ollama),
            ("/api/generate", Format::Ollama),
            ("/mcp/", Format::Mcp),
        ] {
            assert_eq!(body(&[(":path", path)]), Body::Read(Hint { format: Some(format), ..OPENAI }), "{path}");
        }
        for path in ["/surveys/7/responses", "/v1/messages/count_tokens", "/x/generateContent"] {
            assert_eq!(body(&[(":path", path)]), Body::ReadIfJson(OTHER), "{path}");
        }
    }

    #[test]
    fn other_paths_are_read_when_the_body_begins_like_json() {
        for kind in ["application/json", "text/plain", "application/octet-stream", ""] {
            assert_eq!(body(&[(":path", "/x"), ("content-type", kind)]), Body::ReadIfJson(OTHER), "{kind}");
        }
        assert_eq!(body(&[(":path", "/x"), ("content-length", "3000000")]), Body::ReadIfJson(OTHER));
        assert_eq!(body(&[(":path", "/x"), ("content-type", "application/grpc+proto")]), Body::Ignored);
    }

    #[test]
    fn a_request_without_headers_is_taken_for_ai_traffic() {
        assert_eq!(body(&[]), Body::Read(Hint { ai_path: true, ..Hint::default() }));
    }

    #[test]
    fn what_cannot_be_read_is_known_from_the_headers() {
        assert_eq!(body(&[(":path", "/chat/completions"), ("content-length", "1000001")]), Body::Oversize(OPENAI));
        assert_eq!(body(&[(":path", "/chat/completions"), ("content-length", "1000000")]), Body::Read(OPENAI));
        assert_eq!(body(&[(":path", "/chat/completions"), ("content-encoding", "Gzip, x-gzip")]), Body::Read(OPENAI));
        assert_eq!(body(&[(":path", "/x"), ("content-encoding", "deflate")]), Body::ReadIfJson(OTHER));
        assert_eq!(body(&[(":path", "/chat/completions"), ("content-encoding", "identity, BR")]), Body::Encoded(OPENAI));
        assert_eq!(body(&[(":path", "/chat/completions"), ("content-encoding", "gzip,gzip,gzip,gzip")]), Body::Encoded(OPENAI));
        assert_eq!(
            body(&[(":path", "/x"), ("content-encoding", "identity"), ("content-encoding", "br")]),
            Body::ReadIfJson(Hint { issue: Some(IssueKind::ContentEncoding), ..OTHER })
        );
    }

    #[test]
    fn a_charset_that_changes_the_text_is_an_issue() {
        for (kind, foreign) in [
            ("application/json", false),
            ("application/json; charset=UTF-8", false),
            ("application/json;charset=\"utf-8\"", false),
            ("application/json; charset=utf-7", true),
            ("application/json; x=y; Charset = \"UTF-16\"", true),
            ("text/plain, application/json; charset=ibm037", true),
        ] {
            let issue = foreign.then_some(IssueKind::Charset);
            assert_eq!(body(&[(":path", "/chat/completions"), ("content-type", kind)]), Body::Read(Hint { issue, ..OPENAI }), "{kind}");
        }
    }

    #[test]
    fn upgrades_are_left_alone() {
        assert_eq!(body(&[(":method", "GET"), (":path", "/chat/completions"), ("upgrade", "websocket")]), Body::Upgrade);
        assert_eq!(body(&[(":method", "CONNECT"), (":path", "/chat/completions")]), Body::Upgrade);
    }
}
