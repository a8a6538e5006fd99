//! The bench: what a judgement costs natively, in wasm and in Envoy, against the budgets.

pub mod body;
mod gateway;
mod line;
mod load;
pub mod stats;

pub use gateway::{Effort, measure as gateway};
pub use line::{Line, table};
