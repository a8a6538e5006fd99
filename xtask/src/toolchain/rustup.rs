//! The usual route: the running compiler has the wasm target, or rustup adds it.
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};

use super::{TARGET, Toolchain, has_std};
use crate::sh::{self, Sh};

/// The running compiler, with the target added when it is missing.
pub fn find(sh: &Sh) -> Result<Toolchain> {
    if let Ok(ready) = ready() {
        return Ok(ready);
    }
    add_target(sh, TARGET)?;
    let mut added = ready().context("rustup reports success, but")?;
    added.summary += " (just added by rustup)";
    Ok(added)
}

/// The same when nothing needs to be added.
pub fn ready() -> Result<Toolchain> {
    let libdir = libdir(TARGET)?;
    ensure!(has_std(&libdir), "no standard library in {}", libdir.display());
    let summary = format!("{} with its {TARGET} target", version()?);
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()).into();
    Ok(Toolchain { summary, route: "rustup", cargo, rustc: None, linker: None, sysroot: None, libdir })
}

/// Adds a target to the running toolchain.
pub fn add_target(sh: &Sh, target: &str) -> Result<()> {
    let Some(rustup) = sh::which("rustup") else {
        bail!("{} has no {target} target and there is no rustup to add it", version()?);
    };
    sh.run(sh::cmd(rustup).args(["target", "add", target])).with_context(|| format!("rustup cannot add {target}"))
}

/// Where the running compiler looks for the standard library of a target.
pub fn libdir(target: &str) -> Result<PathBuf> {
    Ok(sh::read(sh::cmd(rustc()).args(["--print", "target-libdir", "--target", target]))?.into())
}

fn version() -> Result<String> {
    let version = sh::read(sh::cmd(rustc()).arg("--version"))?;
    Ok(version.split(" (").next().unwrap_or_default().to_owned())
}

fn rustc() -> std::ffi::OsString {
    std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())
}
