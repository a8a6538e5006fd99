//! What state across requests costs in real Envoy: the same requests with and without a secret, and so with and without loading, updating and storing a run.

use std::path::Path;

use super::body::{Kind, chat, tool_call};
use super::gateway::{Effort, NEVER_BLOCKS, PATH, added_us};
use super::line::Line;
use super::load::{latency, latency_of};
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
    let mut lines = Vec::new();
    let mut number = 0;
    let rounds = latency_of(&envoys.each_ref().map(Envoy::address), effort.blocks, |_| {
        number += 1;
        let body = tool_call(4096, number);
        Call::post("/mcp", body).header("mcp-session-id", "bench").header("authorization", "Bearer bench")
    })
    .await?;
    let what = "Envoy, a 4 KB tool call, history kept by the server: p50 added by its run's state";
    lines.push(Line::new(what, added_us(&rounds[1], &rounds[0]), "us"));
    for (what, call) in [("a 4 KB chat sent again", history(4096)), ("a 64 KB chat sent again", history(65_536))] {
        let targets = envoys.each_ref().map(|envoy| (envoy.address(), call.clone()));
        let blocks = latency(&targets, effort.blocks).await?;
        lines.push(Line::new(format!("Envoy, {what}: p50 added by its run's state"), added_us(&blocks[1], &blocks[0]), "us"));
    }
    Ok(lines)
}

/// With state nothing in it is new after the first time.
fn history(bytes: usize) -> Call {
    Call::post(PATH, chat(Kind::Benign, bytes)).header("authorization", "Bearer bench")
}
