//! `cargo xtask test` and `cargo xtask ci`: every check from a fresh clone, one line a step.
use std::io::{IsTerminal, Write};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;

use crate::setup::{chromium, clients, envoy, venv};
use crate::sh::{self, Sh};
use crate::{fuzz, r#gen, host, paths, toolchain, wasm, web};

/// One step; its name is what `--only` takes.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Step {
    /// Wasm compiler, Envoy, Chromium, Python clients: installs what is missing
    Setup,
    /// Formatting
    Fmt,
    /// Generated files are those that the rules give
    Gen,
    /// Lints, without any warning
    Clippy,
    /// The plugin
    Wasm,
    /// Core and tables build without std
    NoStd,
    /// All Rust tests, with the plugin and with real Envoy
    Tests,
    /// What the tests hold our statistics against is what scipy and statsmodels say
    Statistics,
    /// The lineage format is what a reader in Python, written from its page, says that it is
    Lineage,
    /// The providers' official Python clients, through real Envoy
    Clients,
    /// Every fuzz target for some seconds
    Fuzz,
    /// Documentation, without any warning
    Doc,
    /// The web page
    Web,
    /// The web page in a real browser
    Browser,
    /// The demonstration that README shows (part of `ci` only)
    Demo,
}

/// What computes the references of the statistics.
const STATISTICS: &str = "eval/tests/statistics/requirements.txt";
/// What reads the lineage format without our code.
pub const LINEAGE: &str = "tools/lineage/requirements.txt";

/// How the note of a step that ran tests ends.
const ALL_PASSED: &str = " passed, 0 failed";

/// Every step but the demonstration, or only one; stops at the first failure.
pub fn test(only: Option<Step>) -> Result<()> {
    match only {
        Some(step) => run(&[step]),
        None => run(&all().filter(|step| *step != Step::Demo).collect::<Vec<_>>()),
    }
}

/// Every step.
pub fn ci() -> Result<()> {
    run(&all().collect::<Vec<_>>())
}

fn all() -> impl Iterator<Item = Step> {
    Step::value_variants().iter().copied()
}

fn run(steps: &[Step]) -> Result<()> {
    let start = Instant::now();
    let mut passed = 0;
    for step in steps {
        let name = name(*step);
        // On a terminal the name is there while the step runs.
        if std::io::stdout().is_terminal() {
            print!("{name:<10} ...");
            std::io::stdout().flush()?;
        }
        let begun = Instant::now();
        let result = Sh::log(&name).and_then(|sh| step.run(&sh));
        let seconds = begun.elapsed().as_secs_f64();
        let clear = if std::io::stdout().is_terminal() { "\r" } else { "" };
        match result {
            Ok(note) => {
                println!("{clear}{name:<10} ok     {seconds:>7.1} s  {note}");
                passed += note.strip_suffix(ALL_PASSED).and_then(|count| count.parse::<usize>().ok()).unwrap_or(0);
            }
            Err(error) => {
                println!("{clear}{name:<10} FAILED {seconds:>7.1} s");
                bail!("{error:#}\n\nrun this step again: cargo xtask test --only {name}");
            }
        }
    }
    if steps.len() > 1 {
        println!("{:<10} ok     {:>7.1} s  {} steps", "all", start.elapsed().as_secs_f64(), steps.len());
    }
    if passed > 0 {
        // For whoever reads only the end: the one form that every reader of test runners knows.
        println!("{passed}{ALL_PASSED}");
    }
    Ok(())
}

fn name(step: Step) -> String {
    step.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

impl Step {
    /// Does the step; gives a note for its line.
    fn run(self, sh: &Sh) -> Result<String> {
        match self {
            Self::Setup => set_up(sh),
            Self::Fmt => {
                for manifest in ["Cargo.toml", "fuzz/Cargo.toml"] {
                    sh.run(sh::cargo().args(["fmt", "--all", "--check", "--manifest-path", manifest, "--", "--color", "never"]))?;
                }
                Ok(String::new())
            }
            Self::Gen => r#gen::run(true).map(|()| String::new()),
            Self::Clippy => {
                let mut cargo = sh::cargo();
                cargo.args(["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]);
                sh.run(&mut cargo).map(|()| String::new())
            }
            Self::Wasm => wasm::build(sh),
            Self::NoStd => toolchain::find(sh)?.prove_no_std(sh),
            Self::Tests => rust_tests(sh),
            Self::Statistics => statistics(sh),
            Self::Lineage => lineage(sh),
            Self::Clients => python_clients(sh),
            Self::Fuzz => fuzz::check(sh),
            Self::Doc => {
                let mut cargo = sh::cargo();
                cargo.args(["doc", "--workspace", "--no-deps", "--locked"]).env("RUSTDOCFLAGS", "-D warnings");
                sh.run(&mut cargo).map(|()| "target/doc".to_owned())
            }
            Self::Web => web::build(sh),
            Self::Browser => browser(sh),
            Self::Demo => host::demo(sh, false).map(|()| String::new()),
        }
    }
}

/// Everything that later steps need from outside, first, so that what is missing shows at once.
fn set_up(sh: &Sh) -> Result<String> {
    let compiler = toolchain::find(sh)?.summary;
    let envoy = envoy::find(sh)?.summary;
    let browser = chromium::find(sh)?.summary;
    fuzz::set_up(sh)?;
    let clients = clients::find(sh)?.summary;
    venv::ensure_listed(sh, STATISTICS)?;
    venv::ensure_listed(sh, LINEAGE)?;
    Ok(format!("{compiler}; {envoy}; {browser}; {clients}"))
}

fn rust_tests(sh: &Sh) -> Result<String> {
    wasm::build(sh)?;
    wasm::build_trapping(sh)?;
    let mut cargo = sh::cargo();
    // The bindgen tool has no tests and would be built here a second time, a minute for nothing.
    cargo.args(["test", "--workspace", "--exclude", "floodmark-bindgen", "--locked", "--no-fail-fast"]);
    cargo.env("FLOODMARK_WASM", paths::plugin_wasm()).env("FLOODMARK_TRAP_WASM", paths::trapping_wasm());
    cargo.env("FLOODMARK_ENVOY", envoy::find(sh)?.path);
    sh.run(&mut cargo)?;
    let Sh::Log(log) = sh else { return Ok(String::new()) };
    let (passed, ignored) = count(&String::from_utf8_lossy(&std::fs::read(log)?));
    ensure!(passed > 0, "no test ran");
    ensure!(ignored == 0, "{ignored} tests are marked to be ignored: mend or remove them");
    Ok(format!("{passed}{ALL_PASSED}"))
}

/// Passed and ignored tests of all the "test result" lines in cargo's output.
fn count(log: &str) -> (usize, usize) {
    let number = |line: &str, word: &str| {
        let field = line.split([';', '.']).find_map(|field| field.trim().strip_suffix(word));
        field.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
    };
    log.lines()
        .filter(|line| line.starts_with("test result:"))
        .fold((0, 0), |(passed, ignored), line| (passed + number(line, "passed"), ignored + number(line, "ignored")))
}

fn statistics(sh: &Sh) -> Result<String> {
    let (python, pins) = venv::ensure_listed(sh, STATISTICS)?;
    let mut check = sh::cmd(python);
    check.args(["eval/tests/statistics/reference.py", "--check"]).env("PYTHONDONTWRITEBYTECODE", "1");
    sh.run(&mut check)?;
    Ok(pins.join(", "))
}

fn lineage(sh: &Sh) -> Result<String> {
    let (python, _) = venv::ensure_listed(sh, LINEAGE)?;
    let mut check = sh::cmd(python);
    check.args([
        "tools/lineage/lineage.py",
        "check",
        "testdata/lineage/vectors.json",
        "testdata/lineage/oracle.json",
        "docs/lineage-format.md",
    ]);
    check.env("PYTHONDONTWRITEBYTECODE", "1");
    sh.run(&mut check)?;
    let Sh::Log(log) = sh else { return Ok(String::new()) };
    let text = std::fs::read_to_string(log)?;
    let last = text.lines().rev().find(|line| line.ends_with(ALL_PASSED)).context("the checker of the lineage format gave no result")?;
    Ok(last.to_owned())
}

fn python_clients(sh: &Sh) -> Result<String> {
    wasm::build(sh)?;
    let mut test = sh::cmd(clients::find(sh)?.python);
    test.args(["-m", "pytest", "-c", "host-test/clients/pytest.ini", "host-test/clients"]).env("PYTHONDONTWRITEBYTECODE", "1");
    test.env("FLOODMARK_WASM", paths::plugin_wasm()).env("FLOODMARK_ENVOY", envoy::find(sh)?.path);
    test.env("FLOODMARK_HOST", host::binary()?);
    sh.run(&mut test)?;
    let Sh::Log(log) = sh else { return Ok(String::new()) };
    let text = std::fs::read_to_string(log)?;
    let last = text.lines().last().unwrap_or_default();
    let passed = only_passed(last).with_context(|| format!("not every test of the clients ran and passed: {last}"))?;
    Ok(format!("{passed}{ALL_PASSED}"))
}

/// The number in pytest's last line when that tells of passed tests and nothing else: `12 passed in 3.45s`, perhaps between `=`.
fn only_passed(line: &str) -> Option<usize> {
    let (count, rest) = line.trim_matches(['=', ' ']).split_once(" passed in ")?;
    count.parse().ok().filter(|count| *count > 0 && !rest.contains(','))
}

fn browser(sh: &Sh) -> Result<String> {
    web::build(sh)?;
    let browser = chromium::find(sh)?;
    let mut test = sh::cmd(&browser.python);
    test.arg("web-demo/tests/browser.py").arg("--chromium").arg(&browser.chromium);
    sh.run(&mut test)?;
    let Sh::Log(log) = sh else { return Ok(String::new()) };
    let text = std::fs::read_to_string(log)?;
    let last = text.lines().rev().find(|line| line.contains(" passed")).context("the browser test gave no result")?;
    Ok(last.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{count, only_passed};

    #[test]
    fn adds_up_what_cargo_reports() {
        let log = "running 2 tests\ntest result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\
                   noise\ntest result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 4 filtered out; finished in 0.01s\n";
        assert_eq!(count(log), (15, 1));
    }

    #[test]
    fn tests_of_the_clients_must_all_have_run() {
        assert_eq!(only_passed("===== 66 passed in 10.97s ====="), Some(66));
        assert_eq!(only_passed("66 passed in 62.97s (0:01:02)"), Some(66));
        for line in [
            "65 passed, 1 skipped in 1.00s",
            "1 failed, 65 passed in 1.00s",
            "65 passed, 2 warnings in 1.0s",
            "no tests ran in 0.1s",
            "0 passed in 1s",
            "",
        ] {
            assert_eq!(only_passed(line), None, "{line}");
        }
    }
}
