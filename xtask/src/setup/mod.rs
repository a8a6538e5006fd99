//! What the tool fetches when it is missing: Debian packages, Envoy, Chromium, Python packages.
pub mod apt;
pub mod chromium;
pub mod clients;
pub mod envoy;
pub mod venv;

use std::fs::File;

use anyhow::{Context, Result};

use crate::paths;

/// Held while something is made under target/tools, so that two runs do not make it twice. Ends when dropped.
pub fn lock() -> Result<File> {
    let dir = paths::target("tools");
    std::fs::create_dir_all(&dir)?;
    let path = dir.join(".lock");
    let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
    Ok(file)
}
