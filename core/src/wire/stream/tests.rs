//! Streams cut everywhere, against a slow reader of the whole text, and against frames that other software made.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;

mod aws;
mod twin;

use twin::twin;

/// A frame that is kept: name, data, start, end, issue.
type Kept = (Option<String>, Vec<u8>, u64, u64, Option<&'static str>);

fn kept(frame: Frame<'_>) -> Kept {
    (frame.name.map(ToOwned::to_owned), frame.data.to_vec(), frame.start, frame.end, frame.issue.map(IssueKind::name))
}

/// What a stream gives that comes in these pieces, and the last whole byte before and after its end.
fn cut<'p>(framing: Framing, max_bytes: usize, pieces: impl IntoIterator<Item = &'p [u8]>) -> (Vec<Kept>, [u64; 2]) {
    let mut frames = Frames::new(framing, max_bytes);
    let mut list = Vec::new();
    for piece in pieces {
        frames.push(piece, &mut |frame| list.push(kept(frame)));
        assert!(frames.held_bytes() <= max_bytes.max(16), "{} bytes are held", frames.held_bytes());
    }
    let before = frames.whole_bytes();
    frames.end(&mut |frame| list.push(kept(frame)));
    assert_eq!(frames.held_bytes(), 0);
    (list, [before, frames.whole_bytes()])
}

/// The stream in one piece, byte by byte, and in every two and three pieces: all give the same.
fn cut_everywhere(framing: Framing, max_bytes: usize, stream: &[u8]) -> Vec<Kept> {
    let whole = cut(framing, max_bytes, [stream]);
    assert_eq!(cut(framing, max_bytes, stream.chunks(1)), whole, "{stream:?} byte by byte");
    for first in 0..=stream.len() {
        let (one, rest) = stream.split_at(first);
        for second in 0..=rest.len() {
            let (two, three) = rest.split_at(second);
            assert_eq!(cut(framing, max_bytes, [one, two, three]), whole, "{stream:?} cut at {first} and {}", first + second);
        }
    }
    whole.0
}

/// Name and data of the events as they are cut, whatever the pieces.
fn events(stream: &[u8]) -> Vec<(Option<String>, Vec<u8>)> {
    let frames = cut_everywhere(Framing::Sse, 1000, stream);
    assert!(frames.iter().all(|frame| frame.4.is_none() && frame.2 < frame.3), "{frames:?}");
    assert!(frames.windows(2).all(|pair| pair[0].3 <= pair[1].2), "{frames:?}");
    frames.into_iter().map(|(name, data, ..)| (name, data)).collect()
}

/// A stream, and the name and data of each of its events.
type Row = (&'static str, &'static [(Option<&'static str>, &'static str)]);

/// From the HTML standard's own examples, and its rules one by one. `|` stands for a line's end, each of the three.
#[test]
fn events_are_read_as_the_standard_says() {
    let table: &[Row] = &[
        ("data: YHOO|data: +2|data: 10||", &[(None, "YHOO\n+2\n10")]),
        (
            ": test stream||data: first event|id: 1||data:second event|id||data:  third event||",
            &[(None, "first event"), (None, "second event"), (None, " third event")],
        ),
        ("data||data|data||data:", &[(None, ""), (None, "\n"), (None, "")]),
        ("data:test||data: test||", &[(None, "test"), (None, "test")]),
        (
            "event: add|data: 73857293||event: remove|data: 2153||event: add|data: 113411||",
            &[(Some("add"), "73857293"), (Some("remove"), "2153"), (Some("add"), "113411")],
        ),
        // A name holds for one event; the last of several counts, and an empty one is none.
        ("event: a||data: 1||event: b|event: c|data: 2||event: d|event|data: 3||", &[(None, "1"), (Some("c"), "2"), (None, "3")]),
        // Other fields, other cases of letters, a space before the colon: not these fields.
        ("Data: 1|data : 2|retry: 5|xdata: 3|dat: 4|data: 5||", &[(None, "5")]),
        // Comments stand anywhere, and a colon may be in the value.
        (":|:data: 0|data: a:b|: c|data::d|||:e|", &[(None, "a:b\n:d")]),
        // A byte order mark at the start of the stream, and only there.
        ("\u{feff}data: 1||\u{feff}data: 2||data: \u{feff}3||", &[(None, "1"), (None, "\u{feff}3")]),
        ("\u{feff}|data: 1||", &[(None, "1")]),
        ("\u{feff}:|data: 1||", &[(None, "1")]),
        ("||||data: 1|||||", &[(None, "1")]),
        ("data: 1|data: 2", &[(None, "1\n2")]),
        ("data: 1|", &[(None, "1")]),
        ("event: x|id: 1||", &[]),
        ("", &[]),
    ];
    for (stream, expected) in table {
        let expected: Vec<_> = expected.iter().map(|(name, data)| (name.map(ToOwned::to_owned), data.as_bytes().to_vec())).collect();
        for line_end in ["\n", "\r", "\r\n"] {
            let stream = stream.replace('|', line_end);
            assert_eq!(events(stream.as_bytes()), expected, "{stream:?}");
            assert_eq!(twin(stream.as_bytes()), expected, "the twin: {stream:?}");
        }
    }
}

/// Line ends of all three kinds in one stream; a name that is no UTF-8 is none, and data stays what it is.
#[test]
fn line_ends_are_mixed_and_bytes_stay_bytes() {
    for stream in [
        &b"data: a\rdata: b\n\ndata: c\r\rdata: d\n\n"[..],
        &b"data: a\rdata: b\r\ndata: c\n\r\ndata: d\n\ndata: e\r\rdata: f\r\n\ndata: g\r\n\r"[..],
        b"event: \xff\ndata: \xc3\n\ndata: \0\n\n",
    ] {
        assert_eq!(events(stream), twin(stream), "{stream:?}");
        assert!(events(stream).len() > 1);
    }
}

#[test]
fn places_of_events() {
    let at = |stream: &[u8]| {
        let (frames, whole) = cut(Framing::Sse, 1000, [stream]);
        (frames.iter().map(|frame| (frame.2, frame.3)).collect::<Vec<_>>(), whole)
    };
    assert_eq!(at(b"data: 1\n\ndata: 2\n\nda"), (vec![(0, 9), (9, 18)], [18, 20]));
    // Comments before an event, and events that say nothing, are none of it, and need not be waited for.
    assert_eq!(at(b": ping\n\n:x\nid: 1\n\ndata: 2\n\n"), (vec![(18, 27)], [27, 27]));
    assert_eq!(at(b":"), (vec![], [0, 1]));
    assert_eq!(at(b": ping\r"), (vec![], [7, 7]));
    // An event is whole with the carriage return of its empty line; a line feed that follows still belongs to it.
    assert_eq!(at(b"data: 1\r\n\r"), (vec![(0, 10)], [10, 10]));
    assert_eq!(at(b"data: 1\r\n\r\n"), (vec![(0, 10)], [11, 11]));
    assert_eq!(at(b"data: 1\r\n\r\ndata: 2\r\r\r"), (vec![(0, 10), (11, 20)], [21, 21]));
}

#[test]
fn lines_of_json() {
    let lines = |stream: &[u8]| {
        let frames = cut_everywhere(Framing::JsonLines, 1000, stream);
        frames.into_iter().map(|(_, data, start, end, _)| (String::from_utf8(data).expect("text"), start, end)).collect::<Vec<_>>()
    };
    let line = |data: &str, start, end| (data.to_string(), start, end);
    assert_eq!(lines(b"{\"a\":1}\n{}\r\n\n \r\n[2]"), [line("{\"a\":1}", 0, 8), line("{}", 8, 12), line("[2]", 16, 19)]);
    assert_eq!(lines(b"1\r2\n\n"), [line("1\r2", 0, 4)]);
    assert_eq!(lines(b" \n\r"), []);
    assert_eq!(cut(Framing::JsonLines, 1000, [&b"1\n\n2"[..]]).1, [3, 4]);
}

/// A frame that is too long is given once, and the next one is read again. One that just fits is read.
#[test]
fn long_frames_are_passed_over() {
    let long = |start, end| (None, Vec::new(), start, end, Some("frame_too_long"));
    let good = |data: &str, start, end| (None, data.as_bytes().to_vec(), start, end, None);
    let stream = format!("data: fits\n\ndata: {}\n{}\ndata: after\n\n", "x".repeat(10), "data: y\n".repeat(3));
    let frames = cut_everywhere(Framing::Sse, 20, stream.as_bytes());
    assert_eq!(frames, [good("fits", 0, 12), long(12, 32), good("after", 54, 67)]);
    let just = b"data: 3456789012345\n\n";
    assert_eq!(cut_everywhere(Framing::Sse, 21, just), [good("3456789012345", 0, 21)]);
    assert_eq!(cut_everywhere(Framing::Sse, 20, just), [long(0, 20)]);
    // A comment, a name and an unknown field take room too.
    for stream in [format!(":{}", "x".repeat(30)), format!("event: {}", "x".repeat(30)), "id: 1\n".repeat(6)] {
        let next = stream.len() as u64 + 2;
        assert_eq!(cut_everywhere(Framing::Sse, 20, format!("{stream}\n\ndata\n\n").as_bytes()), [long(0, 20), good("", next, next + 6)]);
    }
    let lines = format!("[1]\n[{}]\n[2]\n[{}", "2,".repeat(12), "3,".repeat(12));
    assert_eq!(
        cut_everywhere(Framing::JsonLines, 18, lines.as_bytes()),
        [good("[1]", 0, 4), long(4, 22), good("[2]", 31, 35), long(35, 53)]
    );
}

/// What comes byte by byte is kept in memory that grows by doubling, up to the cap, and goes with the frame.
#[test]
fn memory_is_bounded_and_given_back() {
    for (framing, line) in [(Framing::Sse, "data: x\n"), (Framing::JsonLines, "[1,2,3],")] {
        let mut frames = Frames::new(framing, 10_000);
        let (mut count, mut most) = (0, 0);
        for byte in line.repeat(5_000).as_bytes().chunks(1) {
            frames.push(byte, &mut |frame| count += usize::from(frame.issue == Some(IssueKind::FrameTooLong)));
            most = most.max(frames.held_bytes());
        }
        assert_eq!((count, frames.held_bytes()), (1, 0));
        assert_eq!(most, 10_000);
        assert_eq!(frames.whole_bytes(), 0);
        frames.push(b"\n\n", &mut |_| count += 1);
        assert_eq!((count, frames.whole_bytes()), (1, 40_002));
    }
}

#[test]
fn frames_are_written_as_they_are_read() {
    let pretty = "{\n \"a\": 1,\r\n \"b\": \"ü\"}";
    let read = |framing, bytes: &[u8]| cut(framing, 1000, [bytes]).0;
    let sse = write_frame(Framing::Sse, Some("error"), pretty);
    assert_eq!(sse, "event: error\ndata: {\ndata:  \"a\": 1,\ndata: \ndata:  \"b\": \"ü\"}\n\n".as_bytes());
    let end = sse.len() as u64;
    assert_eq!(read(Framing::Sse, &sse), [(Some("error".to_owned()), pretty.replace('\r', "\n").into_bytes(), 0, end, None)]);
    assert_eq!(write_frame(Framing::Sse, None, "[DONE]"), b"data: [DONE]\n\n");
    let line = write_frame(Framing::JsonLines, Some("error"), pretty);
    assert_eq!(line, "{  \"a\": 1,   \"b\": \"ü\"}\n".as_bytes());
}

#[test]
fn content_types_name_their_framing() {
    for (value, expected) in [
        (&b"text/event-stream"[..], Some(Framing::Sse)),
        (b" Text/Event-Stream ; charset=utf-8", Some(Framing::Sse)),
        (b"application/x-ndjson", Some(Framing::JsonLines)),
        (b"application/jsonl;x", Some(Framing::JsonLines)),
        (b"application/vnd.amazon.eventstream", Some(Framing::AwsEventStream)),
        (b"application/json", None),
        (b"text/event-streams", None),
        (b"", None),
    ] {
        assert_eq!(Framing::of_content_type(value), expected, "{value:?}");
    }
}

/// What SSE is made of, so that chance finds its rules.
fn sse_stream() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        4 => Just(&b"\n"[..]),
        3 => Just(&b"\r"[..]),
        2 => Just(&b"\r\n"[..]),
        3 => Just(&b"data"[..]),
        2 => Just(&b"event"[..]),
        3 => Just(&b":"[..]),
        3 => Just(&b": "[..]),
        1 => Just(&b" "[..]),
        1 => Just(&b"id"[..]),
        1 => Just(&b"\xef\xbb\xbf"[..]),
        1 => Just(&b"\xff\0"[..]),
        2 => Just(&b"xy"[..]),
    ];
    proptest::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
}

/// Lengths of pieces; what is left comes last.
fn pieces(stream: &[u8], lengths: &[usize]) -> Vec<Vec<u8>> {
    let (mut rest, mut pieces) = (stream, Vec::new());
    for length in lengths {
        let (piece, behind) = rest.split_at((*length).min(rest.len()));
        pieces.push(piece.to_vec());
        rest = behind;
    }
    pieces.push(rest.to_vec());
    pieces
}

proptest! {
    #[test]
    fn events_are_those_of_the_twin(stream in sse_stream(), lengths in proptest::collection::vec(0usize..9, 0..30)) {
        let (frames, _) = cut(Framing::Sse, 1000, [&stream[..]]);
        let events: Vec<_> = frames.iter().map(|frame| (frame.0.clone(), frame.1.clone())).collect();
        prop_assert_eq!(&events, &twin(&stream));
        let pieces = pieces(&stream, &lengths);
        prop_assert_eq!(cut(Framing::Sse, 1000, pieces.iter().map(|piece| &piece[..])).0, frames);
    }

    /// Also when frames are too long, and of any bytes.
    #[test]
    fn pieces_change_nothing(
        stream in prop_oneof![sse_stream(), proptest::collection::vec(prop_oneof![any::<u8>(), Just(b'\n'), Just(0)], 0..200)],
        lengths in proptest::collection::vec(0usize..9, 0..30),
        max_bytes in 0usize..40,
    ) {
        for framing in [Framing::Sse, Framing::JsonLines, Framing::AwsEventStream] {
            let pieces = pieces(&stream, &lengths);
            prop_assert_eq!(cut(framing, max_bytes, pieces.iter().map(|piece| &piece[..])), cut(framing, max_bytes, [&stream[..]]));
        }
    }
}
