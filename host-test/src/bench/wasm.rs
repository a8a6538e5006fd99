//! A whole request through the built plugin in the emulator: time, fuel, memory, and the module's size.

use std::path::Path;

use anyhow::{Context as _, ensure};
use clap::ValueEnum as _;

use super::body::{Kind, chat, image, tool_call};
use super::line::Line;
use super::lineage;
use super::native::{SIZES, per_kb};
use super::stats::{Samples, time_of};
use crate::emulator::{Gateway, Options, Request, UpstreamReply};
use crate::inspect::inspect;
use crate::runtime::Engine;

const PATH: &str = "/v1/chat/completions";
const IMAGE_BYTES: usize = 1 << 20;
const STREAMS: usize = 1000;
const STREAM_BYTES: usize = 4096;
/// More calls than a run remembers turns.
const WARM_CALLS: usize = 100;
/// A secret, so that runs are remembered.
const KEYS: &str = "\"keys\":[{\"id\":\"bench\",\"secret\":\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}],";

/// All lines about the module, on every engine that is built in.
///
/// # Errors
/// When the module is refused, traps, or gives another verdict than it should.
pub fn measure(path: &Path, samples: Samples) -> anyhow::Result<Vec<Line>> {
    let wasm = std::fs::read(path).with_context(|| format!("cannot read {}; build it with `cargo xtask wasm`", path.display()))?;
    let mut lines = sizes(&wasm)?;
    for engine in Engine::value_variants() {
        lines.extend(speeds(&wasm, *engine, samples)?);
        lines.extend(state(&wasm, *engine, samples)?);
        lines.extend(lineage::wasm(&wasm, *engine, samples)?);
    }
    lines.extend(memory(&wasm)?);
    Ok(lines)
}

fn sizes(wasm: &[u8]) -> anyhow::Result<Vec<Line>> {
    let module = inspect(wasm)?;
    let kb = |section| module.section_bytes(section) as f64 / 1024.0;
    Ok(vec![
        Line::new("wasm, code section", kb("code"), "KB").at_most(350.0),
        Line::new("wasm, data section", kb("data"), "KB").at_most(640.0),
    ])
}

fn speeds(wasm: &[u8], engine: Engine, samples: Samples) -> anyhow::Result<Vec<Line>> {
    let name = format!("{engine:?}").to_lowercase();
    let mut gateway = start(wasm, engine, "enforce")?;
    let (mut lines, mut fuel) = (Vec::new(), Vec::new());
    for kind in Kind::ALL {
        for (bytes, size) in SIZES {
            let request = Request::post_json(PATH, chat(kind, bytes));
            let exchange = gateway.exchange(&request, &UpstreamReply::ok())?;
            let verdict = exchange.state("floodmark.verdict").unwrap_or("none");
            ensure!(verdict == kind.verdict(), "the {size} {} body got {verdict}, not {}", kind.name(), kind.verdict());
            let mut trapped = None;
            let seconds = time_of(samples, || {
                trapped = gateway.exchange(&request, &UpstreamReply::ok()).err();
                gateway.take_logs();
            });
            ensure!(trapped.is_none(), "{trapped:?}");
            let line = Line::new(format!("{name}, {size}, {}", kind.name()), per_kb(seconds, bytes), "us/KB");
            lines.push(if engine == Engine::Wasmi { line } else { line.at_most(kind.budget_us_per_kb()) });
            if exchange.fuel > 0 {
                fuel.push(Line::new(format!("{name}, {size}, {}", kind.name()), exchange.fuel as f64 / bytes as f64, "fuel/byte"));
            }
        }
    }
    lines.append(&mut fuel);
    if engine == Engine::Wasmi {
        let body = image(IMAGE_BYTES);
        let fuel = gateway.exchange(&Request::post_json(PATH, body.clone()), &UpstreamReply::ok())?.fuel as f64 / body.len() as f64;
        lines.push(Line::new(format!("{name}, 1 MB image part"), fuel, "fuel/byte").at_most(2.0));
    }
    Ok(lines)
}

/// What loading, updating and storing a run and its caller add to a request that is judged whole either way: a tool call, whose history the server keeps.
fn state(wasm: &[u8], engine: Engine, samples: Samples) -> anyhow::Result<Vec<Line>> {
    let name = format!("{engine:?}").to_lowercase();
    let mut measured = Vec::new();
    for keys in ["", KEYS] {
        let config = format!("{{\"version\":1,{keys}\"defaults\":{{\"mode\":\"enforce\"}}}}");
        let mut gateway = Gateway::start(wasm, &config, Options { engine, ..Options::default() })?;
        let mut number = 0;
        let mut call = || {
            number += 1;
            Request::post_json("/mcp", tool_call(STREAM_BYTES, number))
                .header("mcp-session-id", "bench")
                .header("authorization", "Bearer bench")
        };
        // As many as fill what is remembered. None may be more than clean, or what is measured is the log line of a verdict.
        let mut fuel = 0;
        for at in 0..WARM_CALLS {
            let exchange = gateway.exchange(&call(), &UpstreamReply::ok())?;
            let verdict = exchange.state("floodmark.verdict").unwrap_or("none");
            ensure!(verdict == "allow", "tool call {at} got {verdict}");
            fuel = exchange.fuel;
        }
        let mut trapped = None;
        let seconds = time_of(samples, || {
            trapped = gateway.exchange(&call(), &UpstreamReply::ok()).err();
            gateway.take_logs();
        });
        ensure!(trapped.is_none(), "{trapped:?}");
        measured.push((seconds, fuel as f64));
    }
    let added = |of: fn(&(f64, f64)) -> f64| of(&measured[1]) - of(&measured[0]);
    let what = format!("{name}, a 4 KB tool call: added by its run's state");
    let mut lines = vec![Line::new(what.clone(), added(|(seconds, _)| seconds * 1e6), "us")];
    if measured[0].1 > 0.0 {
        lines.push(Line::new(what, added(|(_, fuel)| *fuel), "fuel"));
    }
    Ok(lines)
}

/// Memory of one VM; in monitor mode, where the plugin itself keeps what passed.
fn memory(wasm: &[u8]) -> anyhow::Result<Vec<Line>> {
    let mut gateway = start(wasm, Engine::Wasmi, "monitor")?;
    let mib = |gateway: &Gateway| gateway.memory_bytes() as f64 / f64::from(1 << 20);
    let started = Line::new("wasm memory after start", mib(&gateway), "MiB").at_most(8.0);
    let body = chat(Kind::Benign, STREAM_BYTES);
    let request = Request::new("POST", PATH).header("content-type", "application/json").chunks([body.as_str()]);
    for _ in 0..STREAMS {
        let stream = gateway.open(&request)?;
        gateway.send_chunk(stream, body.as_bytes(), false)?;
    }
    let open = format!("wasm memory with {STREAMS} open streams of 4 KB, monitor");
    Ok(vec![started, Line::new(open, mib(&gateway), "MiB").at_most(32.0)])
}

fn start(wasm: &[u8], engine: Engine, mode: &str) -> anyhow::Result<Gateway> {
    let config = format!("{{\"version\":1,\"defaults\":{{\"mode\":\"{mode}\",\"max_body_bytes\":4000000}}}}");
    let options = Options { engine, buffer_limit_bytes: usize::MAX, ..Options::default() };
    Ok(Gateway::start(wasm, &config, options)?)
}
