//! A short soak: every kind of request is answered as it must be, and wasm memory stays as it is.

use std::time::Duration;

use floodmark_host::soak::{self, Effort};

use crate::stage::{Stage, checks, wasm};

checks![mixed_load_is_answered_and_memory_stays, a_plugin_that_leaks_is_found_out];

/// Takes a page of memory for each request, and gives none back.
const LEAKS: &str = r#"(module
  (memory (export "memory") 1)
  (func (export "proxy_on_memory_allocate") (param i32) (result i32) (i32.const 1024))
  (func (export "proxy_abi_version_0_2_1"))
  (func (export "proxy_on_context_create") (param i32 i32))
  (func (export "proxy_on_vm_start") (param i32 i32) (result i32) (i32.const 1))
  (func (export "proxy_on_configure") (param i32 i32) (result i32) (i32.const 1))
  (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32) (drop (memory.grow (i32.const 1))) (i32.const 0))
  (func (export "proxy_on_done") (param i32) (result i32) (i32.const 1))
  (func (export "proxy_on_log") (param i32))
  (func (export "proxy_on_delete") (param i32)))"#;

async fn mixed_load_is_answered_and_memory_stays(stage: &Stage) -> anyhow::Result<()> {
    let effort = Effort { envoy: stage.options()?, wasm: wasm()?, time: Duration::from_secs(20), rate: 100, clients: 8 };
    let outcome = soak::run(&effort).await?;
    assert_eq!(outcome.wrong(), [""; 0], "{}\n{}", outcome.requests(), outcome.memory());
    let kinds = soak::shots().into_iter().map(|shot| shot.name).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(outcome.tallies.len(), kinds.len(), "every kind was sent");
    let judged = |verdict| outcome.stats.get(&format!("wasmcustom.floodmark_judged_verdict={verdict}_mode=enforce")).copied().unwrap_or(0);
    assert!(judged("allow") > 0 && judged("block") > 0, "{}", outcome.counters());
    Ok(())
}

async fn a_plugin_that_leaks_is_found_out(stage: &Stage) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let wasm = folder.path().join("leaks.wasm");
    std::fs::write(&wasm, wat::parse_str(LEAKS)?)?;
    let effort = Effort { envoy: stage.options()?, wasm, time: Duration::from_secs(5), rate: 40, clients: 4 };
    let outcome = soak::run(&effort).await?;
    let wrong = outcome.wrong();
    assert!(wrong.iter().any(|line| line.starts_with("wasm memory grew by ")), "{wrong:?}\n{}", outcome.memory());
    let first = outcome.samples.first().expect("a sample").wasm_bytes;
    let grown = outcome.samples.last().expect("a sample").wasm_bytes - first;
    assert_eq!(grown / 65_536, outcome.sent(), "a page for each request");
    Ok(())
}
