//! What the lineage gate costs for chains of records: natively, through the wasm's endpoint, and in Python, beside the paper's figures.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, anyhow, ensure};
use floodmark_core::lineage::{
    self, Ancestor, CheckRequest, Class, Decision, Digest, Effect, Gate, KeyRing, MintAnswer, MintRequest, Presented, VerifiedLineage,
};
use serde_json::{Value, json};

use super::line::Line;
use super::native::judge;
use super::stats::{Samples, time_of};
use crate::emulator::{Gateway, Options, Request, UpstreamReply};
use crate::runtime::Engine;

/// Records of the chains.
pub const LENGTHS: [usize; 4] = [1, 3, 10, 100];
/// What the twin in Python verifies in, from the repository's root.
const TWIN: &str = "tools/lineage/lineage.py";
/// arXiv paper D: microseconds of a check in Python on its authors' machine, in their harness and in their benchmark.
const PAPER_US: [(&str, f64); 2] = [("harness", 37.0), ("benchmark", 53.0)];
const CONTENT: &str = "The quarterly report is due on the first Monday of the month.";
const NOW_MS: u64 = 1_790_000_000_000;
const TOKEN: &str = "bench-token-of-32-bytes-or-more-00";

fn secret() -> [u8; 32] {
    std::array::from_fn(|at| at as u8)
}

fn ring() -> anyhow::Result<KeyRing> {
    KeyRing::new(vec![("k1".to_owned(), secret())]).map_err(|error| anyhow!("{error:?}"))
}

/// A user's entry, and entries of the agent, each made of the one before: the last one's is last.
fn chain(length: usize) -> anyhow::Result<Vec<MintAnswer>> {
    let (ring, mut records) = (ring()?, Vec::<MintAnswer>::new());
    for at in 0..length {
        let request = json!({
            "tenant": "acme", "principal": "alice", "store": "notes", "entry": format!("note-{at}"), "author": "alice", "content": CONTENT,
            "channel": if at == 0 { "user" } else { "agent" }, "parents": records.last().map(|record| record.hash).into_iter().collect::<Vec<_>>(),
        });
        let request: MintRequest = serde_json::from_value(request)?;
        let minted = lineage::mint(&request, &Gate::default(), &ring, 1, NOW_MS + at as u64);
        records.push(minted.map_err(|error| anyhow!("{}: {}", error.path, error.problem))?);
    }
    Ok(records)
}

/// The last entry of a chain comes back to be read.
fn request(records: &[MintAnswer]) -> anyhow::Result<Value> {
    let (last, before) = records.split_last().context("an empty chain")?;
    let ancestors: Vec<_> = before.iter().map(|record| json!({ "record": record.record })).collect();
    Ok(json!({
        "tenant": "acme", "principal": "alice", "store": "notes", "entry": last.entry, "content": CONTENT, "record": last.record,
        "ancestors": ancestors, "effect": "read",
    }))
}

/// Natively, and with a Python that has the packages of tools/lineage/requirements.txt, in that.
///
/// # Errors
/// When a chain is not what it should be, or the twin does not run.
pub fn native(python: Option<&Path>, samples: Samples) -> anyhow::Result<Vec<Line>> {
    let (ring, judge, gate) = (ring()?, judge()?, Gate::default());
    let twin = python.map(twin).transpose()?;
    let mut lines = Vec::new();
    let mut ratios = Vec::new();
    for length in LENGTHS {
        let records = chain(length)?;
        let expected = if length == 1 { Class::User } else { Class::Derived };
        let sealed: Vec<Vec<u8>> = records.iter().map(|record| unhex(&record.record)).collect::<anyhow::Result<_>>()?;
        let (last, before) = sealed.split_last().context("an empty chain")?;
        let entry = format!("note-{}", length - 1);
        let verify = || {
            let ancestors: Vec<_> = before.iter().map(|record| Ancestor { record, content: None }).collect();
            let content = Digest::of(black_box(CONTENT).as_bytes());
            let (tenant, principal, store) = ("acme", "alice", "notes");
            let presented = Presented { tenant, principal, store, entry: &entry, content, record: Some(last), newest: None };
            let verified = VerifiedLineage::verify(black_box(&presented), &ancestors, &gate, &ring).ok()?;
            let (decision, _) = lineage::decide(verified.class(), verified.broken(), false, Effect::Read, false);
            Some((verified.class(), verified.broken(), decision))
        };
        ensure!(verify() == Some((expected, None, Decision::Run)), "a chain of {length}: {:?}", verify());
        let verify_us = 1e6
            * time_of(samples, || {
                black_box(verify());
            });
        // Each record is hashed for its tag and for its name: no verifying can be quicker.
        let hashes_us = 1e6
            * time_of(samples, || {
                for record in sealed.iter().flat_map(|record| [record, record]) {
                    black_box(Digest::of(black_box(record)));
                }
            });
        let body = request(&records)?.to_string();
        let check = || -> anyhow::Result<String> {
            let request: CheckRequest = serde_json::from_str(black_box(&body))?;
            let answer = lineage::check(&request, &gate, &ring, &judge, None, NOW_MS)
                .map_err(|error| anyhow!("{}: {}", error.path, error.problem))?;
            Ok(serde_json::to_string(&answer)?)
        };
        ensure!(check()?.contains(r#""decision":"run""#), "a chain of {length}: {}", check()?);
        let check_us = 1e6 * time_of(samples, || drop(black_box(check())));
        let what = |what: &str| format!("lineage, chain of {length}: {what}");
        let line = Line::new(what("native, verified"), verify_us, "us");
        lines.push(if length == 3 { line.at_most(2.0) } else { line });
        lines.push(Line::new(what("native, two hashes of each record alone"), hashes_us, "us"));
        lines.push(Line::new(what("native, the whole check, JSON to JSON"), check_us, "us"));
        if let Some(twin) = &twin {
            let python_us = *twin.get(&length.to_string()).with_context(|| format!("{TWIN} gave no time for a chain of {length}"))?;
            lines.push(Line::new(what("Python, verified"), python_us, "us"));
            ratios.push(Line::new(what("Python by native, verified"), python_us / verify_us, "times"));
        }
        if length == 3 {
            for (of, paper_us) in PAPER_US {
                let figure = format!("lineage, the paper's {of} (Python, its machine)");
                ratios.push(Line::new(figure.clone(), paper_us, "us"));
                ratios.push(Line::new(format!("{figure} by native, verified, chain of 3"), paper_us / verify_us, "times"));
            }
        }
    }
    lines.append(&mut ratios);
    Ok(lines)
}

/// Through the endpoint of the built plugin.
///
/// # Errors
/// When the plugin is refused or traps, or a chain is not what it should be.
pub fn wasm(wasm: &[u8], engine: Engine, samples: Samples) -> anyhow::Result<Vec<Line>> {
    let name = format!("{engine:?}").to_lowercase();
    let config = json!({
        "version": 1, "keys": [{"id": "k1", "secret": Digest(secret()).hex()}], "lineage": {}, "defaults": {"mode": "off"},
        "endpoints": {"tokens": [{"name": "bench", "blake3": Digest::of(TOKEN.as_bytes()).hex(), "scopes": ["check"]}]},
    });
    let options = Options { engine, allow_on_headers_stop_iteration: true, ..Options::default() };
    let mut gateway = Gateway::start(wasm, &config.to_string(), options)?;
    let (mut lines, mut fuel) = (Vec::new(), Vec::new());
    for length in LENGTHS {
        let request =
            Request::post_json("/floodmark/v1/lineage/check", request(&chain(length)?)?.to_string()).header("x-floodmark-token", TOKEN);
        let exchange = gateway.exchange(&request, &UpstreamReply::ok())?;
        let reply = exchange.reply().context("no reply")?;
        let text = String::from_utf8_lossy(&reply.body);
        ensure!(reply.status == 200 && text.contains(r#""decision":"run""#), "a chain of {length}: {} {text}", reply.status);
        let mut trapped = None;
        let seconds = time_of(samples, || {
            trapped = gateway.exchange(&request, &UpstreamReply::ok()).err();
            gateway.take_logs();
        });
        ensure!(trapped.is_none(), "{trapped:?}");
        let what = format!("lineage, chain of {length}: {name}, POST v1/lineage/check");
        lines.push(Line::new(what.clone(), seconds * 1e6, "us"));
        if exchange.fuel > 0 {
            fuel.push(Line::new(what, exchange.fuel as f64, "fuel"));
        }
    }
    lines.append(&mut fuel);
    Ok(lines)
}

/// Median microseconds of the twin for each length.
fn twin(python: &Path) -> anyhow::Result<BTreeMap<String, f64>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut command = Command::new(python);
    command.arg(root.join(TWIN)).arg("bench").args(LENGTHS.map(|length| length.to_string())).env("PYTHONDONTWRITEBYTECODE", "1");
    let output = command.output().with_context(|| format!("cannot run {}", python.display()))?;
    ensure!(output.status.success(), "{TWIN}: {}", String::from_utf8_lossy(&output.stderr).trim());
    serde_json::from_slice(&output.stdout).with_context(|| format!("{TWIN} gave no times"))
}

fn unhex(text: &str) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    ensure!(lineage::decode_hex(text, &mut bytes), "a record is no hex");
    Ok(bytes)
}
