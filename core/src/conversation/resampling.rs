//! Resampling: one request sent again and again in slightly other words (arXiv 2602.11247).

use alloc::vec::Vec;

use crate::hash::Fnv1a;
use crate::limits::{RESAMPLING_MIN_PAIRS, RESAMPLING_MIN_TOKENS};

/// Follows user messages in order. Consecutive messages of at least twenty tokens whose sets of word trigrams have a Jaccard index above one
/// half are a similar pair; three such pairs in a row are resampling. A shorter message breaks the run.
#[derive(Clone, Debug, Default)]
pub struct Resampling {
    /// Distinct trigram hashes of the message before, ascending; empty when it was too short.
    before: Vec<u64>,
    pairs: usize,
    seen: bool,
}

impl Resampling {
    /// Takes the next user message, in folded form, so that neither case nor white space makes messages differ.
    pub fn push(&mut self, folded: &str) {
        let trigrams = trigrams(folded);
        self.pairs = if similar(&self.before, &trigrams) { self.pairs + 1 } else { 0 };
        self.seen |= self.pairs >= RESAMPLING_MIN_PAIRS;
        self.before = trigrams;
    }

    /// Whether resampling was seen so far.
    pub fn seen(&self) -> bool {
        self.seen
    }
}

/// Distinct hashes of the text's word trigrams, ascending; empty for a text with too few tokens. Not keyed: whoever makes two of their own
/// messages collide only makes them look alike.
fn trigrams(folded: &str) -> Vec<u64> {
    let mut tokens = 0usize;
    let (mut first, mut second) = (0, 0);
    let mut trigrams = Vec::with_capacity(folded.len() / 6);
    let mut token = Fnv1a::EMPTY;
    // One space more ends the last token.
    for byte in folded.bytes().chain([b' ']) {
        if byte != b' ' {
            token = token.with(byte);
        } else if token != Fnv1a::EMPTY {
            let third = mix(token.value());
            token = Fnv1a::EMPTY;
            tokens += 1;
            if tokens > 2 {
                trigrams.push(mix(mix(first).wrapping_add(second) ^ third));
            }
            (first, second) = (second, third);
        }
    }
    if tokens < RESAMPLING_MIN_TOKENS {
        return Vec::new();
    }
    trigrams.sort_unstable();
    trigrams.dedup();
    trigrams
}

/// Whether the Jaccard index of two ascending sets is above one half. Two empty sets are not similar.
fn similar(one: &[u64], other: &[u64]) -> bool {
    let (mut left, mut right) = (one.iter().peekable(), other.iter().peekable());
    let mut both = 0;
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        match a.cmp(b) {
            core::cmp::Ordering::Less => drop(left.next()),
            core::cmp::Ordering::Greater => drop(right.next()),
            core::cmp::Ordering::Equal => {
                both += 1;
                left.next();
                right.next();
            }
        }
    }
    2 * both > one.len() + other.len() - both
}

/// The finalizer of splitmix64: every bit of the input reaches every bit of the output.
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::string::String;
    use proptest::prelude::*;

    /// The definition, word for word.
    fn naive_similar(one: &str, other: &str) -> bool {
        let words = |text: &str| text.split_whitespace().map(String::from).collect::<Vec<_>>();
        let set = |words: Vec<String>| words.windows(3).map(<[String]>::to_vec).collect::<BTreeSet<_>>();
        let (one, other) = (words(one), words(other));
        if one.len() < 20 || other.len() < 20 {
            return false;
        }
        let (one, other) = (set(one), set(other));
        let both = one.intersection(&other).count();
        both as f64 / one.union(&other).count() as f64 > 0.5
    }

    proptest! {
        #[test]
        fn hashed_trigrams_agree_with_the_definition(one in "([a-c] ){18,40}", keep in 0usize..80, more in "([a-c] ){0,20}") {
            let other = String::from(&one[..keep.min(one.len())]) + &more;
            prop_assert_eq!(similar(&trigrams(&one), &trigrams(&other)), naive_similar(&one, &other));
        }
    }

    #[test]
    fn exactly_one_half_is_not_above() {
        // 18 common words give 16 common trigrams, and each tail of 8 words 8 of its own: 16 of 32.
        let common: String = (0..18).map(|word| alloc::format!("w{word} ")).collect();
        let longer = |tail: &str| common.clone() + &(0..8).map(|word| alloc::format!("{tail}{word} ")).collect::<String>();
        assert_eq!(trigrams(&longer("a")).len(), 24);
        assert!(!similar(&trigrams(&longer("a")), &trigrams(&longer("b"))));
        assert!(similar(&trigrams(&longer("a")), &trigrams(&longer("a"))));
    }
}
