//! Scores of single texts: which categories' patterns occur in it, and where.

pub mod automaton;
pub mod category;

pub use automaton::{Automaton, AutomatonFault};
pub use category::{CategoryInfo, CategorySet, Hit, PatternInfo};
