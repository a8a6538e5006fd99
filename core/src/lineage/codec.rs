//! Bodies of sealed things: postcard's format, read in any spelling and written in one.
//!
//! Written by hand for the few types that bodies have: serde's derived readers of four bodies are several times the code, which gateways compile at every start,
//! and copy what need not be copied. The tests compare every body with what the postcard crate makes of a struct of the same fields.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// A field whose value cannot be sealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealError {
    /// The field's name.
    pub field: &'static str,
    /// What is wrong and what would be right.
    pub problem: String,
}

/// What is left of a body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(body: &'a [u8]) -> Self {
        Reader { rest: body }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn raw(&mut self, length: usize) -> Option<&'a [u8]> {
        let (raw, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(raw)
    }

    pub fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*byte)
    }

    /// A number in seven bits a byte, the lowest first. Spellings with zeros at the end are read too, as postcard reads them.
    pub fn number(&mut self) -> Option<u64> {
        // Nearly all are short.
        if let [byte @ 0..0x80, rest @ ..] = self.rest {
            self.rest = rest;
            return Some(u64::from(*byte));
        }
        let (mut number, mut shift) = (0, 0);
        for (at, byte) in self.rest.iter().enumerate() {
            // The tenth byte has room for one bit.
            if shift == 63 && *byte > 1 {
                return None;
            }
            number |= u64::from(byte & 0x7f) << shift;
            if *byte < 0x80 {
                self.rest = self.rest.get(at + 1..)?;
                return Some(number);
            }
            shift += 7;
        }
        None
    }

    pub fn length(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    pub fn text(&mut self) -> Option<&'a str> {
        let length = self.length()?;
        core::str::from_utf8(self.raw(length)?).ok()
    }

    /// A text that may be left out.
    pub fn maybe_text(&mut self) -> Option<Option<&'a str>> {
        match self.byte()? {
            0 => Some(None),
            1 => Some(Some(self.text()?)),
            _ => None,
        }
    }

    pub fn digest(&mut self) -> Option<[u8; 32]> {
        let (digest, rest) = self.rest.split_first_chunk::<32>()?;
        self.rest = rest;
        Some(*digest)
    }

    /// Digests one behind the other, with their number before them.
    pub fn digests(&mut self) -> Option<&'a [[u8; 32]]> {
        let bytes = self.length()?.checked_mul(32)?;
        Some(self.raw(bytes)?.as_chunks().0)
    }

    pub fn float(&mut self) -> Option<f64> {
        let (bytes, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(f64::from_le_bytes(*bytes))
    }
}

/// Writes a body, or compares one with what would be written, and checks the fields' bounds either way.
#[derive(Debug)]
pub(super) struct Writer<'e> {
    written: Vec<u8>,
    /// What is still to come where a body is compared.
    expected: Option<&'e [u8]>,
    differs: bool,
    error: Option<SealError>,
}

impl<'e> Writer<'e> {
    pub fn writing() -> Self {
        Writer { written: Vec::with_capacity(256), expected: None, differs: false, error: None }
    }

    pub fn comparing(body: &'e [u8]) -> Self {
        Writer { written: Vec::new(), expected: Some(body), differs: false, error: None }
    }

    /// Whether what was compared is, byte for byte, what is written, and in bounds.
    pub fn is_same(&self) -> bool {
        !self.differs && self.error.is_none() && self.expected.is_some_and(<[u8]>::is_empty)
    }

    /// What was written.
    ///
    /// # Errors
    /// The first field that is out of bounds.
    pub fn written(self) -> Result<Vec<u8>, SealError> {
        self.error.map_or(Ok(self.written), Err)
    }

    pub fn raw(&mut self, bytes: &[u8]) {
        let Some(expected) = &mut self.expected else { return self.written.extend_from_slice(bytes) };
        match expected.split_at_checked(bytes.len()) {
            // What was read in this very place need not be compared.
            Some((same, rest)) if core::ptr::eq(same, bytes) || same == bytes => *expected = rest,
            _ => self.differs = true,
        }
    }

    pub fn byte(&mut self, byte: u8) {
        let Some(expected) = &mut self.expected else { return self.written.push(byte) };
        match expected.split_first() {
            Some((same, rest)) if *same == byte => *expected = rest,
            _ => self.differs = true,
        }
    }

    pub fn number(&mut self, mut number: u64) {
        if number < 0x80 {
            return self.byte(number as u8);
        }
        let mut bytes = [0; 10];
        let mut length = 0;
        for byte in &mut bytes {
            length += 1;
            *byte = number as u8 | 0x80;
            number >>= 7;
            if number == 0 {
                *byte &= 0x7f;
                break;
            }
        }
        self.raw(bytes.get(..length).unwrap_or_default());
    }

    /// A text of `least` to `most` bytes without control characters.
    pub fn text(&mut self, field: &'static str, text: &str, least: usize, most: usize) {
        if !(least..=most).contains(&text.len()) || has_control(text) {
            self.wrong(field, || format!("takes {least} to {most} bytes without control characters"));
        }
        self.number(text.len() as u64);
        self.raw(text.as_bytes());
    }

    /// A text that may be left out, of 1 to `most` bytes.
    pub fn maybe_text(&mut self, field: &'static str, text: Option<&str>, most: usize) {
        self.byte(u8::from(text.is_some()));
        if let Some(text) = text {
            self.text(field, text, 1, most);
        }
    }

    /// The number of what follows, at least `least` and at most `most`.
    pub fn count(&mut self, field: &'static str, count: usize, least: usize, most: usize) {
        if !(least..=most).contains(&count) {
            self.wrong(field, || format!("takes {least} to {most} of them"));
        }
        self.number(count as u64);
    }

    /// Notes that a field cannot be sealed. The first counts.
    pub fn wrong(&mut self, field: &'static str, problem: impl FnOnce() -> String) {
        if self.error.is_none() {
            self.error = Some(SealError { field, problem: problem() });
        }
    }
}

/// Whether a text has a control character: general category Cc, which is U+0000 to U+001F and U+007F to U+009F.
pub(super) fn has_control(text: &str) -> bool {
    let mut others = false;
    for byte in text.as_bytes() {
        // One comparison: nearly all texts are printable ASCII, which is 0x20 to 0x7e.
        others |= byte.wrapping_sub(0x20) >= 0x5f;
    }
    others && text.chars().any(char::is_control)
}
