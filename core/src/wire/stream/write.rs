//! One frame as bytes for the client.

use alloc::vec::Vec;

use super::{Framing, aws};
use crate::wire::crc32::crc32;

/// A frame that says `data`, which is JSON. `name`, of one line, is the `event` of SSE; an AWS frame is an event of that type, or an exception where the
/// type ends in that word, as those of Bedrock do.
pub fn write_frame(framing: Framing, name: Option<&str>, data: &str) -> Vec<u8> {
    let mut out = Vec::new();
    // What stands for a line's end in the data; in JSON it is white space.
    let (line_end, frame_end) = match framing {
        Framing::Sse => (&b"\ndata: "[..], &b"\n\n"[..]),
        Framing::JsonLines => (&b" "[..], &b"\n"[..]),
        Framing::AwsEventStream => return aws_frame(name, data),
    };
    if framing == Framing::Sse {
        if let Some(name) = name {
            out.extend_from_slice(b"event: ");
            out.extend_from_slice(name.as_bytes());
            out.push(b'\n');
        }
        out.extend_from_slice(b"data: ");
    }
    for byte in data.bytes() {
        match byte {
            b'\r' | b'\n' => out.extend_from_slice(line_end),
            other => out.push(other),
        }
    }
    out.extend_from_slice(frame_end);
    out
}

fn aws_frame(name: Option<&str>, data: &str) -> Vec<u8> {
    let mut headers = Vec::new();
    let exception = name.is_none_or(|name| name.ends_with("Exception"));
    let (key, kind) = if exception { (":exception-type", "exception") } else { (":event-type", "event") };
    if let Some(name) = name {
        header(&mut headers, key, name);
    }
    header(&mut headers, ":content-type", "application/json");
    header(&mut headers, ":message-type", kind);
    enclose(&headers, data.as_bytes())
}

/// A header of AWS whose value is a string; names and values here are short.
fn header(out: &mut Vec<u8>, name: &str, value: &str) {
    out.push(name.len() as u8);
    out.extend_from_slice(name.as_bytes());
    out.push(aws::STRING);
    out.extend_from_slice(&(value.len() as u16).to_be_bytes());
    out.extend_from_slice(value.as_bytes());
}

/// An AWS frame: lengths, headers, payload, and the two checks.
fn enclose(headers: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let length = aws::MIN_FRAME_BYTES + headers.len() + payload.len();
    out.extend_from_slice(&(length as u32).to_be_bytes());
    out.extend_from_slice(&(headers.len() as u32).to_be_bytes());
    out.extend_from_slice(&crc32(&out).to_be_bytes());
    out.extend_from_slice(headers);
    out.extend_from_slice(payload);
    out.extend_from_slice(&crc32(&out).to_be_bytes());
    out
}
