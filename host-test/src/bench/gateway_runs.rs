//! What state across requests costs in real Envoy: the same requests with and without a secret, and so with and without loading, updating and storing a run.

use std::path::Path;

use super::body::{Kind, chat, tool_call};
use super::gateway::{Effort, NEVER_BLOCKS, PATH};
use super::line::Line;
use super::load::{BLOCK, WARM_UP, block};
use super::stats::median;
use crate::client::{Call, Connection, Protocol};
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
    let mut lines = Vec::new();
    lines.extend(line("a 4 KB tool call, history kept by the server", &envoys, effort.blocks, call).await?);
    for (what, call) in [("a 4 KB chat sent again", history(4096)), ("a 64 KB chat sent again", history(65_536))] {
        lines.extend(line(what, &envoys, effort.blocks, || call.clone()).await?);
    }
    Ok(lines)
}

/// Median over the rounds of what a request costs the second Envoy more than the first; no line where the system does not tell. Processor time, since what
/// state adds is little against what waking up and waiting add to the time of an answer.
async fn line(what: &str, envoys: &[Envoy; 2], rounds: usize, mut call: impl FnMut() -> Call) -> anyhow::Result<Option<Line>> {
    let mut connections = Vec::new();
    for envoy in envoys {
        connections.push(Connection::open(envoy.address(), Protocol::Http1).await?);
    }
    let mut differences = Vec::new();
    // The first is about what is not known yet.
    for round in 0..=rounds {
        let mut spent = [0.0; 2];
        for ((envoy, connection), spent) in envoys.iter().zip(&mut connections).zip(&mut spent) {
            let before = envoy.cpu_seconds();
            block(connection, &mut call).await?;
            let (Some(before), Some(after)) = (before, envoy.cpu_seconds()) else { return Ok(None) };
            *spent = (after - before) / (WARM_UP + BLOCK) as f64 * 1e6;
        }
        if round > 0 {
            differences.push(spent[1] - spent[0]);
        }
    }
    let what = format!("Envoy, {what}: processor time added by its run's state");
    Ok(Some(Line::new(what, median(&mut differences), "us")))
}

/// With state nothing in it is new after the first time.
fn history(bytes: usize) -> Call {
    Call::post(PATH, chat(Kind::Benign, bytes)).header("authorization", "Bearer bench")
}
