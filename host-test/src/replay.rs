//! Replays recorded chats through the plugin's judgement, natively or as wasm in the emulator; both give the same report.

mod engine;
mod line;
mod native;
mod row;

pub use engine::{Judged, Replay};
pub use line::{Line, LineError};
pub use row::Row;
