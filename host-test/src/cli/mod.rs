//! The subcommands of `floodmark-host`: arguments, files and terminal; the work itself lies in the library's other modules.

use std::io::{self, Write as _};

pub mod bench;
pub mod demo;
pub mod inspect;
pub mod replay;
pub mod serve;

/// How a subcommand prints its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// A table for people.
    Table,
    /// One JSON object a line, for programs.
    Json,
}

/// Prints a line; a reader that went away (`| head`) is no error.
fn print(text: &str) -> io::Result<()> {
    match writeln!(io::stdout(), "{text}") {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome,
    }
}
