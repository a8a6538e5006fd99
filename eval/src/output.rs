//! Where what commands make goes: files, whose folders are made where they are missing, and standard output.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use anyhow::Context as _;

/// Writes a report, or prints it.
///
/// # Errors
/// When it cannot be written.
pub fn deliver(text: &str, out: Option<&Path>) -> anyhow::Result<()> {
    match out {
        None => print(text),
        Some(path) => write(path, text.as_bytes()),
    }
}

/// Writes a whole file.
///
/// # Errors
/// When it or its folder cannot be written.
pub fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    folder_of(path)?;
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// Begins a file.
///
/// # Errors
/// When it or its folder cannot be written.
pub fn create(path: &Path) -> anyhow::Result<File> {
    folder_of(path)?;
    File::create(path).with_context(|| format!("cannot write {}", path.display()))
}

/// Makes the folder that a file is to lie in.
fn folder_of(path: &Path) -> anyhow::Result<()> {
    let Some(folder) = path.parent() else { return Ok(()) };
    fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))
}

/// Prints a text.
///
/// # Errors
/// When it cannot be written.
pub fn print(text: &str) -> anyhow::Result<()> {
    unless_gone(io::stdout().lock().write_all(text.as_bytes()).map_err(Into::into))
}

/// A reader of standard output that went away (`| head`) is no error.
///
/// # Errors
/// All others.
pub fn unless_gone(outcome: anyhow::Result<()>) -> anyhow::Result<()> {
    let gone = |cause: &io::Error| cause.kind() == io::ErrorKind::BrokenPipe;
    outcome.or_else(|error| if error.downcast_ref::<io::Error>().is_some_and(gone) { Ok(()) } else { Err(error) })
}
