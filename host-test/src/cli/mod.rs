//! The subcommands of `floodmark-host`: arguments, files and terminal; the work itself lies in the library's other modules.

use std::io::{self, Write as _};

pub mod bench;
pub mod demo;
pub mod envoy;
pub mod inspect;
pub mod replay;
pub mod serve;
pub mod soak;

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

/// What the values were measured on.
fn machine() -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").ok();
    let model = cpu.as_deref().and_then(|text| text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ")));
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let load = std::fs::read_to_string("/proc/loadavg").ok();
    let load = load.as_deref().and_then(|text| text.split_whitespace().next()).unwrap_or("unknown");
    format!("{cores} cores, {}; load average {load}", model.map_or("unknown processor", |(_, name)| name))
}
