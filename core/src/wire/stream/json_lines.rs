//! JSON lines: one value a line, each ended by a line feed, the last one perhaps by the end of the stream.

use alloc::borrow::Cow;

use super::Content;

/// The length of what belongs to a line in `piece`, when it ends there.
pub fn find_end(piece: &[u8]) -> Option<usize> {
    Some(piece.iter().position(|&byte| byte == b'\n')? + 1)
}

/// A line without its end; nothing when there is only white space.
pub fn content(raw: &[u8]) -> Content<'_> {
    let line = raw.strip_suffix(b"\n").unwrap_or(raw);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let data = Some(Cow::Borrowed(line)).filter(|line| !line.trim_ascii().is_empty());
    Content { name: None, data }
}
