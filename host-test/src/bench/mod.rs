//! The bench: what a judgement costs natively, in wasm and in Envoy, against the budgets of DESIGN.md 12.

pub mod body;
mod first_token;
mod gateway;
mod gateway_runs;
mod line;
mod lineage;
mod load;
mod native;
mod runs;
mod stages;
mod stats;
mod wasm;

pub use first_token::measure as first_token;
pub use gateway::{Effort, measure as gateway};
pub use gateway_runs::measure as gateway_runs;
pub use line::{Line, table};
pub use lineage::native as lineage;
pub use native::{SIZES, judge, measure as native};
pub use runs::measure as runs;
pub use stages::measure as stages;
pub use stats::Samples;
pub use wasm::measure as wasm;
