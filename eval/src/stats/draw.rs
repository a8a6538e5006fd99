//! Draws by chance that are the same everywhere and at all times.

use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng as _;

/// PCG's own default stream.
const STREAM: u128 = 0xa02_bdbf_7bb3_c0a7_ac28_fa16_a64a_bf96;

/// A generator of draws.
#[derive(Clone, Debug)]
pub struct Chance(Pcg64);

impl Chance {
    /// The draws of this seed.
    pub fn new(seed: u64) -> Self {
        Chance(Pcg64::new(u128::from(seed), STREAM))
    }

    /// A number below `end`, each as likely as the others but for 2^-64 of `end`.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.0.next_u64()) * end as u128) >> 64) as usize
    }

    /// Puts a list in any order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.below(last + 1));
        }
    }

    /// Some of a list, at most `number`, in any order.
    pub fn some<T>(&mut self, mut list: Vec<T>, number: usize) -> Vec<T> {
        if list.len() > number {
            self.shuffle(&mut list);
            list.truncate(number);
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_is_as_likely() {
        let mut chance = Chance::new(7);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..6000 {
            let mut list = [0, 1, 2];
            chance.shuffle(&mut list);
            *seen.entry(list).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 6);
        // Six standard deviations around a thousand.
        assert!(seen.values().all(|count| (825..1175).contains(count)), "{seen:?}");
        let mut some = chance.some((0..10).collect(), 4);
        some.sort_unstable();
        some.dedup();
        assert_eq!(some.len(), 4);
        assert_eq!(chance.some(vec![1, 2], 4), [1, 2]);
    }
}
