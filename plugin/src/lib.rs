//! The proxy-wasm plugin of Floodmark: configuration, filter logic over a [`host::Host`], and on wasm the adapter to the SDK.
//!
//! Everything but the adapter is plain Rust and runs natively in tests.
#![cfg_attr(not(test), deny(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used))]
#![deny(unsafe_code)]

#[cfg(target_arch = "wasm32")]
mod abi;
#[cfg(target_arch = "wasm32")]
mod adapter;
pub mod approvals;
pub mod budget;
pub mod config;
pub mod endpoints;
pub mod event_id;
pub mod filter;
pub mod headers;
pub mod host;
pub mod keys;
pub mod labels;
pub mod metrics;
pub mod path;
pub mod reply;
pub mod request;
pub mod session;
pub mod state;
#[cfg(all(target_arch = "wasm32", feature = "trap-for-tests"))]
mod trap;

/// What this build is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct About {
    /// Its version.
    pub version: &'static str,
    /// The git hash that it was built from, or `unknown`.
    pub git: &'static str,
    /// The fingerprint of the patterns.
    pub tables: &'static str,
    /// The version of the detector.
    pub detector: &'static str,
}

/// What this build is.
pub fn about() -> About {
    About {
        version: env!("CARGO_PKG_VERSION"),
        git: option_env!("FLOODMARK_GIT").unwrap_or("unknown"),
        tables: floodmark_tables::CATEGORIES.fingerprint,
        detector: floodmark_tables::DETECTOR.version,
    }
}

/// The same as a line, as logged at VM start.
pub fn banner() -> String {
    let About { version, git, tables, detector } = about();
    format!("floodmark {version} (git {git}) tables {tables} detector {detector}")
}
