//! The folded view: letters in one case, white space runs as one space.

use alloc::string::String;
use alloc::vec::Vec;

/// A text in folded form with the way back to the original's byte offsets.
///
/// Letters are mapped to upper and then to lower case with the mappings of Unicode (so that the Kelvin sign, the long s and the final
/// sigma fold like their plain letters); every run of white space (property White_Space) becomes one U+0020.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folded {
    text: String,
    /// (offset in the view, offset in the original): between two entries both advance together.
    steps: Vec<(u32, u32)>,
}

impl Folded {
    /// Folds `original`. Linear; the view is at most three times as long.
    pub fn new(original: &str) -> Self {
        let mut folded = Folded { text: String::with_capacity(original.len()), steps: Vec::new() };
        let mut after_space = false;
        let mut rest = original;
        let mut at = 0;
        while !rest.is_empty() {
            let plain = plain_length(rest.as_bytes(), after_space);
            if let (1.., Some((run, tail))) = (plain, rest.split_at_checked(plain)) {
                folded.mark(at);
                let from = folded.text.len();
                folded.text.push_str(run);
                if let Some(copied) = folded.text.get_mut(from..) {
                    copied.make_ascii_lowercase();
                }
                (rest, at, after_space) = (tail, at + plain, run.ends_with(' '));
                continue;
            }
            let mut chars = rest.chars();
            let Some(letter) = chars.next() else { break };
            if !letter.is_whitespace() {
                folded.mark(at);
                folded.text.extend(letter.to_uppercase().flat_map(char::to_lowercase));
                after_space = false;
            } else if !after_space {
                folded.mark(at);
                folded.text.push(' ');
                after_space = true;
            }
            at += letter.len_utf8();
            rest = chars.as_str();
        }
        folded
    }

    /// The folded text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The byte range of `original` that the view's bytes `start..end` come from, widened to whole characters.
    pub fn span(&self, original: &str, start: usize, end: usize) -> (usize, usize) {
        let start = original.floor_char_boundary(self.original_offset(start));
        (start, original.ceil_char_boundary(self.original_offset(end)).max(start))
    }

    /// Where byte `offset` of the view comes from. Inside a letter that folded to several it may point into a character.
    fn original_offset(&self, offset: usize) -> usize {
        let bound = bounded(offset);
        let next = self.steps.partition_point(|&(view, _)| view <= bound);
        next.checked_sub(1).and_then(|at| self.steps.get(at)).map_or(0, |&step| follow(step, bound))
    }

    /// Notes that the next byte of the view comes from byte `original` of the original, unless the last step already says so.
    fn mark(&mut self, original: usize) {
        let (view, original) = (bounded(self.text.len()), bounded(original));
        if self.steps.last().is_none_or(|&step| follow(step, view) != original as usize) {
            self.steps.push((view, original));
        }
    }
}

/// Number of bytes at the start that fold one to one: printable ASCII, of spaces none behind another. Eight at a time while it is so, which is
/// nearly always.
fn plain_length(bytes: &[u8], mut after_space: bool) -> usize {
    let (words, _) = bytes.as_chunks::<8>();
    let mut length = 0;
    for word in words {
        match plain_word(u64::from_le_bytes(*word), after_space) {
            Some(ends_in_space) => after_space = ends_in_space,
            None => break,
        }
        length += 8;
    }
    let plain = |&byte: &u8| {
        let space = byte == b' ';
        let fits = (b' '..0x7f).contains(&byte) && !(space && after_space);
        after_space = space;
        fits
    };
    length + bytes.get(length..).unwrap_or_default().iter().copied().take_while(plain).count()
}

/// Whether eight bytes, the first lowest, are all plain; then whether the last one is a space.
fn plain_word(word: u64, after_space: bool) -> Option<bool> {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    if word & HIGH != 0 {
        return None;
    }
    // No byte is above 0x7f, so nothing carries from one byte into the next: the high bit of a byte is set in `word + n` exactly if the
    // byte is 0x80 - n at least.
    let printable = (word + ONES * 0x60) & !(word + ONES) & HIGH;
    let other = (word ^ (ONES * u64::from(b' '))) + ONES * 0x7f;
    let spaces = !other & HIGH;
    let doubled = spaces & ((spaces << 8) | (u64::from(after_space) << 7));
    (printable == HIGH && doubled == 0).then_some(spaces >> 63 == 1)
}

/// Where a view offset leads, counted on from the step before it.
fn follow((view, original): (u32, u32), offset: u32) -> usize {
    original.saturating_add(offset.saturating_sub(view)) as usize
}

/// Texts are far shorter than 4 GiB ([`crate::limits`]); a longer one would lose its spans, not its hits.
fn bounded(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn fold(text: &str) -> String {
        Folded::new(text).as_str().to_string()
    }

    #[test]
    fn case_and_white_space_fold() {
        assert_eq!(fold("Ignore\u{a0} \t\nALL\u{2028}Rules"), "ignore all rules");
        assert_eq!(fold("  x  "), " x ");
        assert_eq!(fold(""), "");
        assert_eq!(fold("\u{212a}\u{17f}\u{3a3}\u{3c2}\u{c4}\u{df}"), "ks\u{3c3}\u{3c3}\u{e4}ss");
        assert_eq!(fold("nul\0stays\u{1f}"), "nul\0stays\u{1f}");
    }

    proptest::proptest! {
        /// Eight at a time or one by one: the bytes around the borders of what is plain, at every place in a word.
        #[test]
        fn plain_bytes_are_counted_as_a_plain_loop_counts_them(text in "[ !a~\x1f\x7f\u{80}]{0,40}", run in 0usize..20, after_space in proptest::bool::ANY) {
            let text = "a".repeat(run) + &text;
            let mut before = after_space;
            let mut expected = 0;
            for byte in text.bytes() {
                if !(0x20..=0x7e).contains(&byte) || (byte == 0x20 && before) {
                    break;
                }
                before = byte == 0x20;
                expected += 1;
            }
            proptest::prop_assert_eq!(plain_length(text.as_bytes(), after_space), expected);
        }

        /// The definition, letter by letter.
        #[test]
        fn folding_is_what_the_definition_says(text in "[ a\tB\u{a0}\u{df}\u{3a3}\u{130}\u{200b}\\PC]{0,40}") {
            let mut expected = String::new();
            for letter in text.chars() {
                if !letter.is_whitespace() {
                    expected.extend(letter.to_uppercase().flat_map(char::to_lowercase));
                } else if !expected.ends_with(' ') {
                    expected.push(' ');
                }
            }
            let folded = Folded::new(&text);
            proptest::prop_assert_eq!(folded.as_str(), expected.as_str());
            // Whatever is asked, the answer is a range of whole characters.
            for start in 0..=expected.len() {
                let (from, to) = folded.span(&text, start, (start + 3).min(expected.len()));
                proptest::prop_assert!(text.get(from..to).is_some());
            }
        }
    }

    #[test]
    fn offsets_lead_back_to_the_original() {
        let original = "A  \u{c4}\u{df}\u{a0}\u{a0}Bc";
        let folded = Folded::new(original);
        assert_eq!(folded.as_str(), "a \u{e4}ss bc");
        let span = |needle: &str| {
            let start = folded.as_str().find(needle).expect("in the view");
            let (start, end) = folded.span(original, start, start + needle.len());
            &original[start..end]
        };
        assert_eq!(span("a"), "A");
        assert_eq!(span("a \u{e4}"), "A  \u{c4}");
        assert_eq!(span("\u{e4}ss"), "\u{c4}\u{df}");
        assert_eq!(span("s "), "\u{df}\u{a0}\u{a0}");
        assert_eq!(span("bc"), "Bc");
    }
}
