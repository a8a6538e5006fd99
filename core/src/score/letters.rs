//! Bytes of a view as patterns see them: letters and digits in one case, what separates them, and what no pattern holds.

/// Stands between records of a text, which no pattern may cross. It is no letter, yet no separator either.
pub const BORDER: u8 = 0x1f;

/// What [`letter`] gives for letters outside ASCII, which no pattern holds.
pub const FOREIGN: u8 = 1;
/// What [`letter`] gives for [`BORDER`]. Of ASCII letters and digits it gives more.
pub const RECORD: u8 = 2;

/// The lower-case letter or the digit that a byte is; 0 for a separator, [`FOREIGN`] or [`RECORD`] for what no pattern holds.
pub const fn letter(byte: u8) -> u8 {
    match byte {
        b'a'..=b'z' | b'0'..=b'9' => byte,
        b'A'..=b'Z' => byte | 0x20,
        0x80.. => FOREIGN,
        BORDER => RECORD,
        _ => 0,
    }
}

/// Whether a byte of a view may stand between the letters of a pattern: ASCII that is no letter or digit. Of what is not ASCII, a view keeps letters
/// only.
pub const fn is_separator(byte: u8) -> bool {
    letter(byte) == 0
}
