//! Streamed bodies cut into their frames, however the bytes come: server-sent events, JSON lines, AWS event streams.

/// How a streamed body is cut into messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent events: `text/event-stream`.
    Sse,
    /// One JSON value a line: `application/x-ndjson`, `application/jsonl`.
    JsonLines,
    /// AWS event stream: `application/vnd.amazon.eventstream`.
    AwsEventStream,
}

impl Framing {
    /// The framing that a content-type names, without regard to case and parameters.
    pub fn of_content_type(value: &[u8]) -> Option<Self> {
        let name = value.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii();
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        let known = [
            (Framing::Sse, &["text/event-stream"][..]),
            (Framing::JsonLines, &["application/x-ndjson", "application/ndjson", "application/jsonl", "application/json-lines"]),
            (Framing::AwsEventStream, &["application/vnd.amazon.eventstream"]),
        ];
        known.into_iter().find(|(_, names)| names.iter().any(|known| is(known))).map(|(framing, _)| framing)
    }
}
