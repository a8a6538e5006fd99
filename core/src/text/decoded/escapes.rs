//! Escapes that stand for single characters: HTML entities (HTML 13.5), percent (RFC 3986 2.1), and the backslash of JSON and its kin (RFC 8259 7).
//! HTML tags, which show nothing themselves, count as characters that show nothing.

use alloc::string::String;

use crate::limits::MAX_TAG_BYTES;
use crate::score::letters::BORDER;
use crate::text::offsets::Offsets;

/// Named entities for what can stand between words or inside them, by their first letter; names for letters with accents are left to their plain spelling.
/// A name that begins like another stands before it.
const NAMED: [(&str, char); 44] = [
    ("InvisibleComma", '\u{2063}'),
    ("InvisibleTimes", '\u{2062}'),
    ("NewLine", '\n'),
    ("NoBreak", '\u{2060}'),
    ("NonBreakingSpace", ' '),
    ("Tab", '\t'),
    ("ThinSpace", ' '),
    ("ZeroWidthSpace", '\u{200b}'),
    ("amp", '&'),
    ("apos", '\''),
    ("ast", '*'),
    ("bull", ' '),
    ("colon", ':'),
    ("comma", ','),
    ("emsp", ' '),
    ("ensp", ' '),
    ("excl", '!'),
    ("gt", '>'),
    ("hairsp", ' '),
    ("hellip", ' '),
    ("hyphen", '-'),
    ("ldquo", '"'),
    ("lowbar", '_'),
    ("lrm", '\u{200e}'),
    ("lsquo", '\''),
    ("lt", '<'),
    ("mdash", '-'),
    ("middot", ' '),
    ("nbsp", ' '),
    ("ndash", '-'),
    ("num", '#'),
    ("numsp", ' '),
    ("period", '.'),
    ("puncsp", ' '),
    ("quot", '"'),
    ("rdquo", '"'),
    ("rlm", '\u{200f}'),
    ("rsquo", '\''),
    ("shy", '\u{ad}'),
    ("sol", '/'),
    ("thinsp", ' '),
    ("verbar", '|'),
    ("zwj", '\u{200d}'),
    ("zwnj", '\u{200c}'),
];

/// What [`unescape`] made of a text.
#[derive(Debug, Default)]
pub struct Unescaped {
    /// The text with every escape replaced, and the way back; `None` when there is none.
    pub text: Option<(String, Offsets)>,
    /// Whether there are HTML tags in it.
    pub tags: bool,
}

/// Replaces every escape, and every tag too if `without_tags`. Linear.
pub fn unescape(original: &str, without_tags: bool) -> Unescaped {
    let (mut out, mut offsets, mut tags) = (String::new(), Offsets::default(), false);
    let (mut copied, mut at) = (0, 0);
    while let Some(found) = original.as_bytes().get(at..).and_then(next_special) {
        at += found;
        let rest = original.get(at..).unwrap_or_default();
        let tag = if without_tags || !tags { tag(rest.as_bytes()) } else { None };
        tags |= tag.is_some();
        let Some((length, letter)) = tag.filter(|_| without_tags).or_else(|| escape(rest)) else {
            at += 1;
            continue;
        };
        if out.is_empty() {
            out.reserve(original.len());
        }
        offsets.mark(out.len(), copied);
        out.push_str(original.get(copied..at).unwrap_or_default());
        offsets.mark(out.len(), at);
        // In a view this one keeps records apart, which a text must not forge.
        out.push(if letter == char::from(BORDER) { ' ' } else { letter });
        at += length;
        copied = at;
    }
    if copied == 0 {
        return Unescaped { text: None, tags };
    }
    offsets.mark(out.len(), copied);
    out.push_str(original.get(copied..).unwrap_or_default());
    Unescaped { text: Some((out, offsets)), tags }
}

/// Where the next byte stands that can begin an escape. Eight at a time, since most texts have none.
fn next_special(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    // Not zero if a byte of the word may be `byte`; always zero if none is.
    let holds = |word: u64, byte: u8| {
        let same = word ^ (ONES * u64::from(byte));
        same.wrapping_sub(ONES) & !same & HIGH
    };
    let (words, _) = bytes.as_chunks::<8>();
    let may_hold = |word: &[u8; 8]| {
        let word = u64::from_le_bytes(*word);
        holds(word, b'&') | holds(word, b'%') | holds(word, b'\\') | holds(word, b'<') != 0
    };
    let from = words.iter().position(may_hold).unwrap_or(words.len()) * 8;
    let special = |byte: &u8| matches!(byte, b'&' | b'%' | b'\\' | b'<');
    bytes.get(from..)?.iter().position(special).map(|at| from + at)
}

/// The escape at the start of `rest`: its length in bytes and what it stands for.
fn escape(rest: &str) -> Option<(usize, char)> {
    match rest.as_bytes().first()? {
        b'&' => entity(rest),
        b'%' => percent(rest.as_bytes()),
        b'\\' => backslash(rest.as_bytes()),
        _ => None,
    }
}

/// A tag, as far as tags are long.
fn tag(rest: &[u8]) -> Option<(usize, char)> {
    rest.get(1).filter(|&&first| first.is_ascii_alphabetic() || matches!(first, b'/' | b'!'))?;
    let end = rest.iter().take(MAX_TAG_BYTES).skip(1).position(|byte| matches!(byte, b'<' | b'>'))? + 1;
    (rest.get(end) == Some(&b'>')).then_some((end + 1, '\u{200b}'))
}

fn entity(rest: &str) -> Option<(usize, char)> {
    let body = rest.get(1..)?;
    if let Some(number) = body.strip_prefix('#') {
        let (digits, radix, before) = match number.strip_prefix(['x', 'X']) {
            Some(hex) => (hex, 16, 3),
            None => (number, 10, 2),
        };
        let (length, point) = digits_value(digits.as_bytes(), radix, 8)?;
        let end = before + length;
        return Some((end + usize::from(rest.as_bytes().get(end) == Some(&b';')), char::from_u32(point)?));
    }
    let first = body.as_bytes().first().filter(|first| first.is_ascii_alphabetic())?;
    // Few begin with the same letter, and hostile text is full of them.
    let (name, letter) = NAMED.iter().find(|(name, _)| name.as_bytes().first() == Some(first) && body.starts_with(name))?;
    let end = 1 + name.len();
    Some((end + usize::from(rest.as_bytes().get(end) == Some(&b';')), *letter))
}

/// The character that one or more `%XX` at the start spell in UTF-8; a byte that belongs to none is U+FFFD.
fn percent(rest: &[u8]) -> Option<(usize, char)> {
    let byte = |number: usize| match rest.get(3 * number..3 * number + 3)? {
        [b'%', high, low] => Some(hex_digit(*high)? * 16 + hex_digit(*low)?),
        _ => None,
    };
    let first = byte(0)?;
    let length = match first {
        0x00..=0x7f => 1,
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xff => 4,
        _ => 0,
    };
    let mut bytes = [0; 4];
    let mut found = 0;
    for (slot, byte) in bytes.iter_mut().zip((0..length).map_while(byte)) {
        *slot = byte;
        found += 1;
    }
    let letter = bytes.get(..found).and_then(|bytes| core::str::from_utf8(bytes).ok()).and_then(|text| text.chars().next());
    Some(letter.map_or((3, char::REPLACEMENT_CHARACTER), |letter| (3 * length, letter)))
}

fn backslash(rest: &[u8]) -> Option<(usize, char)> {
    let text = |letter| Some((2, letter));
    match rest.get(1)? {
        b'n' => text('\n'),
        b'r' => text('\r'),
        b't' => text('\t'),
        b'"' => text('"'),
        b'\'' => text('\''),
        b'/' => text('/'),
        // JSON within JSON doubles the backslash of an escape, again and again.
        b'\\' => {
            let more = rest.iter().take_while(|&&byte| byte == b'\\').count() - 1;
            let inner = rest.get(more..).and_then(backslash);
            Some(inner.map_or((1 + more, '\\'), |(length, letter)| (more + length, letter)))
        }
        b'x' => fixed(rest, 2, 2),
        b'U' => fixed(rest, 2, 8),
        b'u' if rest.get(2) == Some(&b'{') => {
            let (length, point) = digits_value(rest.get(3..)?, 16, 6)?;
            let closed = rest.get(3 + length) == Some(&b'}');
            closed.then(|| char::from_u32(point)).flatten().map(|letter| (4 + length, letter))
        }
        b'u' => {
            let (length, high) = units(rest)?;
            if !(0xd800..0xdc00).contains(&high) {
                return char::from_u32(high).map(|letter| (length, letter));
            }
            let (_, low) = units(rest.get(length..)?).filter(|(_, low)| (0xdc00..0xe000).contains(low))?;
            char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00)).map(|letter| (2 * length, letter))
        }
        _ => None,
    }
}

/// `\uXXXX` at the start of `rest`.
fn units(rest: &[u8]) -> Option<(usize, u32)> {
    let digits = rest.strip_prefix(b"\\u")?;
    let (length, unit) = digits_value(digits, 16, 4)?;
    (length == 4).then_some((6, unit))
}

/// A character of exactly `count` hex digits behind the first `before` bytes.
fn fixed(rest: &[u8], before: usize, count: usize) -> Option<(usize, char)> {
    let (length, point) = digits_value(rest.get(before..)?, 16, count)?;
    (length == count).then(|| char::from_u32(point)).flatten().map(|letter| (before + count, letter))
}

/// The number that at most `most` digits at the start spell, and how many there are; `None` without any.
fn digits_value(digits: &[u8], radix: u32, most: usize) -> Option<(usize, u32)> {
    let (mut length, mut value) = (0, 0u32);
    for digit in digits.iter().take(most) {
        let Some(digit) = char::from(*digit).to_digit(radix) else { break };
        value = value.checked_mul(radix)?.checked_add(digit)?;
        length += 1;
    }
    (length > 0).then_some((length, value))
}

/// The value of a hex digit in any case.
pub(super) fn hex_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn text(original: &str) -> Option<String> {
        unescape(original, false).text.map(|(text, _)| text)
    }

    #[test]
    fn every_escape_is_replaced() {
        for (original, expected) in [
            ("&#105;g&#x6E;&#X6F;re&nbsp;all &lt;b&gt; &amp; &ZeroWidthSpace;x", "ignore all <b> & \u{200b}x"),
            ("&#105g &lt b", "ig < b"),
            ("%69g%6Eore%20all %C3%A9", "ignore all \u{e9}"),
            (r"\u0069gnore\n\tall \x72ules \u{72}ules \U00000072 \ud83d\ude00", "ignore\n\tall rules rules r \u{1f600}"),
            (r#"{\"a\": \"b\/c\\\\d\"}"#, r#"{"a": "b/c\d"}"#),
            ("a&#31;b\\u001fc%1Fd", "a b c d"),
            (r"ignore\\\\nall\\\u0020rules", "ignore\nall rules"),
        ] {
            assert_eq!(text(original).as_deref(), Some(expected), "{original}");
        }
    }

    #[test]
    fn tags_show_nothing() {
        let text = |original| Some(unescape(original, true)).filter(|found| found.tags).and_then(|found| found.text).map(|(text, _)| text);
        assert_eq!(text("a<br>b<b class=\"x\">&#99;</b>d<!-- e -->").as_deref(), Some("a\u{200b}b\u{200b}c\u{200b}d\u{200b}"));
        for plain in ["3 < 5 > 2 <", "a <b c", "a <b <c", "&lt;b&gt;", "< b>"] {
            assert_eq!(text(plain), None, "{plain}");
        }
    }

    #[test]
    fn what_is_no_escape_stays() {
        for plain in [
            "",
            "plain",
            "100 % of R&D; a&b",
            "3 < 5 > 2 <",
            "a <b c",
            "a <b <c",
            "&#; &#x; &#x110000; &#99999999;",
            "%zz %4",
            r"C:\dir \d+ \u12 \u{} \u{110000} \ud800 \x1",
        ] {
            assert_eq!(text(plain), None, "{plain}");
        }
        assert_eq!(text(r"\ud800\u0041").as_deref(), Some(r"\ud800A"));
    }

    #[test]
    fn offsets_lead_back() {
        let original = "a&#98;c %64%65 f";
        let (text, offsets) = unescape(original, false).text.expect("it has some");
        assert_eq!(text, "abc de f");
        let back = |start: usize, end: usize| original[offsets.original(start)..offsets.original(end)].to_string();
        assert_eq!(back(0, 1), "a");
        assert_eq!(back(1, 2), "&#98;");
        assert_eq!(back(0, 3), "a&#98;c");
        assert_eq!(back(4, 6), "%64%65");
        assert_eq!(back(5, 6), "%65");
        assert_eq!(back(6, 8), " f");
    }
}
