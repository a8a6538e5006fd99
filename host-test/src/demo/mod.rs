//! The demo: written conversations sent over HTTP through real Envoy, with what came back and what the provider saw.

mod case;
mod emulated;
mod gateway;
mod keep;
mod outcome;
mod print;

pub use case::{Case, Expected, load};
pub use emulated::Emulated;
pub use gateway::Gateway;
pub use keep::keep;
pub use outcome::{Outcome, Seen};
pub use print::table;
