//! Scores of single texts: which categories' patterns occur in it, and where.

pub mod category;
pub mod grams;
mod lanes;
pub mod letters;
mod mention;
pub mod phrase;

pub use category::{CategoryInfo, CategorySet, Hit, PatternInfo};
pub use grams::{Grams, GramsFault};
