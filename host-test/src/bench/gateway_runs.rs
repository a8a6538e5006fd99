//! What state across requests costs in real Envoy: the same requests with and without a secret, and so with and without loading, updating and storing a run.

use std::path::Path;

use super::body::{Kind, chat, tool_call};
use super::gateway::{Effort, NEVER_BLOCKS, PATH};
use super::line::Line;
use super::load::{BLOCK, WARM_UP, latency_of};
use super::stats::median;
use crate::client::Call;
use crate::envoy::{Config, Envoy, Options};
use crate::upstream::Upstream;

/// The line of enforce.yaml that the secret stands behind.
const ENABLED: &str = "enabled: true\n";
const KEYS: &str = "enabled: true\n                            keys: [{id: bench, secret: \"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}]\n";

/// Both variants in turn, on one worker thread each.
///
/// # Errors
/// When Envoy does not start or an answer is not as it should be.
pub async fn measure(binary: &Path, wasm: &Path, effort: Effort) -> anyhow::Result<Vec<Line>> {
    let upstream = Upstream::start().await?;
    let alone = Config::shipped("enforce", wasm, upstream.address())?.replace("mode: enforce", NEVER_BLOCKS)?;
    let kept = alone.clone().replace(ENABLED, KEYS)?;
    let options = Options { binary: binary.to_path_buf(), concurrency: 1 };
    let envoys = [Envoy::start(&options, &alone).await?, Envoy::start(&options, &kept).await?];
    let mut number = 0;
    let call = || {
        number += 1;
        Call::post("/mcp", tool_call(4096, number)).header("mcp-session-id", "bench").header("authorization", "Bearer bench")
    };
    let what = "a 4 KB tool call, history kept by the server";
    let mut lines = vec![line(what, cpu_added_us(&envoys, effort.blocks, call).await?)];
    for (what, call) in [("a 4 KB chat sent again", history(4096)), ("a 64 KB chat sent again", history(65_536))] {
        lines.push(line(what, cpu_added_us(&envoys, effort.blocks, || call.clone()).await?));
    }
    Ok(lines)
}

fn line(what: &str, added_us: f64) -> Line {
    Line::new(format!("Envoy, {what}: processor time added by its run's state"), added_us, "us")
}

/// Median over the rounds of what a request costs the second Envoy more than the first. Processor time, since what state adds is little against what waking up
/// and waiting add to the time of an answer.
async fn cpu_added_us(envoys: &[Envoy; 2], rounds: usize, mut call: impl FnMut() -> Call) -> anyhow::Result<f64> {
    let mut differences = Vec::new();
    for round in 0..=rounds {
        let mut spent = [0.0; 2];
        for (envoy, spent) in envoys.iter().zip(&mut spent) {
            let before = envoy.cpu_seconds()?;
            latency_of(&[envoy.address()], 1, |_| call()).await?;
            *spent = (envoy.cpu_seconds()? - before) / (WARM_UP + BLOCK) as f64 * 1e6;
        }
        // The first is about what is not known yet.
        if round > 0 {
            differences.push(spent[1] - spent[0]);
        }
    }
    Ok(median(&mut differences))
}

/// With state nothing in it is new after the first time.
fn history(bytes: usize) -> Call {
    Call::post(PATH, chat(Kind::Benign, bytes)).header("authorization", "Bearer bench")
}
