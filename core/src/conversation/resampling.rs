//! Resampling: one request sent again and again in slightly other words (arXiv 2602.11247).

use alloc::borrow::Cow;
use alloc::collections::VecDeque;

use super::Profile;
use super::trigrams::{alike, has_words, plain_spaces};
use crate::limits::{RESAMPLING_MIN_PAIRS, RESAMPLING_MIN_TOKENS, RESAMPLING_SKIPPED};

/// Follows user messages in order. Consecutive messages of at least twenty tokens whose sets of word trigrams have a Jaccard index above one
/// half are a similar pair; three such pairs in a row are resampling. A shorter message breaks the run; in profile `floodmark` one is passed
/// over, two in a row break it.
///
/// Three pairs in a row hold one of every third pair, so only that one is compared, and its neighbours when it is similar. No pair is compared
/// twice.
#[derive(Clone, Debug)]
pub struct Resampling<'t> {
    /// The last long messages, the newest last: as many as the pairs that may have to be compared later need.
    texts: VecDeque<Cow<'t, str>>,
    /// Pairs at the end that were not compared yet.
    open: usize,
    /// Similar pairs at the end.
    similar: usize,
    /// Short messages at the end.
    short: usize,
    /// Short messages that do not break a run.
    skipped: usize,
    seen: bool,
    /// Earlier long messages that have still to be given.
    wanted: usize,
}

/// Where a check of resampling is between two messages, without their texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streak {
    /// Long messages that have to be at hand to go on.
    texts: u8,
    open: u8,
    similar: u8,
    short: u8,
}

impl Streak {
    /// Largest packed form.
    const MOST: u16 = 1 << 9;

    /// As a number that is never 0.
    pub fn pack(self) -> u16 {
        let Streak { texts, open, similar, short } = self;
        1 + (u16::from(texts & 7) | u16::from(open & 3) << 3 | u16::from(similar & 3) << 5 | u16::from(short & 3) << 7)
    }

    /// What [`Streak::pack`] gave; `None` of 0, and of what it never gives.
    pub fn unpack(packed: u16) -> Option<Self> {
        let bits = packed.checked_sub(1).filter(|_| packed <= Self::MOST)?;
        let part = |at: u32, mask: u16| (bits >> at & mask) as u8;
        let streak = Streak { texts: part(0, 7), open: part(3, 3), similar: part(5, 3), short: part(7, 3) };
        (usize::from(streak.texts) <= RESAMPLING_MIN_PAIRS + 1 && streak.similar < RESAMPLING_MIN_PAIRS as u8).then_some(streak)
    }
}

impl<'t> Resampling<'t> {
    /// Goes on with a streak, once the messages that it needs were given to [`Resampling::push_before`].
    pub fn resumed(profile: Profile, streak: Streak) -> Self {
        let Streak { texts, open, similar, short } = streak;
        let (open, similar, short) = (open.into(), similar.into(), short.into());
        Resampling { open, similar, short, wanted: texts.into(), ..Resampling::new(profile) }
    }

    /// Takes the user message before those that are at hand, as [`Resampling::push`] does.
    pub fn push_before(&mut self, text: impl Into<Cow<'t, str>>) {
        let text = plain_spaces(text.into());
        if self.wanted > 0 && has_words(&text, RESAMPLING_MIN_TOKENS) {
            self.texts.push_front(text);
            self.wanted -= 1;
        }
    }

    /// Whether all earlier messages are at hand that are needed.
    pub fn needs_no_more(&self) -> bool {
        self.wanted == 0
    }

    /// Where it is now; `None` once resampling was seen: which message showed it is not in it.
    pub fn streak(&self) -> Option<Streak> {
        let byte = |count: usize| u8::try_from(count).ok();
        let (texts, open, similar) = (byte(self.texts.len())?, byte(self.open)?, byte(self.similar)?);
        // More short messages than break a run are no other than just as many.
        let short = byte(self.short.min(self.skipped + 1))?;
        (!self.seen).then_some(Streak { texts, open, similar, short })
    }

    /// Before the first message.
    pub fn new(profile: Profile) -> Self {
        let skipped = match profile {
            Profile::Paper => 0,
            Profile::Floodmark => RESAMPLING_SKIPPED,
        };
        Resampling { texts: VecDeque::new(), open: 0, similar: 0, short: 0, skipped, seen: false, wanted: 0 }
    }

    /// Takes the next user message: in folded form, or as it came if it is ASCII, since ASCII letters are alike in any case here and every run of
    /// white space is one border.
    pub fn push(&mut self, text: impl Into<Cow<'t, str>>) {
        if self.seen {
            return;
        }
        let text = plain_spaces(text.into());
        if !has_words(&text, RESAMPLING_MIN_TOKENS) {
            self.short += 1;
            if self.short > self.skipped {
                self.texts.clear();
                (self.open, self.similar) = (0, 0);
            }
            return;
        }
        self.short = 0;
        self.texts.push_back(text);
        if self.texts.len() > RESAMPLING_MIN_PAIRS + 1 {
            self.texts.pop_front();
        }
        if self.texts.len() > 1 {
            self.open += 1;
            self.compare();
        }
    }

    /// Whether resampling was seen so far.
    pub fn seen(&self) -> bool {
        self.seen
    }

    /// Compares the newest pair if it may complete a run, or goes on with one; then those before it that are still open.
    fn compare(&mut self) {
        if self.similar == 0 && self.open < RESAMPLING_MIN_PAIRS {
            return;
        }
        let mut similar = 0;
        while similar < self.open && self.pair_is_alike(similar) {
            similar += 1;
        }
        // A run goes on only if it reaches back to the pairs that were compared before.
        self.similar = if similar == self.open { self.similar + similar } else { similar };
        self.open = 0;
        self.seen = self.similar >= RESAMPLING_MIN_PAIRS;
    }

    /// Whether the pair that is `back` pairs before the newest is similar.
    fn pair_is_alike(&self, back: usize) -> bool {
        let mut newest = self.texts.iter().rev().skip(back);
        matches!((newest.next(), newest.next()), (Some(one), Some(other)) if alike(one, other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    /// Whether the definition, word for word, sees resampling, and at which message first.
    fn naive(messages: &[String], skipped: usize) -> Option<usize> {
        let (mut before, mut run, mut short) = (None, 0, 0);
        for (at, message) in messages.iter().enumerate() {
            if message.split_whitespace().count() < 20 {
                short += 1;
                if short > skipped {
                    (before, run) = (None, 0);
                }
                continue;
            }
            short = 0;
            let alike = before.is_some_and(|before| super::super::trigrams::tests::naive_alike(before, message));
            run = if alike { run + 1 } else { 0 };
            if run == 3 {
                return Some(at);
            }
            before = Some(message);
        }
        None
    }

    proptest! {
        /// Runs of messages that are the one before with a word changed, another text, or short, in any order.
        #[test]
        fn agrees_with_the_definition(kinds in proptest::collection::vec(0u8..8, 0..24)) {
            let mut messages: Vec<String> = Vec::new();
            for (at, kind) in kinds.iter().enumerate() {
                let fresh = || (0..24).map(|word| alloc::format!("w{at}x{word} ")).collect::<String>();
                messages.push(match (kind, messages.iter().rfind(|message| message.len() > 20)) {
                    (0, _) => String::from("yes please"),
                    (2.., Some(before)) => before.clone() + &alloc::format!("more{at} "),
                    _ => fresh(),
                });
            }
            for profile in [Profile::Paper, Profile::Floodmark] {
                let mut resampling = Resampling::new(profile);
                let found = messages.iter().position(|message| {
                    resampling.push(message.as_str());
                    resampling.seen()
                });
                prop_assert_eq!(found, naive(&messages, usize::from(profile == Profile::Floodmark)), "{:?}", profile);
            }
        }
    }

    proptest! {
        /// Packed, unpacked and given the messages that it asks for, a check goes on as if it had never stopped.
        #[test]
        fn a_streak_goes_on(kinds in proptest::collection::vec(0u8..9, 1..24), cut in any::<prop::sample::Index>()) {
            let messages: Vec<String> = kinds.iter().enumerate().map(|(at, kind)| match kind {
                0 => String::from("yes please"),
                1 | 2 => (0..24).map(|word| alloc::format!("w{at}x{word} ")).collect(),
                kind => (0..24).map(|word| alloc::format!("v{word} ")).collect::<String>() + &alloc::format!("{kind}{at}"),
            }).collect();
            let cut = cut.index(messages.len());
            for profile in [Profile::Paper, Profile::Floodmark] {
                let mut whole = Resampling::new(profile);
                messages[..cut].iter().for_each(|message| whole.push(message.as_str()));
                let Some(streak) = whole.streak() else {
                    prop_assert!(whole.seen());
                    continue;
                };
                prop_assert_eq!(Streak::unpack(streak.pack()), Some(streak));
                let mut resumed = Resampling::resumed(profile, streak);
                messages[..cut].iter().rev().for_each(|message| resumed.push_before(message.as_str()));
                prop_assert!(resumed.needs_no_more());
                for message in &messages[cut..] {
                    whole.push(message.as_str());
                    resumed.push(message.as_str());
                    prop_assert_eq!((resumed.seen(), resumed.streak()), (whole.seen(), whole.streak()));
                }
            }
        }
    }

    #[test]
    fn no_other_number_is_a_streak() {
        let known = (0..=u16::MAX).filter(|packed| Streak::unpack(*packed).is_some());
        assert_eq!(known.clone().count(), 5 * 4 * 3 * 4);
        assert!(known.into_iter().all(|packed| Streak::unpack(packed).is_some_and(|streak| streak.pack() == packed)));
        assert_eq!(Streak::unpack(0), None);
    }

    #[test]
    fn case_and_white_space_make_no_difference() {
        let words = |space: &str| (0..20).map(|word| alloc::format!("Word{word}")).collect::<Vec<_>>().join(space);
        let mut resampling = Resampling::new(Profile::Paper);
        for text in [words(" "), words("\n\t "), words("\u{2028}").to_lowercase(), words("\u{a0}").to_uppercase()] {
            assert!(!resampling.seen());
            resampling.push(text);
        }
        assert!(resampling.seen());
    }
}
