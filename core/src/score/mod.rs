//! Scores of single texts: which categories' patterns occur in it, and where.

pub mod category;
pub mod filter;
mod lanes;
pub mod letters;
mod mention;
pub mod phrase;
pub mod tails;

pub use category::{CategoryInfo, CategorySet, Hit, PatternInfo};
pub use filter::Filter;
pub use tails::{Tails, TailsFault};
