//! Measurements on data sets: records in, shares with intervals out, as tables in Markdown.
//!
//! ```text
//! data (files, records, units) -> requests (the bodies that a gateway would see) -> floodmark_core::Judge
//!      -> patterns (tallies, the report)          stats: intervals of shares
//! ```
//!
//! Everything is judged by the same function as in a gateway; nothing here knows how a score is made.

pub mod calibrate;
pub mod data;
pub mod patterns;
pub mod requests;
pub mod stats;
pub mod verify;
