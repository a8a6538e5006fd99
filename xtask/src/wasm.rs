//! `cargo xtask wasm`: the plugin as gateways load it.
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
    let toolchain = toolchain::find(sh)?;
    let out = paths::plugin_wasm();
    let plugin = Cdylib { package: "floodmark-plugin", profile: "release", features: &[] };
    toolchain.build_cdylib(sh, &plugin, &out)?;
    let bytes = std::fs::metadata(&out)?.len();
    Ok(format!("{}, {bytes} bytes, by {}", paths::short(&out), toolchain.summary))
}
