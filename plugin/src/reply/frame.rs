//! One frame of a stream as bytes.

use floodmark_core::wire::Framing;

/// A frame that says `data`, which holds no line end.
pub fn write_frame(framing: Framing, name: Option<&str>, data: &str) -> Vec<u8> {
    let text = match (framing, name) {
        (Framing::Sse, Some(name)) => format!("event: {name}\ndata: {data}\n\n"),
        (Framing::Sse, None) => format!("data: {data}\n\n"),
        _ => format!("{data}\n"),
    };
    text.into_bytes()
}
