//! The way from a view's byte offsets back to the original's.

use alloc::vec::Vec;

/// A list of steps between which view and original advance together. Without any they are the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offsets {
    /// (offset in the view, offset in the original), both ascending.
    steps: Vec<(u32, u32)>,
}

impl Offsets {
    /// Where byte `offset` of the view comes from. Inside a letter that became several it may point into a character.
    pub fn original(&self, offset: usize) -> usize {
        let bound = bounded(offset);
        let next = self.steps.partition_point(|&(view, _)| view <= bound);
        next.checked_sub(1).and_then(|at| self.steps.get(at)).map_or(offset, |&step| follow(step, bound))
    }

    /// Notes that byte `view` of the view comes from byte `original` of the original, unless the last step already says so.
    pub fn mark(&mut self, view: usize, original: usize) {
        let (at, from) = (bounded(view), bounded(original));
        let known = match self.steps.last() {
            None => view == original,
            Some(&step) => follow(step, at) == original,
        };
        if !known {
            self.steps.push((at, from));
        }
    }
}

/// Where a view offset leads, counted on from the step before it.
fn follow((view, original): (u32, u32), offset: u32) -> usize {
    original.saturating_add(offset.saturating_sub(view)) as usize
}

/// Texts are far shorter than 4 GiB ([`crate::limits`]); a longer one would lose its spans, not its hits.
fn bounded(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}
