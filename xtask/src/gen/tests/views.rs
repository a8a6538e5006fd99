//! Views against their slow, obvious twins: the fold of whole texts from that of single characters, escapes by regular expressions, spans by the crates
//! that encode them.

use floodmark_core::text::{Fold, Folded, decode};
use floodmark_tables::CATEGORIES;
use proptest::prelude::*;
use regex_lite::{Captures, Regex};
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// A character as the fold table has it, ASCII included.
fn fold(letter: char) -> Fold<'static> {
    match letter {
        '\t'..='\r' | ' ' => Fold::Separator,
        _ if letter.is_ascii() => Fold::Keep,
        _ => CATEGORIES.folds.fold(letter),
    }
}

/// The folded view by its definition, word by word.
fn folded_twin(text: &str) -> String {
    let mut out = String::new();
    let ends_word = |letter: &char| fold(*letter) == Fold::Separator || (letter.is_ascii() && !letter.is_ascii_alphanumeric());
    let letters: Vec<char> = text.chars().collect();
    for (at, &letter) in letters.iter().enumerate() {
        let start = letters[..at].iter().rposition(ends_word).map_or(0, |border| border + 1);
        let end = letters[at..].iter().position(ends_word).map_or(letters.len(), |border| at + border);
        let word: Vec<Fold<'_>> = letters[start..end.max(start)].iter().map(|&letter| fold(letter)).collect();
        let latin = letters[start..end.max(start)].iter().zip(&word).any(|(letter, fold)| match fold {
            Fold::Keep => letter.is_ascii(),
            Fold::Text(text) => text.is_ascii(),
            _ => false,
        });
        let foreign = letters[start..end.max(start)].iter().zip(&word).any(|(letter, fold)| match fold {
            Fold::Keep => !letter.is_ascii(),
            Fold::Text(text) => !text.is_ascii(),
            _ => false,
        });
        match fold(letter) {
            Fold::Keep => out.push(letter.to_ascii_lowercase()),
            Fold::Separator if out.ends_with(' ') => {}
            Fold::Separator => out.push(' '),
            Fold::Remove => {}
            Fold::Mark if out.chars().next_back().is_none_or(|before| before.is_ascii()) => {}
            Fold::Mark => out.push(letter),
            Fold::Text(text) => out.push_str(text),
            Fold::Lookalike(look, plain) => out.push_str(if latin || !foreign { look } else { plain }),
        }
    }
    out
}

/// Escapes by regular expressions, leftmost first.
fn escapes_twin(text: &str) -> String {
    let number = |digits: &str, radix| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32).map(String::from);
    let escapes = Regex::new(
        r"(?x)
        (?P<dec>&\#(?P<d>[0-9]{1,8});?) | (?P<hex>&\#[xX](?P<h>[0-9a-fA-F]{1,8});?) | (?P<named>&(?P<n>nbsp|amp|lt|gt|quot);?)
        | (?P<percent>(?:%[0-9a-fA-F]{2})+) | (?P<unit>\\+u(?P<u>[0-9a-fA-F]{4})) | (?P<short>\\+(?P<s>[nrt])) | (?P<more>\\{2,})",
    )
    .expect("a regex");
    let replaced = escapes.replace_all(text, |found: &Captures<'_>| {
        let all = found.get(0).map_or("", |all| all.as_str()).to_owned();
        let group = |name: &str| found.name(name).map(|group| group.as_str());
        let text = group("d").and_then(|digits| number(digits, 10)).or_else(|| group("h").and_then(|digits| number(digits, 16)));
        let text = text.or_else(|| group("u").and_then(|digits| number(digits, 16)));
        let text = text.or_else(|| {
            group("s").map(|letter| {
                if letter == "t" {
                    "\t"
                } else if letter == "n" {
                    "\n"
                } else {
                    "\r"
                }
                .to_owned()
            })
        });
        let text = text.or_else(|| group("more").map(|_| "\\".to_owned()));
        let named = [("nbsp", " "), ("amp", "&"), ("lt", "<"), ("gt", ">"), ("quot", "\"")];
        let text =
            text.or_else(|| group("n").and_then(|name| named.iter().find(|(known, _)| *known == name)).map(|(_, text)| (*text).to_owned()));
        let bytes = |run: &str| run.split('%').skip(1).map(|pair| u8::from_str_radix(pair, 16).expect("hex")).collect::<Vec<_>>();
        text.or_else(|| group("percent").map(|run| String::from_utf8_lossy(&bytes(run)).into_owned())).unwrap_or(all)
    });
    replaced.into_owned()
}

/// All that is decoded of `text`.
fn decoded(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    decode(text, |found| all.push(found.as_str().to_owned()));
    all
}

#[test]
fn every_character_folds_as_unicode_says() {
    let mut ascii = 0;
    for letter in ('\u{80}'..'\u{20000}').filter(|letter| letter.is_alphanumeric()) {
        let lower: String = letter.nfkc().collect::<String>().to_lowercase().nfkc().collect();
        let bare: String = lower.nfkd().filter(|letter| !is_combining_mark(*letter)).collect();
        if !bare.is_empty()
            && bare.chars().all(|letter| letter.is_ascii_alphanumeric())
            && !is_combining_mark(letter)
            && CATEGORIES.folds.fold(letter) != Fold::Remove
        {
            assert_eq!(CATEGORIES.folds.fold(letter), Fold::Text(&bare), "{letter:?}");
            ascii += 1;
        }
    }
    // Latin with accents, mathematical letters, full width, circles and so on.
    assert!(ascii > 1500, "{ascii}");
    for space in ('\u{80}'..=char::MAX).filter(|letter| letter.is_whitespace()) {
        assert_eq!(CATEGORIES.folds.fold(space), Fold::Separator, "{space:?}");
    }
    for nothing in
        ['\u{ad}', '\u{34f}', '\u{115f}', '\u{3164}', '\u{ffa0}', '\u{200b}', '\u{200f}', '\u{2069}', '\u{fe0f}', '\u{e0041}', '\u{e0101}']
    {
        assert_eq!(CATEGORIES.folds.fold(nothing), Fold::Remove, "{nothing:?}");
    }
}

/// Letters of many scripts, marks, what shows nothing, what separates.
const LETTERS: &str = "[a-cA-C0 .,'\\-_\t\n\u{a0}\u{2028}\u{2014}\u{201c}\u{2019}\u{e9}\u{df}\u{301}\u{308}\u{430}\u{435}\u{43e}\u{436}\u{44f}\u{391}\u{3bd}\u{39d}\u{3c9}\u{200b}\u{200d}\u{ad}\u{3164}\u{ff41}\u{1d41a}\u{4e2d}\u{6587}\u{627}\u{1f600}\u{e0061}\u{0}\u{1f}]{0,30}";

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn folding_a_text_is_folding_its_words(text in LETTERS) {
        let folded = Folded::new(&text, &CATEGORIES.folds);
        prop_assert_eq!(folded.as_str(), folded_twin(&text));
        for start in 0..=folded.as_str().len() {
            let (from, to) = folded.span(&text, start, (start + 3).min(folded.as_str().len()));
            prop_assert!(text.get(from..to).is_some());
        }
        let again = Folded::new(folded.as_str(), &CATEGORIES.folds);
        prop_assert_eq!(again.as_str(), folded.as_str());
    }

    #[test]
    fn escapes_are_what_regular_expressions_find(text in "([a-z ]{0,3}(&#[0-9]{2,4};?|&#x[0-9a-f]{2,3};|&nbsp;|&amp;|&lt|&x;|%[0-9a-f]{2}|%[0-9a-z]|\\\\{1,3}[nrtuz]|\\\\u00[2-7][0-9a-f]|\u{e9})){0,8}") {
        let twin = escapes_twin(&text);
        let ours = decoded(&text).into_iter().next().unwrap_or_else(|| text.clone());
        // How many replacement characters stand for broken UTF-8 is a matter of taste.
        let once = |text: String| text.split('\u{fffd}').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\u{fffd}");
        prop_assert_eq!(once(ours), once(twin), "{:?}", text);
    }

    #[test]
    fn what_is_encoded_is_found(secret in "[a-zA-Z0-9 .,!?'\u{e9}\u{4e2d}]{12,60}", before in "([a-z]{1,8} ){0,3}", after in "( [a-z]{1,8}){0,3}", pad in prop::bool::ANY) {
        prop_assume!(secret.len() >= 16);
        let base64 = |engine: &dyn Fn(&[u8]) -> String| engine(secret.as_bytes());
        let standard = base64(&|bytes| data_encoding::BASE64.encode(bytes));
        let url = base64(&|bytes| data_encoding::BASE64URL_NOPAD.encode(bytes));
        let hex = base64(&|bytes| data_encoding::HEXLOWER.encode(bytes));
        let standard = if pad { standard } else { standard.trim_end_matches('=').to_owned() };
        let tags: String = secret.chars().filter(char::is_ascii).filter_map(|letter| char::from_u32(0xe0000 + u32::from(letter))).collect();
        let selectors: String =
            secret.bytes().filter_map(|byte| char::from_u32(if byte < 16 { 0xfe00 } else { 0xe0100 - 16 } + u32::from(byte))).collect();
        let ascii: String = secret.chars().filter(char::is_ascii).collect();
        for (encoded, text) in [(&standard, &secret), (&url, &secret), (&hex, &secret), (&tags, &ascii), (&selectors, &secret)] {
            if text.len() < 8 {
                continue;
            }
            let found = decoded(&format!("{before}{encoded}{after}"));
            prop_assert!(found.iter().any(|found| found.contains(text.as_str())), "{:?} is not in {:?}, from {:?}", text, found, encoded);
        }
    }
}
