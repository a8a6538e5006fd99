//! Starting Envoy and waiting until it serves, or until it refuses its config.

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, bail};
use tempfile::TempDir;

use super::{Config, Envoy, GLANCE, PATIENCE, admin};

/// Name of the file with Envoy's log.
pub(super) const LOG: &str = "envoy.log";
/// Name of the file with the access log.
pub(super) const ACCESS_LOG: &str = "access.log";
const ADMIN_ADDRESS: &str = "admin-address";

/// How to start Envoy.
#[derive(Clone, Debug)]
pub struct Options {
    /// The binary.
    pub binary: PathBuf,
    /// Number of worker threads.
    pub concurrency: usize,
}

impl Envoy {
    /// Starts Envoy on `config` and waits until it is ready.
    ///
    /// # Errors
    /// When it cannot be started or ends before it is ready; the message holds the end of its log.
    pub async fn start(options: &Options, config: &Config) -> anyhow::Result<Self> {
        let (mut child, folder) = spawn(options, config)?;
        match ready(&mut child, folder.path()).await {
            Ok((admin, listener)) => Ok(Self { child, admin, listener, folder }),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(error.context(format!("Envoy did not start; the end of its log:\n{}", tail(&read_log(folder.path())))))
            }
        }
    }
}

/// Starts Envoy on a config it should refuse; returns its log.
///
/// # Errors
/// When it becomes ready after all, or does not end in time.
pub async fn refused(options: &Options, config: &Config) -> anyhow::Result<String> {
    let (mut child, folder) = spawn(options, config)?;
    let outcome = ready(&mut child, folder.path()).await;
    let ended = child.try_wait().context("cannot look after Envoy")?.is_some();
    let _ = child.kill();
    let _ = child.wait();
    let log = read_log(folder.path());
    match outcome {
        Ok(_) => bail!("Envoy started on a config it should have refused; the end of its log:\n{}", tail(&log)),
        Err(error) if !ended => Err(error),
        Err(_) => Ok(log),
    }
}

fn spawn(options: &Options, config: &Config) -> anyhow::Result<(Child, TempDir)> {
    let folder = tempfile::Builder::new().prefix("floodmark-envoy-").tempdir().context("cannot make a folder for Envoy")?;
    let path = folder.path().join("envoy.yaml");
    std::fs::write(&path, config.text()).with_context(|| format!("cannot write {}", path.display()))?;
    let log = File::create(folder.path().join(LOG)).context("cannot make Envoy's log")?;
    let access_log = File::create(folder.path().join(ACCESS_LOG)).context("cannot make the access log")?;
    let child = Command::new(&options.binary)
        .arg("-c")
        .arg(&path)
        .arg("--admin-address-path")
        .arg(folder.path().join(ADMIN_ADDRESS))
        .arg("--concurrency")
        .arg(options.concurrency.to_string())
        // A dynamic id lets several Envoys run on one machine.
        .arg("--use-dynamic-base-id")
        // Else an access log line may wait ten seconds.
        .args(["--file-flush-interval-msec", "20"])
        .args(["--log-level", "warning", "--component-log-level", "wasm:info"])
        .stdin(Stdio::null())
        .stdout(access_log)
        .stderr(log)
        .spawn()
        .with_context(|| format!("cannot run {}", options.binary.display()))?;
    Ok((child, folder))
}

async fn ready(child: &mut Child, folder: &Path) -> anyhow::Result<(SocketAddr, SocketAddr)> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().context("cannot look after Envoy")? {
            bail!("Envoy ended with {status}");
        }
        // The file appears before it is written, and admin answers before the workers run: both mean "not yet".
        let admin = std::fs::read_to_string(folder.join(ADMIN_ADDRESS)).ok().and_then(|a| a.trim().parse().ok());
        if let Some(admin) = admin
            && admin::is_ready(admin).await
        {
            return Ok((admin, admin::listener(admin).await?));
        }
        if started.elapsed() > PATIENCE {
            bail!("Envoy was not ready within {} s", PATIENCE.as_secs());
        }
        tokio::time::sleep(GLANCE).await;
    }
}

fn read_log(folder: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(folder.join(LOG)).unwrap_or_default()).into_owned()
}

fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}
