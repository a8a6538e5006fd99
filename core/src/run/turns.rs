//! The turns of a history that the server keeps: those that hit anything, as far back as the conversation score looks.

use alloc::vec;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::conversation::Turn;
use crate::limits::{RUN_HIT_TURNS, RUN_TURNS};

/// A turn that hit categories.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct HitTurn {
    /// Turns that came after it, below [`RUN_TURNS`].
    after: u8,
    /// Bit `c` is set when category `c` was hit.
    categories: [u8; 4],
}

/// What is remembered of the turns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Turns {
    count: u32,
    /// One of them was a user's.
    user: bool,
    /// The weightiest pattern of the last turn that hit anything.
    pattern: Option<u16>,
    /// The oldest first.
    hits: Vec<HitTurn>,
}

impl Turns {
    pub fn is_sound(&self) -> bool {
        let before = self.hits.iter().map(|hit| usize::from(hit.after));
        let falls = before.clone().zip(before.clone().skip(1)).all(|(older, newer)| older > newer);
        let known = before.max().is_none_or(|after| after < RUN_TURNS && after < self.count as usize);
        self.hits.len() <= RUN_HIT_TURNS && falls && known && self.hits.iter().all(|hit| hit.categories != [0; 4])
    }

    pub fn count(&self) -> u32 {
        self.count
    }

    pub fn pattern(&self) -> Option<u16> {
        self.pattern
    }

    /// Forgets what was hit, since its bits mean other categories now.
    pub fn forget_hits(&mut self) {
        self.hits.clear();
        self.pattern = None;
    }

    /// The last turns, at most [`RUN_TURNS`]. That one of all was a user's is kept in the first.
    pub fn last(&self) -> Vec<Turn> {
        let clean = Turn { user: false, categories: 0 };
        let mut turns = vec![clean; (self.count as usize).min(RUN_TURNS)];
        let count = turns.len();
        for hit in &self.hits {
            let at = count.checked_sub(1 + usize::from(hit.after));
            if let Some(turn) = at.and_then(|at| turns.get_mut(at)) {
                turn.categories = u32::from_le_bytes(hit.categories);
            }
        }
        turns.first_mut().into_iter().for_each(|turn| turn.user = self.user);
        turns
    }

    /// Adds turns with the weightiest pattern of each. When more hit than are remembered, the oldest two become one: what was hit is not forgotten sooner
    /// because more was.
    pub fn add(&mut self, turns: impl Iterator<Item = (Turn, Option<u16>)>) {
        for (turn, pattern) in turns {
            self.count = self.count.saturating_add(1);
            self.user |= turn.user;
            self.hits.iter_mut().for_each(|hit| hit.after = hit.after.saturating_add(1));
            self.hits.retain(|hit| usize::from(hit.after) < RUN_TURNS);
            if turn.categories == 0 {
                continue;
            }
            self.pattern = pattern.or(self.pattern);
            self.hits.push(HitTurn { after: 0, categories: turn.categories.to_le_bytes() });
            if self.hits.len() > RUN_HIT_TURNS {
                let oldest = self.hits.remove(0);
                if let Some(next) = self.hits.first_mut() {
                    let both = u32::from_le_bytes(oldest.categories) | u32::from_le_bytes(next.categories);
                    next.categories = both.to_le_bytes();
                }
            }
        }
    }
}

#[cfg(test)]
impl Turns {
    /// As many as there may be, each as long as it may be.
    pub fn longest() -> Self {
        let hit = |at: usize| HitTurn { after: (RUN_TURNS - 1 - at) as u8, categories: [255; 4] };
        Turns { count: u32::MAX, user: true, pattern: Some(u16::MAX), hits: (0..RUN_HIT_TURNS).map(hit).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a plain list of all turns: the last of them are the same, as long as few hit; more never become less.
        #[test]
        fn the_last_turns_are_kept(turns in proptest::collection::vec((any::<bool>(), prop_oneof![4 => Just(0u32), 1 => 1u32..32]), 0..300)) {
            let turns: Vec<Turn> = turns.into_iter().map(|(user, categories)| Turn { user, categories }).collect();
            let mut kept = Turns::default();
            kept.add(turns.iter().map(|turn| (*turn, Some(7))));
            prop_assert!(kept.is_sound());
            let expected = &turns[turns.len().saturating_sub(RUN_TURNS)..];
            let last = kept.last();
            prop_assert_eq!(last.len(), expected.len());
            prop_assert_eq!(last.iter().any(|turn| turn.user), turns.iter().any(|turn| turn.user));
            let masks = |turns: &[Turn]| turns.iter().map(|turn| turn.categories).collect::<Vec<_>>();
            if expected.iter().filter(|turn| turn.categories != 0).count() <= RUN_HIT_TURNS && turns.len() <= RUN_TURNS {
                prop_assert_eq!(masks(&last), masks(expected));
            }
            prop_assert_eq!(masks(&last).iter().fold(0, |all, mask| all | mask) & !masks(&turns).iter().fold(0, |all, mask| all | mask), 0);
            let of_expected = masks(expected).iter().fold(0, |all, mask| all | mask);
            prop_assert_eq!(masks(&last).iter().fold(0, |all, mask| all | mask) & of_expected, of_expected);
        }
    }
}
