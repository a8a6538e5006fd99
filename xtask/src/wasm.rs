//! `cargo xtask wasm`: the plugin as gateways load it.
use anyhow::Result;

use crate::paths;
use crate::sh::Sh;
use crate::toolchain::{self, Cdylib};

/// Builds target/wasm/floodmark.wasm and says with what.
pub fn run(sh: &Sh) -> Result<()> {
    let toolchain = toolchain::find(sh)?;
    let out = paths::plugin_wasm();
    let plugin = Cdylib { package: "floodmark-plugin", profile: "release", features: &[] };
    toolchain.build_cdylib(sh, &plugin, &out)?;
    println!("compiler: {}", toolchain.summary);
    println!("plugin: {}, {} bytes", paths::short(&out), std::fs::metadata(&out)?.len());
    Ok(())
}
