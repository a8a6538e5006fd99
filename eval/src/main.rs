//! The command `floodmark-eval`: each subcommand is one line here and one folder of the library.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use floodmark_eval::{assemble, detector, evaluate, patterns, receipts, train, verify};

/// Measures Floodmark on data sets. Without a subcommand: the whole report.
#[derive(Parser)]
#[command(version, propagate_version = true, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
struct Cli {
    #[command(flatten)]
    report: Option<evaluate::Args>,
    #[command(subcommand)]
    command: Option<Command>,
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
    let Cli { report, command } = Cli::parse();
    let outcome = match (command, report) {
        (Some(Command::Assemble(args)), _) => args.run(),
        (Some(Command::Detector(args)), _) => args.run(),
        (Some(Command::Patterns(args)), _) => args.run(),
        (Some(Command::Receipts(args)), _) => args.run(),
        (Some(Command::Train(args)), _) => args.run(),
        (Some(Command::Verify(args)), _) => args.run(),
        (None, Some(args)) => args.run(),
        (None, None) => Err(anyhow::anyhow!("nothing to measure; give data with --data, or see --help for what else there is")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("floodmark-eval: {error:#}");
            ExitCode::FAILURE
        }
    }
}
