//! The command line of `floodmark-eval`: each subcommand is one line here and one folder of the library.

use clap::{Parser, Subcommand};

use crate::{assemble, detector, evaluate, grafts, instructions, patterns, receipts, train, verify};

/// Measures Floodmark on data sets. Without a subcommand: the whole report.
#[derive(Debug, Parser)]
#[command(
    name = "floodmark-eval",
    version,
    propagate_version = true,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub struct Cli {
    #[command(flatten)]
    report: Option<evaluate::Args>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Assemble(assemble::Args),
    Detector(detector::Args),
    Grafts(grafts::Args),
    Instructions(instructions::Args),
    Patterns(Box<patterns::Args>),
    Receipts(receipts::Args),
    Train(train::Args),
    Verify(verify::Args),
}

impl Cli {
    /// Does what was asked for.
    ///
    /// # Errors
    /// Whatever ends the command, with the file, line or option that it is about.
    pub fn run(self) -> anyhow::Result<()> {
        match (self.command, self.report) {
            (Some(Command::Assemble(args)), _) => args.run(),
            (Some(Command::Detector(args)), _) => args.run(),
            (Some(Command::Grafts(args)), _) => args.run(),
            (Some(Command::Instructions(args)), _) => args.run(),
            (Some(Command::Patterns(args)), _) => args.run(),
            (Some(Command::Receipts(args)), _) => args.run(),
            (Some(Command::Train(args)), _) => args.run(),
            (Some(Command::Verify(args)), _) => args.run(),
            (None, Some(args)) => args.run(),
            (None, None) => Err(anyhow::anyhow!("nothing to measure; give data with --data, or see --help for what else there is")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use clap::CommandFactory as _;

    use super::*;

    /// Every page of the repository that may show a command.
    fn pages() -> Vec<PathBuf> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let folders = ["", "docs", "docs/eval", "rules/detector"].map(|folder| root.join(folder));
        let files = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect()
    }

    /// Commands that pages show are understood; xtask's own tests see to the rest of them.
    #[test]
    fn documented_commands_are_understood() {
        Cli::command().debug_assert();
        let mut seen = 0;
        for page in pages() {
            for line in fs::read_to_string(&page).unwrap().lines() {
                let Some(arguments) = line.trim().strip_prefix("cargo xtask eval ") else { continue };
                let words = arguments.split_whitespace().take_while(|word| *word != "#");
                let parsed = Cli::try_parse_from(std::iter::once("floodmark-eval").chain(words));
                assert!(parsed.is_ok(), "{}: {line}: {}", page.display(), parsed.unwrap_err());
                seen += 1;
            }
        }
        assert!(seen > 10, "{seen} commands are shown");
    }
}
