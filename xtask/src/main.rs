//! The one tool of the repository: `cargo xtask COMMAND`.
mod cli;
mod eval;
mod fuzz;
mod r#gen;
mod git;
mod host;
mod paths;
mod setup;
mod sh;
mod test;
#[cfg(test)]
mod tidy;
mod toolchain;
mod version;
mod wasm;
mod web;

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
