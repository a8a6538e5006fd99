//! Memory over time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::envoy::Envoy;

const LEAST_PAUSE: Duration = Duration::from_millis(500);

/// Memory at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Time since the start of the load.
    pub at: Duration,
    /// Linear memory of all wasm VMs.
    pub wasm_bytes: u64,
    /// Anonymous resident memory of Envoy as a whole; `None` where the system does not tell.
    pub anonymous_bytes: Option<u64>,
}

/// Samples until the time is over, and once more then.
pub(super) async fn watch(envoy: Arc<Envoy>, started: Instant, time: Duration) -> anyhow::Result<Vec<Sample>> {
    let mut samples = Vec::new();
    loop {
        let at = started.elapsed();
        samples.push(Sample { at, wasm_bytes: envoy.wasm_memory_bytes()?, anonymous_bytes: envoy.anonymous_bytes() });
        if at >= time {
            return Ok(samples);
        }
        tokio::time::sleep((time / 200).max(LEAST_PAUSE).min(time.saturating_sub(at))).await;
    }
}
