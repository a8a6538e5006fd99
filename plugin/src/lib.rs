//! Placeholder until the first real commit of this crate.
