//! Streamed bodies cut into their frames, however the bytes come: server-sent events, JSON lines, AWS event streams.

mod aws;
mod json_lines;
mod sse;
#[cfg(test)]
mod tests;
mod write;

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::mem;

pub use write::write_frame;

use super::issue::IssueKind;

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

impl Framing {
    /// The framing that a body's first bytes show, where no header says it. Of events any field tells, also one that no reader knows.
    pub fn of_start(start: &[u8]) -> Option<Self> {
        if aws::prelude(start, &[]).is_some_and(|prelude| aws::length(&prelude).is_some()) {
            return Some(Framing::AwsEventStream);
        }
        let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
        let line = start.split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
        let field = line.split(|&byte| byte == b':').next().unwrap_or_default();
        let named = field.len() < line.len() && field.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        (named || field == b"data").then_some(Framing::Sse)
    }
}

/// One frame of a stream. Its place, like everything else about it, does not depend on how the bytes came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'f> {
    /// What kind of message it is, where the framing says it: `event` of SSE, `:event-type` or `:exception-type` of AWS.
    pub name: Option<&'f str>,
    /// The message: the data lines of SSE joined by line feeds, a line without its end, the payload of AWS. Empty when there is an issue.
    pub data: &'f [u8],
    /// Where the frame starts in the stream.
    pub start: u64,
    /// Offset behind the frame. Of one that is too long: as far as it was looked at, or as its length says.
    pub end: u64,
    /// Why there is no data.
    pub issue: Option<IssueKind>,
}

/// What stands in a whole frame.
struct Content<'f> {
    name: Option<&'f [u8]>,
    /// `None` for a frame that says nothing: a comment, an empty line.
    data: Option<Cow<'f, [u8]>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Keeps a frame until it is whole.
    Keeping,
    /// Looks for the end of a frame that is too long.
    Skipping,
    /// Reads nothing more: where the next frame would start is not known, or the stream has ended.
    Done,
}

/// Cuts a stream into frames. Takes linear time in all, and keeps no more than one frame.
#[derive(Clone, Debug)]
pub struct Frames {
    framing: Framing,
    max_frame_bytes: usize,
    state: State,
    /// Bytes of the stream that were looked at.
    at: u64,
    /// Where the frame starts that is coming.
    start: u64,
    /// What came of it; empty while it is skipped.
    held: Vec<u8>,
    /// Where in a line of SSE the stream stands.
    lines: sse::Lines,
    /// What an AWS frame says of its length, once that is known.
    length: Option<u64>,
}

impl Frames {
    /// For a stream that nothing came of yet. A frame of more than `max_frame_bytes` is not kept.
    pub fn new(framing: Framing, max_frame_bytes: usize) -> Self {
        Frames {
            framing,
            max_frame_bytes: max_frame_bytes.max(aws::MIN_FRAME_BYTES),
            state: State::Keeping,
            at: 0,
            start: 0,
            held: Vec::new(),
            lines: sse::Lines::default(),
            length: None,
        }
    }

    /// Takes the next bytes as they came, and gives the frames that are whole by now.
    pub fn push(&mut self, mut bytes: &[u8], each: &mut dyn FnMut(Frame<'_>)) {
        while self.state != State::Done && !bytes.is_empty() {
            // An empty line, or the second byte of the line end that ended the event before: neither belongs to an event.
            if self.is_new() && self.framing == Framing::Sse && bytes.first() == Some(&b'\n') {
                self.move_on(1);
                self.start = self.at;
                bytes = bytes.get(1..).unwrap_or_default();
                continue;
            }
            let mut piece = bytes;
            if self.state == State::Keeping {
                let room = self.max_frame_bytes - (self.at - self.start) as usize;
                if room == 0 {
                    self.give_up(IssueKind::FrameTooLong, self.at, each);
                    continue;
                }
                piece = bytes.get(..room).unwrap_or(bytes);
            }
            match self.find_end(piece) {
                Ok(Some(end)) => {
                    self.finish(piece.get(..end).unwrap_or_default(), each);
                    bytes = bytes.get(end..).unwrap_or_default();
                }
                Ok(None) => {
                    self.keep(piece);
                    self.move_on(piece.len());
                    bytes = bytes.get(piece.len()..).unwrap_or_default();
                }
                Err(issue) => {
                    let known = self.length.unwrap_or(aws::PRELUDE_BYTES as u64);
                    self.give_up(issue, self.start + known, each);
                }
            }
        }
    }

    /// Gives what stands at the end of the stream. An event without its empty line is given too: some clients take it. Nothing can be pushed
    /// after this.
    pub fn end(&mut self, each: &mut dyn FnMut(Frame<'_>)) {
        if self.state == State::Keeping && !self.is_new() {
            if self.framing == Framing::AwsEventStream {
                self.give_up(IssueKind::Truncated, self.at, each);
            } else {
                self.finish(&[], each);
            }
        }
        self.state = State::Done;
        self.held = Vec::new();
    }

    /// Offset behind the last frame that is whole. Comments and empty lines count as frames here.
    pub fn whole_bytes(&self) -> u64 {
        self.start
    }

    /// Memory that the part of a frame takes which came so far.
    pub fn held_bytes(&self) -> usize {
        self.held.capacity()
    }

    /// Nothing came yet of the next frame.
    fn is_new(&self) -> bool {
        self.at == self.start
    }

    fn move_on(&mut self, bytes: usize) {
        self.at += bytes as u64;
    }

    /// How much of `piece` belongs to the frame that is coming, when it ends there.
    fn find_end(&mut self, piece: &[u8]) -> Result<Option<usize>, IssueKind> {
        match self.framing {
            Framing::Sse => {
                let first = if self.is_new() { piece.first() } else { self.held.first() };
                Ok(self.lines.find_end(piece, first == Some(&b':')))
            }
            Framing::JsonLines => Ok(json_lines::find_end(piece)),
            Framing::AwsEventStream => {
                let length = match self.length {
                    Some(length) => length,
                    None => {
                        let Some(prelude) = aws::prelude(&self.held, piece) else { return Ok(None) };
                        let length = aws::length(&prelude).ok_or(IssueKind::FrameBroken)?;
                        self.length = Some(length);
                        if length > self.max_frame_bytes as u64 {
                            return Err(IssueKind::FrameTooLong);
                        }
                        length
                    }
                };
                let left = self.start + length - self.at;
                Ok((left <= piece.len() as u64).then_some(left as usize))
            }
        }
    }

    /// Keeps a part of a frame. The memory doubles as it must, but not beyond what a frame may have.
    fn keep(&mut self, piece: &[u8]) {
        if self.state == State::Keeping {
            let needed = self.held.len() + piece.len();
            if needed > self.held.capacity() {
                let capacity = needed.max(2 * self.held.capacity()).min(self.max_frame_bytes);
                self.held.reserve_exact(capacity - self.held.len());
            }
            self.held.extend_from_slice(piece);
        }
    }

    /// The frame is whole with `last`: gives it, unless it is one that was skipped or says nothing.
    fn finish(&mut self, last: &[u8], each: &mut dyn FnMut(Frame<'_>)) {
        self.move_on(last.len());
        let (start, end) = (self.start, self.at);
        if self.state == State::Keeping {
            if !self.held.is_empty() {
                self.keep(last);
            }
            let held = mem::take(&mut self.held);
            let raw = if held.is_empty() { last } else { &held };
            let content = match self.framing {
                Framing::Sse => Some(sse::content(raw, start == 0)),
                Framing::JsonLines => Some(json_lines::content(raw)),
                Framing::AwsEventStream => aws::content(raw),
            };
            let Some(content) = content else { return self.give_up(IssueKind::FrameBroken, end, each) };
            if let Some(data) = &content.data {
                let name = content.name.and_then(|name| core::str::from_utf8(name).ok());
                each(Frame { name, data, start, end, issue: None });
            }
        }
        self.state = State::Keeping;
        self.start = end;
        self.length = None;
    }

    /// Gives a frame without data, and reads on at the next one if there is a way to it.
    fn give_up(&mut self, issue: IssueKind, end: u64, each: &mut dyn FnMut(Frame<'_>)) {
        self.held = Vec::new();
        self.state = if issue == IssueKind::FrameTooLong { State::Skipping } else { State::Done };
        each(Frame { name: None, data: &[], start: self.start, end, issue: Some(issue) });
    }
}
