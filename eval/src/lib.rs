//! Measurements on data sets: records in, shares with intervals out, as tables in Markdown.
//!
//! ```text
//! data (files, records, units) -> requests (the bodies that a gateway would see) -> floodmark_core::Judge
//!      -> patterns (tallies, the report)          stats: intervals of shares
//! records -> events (texts with their labels, parts of the data and units) -> what trains and measures the detector
//!      -> receipts (a score for each event, CSV) -> verify (figures, recomputed without the detector)
//! benign scores -> calibrate (drift and alarm level)
//! ```
//!
//! Everything is judged by the same function as in a gateway.

pub mod accumulation;
pub mod assemble;
pub mod calibrate;
pub mod cli;
pub mod data;
pub mod detector;
pub mod engine;
pub mod evaluate;
pub mod events;
pub mod grafts;
pub mod markdown;
pub mod output;
pub mod patterns;
pub mod receipts;
pub mod report;
pub mod requests;
pub mod stats;
pub mod stored;
pub mod temporal;
pub mod train;
pub mod verify;
