//! What each failure policy does when a plugin traps, as the comments in envoy-config/*.yaml say.

use std::time::{Duration, Instant};

use floodmark_host::client::Call;
use floodmark_host::envoy::{Config, Envoy, Options};

use crate::stage::{Stage, checks};

checks![fail_closed_answers_503_from_then_on, fail_open_lets_everything_pass_from_then_on, fail_reload_recovers];

/// Traps when a body comes; without one it does nothing.
const TRAPS: &str = r#"(module
  (memory (export "memory") 1)
  (func (export "proxy_on_memory_allocate") (param i32) (result i32) (i32.const 1024))
  (func (export "proxy_abi_version_0_2_1"))
  (func (export "proxy_on_context_create") (param i32 i32))
  (func (export "proxy_on_vm_start") (param i32 i32) (result i32) (i32.const 1))
  (func (export "proxy_on_configure") (param i32 i32) (result i32) (i32.const 1))
  (func (export "proxy_on_request_body") (param i32 i32 i32) (result i32) unreachable)
  (func (export "proxy_on_done") (param i32) (result i32) (i32.const 1))
  (func (export "proxy_on_log") (param i32))
  (func (export "proxy_on_delete") (param i32)))"#;

async fn fail_closed_answers_503_from_then_on(stage: &Stage) -> anyhow::Result<()> {
    let envoy = start(stage, "FAIL_CLOSED").await?;
    assert_eq!(get(&envoy).await?, 200, "the plugin works until it traps");
    assert_eq!(post(&envoy).await?, 503);
    // Longer than a reload takes.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(get(&envoy).await?, 503);
    Ok(())
}

async fn fail_open_lets_everything_pass_from_then_on(stage: &Stage) -> anyhow::Result<()> {
    let envoy = start(stage, "FAIL_OPEN").await?;
    // What becomes of the request that trapped is Envoy's affair; the next ones pass the dead plugin.
    post(&envoy).await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(post(&envoy).await?, 200);
    assert_eq!(get(&envoy).await?, 200);
    Ok(())
}

async fn fail_reload_recovers(stage: &Stage) -> anyhow::Result<()> {
    let envoy = start(stage, "FAIL_RELOAD").await?;
    assert_eq!(post(&envoy).await?, 503);
    let started = Instant::now();
    while get(&envoy).await? != 200 {
        assert!(started.elapsed() < Duration::from_secs(10), "no reload in ten seconds");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // It is the plugin again, not a hole where it was.
    assert_eq!(post(&envoy).await?, 503);
    assert!(envoy.stat("wasm.floodmark.vm_reload_success").await? >= 1);
    Ok(())
}

async fn get(envoy: &Envoy) -> anyhow::Result<u16> {
    Ok(Call::get("/").send(envoy.address()).await?.status)
}

async fn post(envoy: &Envoy) -> anyhow::Result<u16> {
    Ok(Call::post("/", "{}").send(envoy.address()).await?.status)
}

/// One worker, so that every request meets the VM that trapped.
async fn start(stage: &Stage, policy: &str) -> anyhow::Result<Envoy> {
    let folder = tempfile::tempdir()?;
    let module = folder.path().join("traps.wasm");
    std::fs::write(&module, wat::parse_str(TRAPS)?)?;
    let config = Config::shipped("enforce", &module, stage.upstream().await?.address())?;
    let config = config.replace("failure_policy: FAIL_RELOAD", &format!("failure_policy: {policy}"))?;
    // Envoy has read the module by the time that it is ready.
    Envoy::start(&Options { concurrency: 1, ..stage.options()? }, &config).await
}
