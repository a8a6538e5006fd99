//! The tool's own Python environment, target/tools/venv, so that nothing is installed into the user's.
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::apt;
use crate::paths;
use crate::sh::{self, Sh};

/// Prints `yes` when every `name==version` among the arguments is installed.
const ASK: &str = "import importlib.metadata as m, sys
pins = [pin.split('==') for pin in sys.argv[1:]]
found = {d.metadata['Name'].lower().replace('_', '-'): d.version for d in m.distributions()}
print('yes' if all(found.get(n.lower().replace('_', '-')) == v for n, v in pins) else 'no')";

/// Makes sure of packages, each pinned as `name==version`, and gives the environment's Python.
pub fn ensure(sh: &Sh, pins: &[&str]) -> Result<PathBuf> {
    let _lock = super::lock()?;
    let python = python(sh)?;
    if sh::read(sh::cmd(&python).args(["-c", ASK]).args(pins)).is_ok_and(|answer| answer == "yes") {
        return Ok(python);
    }
    let wanted = match pins {
        [only] => (*only).to_owned(),
        _ => format!("{} pinned Python packages", pins.len()),
    };
    println!("installing {wanted} into target/tools/venv");
    let mut pip = sh::cmd(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]).args(pins);
    sh.run(&mut pip).with_context(|| format!("cannot install {wanted}"))?;
    Ok(python)
}

/// Makes sure of the packages that a list of requirements of this repository pins; gives the environment's Python and the pins.
pub fn ensure_listed(sh: &Sh, list: &str) -> Result<(PathBuf, Vec<String>)> {
    let file = paths::root().join(list);
    let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let pins: Vec<String> = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(str::to_owned).collect();
    let python = ensure(sh, &pins.iter().map(String::as_str).collect::<Vec<_>>())
        .with_context(|| format!("the packages of {list} need Python 3.11 or newer; with another one in PATH, remove target/tools/venv"))?;
    Ok((python, pins))
}

/// Python of an environment that is whole, made when it is not.
fn python(sh: &Sh) -> Result<PathBuf> {
    let dir = paths::target("tools/venv");
    let python = dir.join("bin/python");
    if works(&python) {
        return Ok(python);
    }
    let Some(host) = sh::which("python3") else {
        bail!("no python3 in PATH; install Python 3.11 or newer");
    };
    if sh::read(sh::cmd(&host).args(["-c", "import ensurepip, venv"])).is_err() {
        apt::ensure(sh, &["python3-venv"], "a Python environment")?;
    }
    if dir.exists() {
        std::fs::remove_dir_all(&dir).context("cannot remove a half-made target/tools/venv")?;
    }
    sh.run(sh::cmd(&host).args(["-m", "venv"]).arg(&dir))?;
    if !works(&python) {
        bail!("`python3 -m venv target/tools/venv` left no working pip; try another Python (found: {})", host.display());
    }
    Ok(python)
}

fn works(python: &std::path::Path) -> bool {
    sh::read(sh::cmd(python).args(["-m", "pip", "--version"])).is_ok()
}
