//! Native host for Floodmark: a stateful proxy-wasm emulator, replay and inspection, a small gateway, real Envoy, client and upstream for tests, demo, bench and soak.
#![forbid(unsafe_code)]

pub mod bench;
pub mod cli;
pub mod client;
pub mod demo;
pub mod emulator;
pub mod envoy;
pub mod inspect;
pub mod replay;
pub mod runtime;
pub mod serve;
pub mod soak;
pub mod upstream;
