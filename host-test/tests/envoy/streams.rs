//! Many streamed answers at once, each only half there: they pass whole, and the memory that they take is bounded and used again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::ensure;
use floodmark_host::client::{Connection, Protocol, Streaming};
use floodmark_host::envoy::{Config, Envoy, Options};
use floodmark_host::upstream::{CANNED_HEADER, Canned, Upstream, completion_events};
use tokio::sync::Semaphore;

use crate::stage::{Stage, call, case, checks, wasm, with_trailers};

checks![a_thousand_half_streams_in_monitor_mode, a_thousand_half_streams_in_enforce_mode, a_thousand_long_half_streams_in_each_mode];

const STREAMS: usize = 1000;
const CALL_BYTES: usize = 4000;
const LONG_CALL_BYTES: usize = 60_000;
/// HTTP/2 to both sides, so that few sockets carry many streams; an Envoy or a client may allow no more than 100 on each.
const CONNECTIONS: usize = 20;
const ROUNDS: usize = 3;
const ALL: u64 = (STREAMS * ROUNDS) as u64;
/// DESIGN.md 12, for the one worker and the main thread together.
const MOST_WASM_BYTES: u64 = 32 << 20;
/// After the first round memory is as it stays, but for some pages: where pieces lie depends on the order in which they come.
const SLACK_BYTES: u64 = 256 << 10;
const ANSWER: &str = "halves";
/// Envoy's counter of bytes from the provider.
const RECEIVED: &str = "cluster.provider.upstream_cx_rx_bytes_total";
const PATIENCE: Duration = Duration::from_secs(60);

async fn a_thousand_half_streams_in_monitor_mode(stage: &Stage) -> anyhow::Result<()> {
    let envoy = half_streams(stage, "monitor", CALL_BYTES).await?;
    assert_eq!(envoy.stat("wasmcustom.floodmark_response_judged_verdict=allow_mode=monitor").await?, ALL);
    Ok(())
}

async fn a_thousand_half_streams_in_enforce_mode(stage: &Stage) -> anyhow::Result<()> {
    let envoy = half_streams(stage, "enforce", CALL_BYTES).await?;
    assert_eq!(envoy.stat("wasmcustom.floodmark_response_judged_verdict=allow_mode=enforce").await?, ALL);
    Ok(())
}

/// Together these are more than the plugin may keep: some pass unread, and are counted.
async fn a_thousand_long_half_streams_in_each_mode(stage: &Stage) -> anyhow::Result<()> {
    for mode in ["monitor", "enforce"] {
        let envoy = half_streams(stage, mode, LONG_CALL_BYTES).await?;
        let judged = envoy.stat(&format!("wasmcustom.floodmark_response_judged_verdict=allow_mode={mode}")).await?;
        let unread = envoy.stat("wasmcustom.floodmark_response_issues_issue=memory_budget").await?;
        assert!(judged > 0 && unread > 0 && judged + unread == ALL, "{mode}: {judged} judged, {unread} unread of {ALL}");
    }
    Ok(())
}

async fn half_streams(stage: &Stage, config: &str, call_bytes: usize) -> anyhow::Result<Envoy> {
    // An upstream of its own, so that what Envoy receives can be counted.
    let upstream = Upstream::start().await?;
    let (first, second) = halves(call_bytes);
    let whole = [&first[..], &second].concat();
    let gate = Arc::new(Semaphore::new(0));
    let answer = Canned::new("text/event-stream", [first.clone(), second]);
    upstream.prepare(ANSWER, Canned { gate: Some(Arc::clone(&gate)), ..answer });
    let config = with_trailers(Config::shipped(config, &wasm()?, upstream.address())?)?;
    let envoy = Envoy::start(&Options { concurrency: 1, ..stage.options()? }, &config).await?;
    let mut peaks = Vec::new();
    for _ in 0..ROUNDS {
        let before = envoy.stat(RECEIVED).await?;
        let mut open = open(&envoy).await?;
        arrived(&envoy, before + (STREAMS * first.len()) as u64).await?;
        peaks.push(envoy.wasm_memory_bytes()?);
        gate.add_permits(STREAMS);
        for (_, streams) in &mut open {
            for stream in streams {
                ensure!(stream.status == 200, "status {}", stream.status);
                ensure!(stream.rest().await? == whole, "a stream was changed on its way");
            }
        }
        drop(open);
        envoy.settle(upstream.journal()).await?;
    }

    assert!(peaks.iter().all(|bytes| *bytes <= MOST_WASM_BYTES), "wasm memory with {STREAMS} half streams: {peaks:?} bytes");
    assert!(peaks[ROUNDS - 1] <= peaks[1] + SLACK_BYTES, "what {STREAMS} streams took was not used again: {peaks:?} bytes");
    Ok(envoy)
}

/// A streamed answer up to the middle of an event of its tool call, and the rest.
fn halves(call_bytes: usize) -> (Vec<u8>, Vec<u8>) {
    let events = completion_events(call_bytes);
    let cut = events.len() * 3 / 4;
    let (first, second) = events[cut].split_at(events[cut].len() / 2);
    assert!(first.contains("tool_calls"), "the cut is in the call");
    let first = events[..cut].concat() + first;
    (first.into_bytes(), (second.to_owned() + &events[cut + 1..].concat()).into_bytes())
}

/// Streams that have begun, with the connections that carry them.
async fn open(envoy: &Envoy) -> anyhow::Result<Vec<(Connection, Vec<Streaming>)>> {
    let call = call(&case("benign_agent_run")?).over(Protocol::Http2).header(CANNED_HEADER, ANSWER).timeout(PATIENCE);
    let connections = (0..CONNECTIONS).map(|_| async {
        let mut connection = Connection::open(envoy.address(), Protocol::Http2).await?;
        let mut streams = Vec::new();
        for _ in 0..STREAMS / CONNECTIONS {
            streams.push(connection.open_answer(&call).await?);
        }
        anyhow::Ok((connection, streams))
    });
    futures_util::future::try_join_all(connections).await
}

/// Waits until all halves have left the upstream and Envoy reads nothing more.
async fn arrived(envoy: &Envoy, bytes: u64) -> anyhow::Result<()> {
    let (started, mut before) = (Instant::now(), 0);
    loop {
        let now = envoy.stat(RECEIVED).await?;
        if now >= bytes && now == before {
            return Ok(());
        }
        ensure!(started.elapsed() < PATIENCE, "{now} of {bytes} bytes came");
        before = now;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
