//! Other letters for plain ones: styled alphabets, and letters of other scripts that look alike.

/// The character `offset` places on.
fn shifted(base: u32, offset: u32) -> char {
    char::from_u32(base + offset).expect("a character")
}

/// Each ASCII letter as the alphabets say: where capital A and small a are; digits stay.
pub fn alphabet(text: &str, capital: u32, small: u32) -> String {
    let styled = |letter: char| match letter {
        'A'..='Z' => shifted(capital, letter as u32 - 'A' as u32),
        // The italic h was there before the others and kept its place.
        'h' if small == 0x1d44e => '\u{210e}',
        'a'..='z' => shifted(small, letter as u32 - 'a' as u32),
        other => other,
    };
    text.chars().map(styled).collect()
}

/// Every printable ASCII character in full width.
pub fn full_width(text: &str) -> String {
    let wide = |letter: char| match letter {
        ' ' => '\u{3000}',
        '!'..='~' => shifted(0xff01, letter as u32 - '!' as u32),
        other => other,
    };
    text.chars().map(wide).collect()
}

/// Every character replaced that `from` holds by the one at its place in `to`.
pub fn replaced(text: &str, (from, to): (&str, &str)) -> String {
    assert_eq!(from.chars().count(), to.chars().count(), "{from} {to}");
    let other = |letter: char| from.chars().zip(to.chars()).find(|(plain, _)| *plain == letter).map_or(letter, |(_, other)| other);
    text.chars().map(other).collect()
}

/// The first letter of every word replaced that `from` holds.
pub fn one_replaced_in_each_word(text: &str, (from, to): (&str, &str)) -> String {
    let mut done = false;
    let other = |letter: char| {
        done &= letter.is_ascii_alphanumeric();
        match from.chars().zip(to.chars()).find(|(plain, _)| *plain == letter) {
            Some((_, other)) if !done => {
                done = true;
                other
            }
            _ => letter,
        }
    };
    text.chars().map(other).collect()
}

/// Letters of Cyrillic that look like Latin ones.
pub const CYRILLIC: (&str, &str) = ("aceopxyijsdwqhlvABCEHIJKMOPSTXY", "асеорхуіјѕԁԝԛһӏѵАВСЕНІЈКМОРЅТХУ");
/// Letters of Greek that look like Latin ones.
pub const GREEK: (&str, &str) = ("aiopuvyABEHIKMNOPTXYZ", "αιορυνγΑΒΕΗΙΚΜΝΟΡΤΧΥΖ");
/// Small capitals.
pub const SMALL_CAPITALS: (&str, &str) = ("abcdefghijklmnoprstuvwyz", "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ");
/// Raised letters.
pub const RAISED: (&str, &str) = ("abcdefghijklmnoprstuvwxyz", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ");
/// Digits for letters.
pub const LEET: (&str, &str) = ("aeiostAEIOST", "431057431057");
