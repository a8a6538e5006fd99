//! Time to the first token: from sending a request to the first event of a streamed answer, in monitor mode.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, ensure};

use super::body::{Kind, chat};
use super::gateway::{Effort, PATH};
use super::line::Line;
use super::load::{BLOCK, Blocks, WARM_UP};
use super::stats::{median, quantile};
use crate::client::{Call, Connection, Protocol};
use crate::envoy::{Config, Envoy, Options};
use crate::upstream::{CANNED_HEADER, Canned, Upstream, completion_events};

/// The plugin that does nothing at all: in monitor mode Floodmark holds nothing back either.
const EMPTY: &str = include_str!("empty.wat");
const NAMES: [&str; 3] = ["no filter", "empty wasm", "floodmark, monitor"];
const SIZES: [(usize, &str); 2] = [(4096, "4 KB"), (65536, "64 KB")];
/// The answer's name; its first events come by themselves, each after a pause that no model undercuts, the rest in one piece.
const ANSWER: &str = "completion";
const ALONE: usize = 4;
const CALL_BYTES: usize = 4000;
const PAUSE: Duration = Duration::from_millis(1);
/// The design's budget, against an empty plugin in the same run.
const MOST_TIMES: f64 = 1.2;

/// Measures all variants in turn, on one worker thread each.
///
/// # Errors
/// When Envoy does not start or an answer is not as it should be.
pub async fn measure(binary: &Path, wasm: &Path, effort: Effort) -> anyhow::Result<Vec<Line>> {
    let folder = tempfile::tempdir().context("cannot make a folder for the empty plugin")?;
    let empty = folder.path().join("empty.wasm");
    std::fs::write(&empty, wat::parse_str(EMPTY)?).context("cannot write the empty plugin")?;
    let upstream = Upstream::start().await?;
    let mut events = completion_events(CALL_BYTES);
    let rest = events.split_off(ALONE).concat();
    let answer = Canned::new("text/event-stream", events.into_iter().chain([rest]));
    upstream.prepare(ANSWER, Canned { pause: PAUSE, ..answer });
    let ours = Config::shipped("monitor", wasm, upstream.address())?;
    let configs = [ours.clone().without_filter()?, Config::shipped("monitor", &empty, upstream.address())?, ours];
    let options = Options { binary: binary.to_path_buf(), concurrency: 1 };
    let (mut envoys, mut connections) = (Vec::new(), Vec::new());
    for config in &configs {
        let envoy = Envoy::start(&options, config).await?;
        connections.push(Connection::open(envoy.address(), Protocol::Http1).await?);
        envoys.push(envoy);
    }
    let (mut lines, mut ratios) = (Vec::new(), Vec::new());
    for (bytes, size) in SIZES {
        let call = Call::post(PATH, chat(Kind::Benign, bytes)).header(CANNED_HEADER, ANSWER);
        let mut blocks = vec![Blocks::new(); connections.len()];
        // Each answer takes some milliseconds, so there are fewer than elsewhere.
        for _ in 0..effort.blocks.div_ceil(4) {
            for (connection, blocks) in connections.iter_mut().zip(&mut blocks) {
                blocks.push(block(connection, &call).await?);
            }
        }
        for (name, blocks) in NAMES.iter().zip(&blocks) {
            let mut times = blocks.concat();
            for (label, share) in [("p50", 0.5), ("p99", 0.99)] {
                lines.push(Line::new(format!("Envoy, {size}, {name}: first token, {label}"), quantile(&mut times, share) * 1e6, "us"));
            }
        }
        let what = format!("Envoy, {size}: time to first token against an empty wasm");
        ratios.push(Line::new(what, ratio(&blocks[2], &blocks[1]), "times").at_most(MOST_TIMES));
    }
    drop(envoys);
    lines.append(&mut ratios);
    Ok(lines)
}

/// Times of one block, in seconds; each answer is read to its end before the next request.
async fn block(connection: &mut Connection, call: &Call) -> anyhow::Result<Vec<f64>> {
    let mut block = Vec::with_capacity(BLOCK);
    for at in 0..WARM_UP + BLOCK {
        let mut answer = connection.open_answer(call).await?;
        ensure!(answer.status == 200, "status {}", answer.status);
        let mut seen = Vec::new();
        while !seen.windows(2).any(|end| end == b"\n\n") {
            seen.extend_from_slice(&answer.next().await?.context("the answer ended before its first event")?);
        }
        let elapsed = answer.elapsed();
        answer.rest().await?;
        if at >= WARM_UP {
            block.push(elapsed.as_secs_f64());
        }
    }
    Ok(block)
}

/// Median over the rounds of a block's median against that of the other's block in the same round.
fn ratio(blocks: &Blocks, base: &Blocks) -> f64 {
    let of = |times: &Vec<f64>| median(&mut times.clone());
    median(&mut blocks.iter().zip(base).map(|(block, base)| of(block) / of(base)).collect::<Vec<_>>())
}
