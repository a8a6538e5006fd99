//! Streams cut into frames: any pieces give the same, and it is what a slow reader gives.

use floodmark_core::wire::{Frames, Framing, IssueKind};

use crate::{number, pieces};

#[path = "../../core/src/wire/stream/tests/twin.rs"]
mod twin;

/// A frame that is kept: name, data, start, end, issue.
#[derive(Debug, PartialEq, Eq)]
struct Kept {
    name: Option<String>,
    data: Vec<u8>,
    start: u64,
    end: u64,
    issue: Option<IssueKind>,
}

fn cut(framing: Framing, max_bytes: usize, pieces: &[&[u8]]) -> Vec<Kept> {
    let mut frames = Frames::new(framing, max_bytes);
    let (mut list, mut pushed) = (Vec::<Kept>::new(), 0);
    let mut keep = |frame: floodmark_core::wire::Frame<'_>| {
        let name = frame.name.map(str::to_owned);
        list.push(Kept { name, data: frame.data.to_vec(), start: frame.start, end: frame.end, issue: frame.issue });
    };
    for piece in pieces {
        let whole = frames.whole_bytes();
        frames.push(piece, &mut keep);
        pushed += piece.len() as u64;
        assert!((whole..=pushed).contains(&frames.whole_bytes()));
        assert!(frames.held_bytes() <= max_bytes.max(16));
    }
    frames.end(&mut keep);
    assert!(frames.whole_bytes() <= pushed);
    for frame in &list {
        assert!(frame.issue.is_none() || frame.data.is_empty(), "{frame:?}");
        assert!(frame.start < frame.end && (frame.issue.is_some() || frame.end <= pushed), "{frame:?}");
    }
    list
}

fn same_in_pieces(framing: Framing, data: &mut &[u8]) -> Vec<Kept> {
    let max_bytes = if number(data, 2) == 0 { 100_000 } else { number(data, 256) };
    let pieces = pieces(data);
    let whole = cut(framing, max_bytes, &[*data]);
    assert_eq!(cut(framing, max_bytes, &pieces), whole);
    assert!(whole.windows(2).all(|pair| pair[0].start < pair[1].start), "{whole:?}");
    whole
}

/// Server-sent events.
pub fn sse(mut data: &[u8]) {
    let frames = same_in_pieces(Framing::Sse, &mut data);
    if frames.iter().all(|frame| frame.issue.is_none()) {
        let events: Vec<_> = frames.into_iter().map(|frame| (frame.name, frame.data)).collect();
        assert_eq!(events, twin::twin(data));
    }
}

/// JSON lines.
pub fn json_lines(mut data: &[u8]) {
    let frames = same_in_pieces(Framing::JsonLines, &mut data);
    if frames.iter().all(|frame| frame.issue.is_none()) {
        let lines = data.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let lines: Vec<&[u8]> = lines.filter(|line| !line.trim_ascii().is_empty()).collect();
        assert_eq!(frames.iter().map(|frame| &frame.data[..]).collect::<Vec<_>>(), lines);
    }
}

/// AWS event streams: as they come, and with lengths and checks put right, which chance would not find.
pub fn aws(mut data: &[u8]) {
    let mut stream = data;
    same_in_pieces(Framing::AwsEventStream, &mut stream);
    let max_bytes = 200;
    let (mut built, mut payloads) = (Vec::new(), Vec::new());
    while !data.is_empty() {
        let (headers_bytes, payload_bytes) = (number(&mut data, 128), number(&mut data, 128));
        let (headers, rest) = data.split_at(headers_bytes.min(data.len()));
        let (payload, rest) = rest.split_at(payload_bytes.min(rest.len()));
        data = rest;
        built.extend(frame(headers, payload));
        payloads.push((16 + headers.len() + payload.len(), payload));
    }
    let frames = cut(Framing::AwsEventStream, max_bytes, &[&built]);
    assert_eq!(frames, cut(Framing::AwsEventStream, max_bytes, &built.chunks(7).collect::<Vec<_>>()));
    for (frame, (length, payload)) in frames.iter().zip(&payloads) {
        match frame.issue {
            None => assert_eq!(frame.data, *payload),
            Some(IssueKind::FrameTooLong) => assert!(*length > max_bytes),
            // The headers are not laid out as such, and nothing comes behind.
            issue => assert_eq!((issue, frames.last()), (Some(IssueKind::FrameBroken), Some(frame))),
        }
    }
    let broken = frames.last().is_some_and(|frame| frame.issue == Some(IssueKind::FrameBroken));
    assert!(broken || frames.len() == payloads.len());
}

fn frame(headers: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    frame.extend((16 + headers.len() as u32 + payload.len() as u32).to_be_bytes());
    frame.extend((headers.len() as u32).to_be_bytes());
    frame.extend(crc32fast::hash(&frame).to_be_bytes());
    frame.extend([headers, payload].concat());
    frame.extend(crc32fast::hash(&frame).to_be_bytes());
    frame
}
