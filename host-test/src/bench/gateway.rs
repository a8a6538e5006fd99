//! Real Envoy without a filter, with an empty plugin and with ours: latency, throughput, start and memory.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use super::body::{Kind, chat};
use super::line::Line;
use super::load::{latency, throughput};
use super::stats::{median, quantile};
use crate::client::Call;
use crate::envoy::{Config, Envoy, Options};
use crate::upstream::Upstream;

/// The plugin that waits for the body and does nothing else.
const CONTROL: &str = include_str!("control.wat");
const NAMES: [&str; 3] = ["no filter", "empty wasm", "floodmark"];
const OURS: usize = 2;
/// Connections of a throughput measurement.
const CONNECTIONS: usize = 16;
const PATH: &str = "/v1/chat/completions";

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Rounds over all variants for throughput, start and memory, which are medians of the rounds.
    pub rounds: usize,
    /// Blocks of requests for each latency.
    pub blocks: usize,
    /// Time of a throughput measurement.
    pub time: Duration,
}

/// Measures all three variants in turn, round by round, on one worker thread.
///
/// # Errors
/// When Envoy does not start or an answer is not as it should be.
pub async fn measure(binary: &Path, wasm: &Path, effort: Effort) -> anyhow::Result<Vec<Line>> {
    let folder = tempfile::tempdir().context("cannot make a folder for the empty plugin")?;
    let control = folder.path().join("control.wasm");
    std::fs::write(&control, wat::parse_str(CONTROL)?).context("cannot write the empty plugin")?;
    let upstream = Upstream::start().await?;
    let configs = [
        Config::shipped("enforce", wasm, upstream.address())?.without_filter()?,
        Config::shipped("enforce", &control, upstream.address())?,
        Config::shipped("enforce", wasm, upstream.address())?,
    ];
    let options = Options { binary: binary.to_path_buf(), concurrency: 1 };
    let mut lines = starts(&options, &configs, effort.rounds).await?;
    let mut envoys = Vec::new();
    for config in &configs {
        envoys.push(Envoy::start(&options, config).await?);
    }
    for (bytes, size, budget_us) in [(4096, "4 KB", 15.0), (65536, "64 KB", 200.0)] {
        lines.extend(requests(&envoys, size, &chat(Kind::Benign, bytes), budget_us, effort).await?);
    }
    Ok(lines)
}

async fn requests(envoys: &[Envoy], size: &str, body: &str, budget_us: f64, effort: Effort) -> anyhow::Result<Vec<Line>> {
    let call = Call::post(PATH, body.to_owned());
    let addresses: Vec<_> = envoys.iter().map(Envoy::address).collect();
    let blocks = latency(&addresses, &call, 200, effort.blocks).await?;
    let mut rates = vec![Vec::new(); envoys.len()];
    for _ in 0..effort.rounds {
        for (address, rates) in addresses.iter().zip(&mut rates) {
            rates.push(throughput(*address, &call, 200, CONNECTIONS, effort.time).await?);
        }
    }
    let mut lines = Vec::new();
    for ((name, blocks), rates) in NAMES.iter().zip(&blocks).zip(&mut rates) {
        let mut times = blocks.concat();
        for (label, share) in [("p50", 0.5), ("p99", 0.99)] {
            let what = format!("Envoy, {size}, {name}: {label}, 1 connection");
            lines.push(Line::new(what, quantile(&mut times, share) * 1e6, "us"));
        }
        lines.push(Line::new(format!("Envoy, {size}, {name}: {CONNECTIONS} connections"), median(rates), "req/s"));
    }
    let differences = blocks[OURS].iter().zip(&blocks[OURS - 1]).map(|(ours, empty)| median_of(ours) - median_of(empty));
    let added = median(&mut differences.collect::<Vec<_>>()) * 1e6;
    lines.push(Line::new(format!("Envoy, {size}: p50 added to an empty wasm"), added, "us").at_most(budget_us));
    Ok(lines)
}

fn median_of(times: &[f64]) -> f64 {
    median(&mut times.to_vec())
}

/// Start time and memory that each plugin adds to an Envoy without one.
async fn starts(options: &Options, configs: &[Config], rounds: usize) -> anyhow::Result<Vec<Line>> {
    let mut times = vec![Vec::new(); NAMES.len()];
    let mut memory = times.clone();
    for _ in 0..rounds {
        for (at, config) in configs.iter().enumerate() {
            let started = Instant::now();
            let envoy = Envoy::start(options, config).await?;
            times[at].push(started.elapsed().as_secs_f64() * 1e3);
            memory[at].extend(anonymous_memory_mib(envoy.id()));
        }
    }
    let mut lines = Vec::new();
    let (bare_time, bare_memory) = (median(&mut times[0]), median(&mut memory[0]));
    for at in 1..NAMES.len() {
        let start = Line::new(format!("Envoy start added by {}", NAMES[at]), median(&mut times[at]) - bare_time, "ms");
        lines.push(if at == OURS { start.at_most(500.0) } else { start });
        if !memory[at].is_empty() {
            let added = median(&mut memory[at]) - bare_memory;
            lines.push(Line::new(format!("Envoy memory added by {}, one worker", NAMES[at]), added, "MiB"));
        }
    }
    Ok(lines)
}

/// Anonymous resident memory of a process; `None` where the system does not tell.
fn anonymous_memory_mib(process: u32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("RssAnon:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0)
}
