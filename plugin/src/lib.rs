//! The proxy-wasm plugin of Floodmark: configuration, filter logic over a [`host::Host`], and on wasm the adapter to the SDK.
//!
//! Everything but the adapter is plain Rust and runs natively in tests.
#![cfg_attr(not(test), deny(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used))]
#![deny(unsafe_code)]

#[cfg(target_arch = "wasm32")]
mod abi;
#[cfg(target_arch = "wasm32")]
mod adapter;
pub mod budget;
pub mod config;
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

/// Version, git hash of the build, fingerprint of the patterns and version of the detector, as logged at VM start.
pub fn banner() -> String {
    let git = option_env!("FLOODMARK_GIT").unwrap_or("unknown");
    let (version, patterns, detector) =
        (env!("CARGO_PKG_VERSION"), floodmark_tables::CATEGORIES.fingerprint, floodmark_tables::DETECTOR.version);
    format!("floodmark {version} (git {git}) tables {patterns} detector {detector}")
}
