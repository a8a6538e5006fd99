//! Real Envoy without a filter, with an empty plugin and with ours: latency, throughput, start and memory.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use super::body::{Kind, chat};
use super::line::Line;
use super::load::{Blocks, latency, throughput};
use super::native::us_per_kb;
use super::stats::{Samples, median, quantile};
use crate::client::Call;
use crate::envoy::{Config, Envoy, Options};
use crate::upstream::Upstream;

/// The plugin that waits for the body and does nothing else.
const CONTROL: &str = include_str!("control.wat");
const NAMES: [&str; 4] = ["no filter", "empty wasm", "floodmark", "floodmark, hostile text"];
/// Positions in `NAMES`.
const EMPTY: usize = 1;
const OURS: usize = 2;
const HOSTILE: usize = 3;
/// Connections of a throughput measurement.
const CONNECTIONS: usize = 16;
/// Where the bodies go.
pub(super) const PATH: &str = "/v1/chat/completions";
/// Judged like any other, but never blocked: else the provider's part of the way would be missing from the time.
pub(super) const NEVER_BLOCKS: &str =
    "mode: enforce\n                              policy: {conversation: {min_turns: 1000}, rules: {detector: flag}}";

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Rounds over all variants for throughput, start and memory, which are medians of the rounds.
    pub rounds: usize,
    /// Blocks of requests for each latency.
    pub blocks: usize,
    /// Time of a throughput measurement.
    pub time: Duration,
    /// How native code is timed, to compare with.
    pub native: Samples,
}

/// Measures all variants in turn, on one worker thread each.
///
/// # Errors
/// When Envoy does not start or an answer is not as it should be.
pub async fn measure(binary: &Path, wasm: &Path, effort: Effort) -> anyhow::Result<Vec<Line>> {
    let folder = tempfile::tempdir().context("cannot make a folder for the empty plugin")?;
    let control = folder.path().join("control.wasm");
    std::fs::write(&control, wat::parse_str(CONTROL)?).context("cannot write the empty plugin")?;
    let upstream = Upstream::start().await?;
    let ours = Config::shipped("enforce", wasm, upstream.address())?;
    let configs = [
        ours.clone().without_filter()?,
        Config::shipped("enforce", &control, upstream.address())?,
        ours.clone(),
        ours.replace("mode: enforce", NEVER_BLOCKS)?,
    ];
    let options = Options { binary: binary.to_path_buf(), concurrency: 1 };
    let mut lines = starts(&options, &configs[..=OURS], effort.rounds).await?;
    let mut envoys = Vec::new();
    for config in &configs {
        envoys.push(Envoy::start(&options, config).await?);
    }
    let small = requests(&envoys, 4096, "4 KB", effort, &mut lines).await?;
    let large = requests(&envoys, 65536, "64 KB", effort, &mut lines).await?;
    for (label, added, budget) in [("4 KB", &small, 15.0), ("64 KB", &large, 200.0)] {
        lines.push(Line::new(format!("Envoy, {label}: p50 added to an empty wasm"), added[0], "us").at_most(budget));
    }
    for (at, kind) in Kind::ALL.into_iter().enumerate() {
        let per_kb = (large[at] - small[at]) / 60.0;
        let what = format!("Envoy's V8, {}: added from 4 KB to 64 KB", kind.name());
        lines.push(Line::new(what, per_kb, "us/KB").at_most(kind.budget_us_per_kb()));
        let native = us_per_kb(kind, 65536, effort.native)?;
        lines.push(Line::new(format!("the same against native, {}", kind.name()), per_kb / native, "times").at_most(2.0));
    }
    Ok(lines)
}

/// Adds the lines of one body size; returns the microseconds that benign and hostile text add to the empty plugin at the median.
async fn requests(envoys: &[Envoy], bytes: usize, size: &str, effort: Effort, lines: &mut Vec<Line>) -> anyhow::Result<[f64; 2]> {
    let call = |at| Call::post(PATH, chat(if at == HOSTILE { Kind::Attack } else { Kind::Benign }, bytes));
    let targets: Vec<_> = envoys.iter().enumerate().map(|(at, envoy)| (envoy.address(), call(at))).collect();
    let blocks = latency(&targets, effort.blocks).await?;
    let mut rates = vec![Vec::new(); envoys.len()];
    for _ in 0..effort.rounds {
        for ((address, call), rates) in targets.iter().zip(&mut rates) {
            rates.push(throughput(*address, call, CONNECTIONS, effort.time).await?);
        }
    }
    for ((name, blocks), rates) in NAMES.iter().zip(&blocks).zip(&mut rates) {
        let mut times = blocks.concat();
        for (label, share) in [("p50", 0.5), ("p99", 0.99)] {
            let what = format!("Envoy, {size}, {name}: {label}, 1 connection");
            lines.push(Line::new(what, quantile(&mut times, share) * 1e6, "us"));
        }
        lines.push(Line::new(format!("Envoy, {size}, {name}: {CONNECTIONS} connections"), median(rates), "req/s"));
    }
    Ok([OURS, HOSTILE].map(|at| added_us(&blocks[at], &blocks[EMPTY])))
}

/// Median over the rounds of what a block's median is above that of the other's block in the same round.
fn added_us(blocks: &Blocks, base: &Blocks) -> f64 {
    let of = |times: &Vec<f64>| median(&mut times.clone());
    let mut differences: Vec<f64> = blocks.iter().zip(base).map(|(block, base)| of(block) - of(base)).collect();
    median(&mut differences) * 1e6
}

/// Start time and memory that each plugin adds to an Envoy without one.
async fn starts(options: &Options, configs: &[Config], rounds: usize) -> anyhow::Result<Vec<Line>> {
    let mut times = vec![Vec::new(); configs.len()];
    let mut memory = times.clone();
    for _ in 0..rounds {
        for (at, config) in configs.iter().enumerate() {
            let started = Instant::now();
            let envoy = Envoy::start(options, config).await?;
            times[at].push(started.elapsed().as_secs_f64() * 1e3);
            memory[at].extend(envoy.anonymous_bytes().map(|bytes| bytes as f64 / 1_048_576.0));
        }
    }
    let (bare_time, bare_memory) = (median(&mut times[0]), median(&mut memory[0]));
    let mut lines = Vec::new();
    for at in 1..configs.len() {
        let start = Line::new(format!("Envoy start added by {}", NAMES[at]), median(&mut times[at]) - bare_time, "ms");
        lines.push(if at == OURS { start.at_most(500.0) } else { start });
        if !memory[at].is_empty() {
            let added = median(&mut memory[at]) - bare_memory;
            lines.push(Line::new(format!("Envoy memory added by {}, one worker", NAMES[at]), added, "MiB"));
        }
    }
    Ok(lines)
}
