//! The commands and their options.
use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::sh::Sh;
use crate::wasm;

/// The one tool of the Floodmark repository.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build the plugin: target/wasm/floodmark.wasm
    Wasm,
}

impl Cli {
    /// Does what was asked for.
    pub fn run(self) -> Result<()> {
        match self.command {
            Command::Wasm => wasm::run(&Sh::Terminal),
        }
    }
}
