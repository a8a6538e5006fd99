//! The command `floodmark-eval`: each subcommand is one line here and one folder of the library.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use floodmark_eval::{assemble, detector, patterns, receipts, train, verify};

/// Measures Floodmark on data sets.
#[derive(Parser)]
#[command(version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Assemble(assemble::Args),
    Detector(detector::Args),
    Patterns(Box<patterns::Args>),
    Receipts(receipts::Args),
    Train(train::Args),
    Verify(verify::Args),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Assemble(args) => args.run(),
        Command::Detector(args) => args.run(),
        Command::Patterns(args) => args.run(),
        Command::Receipts(args) => args.run(),
        Command::Train(args) => args.run(),
        Command::Verify(args) => args.run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("floodmark-eval: {error:#}");
            ExitCode::FAILURE
        }
    }
}
