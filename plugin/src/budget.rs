//! Memory for bodies that are copied: one budget for all exchanges of a VM, since each of them alone may be small.

use core::cell::Cell;
use std::rc::Rc;

use floodmark_core::limits::MAX_COPIED_BYTES;

/// What is taken of [`MAX_COPIED_BYTES`].
#[derive(Clone, Debug, Default)]
pub struct Budget(Rc<Cell<usize>>);

impl Budget {
    /// An exchange's share, empty at first.
    pub fn share(&self) -> Share {
        Share { taken: Rc::clone(&self.0), own_bytes: 0 }
    }

    /// What all shares have taken.
    pub fn taken_bytes(&self) -> usize {
        self.0.get()
    }
}

/// What one exchange has taken of the budget; given back when it is dropped.
#[derive(Debug)]
pub struct Share {
    taken: Rc<Cell<usize>>,
    own_bytes: usize,
}

impl Share {
    /// Makes it so large. `false` when that is more than half of what others left; then it stays as it was. So however many large ones there
    /// are, small ones find room.
    pub fn set(&mut self, bytes: usize) -> bool {
        let others = self.taken.get() - self.own_bytes;
        let fits = bytes <= MAX_COPIED_BYTES.saturating_sub(others) / 2;
        if fits {
            self.taken.set(others + bytes);
            self.own_bytes = bytes;
        }
        fits
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.taken.set(self.taken.get() - self.own_bytes);
    }
}

/// A copy of a body, piece by piece, within the budget.
#[derive(Debug)]
pub struct Copied {
    bytes: Vec<u8>,
    share: Share,
}

impl Copied {
    /// A copy of nothing yet.
    pub fn new(budget: &Budget) -> Self {
        Copied { bytes: Vec::new(), share: budget.share() }
    }

    /// Adds a piece. `false` when the budget does not allow it; the copy then stays as it was.
    pub fn push(&mut self, piece: &[u8]) -> bool {
        let needed = self.bytes.len() + piece.len();
        if needed > self.bytes.capacity() {
            let capacity = needed.max(self.bytes.capacity() * 2);
            if !self.share.set(capacity) {
                return false;
            }
            self.bytes.reserve_exact(capacity - self.bytes.len());
        }
        self.bytes.extend_from_slice(piece);
        true
    }

    /// What was copied so far.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_and_are_given_back() {
        let budget = Budget::default();
        let mut copies: Vec<Copied> = (0..3).map(|_| Copied::new(&budget)).collect();
        assert!(!copies[0].push(&vec![1; MAX_COPIED_BYTES / 2 + 1]), "more than half of what is left");
        assert!(copies[0].push(&vec![1; MAX_COPIED_BYTES / 2]));
        assert!(copies[1].push(&[2; 10]));
        let left = MAX_COPIED_BYTES / 2 - 10;
        assert!(!copies[2].push(&vec![3; left / 2 + 1]), "more than half of what others left");
        assert_eq!((copies[2].bytes().len(), budget.taken_bytes()), (0, MAX_COPIED_BYTES / 2 + 10));
        copies.remove(0);
        assert_eq!(budget.taken_bytes(), 10);
        assert!(copies[1].push(&[3; 100]) && copies[1].push(&[4]));
        // Twice as much at each step, so that a body in many pieces is not copied once for each.
        assert_eq!((copies[1].bytes().len(), budget.taken_bytes()), (101, 10 + 200));
        let mut share = budget.share();
        assert!(share.set(50) && share.set(20) && !share.set(MAX_COPIED_BYTES));
        assert_eq!(budget.taken_bytes(), 10 + 200 + 20);
        drop((share, copies));
        assert_eq!(budget.taken_bytes(), 0);
    }
}
