//! How a store of memories and a scheduler use the lineage gate as a library. Both are real, small programs over one SQLite file; README.md walks through them.

pub mod cli;
mod counter;
pub mod keys;
mod rows;
pub mod store;
pub mod tasks;

/// Unix time in milliseconds, from the system's clock.
///
/// # Errors
/// A clock before 1970, or far beyond.
pub fn now_ms() -> anyhow::Result<u64> {
    Ok(std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_millis().try_into()?)
}
