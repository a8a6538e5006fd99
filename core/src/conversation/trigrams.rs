//! Word trigrams: whether two texts have more than half of them in common, in linear time and without sorting.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::limits::RESAMPLING_MAX_PROBES;

/// The text with every run of white space that is not ASCII as a space, so that words can be found byte by byte.
pub fn plain_spaces(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.is_ascii() || !text.chars().any(|letter| !letter.is_ascii() && letter.is_whitespace()) {
        return text;
    }
    let space = |letter: char| if letter.is_whitespace() { ' ' } else { letter };
    Cow::Owned(text.chars().map(space).collect::<String>())
}

/// Whether the text has at least `least` words. White space is ASCII ([`plain_spaces`]).
pub fn has_words(text: &str, least: usize) -> bool {
    let mut count = 0;
    Borders::new(text.as_bytes()).any(|borders| {
        count += borders.count_ones() as usize;
        // Starts and ends; a word that has begun counts.
        count.div_ceil(2) >= least
    })
}

/// Whether the Jaccard index of the word trigrams of two texts of at least three words is above one half. White space is ASCII
/// ([`plain_spaces`]); ASCII letters are alike in any case.
pub fn alike(one: &str, other: &str) -> bool {
    if one == other {
        return true;
    }
    let (one, other) = (Text::new(one), Text::new(other));
    let (less, more) = if one.words <= other.words { (one, other) } else { (other, one) };
    may_be_alike(&less, &more) && are_alike(&less, &more)
}

/// A quick check that only errs by `true`: trigrams become single bits, so that different ones may meet. Then the first text has at least as many
/// trigrams as it has bits, the other at least as many of its own as it has other bits, and both have no more in common than meet.
fn may_be_alike(less: &Text<'_>, more: &Text<'_>) -> bool {
    let blocks = (BITS_PER_WORD * less.words).div_ceil(64).next_power_of_two();
    let (mut one, mut other) = (vec![0u64; blocks], vec![0u64; blocks]);
    let mut balance = Balance::new(more);
    for trigram in trigrams(less.words(Text::rough_word)) {
        balance.size += usize::from(set_bit(&mut one, trigram));
    }
    for trigram in trigrams(more.words(Text::rough_word)) {
        if has_bit(&one, trigram) {
            balance.both += 1;
        } else {
            balance.more_only += usize::from(set_bit(&mut other, trigram));
        }
        balance.left = balance.left.saturating_sub(1);
        if balance.is_lost() {
            return false;
        }
    }
    balance.is_alike()
}

/// Bits for each word of the shorter text: one in so many trigrams meets another by chance.
const BITS_PER_WORD: usize = 16;

/// Whether the trigram's bit is set.
fn has_bit(blocks: &[u64], trigram: u64) -> bool {
    let at = (trigram >> 38) as usize & blocks.len().wrapping_sub(1);
    blocks.get(at).is_some_and(|block| block >> (trigram >> 32 & 63) & 1 == 1)
}

/// Sets the trigram's bit; `false` if it was set.
fn set_bit(blocks: &mut [u64], trigram: u64) -> bool {
    let at = (trigram >> 38) as usize & blocks.len().wrapping_sub(1);
    let Some(block) = blocks.get_mut(at) else { return false };
    let bit = 1 << (trigram >> 32 & 63);
    let new = *block & bit == 0;
    *block |= bit;
    new
}

/// The definition, on hashes of the whole trigrams.
fn are_alike(less: &Text<'_>, more: &Text<'_>) -> bool {
    let mut set = Set::new(less);
    let mut balance = Balance { size: set.size, ..Balance::new(more) };
    for trigram in trigrams(more.words(Text::word)) {
        match set.note(trigram) {
            Some(Found::First) => balance.both += 1,
            Some(Found::New) => balance.more_only += 1,
            Some(Found::Again) | None => {}
        }
        balance.left = balance.left.saturating_sub(1);
        if balance.is_lost() {
            return false;
        }
    }
    balance.is_alike()
}

/// What is known while the trigrams of the longer text are looked for in those of the shorter one.
struct Balance {
    /// Trigrams of the shorter text.
    size: usize,
    /// Trigrams of both.
    both: usize,
    /// Trigrams of the longer text alone.
    more_only: usize,
    /// Trigrams of the longer text that were not looked at yet.
    left: usize,
}

impl Balance {
    fn new(more: &Text<'_>) -> Self {
        Balance { size: 0, both: 0, more_only: 0, left: more.words.saturating_sub(2) }
    }

    /// Whether the texts are not alike even if both have all that is left.
    fn is_lost(&self) -> bool {
        2 * (self.both + self.left) <= self.size + self.more_only
    }

    fn is_alike(&self) -> bool {
        2 * self.both > self.size + self.more_only
    }
}

/// A text with the borders of its words.
struct Text<'t> {
    bytes: &'t [u8],
    /// A bit for each byte: whether a word begins or ends there. Starts and ends take turns.
    borders: Vec<u64>,
    words: usize,
}

impl<'t> Text<'t> {
    fn new(text: &'t str) -> Self {
        let mut borders = Vec::with_capacity(text.len() / 64 + 1);
        borders.extend(Borders::new(text.as_bytes()));
        let words = borders.iter().map(|borders| borders.count_ones() as usize).sum::<usize>() / 2;
        Text { bytes: text.as_bytes(), borders, words }
    }

    /// Hashes of the words, in order, as `hash` makes them of start and end.
    fn words(&self, hash: impl Fn(&Self, usize, usize) -> u64) -> impl Iterator<Item = u64> {
        let mut positions = Positions { blocks: self.borders.iter(), bits: 0, base: 0 };
        core::iter::from_fn(move || Some(hash(self, positions.next()?, positions.next()?)))
    }

    /// The hash of one word: a step for eight bytes, and one for the rest, at most seven, with their number.
    fn word(&self, start: usize, end: usize) -> u64 {
        let (mut hash, mut at) = (0, start);
        while end - at >= 8 {
            hash = step(hash, lower(self.eight(at)));
            at += 8;
        }
        let length = end - at;
        step(hash, (lower(self.eight(at)) & !(u64::MAX << (8 * length))) | ((length as u64) << 56))
    }

    /// A cheap hash of one word's length and first eight bytes; the same for words that differ in the case of letters, and for some others.
    fn rough_word(&self, start: usize, end: usize) -> u64 {
        let length = end - start;
        let first = (self.eight(start) | (ONES * 0x20)) & (u64::MAX >> (64 - 8 * length.clamp(1, 8)));
        step(length as u64, first)
    }

    /// Eight bytes from `at` on; behind the end are spaces.
    fn eight(&self, at: usize) -> u64 {
        let rest = self.bytes.get(at..).unwrap_or_default();
        u64::from_le_bytes(rest.first_chunk().copied().unwrap_or_else(|| padded(rest)))
    }
}

/// Hashes of the trigrams of a text's words, in order. Not keyed: whoever makes trigrams of their own messages collide changes only how alike
/// their own messages look, which other words would do as well.
fn trigrams(mut words: impl Iterator<Item = u64>) -> impl Iterator<Item = u64> {
    let mut first = words.next().unwrap_or_default();
    let mut second = words.next().unwrap_or_default();
    words.map(move |third| {
        // The words' hashes are mixed already; the turns keep their order.
        let trigram = first.rotate_left(42) ^ second.rotate_left(21) ^ third;
        (first, second) = (second, third);
        trigram
    })
}

/// The borders of words in blocks of 64 bytes, with a block more for what ends with the text.
struct Borders<'t> {
    rest: Option<&'t [u8]>,
    /// Whether a word goes on from the block before.
    in_word: bool,
}

impl<'t> Borders<'t> {
    fn new(bytes: &'t [u8]) -> Self {
        Borders { rest: Some(bytes), in_word: false }
    }
}

impl Iterator for Borders<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let rest = self.rest?;
        let words = match rest.split_first_chunk::<64>() {
            Some((block, rest)) => {
                self.rest = Some(rest);
                !spaces_of(block)
            }
            None => {
                self.rest = None;
                !spaces_of(&padded(rest))
            }
        };
        let before = (words << 1) | u64::from(self.in_word);
        self.in_word = words >> 63 == 1;
        Some(words ^ before)
    }
}

/// The positions of the bits that are set.
struct Positions<'b> {
    blocks: core::slice::Iter<'b, u64>,
    bits: u64,
    /// Where the block behind the current one begins.
    base: usize,
}

impl Iterator for Positions<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        while self.bits == 0 {
            self.bits = *self.blocks.next()?;
            self.base += 64;
        }
        let at = self.base - 64 + self.bits.trailing_zeros() as usize;
        self.bits &= self.bits - 1;
        Some(at)
    }
}

/// The bytes with spaces behind them.
fn padded<const N: usize>(rest: &[u8]) -> [u8; N] {
    let mut block = [b' '; N];
    block.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    block
}

/// A bit for each byte that is ASCII white space.
fn spaces_of(block: &[u8; 64]) -> u64 {
    let (eights, _) = block.as_chunks::<8>();
    // The product gathers the lowest bits of eight bytes in the highest byte, in order.
    let gather = |eight: &[u8; 8]| ((spaces(u64::from_le_bytes(*eight)) >> 7).wrapping_mul(0x0102_0408_1020_4080)) >> 56;
    eights.iter().rev().fold(0, |all, eight| (all << 8) | gather(eight))
}

const ONES: u64 = u64::from_le_bytes([1; 8]);
const HIGH: u64 = ONES << 7;

/// The high bit of each byte that is ASCII white space. The sums are of bytes below 0x80, so nothing carries from one into the next.
fn spaces(eight: u64) -> u64 {
    let low = eight & !HIGH;
    let not_space = (low ^ (ONES * 0x20)) + ONES * 0x7f;
    let from_tab = low + ONES * (0x80 - 0x09);
    let past_return = low + ONES * (0x80 - 0x0e);
    (!not_space | (from_tab & !past_return)) & !eight & HIGH
}

/// Eight bytes with ASCII letters in lower case.
fn lower(eight: u64) -> u64 {
    let low = eight & !HIGH;
    let from_a = low + ONES * (0x80 - u64::from(b'A'));
    let past_z = low + ONES * (0x80 - u64::from(b'Z') - 1);
    eight | ((from_a & !past_z & !eight & HIGH) >> 2)
}

/// A hash with eight bytes more: one multiplication. For one `hash` different values never meet.
fn step(hash: u64, value: u64) -> u64 {
    let product = (hash ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ (product >> 32)
}

/// A set of the trigrams of one text, which notes those of the other. Places are looked for by double hashing, in no more than
/// [`RESAMPLING_MAX_PROBES`] slots, so that a text made to collide costs no more; a trigram that finds none is left out, in both texts.
struct Set {
    /// 0 is an empty slot; the lowest bit says that the other text has it.
    slots: Vec<u64>,
    /// Trigrams of the first text.
    size: usize,
    #[cfg(test)]
    probes: usize,
}

/// The lowest bit of a slot.
const NOTED: u64 = 1;

/// What was found of a trigram of the other text.
enum Found {
    /// It is in the set and was not noted before.
    First,
    /// It is in no text before.
    New,
    /// It was noted before.
    Again,
}

impl Set {
    fn new(text: &Text<'_>) -> Self {
        // A quarter is taken at most by the first text, and a half by both: `alike` gives up once the second has as many of its own.
        let mut set = Set {
            slots: vec![0; (4 * text.words).next_power_of_two()],
            size: 0,
            #[cfg(test)]
            probes: 0,
        };
        for hash in trigrams(text.words(Text::word)) {
            let key = key(hash);
            if let Some(slot) = set.slot(key)
                && *slot == 0
            {
                *slot = key;
                set.size += 1;
            }
        }
        set
    }

    /// Notes a trigram of the other text. `None` when there is no place for it.
    fn note(&mut self, hash: u64) -> Option<Found> {
        let key = key(hash);
        let slot = self.slot(key)?;
        let found = match *slot {
            0 => Found::New,
            before if before & NOTED == 0 => Found::First,
            _ => Found::Again,
        };
        *slot = key | NOTED;
        Some(found)
    }

    /// The slot that holds `key`, or the empty one where it belongs.
    fn slot(&mut self, key: u64) -> Option<&mut u64> {
        let mask = self.slots.len().wrapping_sub(1);
        // The highest bits and the lowest: both are mixed well. An odd stride comes to every slot.
        let (mut at, stride) = ((key >> 33) as usize, (key as usize >> 1) | 1);
        for _ in 0..RESAMPLING_MAX_PROBES {
            #[cfg(test)]
            {
                self.probes += 1;
            }
            let slot = self.slots.get(at & mask)?;
            if *slot == 0 || *slot | NOTED == key | NOTED {
                return self.slots.get_mut(at & mask);
            }
            at = at.wrapping_add(stride);
        }
        None
    }
}

/// A hash as a slot holds it: never 0, the lowest bit free.
fn key(hash: u64) -> u64 {
    (hash & !NOTED).max(2)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    fn naive_trigrams(text: &str) -> BTreeSet<Vec<String>> {
        let words: Vec<String> = text.split_whitespace().map(str::to_ascii_lowercase).collect();
        words.windows(3).map(<[String]>::to_vec).collect()
    }

    /// The definition, word for word.
    pub fn naive_alike(one: &str, other: &str) -> bool {
        let (one, other) = (naive_trigrams(one), naive_trigrams(other));
        one.intersection(&other).count() as f64 / one.union(&other).count() as f64 > 0.5
    }

    fn words(text: &str) -> Vec<u64> {
        let text = Text::new(text);
        let words: Vec<u64> = text.words(Text::word).collect();
        assert_eq!(words.len(), text.words);
        words
    }

    fn trigrams(text: &str) -> Vec<u64> {
        super::trigrams(words(text).into_iter()).collect()
    }

    fn set(text: &str) -> Set {
        Set::new(&Text::new(text))
    }

    /// Both checks, each held to the definition.
    fn alike(one: &str, other: &str) -> bool {
        let both = super::alike(one, other);
        let (one, other) = (Text::new(one), Text::new(other));
        let (less, more) = if one.words <= other.words { (one, other) } else { (other, one) };
        let exact = are_alike(&less, &more);
        assert_eq!(both, exact, "the quick check must not say no to what is alike");
        exact
    }

    proptest! {
        #[test]
        fn hashed_trigrams_agree_with_the_definition(one in "([a-cA] ){18,40}", keep in 0usize..80, more in "([a-c]\t ){0,20}") {
            let other = String::from(&one[..keep.min(one.len())]) + &more + "x y z";
            prop_assert_eq!(alike(&one, &other), naive_alike(&one, &other));
            prop_assert_eq!(alike(&other, &one), naive_alike(&one, &other));
        }

        /// Texts that differ in some of many words, so that early ends are near the border, too.
        #[test]
        fn long_texts_agree_with_the_definition(changed in proptest::collection::vec(0usize..300, 0..160), drop in 0usize..300) {
            let mut text: Vec<String> = (0..300).map(|word| alloc::format!("Word{}", word % 170)).collect();
            let one = text.join(" ");
            for at in changed {
                text[at] = alloc::format!("other{at}");
            }
            let other = text[drop / 2..].join("\r\n");
            prop_assert_eq!(alike(&one, &other), naive_alike(&one, &other));
        }

        /// Whatever the bytes: words end where the standard library says, and equal words have equal hashes, others not.
        #[test]
        fn words_are_those_of_the_standard_library(text in "([ \t\n\x0b\x0c\r\u{a0}\u{85}\u{3000}]|[a-cA-C@\\[`{\\x00\\x08\\x0e\u{e4}\u{4e00}]{0,18}){0,12}") {
            let plain = plain_spaces(Cow::Borrowed(text.as_str()));
            let expected: Vec<u64> = text.split_whitespace().map(|word| words(&word.to_ascii_lowercase())[0]).collect();
            prop_assert_eq!(words(&plain), expected);
            let spelled: BTreeSet<String> = text.split_whitespace().map(str::to_ascii_lowercase).collect();
            let count = text.split_whitespace().count();
            prop_assert!(has_words(&plain, count) && !has_words(&plain, count + 1));
            prop_assert_eq!(words(&plain).into_iter().collect::<BTreeSet<_>>().len(), spelled.len());
        }
    }

    #[test]
    fn exactly_one_half_is_not_above() {
        // 18 common words give 16 common trigrams, and each tail of 8 words 8 of its own: 16 of 32.
        let common: String = (0..18).map(|word| alloc::format!("w{word} ")).collect();
        let longer = |tail: &str| common.clone() + &(0..8).map(|word| alloc::format!("{tail}{word} ")).collect::<String>();
        assert_eq!(set(&longer("a")).size, 24);
        assert!(!alike(&longer("a"), &longer("b")));
        assert!(alike(&longer("a"), &(longer("a") + "one")));
    }

    #[test]
    fn the_order_of_words_counts() {
        let hashes: BTreeSet<u64> = ["a b c", "a c b", "b a c", "b c a", "c a b", "c b a", "a a b", "a b a", "b a a"]
            .iter()
            .flat_map(|text| trigrams(text))
            .collect();
        assert_eq!(hashes.len(), 9);
    }

    /// Words chosen so that a trigram's first slot and its stride are those of all others: the work stays linear, counted in slots looked at.
    #[test]
    fn texts_made_to_collide_cost_a_bounded_number_of_probes() {
        const WORDS: usize = 200;
        let slots = (4 * (3 * WORDS)).next_power_of_two() as u64;
        let crowded = |hash: u64| {
            let key = key(hash);
            (key >> 33) & (slots - 1) < 8 && (key >> 1) & (slots - 1) & !1 < 16
        };
        let mut text = String::new();
        let mut word = 0;
        for _ in 0..WORDS {
            while !crowded(trigrams(&alloc::format!("a b w{word}"))[0]) {
                word += 1;
            }
            text += &alloc::format!("a b w{word} ");
            word += 1;
        }
        let set = self::set(&text);
        let trigrams = trigrams(&text).len();
        assert_eq!(trigrams, 3 * WORDS - 2);
        assert!(set.size < trigrams, "the text does collide: {} of {trigrams} found a place", set.size);
        assert!(set.probes <= trigrams * RESAMPLING_MAX_PROBES);
        assert!(alike(&text, &text.replace(' ', "\n")), "what is left out is left out of both texts");
        // Honest text of the same length finds its places at once, and all of them.
        let honest: String = (0..3 * WORDS).map(|word| alloc::format!("word{word} ")).collect();
        let set = self::set(&honest);
        assert_eq!(set.size, 3 * WORDS - 2);
        assert!(set.probes < 2 * trigrams, "{} probes", set.probes);
    }
}
