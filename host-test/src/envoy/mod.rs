//! Real Envoy as a child process: started on a shipped config, watched through its admin page, killed on drop.

mod admin;
mod config;
mod cpu;
mod log;
mod memory;
mod start;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use anyhow::{Context as _, bail};
use tempfile::TempDir;

pub use admin::Stats;
pub use config::Config;
pub use log::AccessLine;
pub use start::{Options, refused};

/// The environment variable with the path of the Envoy binary.
pub const BINARY_VARIABLE: &str = "FLOODMARK_ENVOY";
/// Longest wait for anything Envoy should do soon: start, flush a log line, end a stream.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// Time between two looks while waiting.
pub(crate) const GLANCE: Duration = Duration::from_millis(10);

/// A running Envoy.
#[derive(Debug)]
pub struct Envoy {
    child: Child,
    admin: SocketAddr,
    listener: SocketAddr,
    folder: TempDir,
}

/// The Envoy binary: `option`, else the environment variable `FLOODMARK_ENVOY`.
///
/// # Errors
/// When neither names an existing file.
pub fn binary(option: Option<&Path>) -> anyhow::Result<PathBuf> {
    let path = option.map(Path::to_path_buf).or_else(|| std::env::var_os(BINARY_VARIABLE).map(PathBuf::from));
    let Some(path) = path else {
        bail!("no Envoy: {BINARY_VARIABLE} is not set; run `cargo xtask test` or `cargo xtask demo`, which install it");
    };
    if !path.is_file() {
        bail!("no Envoy at {}; run `cargo xtask test` or `cargo xtask demo`, which install it", path.display());
    }
    Ok(path)
}

impl Envoy {
    /// Where clients connect.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.listener
    }

    /// Where the admin page is.
    #[must_use]
    pub fn admin_address(&self) -> SocketAddr {
        self.admin
    }

    /// Process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Envoy's own log so far (not the access log).
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn log(&self) -> anyhow::Result<String> {
        let bytes = std::fs::read(self.folder.path().join(start::LOG)).context("cannot read Envoy's log")?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The folder with its config and logs; it goes when this value goes.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The file with the access log.
    #[must_use]
    pub fn access_log(&self) -> PathBuf {
        self.folder.path().join(start::ACCESS_LOG)
    }
}

impl Drop for Envoy {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to kill and the log told why.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
