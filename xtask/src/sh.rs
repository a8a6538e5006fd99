//! Running other programs: every failure names the command, and long output can go to a log file.
use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::paths;

/// Lines of a log that a failure shows; the whole stays in the file.
const TAIL_LINES: usize = 60;

/// Where the output of commands goes.
pub enum Sh {
    /// To the terminal of whoever called.
    Terminal,
    /// To the end of a file; failures show its last lines.
    Log(PathBuf),
}

impl Sh {
    /// A log of its own for one step, emptied.
    pub fn log(step: &str) -> Result<Self> {
        let path = paths::target("xtask-logs").join(format!("{step}.log"));
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir)?;
        }
        File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self::Log(path))
    }

    /// Runs to the end; an error when it cannot start or does not exit with 0.
    pub fn run(&self, command: &mut Command) -> Result<()> {
        let shown = show(command);
        let status = match self {
            Self::Terminal => command.status(),
            Self::Log(path) => {
                let mut log = File::options().append(true).open(path)?;
                writeln!(log, "$ {shown}")?;
                command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).status()
            }
        };
        let status = status.with_context(|| format!("cannot start: {shown}"))?;
        if status.success() {
            return Ok(());
        }
        match self {
            Self::Terminal => bail!("failed ({status}): {shown}"),
            Self::Log(path) => bail!("failed ({status}): {shown}\n{}", tail(path)),
        }
    }
}

/// Runs and gives back what it printed, without the last newline; its error output is part of the error.
pub fn read(command: &mut Command) -> Result<String> {
    let shown = show(command);
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start: {shown}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("failed ({}): {shown}\n{}", output.status, said.trim_end());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

/// A command in the root of the repository.
pub fn cmd(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(paths::root());
    command
}

/// The cargo that runs this tool, so that one toolchain builds everything.
pub fn cargo() -> Command {
    cmd(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The first program of that name in PATH.
pub fn which(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| is_program(file))
}

/// Whether a file can be executed by somebody.
pub fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// The command as one could type it: what was set in the environment, then the words.
pub fn show(command: &Command) -> String {
    let env = command.get_envs().filter_map(|(name, value)| {
        let (name, value) = (name.to_string_lossy(), value?.to_string_lossy());
        // The encoded form separates by a control character that nobody can type.
        let name = if name == "CARGO_ENCODED_RUSTFLAGS" { "RUSTFLAGS".into() } else { name };
        Some(format!("{name}={}", quote(&value.replace('\u{1f}', " "))))
    });
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    env.chain(words.map(|word| quote(&word.to_string_lossy()))).collect::<Vec<_>>().join(" ")
}

fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

fn tail(path: &Path) -> String {
    let text = std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(TAIL_LINES);
    let end = lines.get(from..).unwrap_or_default().join("\n");
    format!("{end}\n(whole output: {})", paths::short(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_a_command_as_it_could_be_typed() {
        let mut command = Command::new("tool");
        command.env("KEY", "two words").arg("--flag").arg("it's").arg("");
        assert_eq!(show(&command), r"KEY='two words' tool --flag 'it'\''s' ''");
        let mut command = Command::new("cargo");
        command.env("CARGO_ENCODED_RUSTFLAGS", "-Cone=1\u{1f}-Ctwo=2");
        assert_eq!(show(&command), "RUSTFLAGS='-Cone=1 -Ctwo=2' cargo");
    }

    #[test]
    fn failure_names_command_and_reason() {
        let error = read(Command::new("sh").args(["-c", "echo reason >&2; exit 3"])).unwrap_err().to_string();
        assert!(error.contains("exit status: 3") && error.contains("sh -c") && error.contains("reason"), "{error}");
    }

    #[test]
    fn missing_program_is_named() {
        let error = read(&mut Command::new("floodmark-no-such-program")).unwrap_err().to_string();
        assert!(error.contains("cannot start: floodmark-no-such-program"), "{error}");
    }
}
