//! Server-sent events, as the HTML standard reads them (section 9.2.6, "Interpreting an event stream").

use alloc::borrow::Cow;

use super::Content;

/// Where in its line a stream stands.
#[derive(Clone, Copy, Debug)]
pub struct Lines {
    /// Nothing of the line came yet.
    empty: bool,
    /// The last byte was a carriage return: a line feed now belongs to it.
    after_return: bool,
}

impl Default for Lines {
    fn default() -> Self {
        Lines { empty: true, after_return: false }
    }
}

impl Lines {
    /// The length of what belongs to an event in `piece`, when it ends there: behind an empty line, or behind a comment that it begins with.
    pub fn find_end(&mut self, piece: &[u8], comment: bool) -> Option<usize> {
        let mut rest = piece;
        while !rest.is_empty() {
            let length = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
            if length != Some(0) {
                *self = Lines { empty: false, after_return: false };
            }
            let (&byte, behind) = rest.get(length?..)?.split_first()?;
            rest = behind;
            if byte == b'\n' && self.after_return {
                self.after_return = false;
                continue;
            }
            let is_end = self.empty || comment;
            *self = Lines { empty: true, after_return: byte == b'\r' };
            if is_end {
                return Some(piece.len() - rest.len());
            }
        }
        None
    }
}

/// What an event says; of its fields only `event` and `data` matter here. An empty line can only be the last, or the first after a byte order mark.
pub fn content(raw: &[u8], first: bool) -> Content<'_> {
    let mut content = Content { name: None, data: None };
    let mark: &[u8] = if first { b"\xef\xbb\xbf" } else { b"" };
    // The empty line between the two bytes of a line end does nothing.
    for line in raw.strip_prefix(mark).unwrap_or(raw).split(|byte| matches!(byte, b'\r' | b'\n')) {
        let colon = line.iter().position(|&byte| byte == b':').unwrap_or(line.len());
        let (field, value) = line.split_at_checked(colon).unwrap_or_default();
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        // Not of the standard, but clients read JSON that comes without a field.
        let (field, value): (&[u8], &[u8]) =
            if matches!(line.trim_ascii_start().first(), Some(b'{' | b'[')) { (b"data", line) } else { (field, value) };
        match (field, &mut content.data) {
            (b"event", _) => content.name = Some(value).filter(|name| !name.is_empty()),
            (b"data", None) => content.data = Some(Cow::Borrowed(value)),
            (b"data", Some(data)) => {
                let data = data.to_mut();
                data.push(b'\n');
                data.extend_from_slice(value);
            }
            _ => {}
        }
    }
    content
}
