//! The one tool of the repository: `cargo xtask COMMAND`.
mod cli;
mod git;
mod paths;
mod setup;
mod sh;
mod toolchain;
mod version;
mod wasm;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match cli::Cli::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
