//! The command `floodmark-host`: each subcommand is one line here and one file in `cli`.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use floodmark_host::cli;

/// Runs the Floodmark plugin outside a gateway.
#[derive(Parser)]
#[command(version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Bench(cli::bench::Args),
    Demo(cli::demo::Args),
    Envoy(cli::envoy::Args),
    Inspect(cli::inspect::Args),
    Replay(cli::replay::Args),
    Serve(cli::serve::Args),
    Soak(cli::soak::Args),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Bench(args) => args.run(),
        Command::Demo(args) => args.run(),
        Command::Envoy(args) => args.run(),
        Command::Inspect(args) => args.run(),
        Command::Replay(args) => args.run(),
        Command::Serve(args) => args.run(),
        Command::Soak(args) => args.run(),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("floodmark-host: {error:#}");
        ExitCode::FAILURE
    })
}
