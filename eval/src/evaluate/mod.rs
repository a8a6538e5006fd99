//! `cargo xtask eval --data DIR`: the plugin over a folder of data, and everything that can be said of it.

mod run;

pub use run::{Outcome, Run, Scored};
