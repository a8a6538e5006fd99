//! `floodmark-host inspect`: what a module brings and needs.

use std::process::ExitCode;

/// Shows imports, exports, features and section sizes of a wasm module.
#[derive(clap::Args, Debug)]
pub struct Args {}
impl Args {
    /// Runs it.
    pub fn run(&self) -> anyhow::Result<ExitCode> {
        Ok(ExitCode::SUCCESS)
    }
}
