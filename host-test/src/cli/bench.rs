//! `floodmark-host bench`: the table of measured values and their budgets.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;

use super::{machine, print};
use crate::bench::{self, Effort, Samples};
use crate::envoy::{self, BINARY_VARIABLE};

/// Measures judgements natively, in the emulator and in Envoy, and prints them with their budgets.
///
/// Nothing fails for being slow. Run it on a quiet machine: other work shows in every value.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The built plugin.
    #[arg(long, default_value = "target/wasm/floodmark.wasm")]
    wasm: PathBuf,
    /// The Envoy binary; without it and without the variable FLOODMARK_ENVOY its part is left out.
    #[arg(long)]
    envoy: Option<PathBuf>,
    /// A Python with the packages of tools/lineage/requirements.txt; without it the lineage gate is not measured beside its twin in Python.
    #[arg(long)]
    python: Option<PathBuf>,
    /// Only see that everything runs; the values mean little.
    #[arg(long)]
    quick: bool,
}

impl Args {
    /// Measures and prints.
    ///
    /// # Errors
    /// When the plugin or Envoy cannot be started, or an answer is not as it should be.
    pub fn run(&self) -> anyhow::Result<ExitCode> {
        let ms = Duration::from_millis;
        let (native, rounds, blocks, time) = if self.quick {
            (Samples { count: 3, time: ms(2) }, 1, 3, ms(50))
        } else {
            (Samples { count: 11, time: ms(20) }, 5, 100, ms(500))
        };
        let effort = Effort { rounds, blocks, time, native };
        eprintln!("native ...");
        let mut lines = bench::native(native)?;
        lines.extend(bench::stages(native)?);
        lines.extend(bench::runs(native)?);
        lines.extend(bench::lineage(self.python.as_deref(), native)?);
        eprintln!("wasm ...");
        lines.extend(bench::wasm(&self.wasm, native)?);
        if self.envoy.is_some() || std::env::var_os(BINARY_VARIABLE).is_some() {
            eprintln!("Envoy ...");
            let binary = envoy::binary(self.envoy.as_deref())?;
            // One thread for clients and provider, one for Envoy's worker: what is measured is the worker.
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start the runtime")?;
            lines.extend(runtime.block_on(bench::gateway(&binary, &self.wasm, effort))?);
            lines.extend(runtime.block_on(bench::gateway_runs(&binary, &self.wasm, effort))?);
            lines.extend(runtime.block_on(bench::first_token(&binary, &self.wasm, effort))?);
        } else {
            print("No Envoy given, so its part is left out; `cargo xtask bench` installs one.")?;
        }
        print(&format!("{}", bench::table(&lines)))?;
        let build = if cfg!(debug_assertions) { "debug build: native values mean nothing" } else { "optimised build" };
        print(&format!("{}; {build}.", machine()))?;
        Ok(ExitCode::SUCCESS)
    }
}
