//! What the clients' tests need: the official Python clients and pytest, as their list of requirements pins them.
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::venv;
use crate::sh::Sh;

/// Those that the line for people names.
const NAMED: [&str; 3] = ["openai", "anthropic", "mcp"];

/// The clients.
pub struct Clients {
    /// Python of an environment with all of them.
    pub python: PathBuf,
    /// One line for people: their versions.
    pub summary: String,
}

/// Finds or installs them.
pub fn find(sh: &Sh) -> Result<Clients> {
    let (python, pins) = venv::ensure_listed(sh, "host-test/clients/requirements.txt").context("the official Python clients")?;
    let named = pins.iter().filter_map(|pin| pin.split_once("==")).filter(|(name, _)| NAMED.contains(name));
    let versions: Vec<String> = named.map(|(name, version)| format!("{name} {version}")).collect();
    Ok(Clients { python, summary: format!("clients {}", versions.join(", ")) })
}
