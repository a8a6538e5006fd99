//! What the browser test needs: Chromium (`$CHROMIUM`, PATH, Debian package) and Python's playwright to drive it.
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::{apt, venv};
use crate::sh::{self, Sh};

const PLAYWRIGHT: &str = "playwright==1.65.2";
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// A browser and the Python that can drive it.
pub struct Browser {
    /// Absolute path of Chromium.
    pub chromium: PathBuf,
    /// Python of an environment with playwright.
    pub python: PathBuf,
    /// One line for people: version and where it comes from.
    pub summary: String,
}

/// Finds or installs both.
pub fn find(sh: &Sh) -> Result<Browser> {
    let (chromium, origin) = locate(sh)?;
    let version = sh::read(sh::cmd(&chromium).arg("--version"))
        .with_context(|| format!("{} ({origin}) does not work as Chromium", chromium.display()))?;
    let summary = format!("{}, {origin}", version.trim());
    let python = venv::ensure(sh, &[PLAYWRIGHT])?;
    Ok(Browser { chromium, python, summary })
}

fn locate(sh: &Sh) -> Result<(PathBuf, String)> {
    if let Some(path) = std::env::var_os("CHROMIUM").filter(|value| !value.is_empty()) {
        let path = PathBuf::from(path);
        if !sh::is_program(&path) {
            bail!("CHROMIUM={} is not a program; correct or unset it", path.display());
        }
        return Ok((std::path::absolute(path)?, "from $CHROMIUM".to_owned()));
    }
    let in_path = || NAMES.iter().find_map(|name| sh::which(name));
    if let Some(path) = in_path() {
        let origin = format!("from PATH ({})", path.display());
        return Ok((path, origin));
    }
    apt::ensure(sh, &["chromium", "fonts-dejavu-core"], "the browser test")
        .context("no Chromium in $CHROMIUM or PATH; set CHROMIUM to a binary")?;
    let path = in_path().context("the package chromium is installed but put no `chromium` into PATH")?;
    Ok((path, "from the Debian package".to_owned()))
}
