//! `demo --keep`: leave the gateway running and say how to talk to it.

use anyhow::Context as _;
use tokio::signal::unix::{SignalKind, signal};

use super::{Case, Gateway};

/// Prints commands to paste and waits for Ctrl-C.
///
/// # Errors
/// When the bodies cannot be written or signals cannot be waited for.
pub async fn keep(gateway: &Gateway, cases: &[Case]) -> anyhow::Result<()> {
    let envoy = &gateway.envoy;
    println!("\nEnvoy keeps running (process {}, its config and logs in {}).\n", envoy.id(), envoy.folder().display());
    for (what, status) in [("One that passes", 200), ("One that is blocked", 403)] {
        if let Some(case) = cases.iter().find(|c| c.expect.status == status) {
            let file = envoy.folder().join(format!("{}.json", case.id));
            std::fs::write(&file, case.body.get()).with_context(|| format!("cannot write {}", file.display()))?;
            println!("# {what}: {}", case.about);
            println!(
                "curl -i -H 'content-type: application/json' --data-binary @{} http://{}{}\n",
                file.display(),
                envoy.address(),
                case.path
            );
        }
    }
    println!("# The counters\ncurl -s 'http://{}/stats/prometheus?filter=floodmark'\n", envoy.admin_address());
    println!("# The access log\ntail -n 3 {}\n", envoy.access_log().display());
    println!("Ctrl-C ends it.");
    let mut terminated = signal(SignalKind::terminate()).context("cannot wait for SIGTERM")?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted.context("cannot wait for Ctrl-C")?,
        _ = terminated.recv() => {}
    }
    Ok(())
}
