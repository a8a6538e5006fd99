//! AWS event streams against frames that Python laid out and botocore reads.

use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    note: String,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    note: String,
    stream_hex: String,
    frames: Vec<Expected>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    name: Option<String>,
    #[serde(default)]
    data: String,
    start: u64,
    end: u64,
    issue: Option<String>,
}

fn file() -> File {
    serde_json::from_str(include_str!("../../../../../testdata/frames/aws.json")).expect("cases")
}

impl Case {
    fn stream(&self) -> Vec<u8> {
        let digit = |at: usize| u8::from_str_radix(&self.stream_hex[at..at + 2], 16).expect("hex");
        (0..self.stream_hex.len()).step_by(2).map(digit).collect()
    }
}

#[test]
fn frames_are_those_that_botocore_reads() {
    let file = file();
    assert!(file.note.contains("botocore") && file.cases.len() >= 13);
    for case in &file.cases {
        let frames = cut_everywhere_near(&case.stream());
        let frames: Vec<_> = frames.iter().map(|frame| (frame.0.as_deref(), &frame.1[..], frame.2, frame.3, frame.4)).collect();
        let expected: Vec<_> = case
            .frames
            .iter()
            .map(|frame| (frame.name.as_deref(), frame.data.as_bytes(), frame.start, frame.end, frame.issue.as_deref()))
            .collect();
        assert_eq!(frames, expected, "{}", case.note);
    }
}

/// The stream whole, byte by byte, and in every two pieces.
fn cut_everywhere_near(stream: &[u8]) -> Vec<Kept> {
    let whole = cut(Framing::AwsEventStream, 1000, [stream]);
    assert_eq!(cut(Framing::AwsEventStream, 1000, stream.chunks(1)), whole);
    for at in 0..=stream.len() {
        let (one, two) = stream.split_at(at);
        assert_eq!(cut(Framing::AwsEventStream, 1000, [one, two]), whole, "cut at {at}");
    }
    whole.0
}

/// A frame that says it is longer than is kept is passed over by its length, before its bytes come.
#[test]
fn long_frames_are_known_by_their_prelude() {
    let case = &file().cases[0];
    let stream = case.stream();
    let (lengths, third): (Vec<u64>, _) = (case.frames.iter().map(|frame| frame.end - frame.start).collect(), &case.frames[2]);
    assert!(lengths[0] > 130 && lengths[1] > 130 && lengths[2] < 130);
    let long = |at: usize| (None, Vec::new(), case.frames[at].start, case.frames[at].end, Some("frame_too_long"));
    let expected = [long(0), long(1), (third.name.clone(), third.data.clone().into_bytes(), third.start, third.end, None)];
    for size in [1, 5, 12, 100, stream.len()] {
        let (frames, whole) = cut(Framing::AwsEventStream, 130, stream.chunks(size));
        assert_eq!(frames, expected, "in pieces of {size}");
        assert_eq!(whole, [stream.len() as u64; 2]);
    }
    let mut frames = Frames::new(Framing::AwsEventStream, 130);
    let mut count = 0;
    frames.push(&stream[..12], &mut |_| count += 1);
    assert_eq!((count, frames.held_bytes()), (1, 0));
}

/// Byte for byte what Python laid out.
#[test]
fn events_and_exceptions_are_written() {
    for case in
        file().cases.iter().filter(|case| case.note == "An exception." || case.note.starts_with("Three events of a Converse stream"))
    {
        let written = case.frames.iter().flat_map(|frame| write_frame(Framing::AwsEventStream, frame.name.as_deref(), &frame.data));
        assert_eq!(written.collect::<Vec<u8>>(), case.stream(), "{}", case.note);
    }
}
