//! What each failure policy does when the plugin traps, as the comments in envoy-config/*.yaml say: with a test-only build of the real plugin
//! that a request header makes trap.

use std::time::{Duration, Instant};

use floodmark_host::client::{Answer, Call};
use floodmark_host::envoy::{Envoy, Options};

use crate::stage::{Stage, call, case, checks, trapping_wasm};

checks![
    fail_closed_answers_503_from_then_on,
    fail_open_lets_attacks_pass_from_then_on,
    fail_reload_recovers,
    monitor_lets_everything_pass_from_then_on,
];

/// Longer than a reload takes: Envoy tries at most once a second.
const RELOAD: Duration = Duration::from_secs(2);
/// The callbacks in which the plugin can be made to trap.
const CALLBACKS: [&str; 2] = ["headers", "body"];

async fn fail_closed_answers_503_from_then_on(stage: &Stage) -> anyhow::Result<()> {
    for callback in CALLBACKS {
        let envoy = start(stage, "enforce", "FAIL_CLOSED").await?;
        assert_eq!(attack(&envoy).await?.status, 403, "the plugin works until it traps");
        assert_eq!(trap(&envoy, callback).await?.status, 503);
        tokio::time::sleep(RELOAD).await;
        let id = format!("closed-{callback}");
        assert_eq!(benign(&envoy, &id).await?.status, 503);
        assert_eq!(envoy.access_line(&id).await?.field("details").as_deref(), Some("wasm_fail_stream"));
        assert_eq!(Call::get("/").send(envoy.address()).await?.status, 503, "requests without a body, too");
        assert!(stage.received(&envoy, &id).await?.is_empty());
    }
    Ok(())
}

async fn fail_open_lets_attacks_pass_from_then_on(stage: &Stage) -> anyhow::Result<()> {
    for callback in CALLBACKS {
        let envoy = start(stage, "enforce", "FAIL_OPEN").await?;
        assert_eq!(attack(&envoy).await?.status, 403, "the plugin works until it traps");
        // What becomes of the request that trapped is Envoy's affair; the next ones pass the dead plugin.
        trap(&envoy, callback).await?;
        tokio::time::sleep(RELOAD).await;
        assert_eq!(attack(&envoy).await?.status, 200, "a trap is a bypass under this policy");
    }
    Ok(())
}

async fn fail_reload_recovers(stage: &Stage) -> anyhow::Result<()> {
    for callback in CALLBACKS {
        let envoy = start(stage, "enforce", "FAIL_RELOAD").await?;
        assert_eq!(trap(&envoy, callback).await?.status, 503);
        let started = Instant::now();
        while benign(&envoy, &format!("reload-{callback}")).await?.status != 200 {
            assert!(started.elapsed() < Duration::from_secs(10), "no reload in ten seconds");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        // It is the plugin again, not a hole where it was.
        assert_eq!(attack(&envoy).await?.status, 403);
        assert_eq!(trap(&envoy, callback).await?.status, 503);
        assert!(envoy.stat("wasm.floodmark.vm_reload_success").await? >= 1);
    }
    Ok(())
}

/// monitor.yaml has FAIL_OPEN as shipped.
async fn monitor_lets_everything_pass_from_then_on(stage: &Stage) -> anyhow::Result<()> {
    let envoy = start(stage, "monitor", "FAIL_OPEN").await?;
    trap(&envoy, "body").await?;
    tokio::time::sleep(RELOAD).await;
    let judged = "wasmcustom.floodmark_judged_verdict=allow_mode=monitor";
    let before = envoy.stat(judged).await?;
    assert_eq!(benign(&envoy, "monitor-dead").await?.status, 200);
    assert_eq!(envoy.stat(judged).await?, before, "nothing is judged any more, which the comments say to have an alarm for");
    Ok(())
}

async fn benign(envoy: &Envoy, id: &str) -> anyhow::Result<Answer> {
    call(&case("long_benign_chat")?).id(id).send(envoy.address()).await
}

async fn attack(envoy: &Envoy) -> anyhow::Result<Answer> {
    call(&case("slow_burn")?).send(envoy.address()).await
}

async fn trap(envoy: &Envoy, callback: &str) -> anyhow::Result<Answer> {
    Call::post("/", "{}").header("x-floodmark-test-trap", callback).send(envoy.address()).await
}

/// One worker, so that every request meets the VM that trapped.
async fn start(stage: &Stage, config: &str, policy: &str) -> anyhow::Result<Envoy> {
    let config = stage.config_with(config, &trapping_wasm()?).await?;
    let shipped = if config.text().contains("failure_policy: FAIL_OPEN") { "FAIL_OPEN" } else { "FAIL_RELOAD" };
    let config = config.replace(&format!("failure_policy: {shipped}"), &format!("failure_policy: {policy}"))?;
    Envoy::start(&Options { concurrency: 1, ..stage.options()? }, &config).await
}
