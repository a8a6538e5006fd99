//! `floodmark-host serve` as a user runs it: the command in a process of its own, real sockets on both sides.

mod documented;
mod errors;
mod other_plugins;
mod passing;
mod process;
mod refusing;
mod stopping;
mod streaming;
#[path = "../support/mod.rs"]
mod support;
mod wire;
