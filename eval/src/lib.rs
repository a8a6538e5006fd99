//! Measurements on data sets: records in, figures with intervals out, as tables and pages.
//!
//! ```text
//! data (files, records, units) -> requests (the bodies that a gateway would see) -> engine (the plugin, native or wasm) -> evaluate (the report)
//!      its parts: temporal, grafts (paper B), accumulation over what assemble makes (paper A)          stats: intervals; report, output: how it is shown
//!      -> floodmark_core::Judge -> patterns (tallies of what they hit)
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
pub mod instructions;
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
