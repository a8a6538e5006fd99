//! Encodings that hide a text, written out by hand: nothing here is shared with what decodes them.

use std::fmt::Write as _;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Base64 of RFC 4648, padded.
pub fn base64(text: &str) -> String {
    let mut out = String::new();
    for three in text.as_bytes().chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4_usize {
            let sixth = ALPHABET[(bits >> (18 - 6 * at) & 63) as usize];
            out.push(if at > three.len() { '=' } else { char::from(sixth) });
        }
    }
    out
}

/// Base64 with the alphabet for addresses, without padding.
pub fn base64_url(text: &str) -> String {
    base64(text).replace('+', "-").replace('/', "_").replace('=', "")
}

/// Two digits for each byte, `between` them.
pub fn hex(text: &str, before: &str, between: &str) -> String {
    text.bytes().map(|byte| format!("{before}{byte:02x}")).collect::<Vec<_>>().join(between)
}

/// `%XX` for each byte that `which` names; other bytes stay.
pub fn percent(text: &str, which: impl Fn(u8) -> bool) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        if which(byte) {
            let _ = write!(out, "%{byte:02X}");
        } else {
            out.push(char::from(byte));
        }
        out
    })
}

/// A Unicode tag character for each printable ASCII one; there are none for line ends.
pub fn tags(text: &str) -> String {
    let tag = |letter: char| char::from_u32(0xe0000 + u32::from(if letter == '\n' { ' ' } else { letter })).expect("a tag");
    text.chars().map(tag).collect()
}

/// A variation selector for each byte: the first sixteen in one block, the others in another.
pub fn variation_selectors(text: &str) -> String {
    let selector = |byte: u8| match u32::from(byte) {
        low @ 0..16 => 0xfe00 + low,
        high => 0xe0100 + high - 16,
    };
    text.bytes().map(|byte| char::from_u32(selector(byte)).expect("a selector")).collect()
}

/// The letters thirteen places on.
pub fn rot13(text: &str) -> String {
    let turned = |letter: char, first: u8| char::from(first + (letter as u8 - first + 13) % 26);
    text.chars()
        .map(|letter| match letter {
            'a'..='z' => turned(letter, b'a'),
            'A'..='Z' => turned(letter, b'A'),
            other => other,
        })
        .collect()
}
