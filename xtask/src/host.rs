//! `cargo xtask demo`, `bench` and `soak`: set up what they need, then hand over to the command line of host-test.
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::setup::{envoy, venv};
use crate::sh::{self, Sh};
use crate::{paths, test, wasm};

/// Shows the plugin at work in Envoy, or in the emulator when there is no Envoy to be had.
pub fn demo(sh: &Sh, keep: bool) -> Result<()> {
    // Built like the tests: a first run is to be quick, and Envoy's share of the time is no slower for it.
    let mut command = prepare(sh, "dev", "demo")?;
    if keep {
        command.arg("--keep");
    }
    sh.run(&mut command)
}

/// Prints the table of measured speeds against their budgets.
pub fn bench(sh: &Sh, quick: bool) -> Result<()> {
    let (python, _) = venv::ensure_listed(sh, test::LINEAGE)?;
    let mut command = prepare(sh, "tool", "bench")?;
    command.arg("--python").arg(python);
    if quick {
        command.arg("--quick");
    }
    sh.run(&mut command)
}

/// Loads Envoy for some minutes and watches the memory of the plugin.
pub fn soak(sh: &Sh, minutes: f64) -> Result<()> {
    // Built like the tests: what is watched is Envoy, and the rate is one that any build keeps.
    let mut command = prepare(sh, "dev", "soak")?;
    command.arg("--minutes").arg(minutes.to_string());
    sh.run(&mut command)
}

/// The command line of host-test, built like the tests, for whoever starts it themselves.
pub fn binary() -> Result<PathBuf> {
    let mut cargo = sh::cargo();
    cargo.args(["build", "--quiet", "--package", "floodmark-host", "--bins", "--locked", "--message-format", "json"]);
    let said = sh::read(&mut cargo)?;
    let messages = said.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let path = messages.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).next_back();
    path.context("cargo did not say where it put floodmark-host")
}

/// The plugin built, Envoy found; gives the command to go on with, built with a cargo profile.
fn prepare(sh: &Sh, profile: &str, subcommand: &str) -> Result<Command> {
    println!("plugin: {}", wasm::build(sh)?);
    let mut command = sh::cargo();
    command.args(["run", "--profile", profile, "--package", "floodmark-host", "--", subcommand, "--wasm"]);
    command.arg(paths::plugin_wasm());
    match envoy::find(sh) {
        Ok(found) => {
            println!("gateway: {}", found.summary);
            command.arg("--envoy").arg(found.path);
        }
        // A wrong path is a mistake to mend, not a machine without Envoy.
        Err(error) if envoy::is_named() => return Err(error),
        Err(error) => println!("gateway: no Envoy to be had, so the bundled emulator stands in for it ({error:#})"),
    }
    Ok(command)
}
