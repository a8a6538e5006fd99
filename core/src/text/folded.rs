//! The folded view: what a reader sees of a text, in plain letters where there are any.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use super::fold_table::{Fold, FoldTable};
use super::offsets::Offsets;

/// A text in folded form with the way back to the original's byte offsets.
///
/// NFKC and lower case for each character; accents and other marks on Latin letters are dropped; characters that show nothing
/// (Default_Ignorable_Code_Point) are dropped; letters of other scripts that look like Latin ones become those in words that mix scripts; every
/// run of white space, and of punctuation and symbols outside ASCII, becomes one U+0020. What folds to ASCII is ASCII.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folded<'e> {
    text: Cow<'e, str>,
    offsets: Offsets,
    /// Offsets in the view at which characters that show nothing were dropped, ascending.
    dropped: Vec<u32>,
}

impl<'e> Folded<'e> {
    /// An ASCII text as its own view: the scanner reads letters in any case and any run of separators. `None` for other texts.
    pub fn ascii(original: &'e str) -> Option<Self> {
        let plain = Folded { text: Cow::Borrowed(original), ..Folded::default() };
        original.is_ascii().then_some(plain)
    }

    /// What the scanner reads of `original`: an ASCII text itself, any other folded.
    pub fn of(original: &'e str, table: &FoldTable<'_>) -> Self {
        Self::ascii(original).unwrap_or_else(|| Self::new(original, table))
    }

    /// Folds `original`. Linear; the view is at most six times as long.
    pub fn new(original: &str, table: &FoldTable<'_>) -> Folded<'static> {
        let mut folder = Folder {
            table,
            original,
            out: String::with_capacity(original.len()),
            offsets: Offsets::default(),
            dropped: Vec::new(),
            word_start: 0,
            word: (0, false),
        };
        let mut at = 0;
        while let Some(rest) = original.get(at..).filter(|rest| !rest.is_empty()) {
            let plain = plain_length(rest.as_bytes(), folder.after_space());
            if let (1.., Some(run)) = (plain, rest.get(..plain)) {
                folder.plain(at, run);
                at += plain;
                continue;
            }
            let Some(letter) = rest.chars().next() else { break };
            folder.letter(at, letter);
            at += letter.len_utf8();
        }
        Folded { text: Cow::Owned(folder.out), offsets: folder.offsets, dropped: folder.dropped }
    }

    /// The folded text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether something that shows nothing stood at byte `offset` of the view.
    pub fn dropped_at(&self, offset: usize) -> bool {
        u32::try_from(offset).is_ok_and(|offset| self.dropped.binary_search(&offset).is_ok())
    }

    /// Whether something that shows nothing was dropped anywhere, so that words may end where nothing shows it.
    pub fn is_broken(&self) -> bool {
        !self.dropped.is_empty()
    }

    /// The byte range of `original` that the view's bytes `start..end` come from, widened to whole characters.
    pub fn span(&self, original: &str, start: usize, end: usize) -> (usize, usize) {
        let start = original.floor_char_boundary(self.offsets.original(start));
        (start, original.ceil_char_boundary(self.offsets.original(end)).max(start))
    }
}

struct Folder<'f> {
    table: &'f FoldTable<'f>,
    original: &'f str,
    out: String,
    offsets: Offsets,
    dropped: Vec<u32>,
    /// Offset in the original at which the word begins that is being read.
    word_start: usize,
    /// Look-alikes before this offset of the original fold to Latin letters, or do not: the word that they stand in was looked at.
    word: (usize, bool),
}

impl Folder<'_> {
    fn after_space(&self) -> bool {
        self.out.ends_with(' ')
    }

    /// ASCII that needs no more than lower case.
    fn plain(&mut self, at: usize, run: &str) {
        self.offsets.mark(self.out.len(), at);
        let from = self.out.len();
        self.out.push_str(run);
        if let Some(copied) = self.out.get_mut(from..) {
            copied.make_ascii_lowercase();
        }
        if let Some(border) = run.bytes().rposition(|byte| !byte.is_ascii_alphanumeric()) {
            self.word_start = at + border + 1;
        }
    }

    fn letter(&mut self, at: usize, letter: char) {
        let fold = if letter.is_ascii() {
            if letter.is_ascii_whitespace() || letter == '\u{b}' { Fold::Separator } else { Fold::Keep }
        } else {
            self.table.fold(letter)
        };
        if fold == Fold::Separator || (letter.is_ascii() && !letter.is_ascii_alphanumeric()) {
            self.word_start = at + letter.len_utf8();
        }
        let mut buffer = [0; 4];
        let text = match fold {
            Fold::Separator if self.after_space() => return,
            Fold::Separator => " ",
            Fold::Remove => return self.drop(),
            Fold::Mark if self.out.bytes().next_back().is_none_or(|byte| byte.is_ascii()) => return,
            Fold::Keep | Fold::Mark => letter.encode_utf8(&mut buffer),
            Fold::Text(text) => text,
            Fold::Lookalike(latin, other) => {
                if self.word_is_latin(at) {
                    latin
                } else {
                    other
                }
            }
        };
        self.offsets.mark(self.out.len(), at);
        self.out.push_str(text);
    }

    fn drop(&mut self) {
        let here = u32::try_from(self.out.len()).unwrap_or(u32::MAX);
        if self.dropped.last() != Some(&here) {
            self.dropped.push(here);
        }
    }

    /// Whether the look-alike at `at` stands in a word with Latin letters, or in one that has nothing but look-alikes. Every word is looked at once.
    fn word_is_latin(&mut self, at: usize) -> bool {
        if at < self.word.0 {
            return self.word.1;
        }
        let (mut latin, mut other) = (false, false);
        let mut end = self.word_start;
        for letter in self.original.get(self.word_start..).unwrap_or_default().chars() {
            if letter.is_ascii() {
                if !letter.is_ascii_alphanumeric() {
                    break;
                }
                latin = true;
            } else {
                match self.table.fold(letter) {
                    Fold::Separator => break,
                    Fold::Text(text) if text.is_ascii() => latin = true,
                    Fold::Keep | Fold::Text(_) => other = true,
                    Fold::Remove | Fold::Mark | Fold::Lookalike(..) => {}
                }
            }
            end += letter.len_utf8();
        }
        self.word = (end, latin || !other);
        self.word.1
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

#[cfg(test)]
mod tests {
    use super::*;

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
    }
}
