//! `cargo xtask wasm`: the plugin as gateways load it.
use std::path::Path;

use anyhow::Result;

use crate::paths;
use crate::sh::Sh;
use crate::toolchain::{self, Cdylib};

/// Builds target/wasm/floodmark.wasm and says with what.
pub fn run(sh: &Sh) -> Result<()> {
    println!("{}", build(sh)?);
    Ok(())
}

/// Builds target/wasm/floodmark.wasm; gives one line on it.
pub fn build(sh: &Sh) -> Result<String> {
    build_with(sh, &[], &paths::plugin_wasm())
}

/// Builds the plugin that tests can make trap.
pub fn build_trapping(sh: &Sh) -> Result<()> {
    build_with(sh, &["trap-for-tests"], &paths::trapping_wasm()).map(drop)
}

fn build_with(sh: &Sh, features: &[&str], out: &Path) -> Result<String> {
    let toolchain = toolchain::find(sh)?;
    let plugin = Cdylib { package: "floodmark-plugin", profile: "release", features };
    toolchain.build_cdylib(sh, &plugin, out)?;
    let bytes = std::fs::metadata(out)?.len();
    Ok(format!("{}, {bytes} bytes, by {}", paths::short(out), toolchain.summary))
}
