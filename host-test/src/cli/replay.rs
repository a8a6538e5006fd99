//! `floodmark-host replay`: judges the lines of a file and prints what came out.

mod input;
mod output;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;

use super::Format;
use crate::emulator::Request;
use crate::replay::{Line, Replay};
use crate::runtime;

/// Exit code when some lines could not be judged; all others were.
const BAD_LINES: u8 = 2;

/// Judges recorded conversations or request bodies, one JSON object a line.
///
/// A line is `{"id", "messages": [...]}`, or a provider's request body as it is. Lines that cannot be judged are named
/// on the error output and the exit code is 2; all other lines are judged all the same.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The file, or - for standard input.
    file: PathBuf,
    /// The plugin's configuration; without it the plugin's defaults are used.
    #[arg(long)]
    config: Option<PathBuf>,
    /// What judges: the plugin's filter as native code, or the built plugin in the emulator. Both give the same.
    #[arg(long, value_enum, default_value_t = Engine::Native)]
    engine: Engine,
    /// The runtime for --engine wasm.
    #[arg(long, value_enum, default_value_t = runtime::Engine::Wasmi)]
    runtime: runtime::Engine,
    /// The built plugin for --engine wasm.
    #[arg(long, default_value = "target/wasm/floodmark.wasm")]
    wasm: PathBuf,
    /// The request path for every line; without it conversations go to /v1/chat/completions and bodies to the path of
    /// their format.
    #[arg(long)]
    path: Option<String>,
    /// How to print.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Engine {
    Native,
    Wasm,
}

impl Args {
    /// Judges all lines.
    ///
    /// # Errors
    /// When a file cannot be read, the configuration is refused, or the plugin dies.
    pub fn run(&self) -> anyhow::Result<ExitCode> {
        let mut replay = self.start()?;
        let mut lines = input::Lines::open(&self.file)?;
        let mut output = output::Output::new(self.format);
        let mut bad = 0_usize;
        while let Some((number, text)) = lines.next_line()? {
            let judged = match Line::parse(number, &text) {
                Ok(line) => {
                    let request = Request::post_json(self.path.as_deref().unwrap_or(line.path), line.body);
                    let judged = replay.judge(&request).with_context(|| format!("{}:{number}", lines.name()))?;
                    judged.map(|report| (line.id, report))
                }
                Err(error) => Err(error),
            };
            match judged {
                Ok((id, report)) => lines.aside(|| output.row(&id, &report))?,
                Err(error) => {
                    bad += 1;
                    lines.aside(|| eprintln!("{}:{number}: {error}", lines.name()));
                }
            }
        }
        lines.done();
        output.finish(bad)?;
        Ok(if bad == 0 { ExitCode::SUCCESS } else { ExitCode::from(BAD_LINES) })
    }

    fn start(&self) -> anyhow::Result<Replay> {
        let config = match &self.config {
            Some(path) => std::fs::read_to_string(path)
                .with_context(|| format!("cannot read the configuration {}; give the plugin's JSON with --config", path.display()))?,
            None => format!("{{\"version\":{}}}", floodmark_plugin::config::CONFIG_VERSION),
        };
        match self.engine {
            Engine::Native => Replay::native(&config),
            Engine::Wasm => {
                let path = self.wasm.display();
                let wasm = std::fs::read(&self.wasm).with_context(|| {
                    format!("cannot read the plugin {path}; build it with `cargo xtask wasm` or name another with --wasm")
                })?;
                Replay::wasm(&wasm, &config, self.runtime).with_context(|| format!("cannot start {path}"))
            }
        }
    }
}
