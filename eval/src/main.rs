//! The command `floodmark-eval`.

use std::process::ExitCode;

use clap::Parser as _;
use floodmark_eval::cli::Cli;

fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("floodmark-eval: {error:#}");
            ExitCode::FAILURE
        }
    }
}
