//! A slow reader of server-sent events, which tests and fuzz targets compare the quick one with.

extern crate alloc;

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

/// Name and data of an event.
pub type Event = (Option<String>, Vec<u8>);

/// The events as the HTML standard says, from the whole text: line by line, with a buffer for each. What stands at the end is dispatched as if the
/// empty line were there.
pub fn twin(stream: &[u8]) -> Vec<Event> {
    let text = stream.strip_prefix(b"\xef\xbb\xbf").unwrap_or(stream);
    let mut lines: Vec<Vec<u8>> = vec![Vec::new()];
    let mut bytes = text.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\r' => {
                bytes.next_if_eq(&b'\n');
                lines.push(Vec::new());
            }
            b'\n' => lines.push(Vec::new()),
            _ => lines.last_mut().expect("a line").push(byte),
        }
    }
    lines.push(Vec::new());
    let (mut events, mut name, mut data) = (Vec::new(), Vec::new(), Vec::new());
    for line in lines {
        if line.is_empty() {
            if data.pop().is_some() {
                events.push((String::from_utf8(name).ok().filter(|name| !name.is_empty()), data));
            }
            (name, data) = (Vec::new(), Vec::new());
            continue;
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(0) => continue,
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (&line[..], &b""[..]),
        };
        let value = if value.first() == Some(&b' ') { &value[1..] } else { value };
        // What is JSON without a field is read like data.
        let json = line.trim_ascii_start().first().is_some_and(|first| b"{[".contains(first));
        let (field, value) = if json { (&b"data"[..], &line[..]) } else { (field, value) };
        if field == b"event" {
            name = value.to_vec();
        } else if field == b"data" {
            data.extend(value);
            data.push(b'\n');
        }
    }
    events
}
