//! The lineage gate through the built plugin's endpoints in the emulator: the oracle's cases, who may do what, and what survives what.

mod attacks;
mod bodies;
mod documented;
mod engines;
mod quarantine;
mod scopes;
#[path = "../support/mod.rs"]
mod support;
mod vectors;
