//! Views of a text: the forms in which patterns look for it, each with a map back to the original.

pub mod folded;

pub use folded::Folded;
