//! `cargo xtask fuzz` and the step of that name: builds the targets of fuzz/ with libFuzzer and runs them.
//!
//! Everything works on the stable compiler: what cargo-fuzz asks of a nightly one is the address sanitizer, and in safe code it has nothing to find.
mod seeds;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::paths;
use crate::setup::apt;
use crate::sh::{self, Sh};

/// Coverage counters and traced comparisons, as cargo-fuzz asks for them. `--cfg fuzzing` is left out: miniz_oxide checks no checksums under it.
const RUSTFLAGS: [&str; 5] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];
const MANIFEST: &str = "fuzz/Cargo.toml";
/// How long the step of `cargo xtask test` runs each target.
const CHECK_SECONDS: u32 = 5;
/// Longest input that is made.
const MAX_BYTES: u32 = 16 * 1024;
/// An input that takes longer is one that breaks a promise of linear time.
const INPUT_SECONDS: u32 = 10;

/// Runs one target or all, and goes on from what earlier runs found.
pub fn run(target: Option<&str>, seconds: u32) -> Result<()> {
    let targets = targets()?;
    let chosen: Vec<_> = targets.iter().filter(|name| target.is_none_or(|target| target == *name)).collect();
    ensure!(!chosen.is_empty(), "there is no such target; those of fuzz/ are {}", targets.join(", "));
    let programs = build(&Sh::Terminal)?;
    for name in chosen {
        let corpus = paths::target("fuzz/corpus").join(name);
        println!("{name:<12} {}", fuzz(&Sh::log(&format!("fuzz-{name}"))?, &programs, name, &corpus, seconds, None)?);
    }
    Ok(())
}

/// Lints, and every target for some seconds from the seeds alone.
pub fn check(sh: &Sh) -> Result<String> {
    set_up(sh)?;
    sh.run(cargo("clippy")?.args(["--all-targets", "--", "-D", "warnings"]))?;
    let programs = build(sh)?;
    let (targets, mut executions) = (targets()?, 0);
    for name in &targets {
        let corpus = paths::target("fuzz/check").join(name);
        empty(&corpus)?;
        executions += fuzz(&Sh::log(&format!("fuzz-{name}"))?, &programs, name, &corpus, CHECK_SECONDS, Some(1))?.executions;
    }
    Ok(format!("{} targets, {executions} executions", targets.len()))
}

/// libFuzzer comes as C++ sources.
pub fn set_up(sh: &Sh) -> Result<()> {
    if std::env::var_os("CXX").is_some() || sh::which("c++").is_some() {
        return Ok(());
    }
    apt::ensure(sh, &["g++"], "fuzzing")
}

fn targets() -> Result<Vec<String>> {
    let folder = paths::root().join("fuzz/fuzz_targets");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
        names.extend(entry?.path().file_stem().and_then(|name| name.to_str()).map(str::to_owned));
    }
    names.sort_unstable();
    Ok(names)
}

/// A cargo command for the workspace of fuzz/. With a target triple the flags do not reach build scripts.
fn cargo(command: &str) -> Result<std::process::Command> {
    let version = sh::read(sh::cmd(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())).arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc names no host")?;
    let mut cargo = sh::cargo();
    cargo
        .args([command, "--release", "--locked", "--manifest-path", MANIFEST, "--target", host, "--target-dir"])
        .arg(paths::target("fuzz"));
    cargo.env("CARGO_ENCODED_RUSTFLAGS", RUSTFLAGS.join("\u{1f}"));
    Ok(cargo)
}

/// Builds all targets; gives the folder that they are in.
fn build(sh: &Sh) -> Result<PathBuf> {
    set_up(sh)?;
    let mut command = cargo("build")?;
    sh.run(&mut command)?;
    let host = command.get_args().skip_while(|word| *word != "--target").nth(1).map(PathBuf::from).context("no target")?;
    Ok(paths::target("fuzz").join(host).join("release"))
}

/// What a target did.
struct Done {
    executions: u64,
    seconds: u64,
    inputs: usize,
}

impl std::fmt::Display for Done {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rate = self.executions / self.seconds.max(1);
        write!(f, "{:>10} executions, {rate:>7} a second, {:>5} inputs of interest", self.executions, self.inputs)
    }
}

/// Runs a target on the seeds and on what stands in `corpus`, where new inputs go. The same `chance` makes the same inputs.
fn fuzz(sh: &Sh, programs: &Path, name: &str, corpus: &Path, seconds: u32, chance: Option<u32>) -> Result<Done> {
    let (seeds, crashes) = (paths::target("fuzz/seeds").join(name), paths::target("fuzz/crashes"));
    empty(&seeds)?;
    seeds::write(name, &seeds)?;
    std::fs::create_dir_all(corpus)?;
    std::fs::create_dir_all(&crashes)?;
    let crash = crashes.join(format!("{name}-"));
    let begun = Instant::now();
    let mut command = sh::cmd(programs.join(name));
    command.args([format!("-max_total_time={seconds}"), format!("-max_len={MAX_BYTES}"), format!("-timeout={INPUT_SECONDS}")]);
    command
        .arg(format!("-artifact_prefix={}", crash.display()))
        .arg("-print_final_stats=1")
        .args(chance.map(|chance| format!("-seed={chance}")))
        .arg(corpus)
        .arg(&seeds);
    let result = sh.run(&mut command);
    if let Err(error) = result {
        bail!("{error:#}\n\nthe input lies under {}; give it to {} to run it again", paths::short(&crashes), programs.join(name).display());
    }
    let Sh::Log(log) = sh else { bail!("a target's output goes to a log") };
    let text = String::from_utf8_lossy(&std::fs::read(log)?).into_owned();
    let executions = text.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    let executions = executions.and_then(|number| number.trim().parse().ok()).context("libFuzzer gave no number of executions")?;
    ensure!(executions > 0, "{name}: nothing was executed");
    Ok(Done { executions, seconds: begun.elapsed().as_secs(), inputs: std::fs::read_dir(corpus)?.count() })
}

/// Makes an empty folder.
fn empty(folder: &Path) -> Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    Ok(std::fs::create_dir_all(folder)?)
}
