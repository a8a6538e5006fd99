//! What a response adds to its run once it has left: assistant text, and where the server keeps the history its events.

use alloc::vec::Vec;

/// What is noted of one response.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Noted {
    /// Fingerprints of assistant texts.
    pub(crate) texts: Vec<[u8; 4]>,
}

impl Noted {
    /// Whether there is nothing to store.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }
}
