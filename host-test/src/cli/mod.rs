//! The subcommands of `floodmark-host`: arguments, files and terminal; the work itself lies in the library's other modules.

pub mod inspect;

/// How a subcommand prints its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// A table for people.
    Table,
    /// One JSON object a line, for programs.
    Json,
}
