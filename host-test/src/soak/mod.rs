//! The soak: mixed load through real Envoy for a long time, with the memory of the wasm VMs watched.

mod fire;
mod mix;
mod report;
mod watch;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::envoy::{Config, Envoy, Options, Stats};
use crate::upstream::Upstream;

pub use fire::Tally;
pub use mix::{Expect, Shot, shots};
pub use watch::Sample;

/// How long and how hard.
#[derive(Clone, Debug)]
pub struct Effort {
    /// Envoy.
    pub envoy: Options,
    /// The built plugin.
    pub wasm: PathBuf,
    /// Time of the whole load.
    pub time: Duration,
    /// Requests a second, of all clients together.
    pub rate: u32,
    /// Clients at once.
    pub clients: usize,
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// What was sent, and what was answered, by kind of request.
    pub tallies: Vec<Tally>,
    /// Memory over time.
    pub samples: Vec<Sample>,
    /// End of the time in which memory may still grow.
    pub warm_up: Duration,
    /// Envoy's counters at the end.
    pub stats: Stats,
}

/// Memory may grow until each kind of request has come by some times: for a quarter of the time, but two minutes at most.
fn warm_up(time: Duration) -> Duration {
    (time / 4).min(Duration::from_secs(120))
}

/// Starts Envoy on `envoy-config/enforce.yaml`, loads it and watches.
///
/// # Errors
/// When Envoy does not start or ends, or its memory cannot be read.
pub async fn run(effort: &Effort) -> anyhow::Result<Outcome> {
    let upstream = Upstream::start().await?;
    let envoy = Arc::new(Envoy::start(&effort.envoy, &Config::shipped("enforce", &effort.wasm, upstream.address())?).await?);
    let started = Instant::now();
    let watching = tokio::spawn(watch::watch(Arc::clone(&envoy), started, effort.time));
    let tallies = fire::fire(envoy.address(), &shots(), effort, started).await;
    let samples = watching.await??;
    envoy.settle(upstream.journal()).await?;
    Ok(Outcome { tallies, samples, warm_up: warm_up(effort.time), stats: envoy.stats().await? })
}
