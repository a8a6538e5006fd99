//! `floodmark-host soak`: mixed load through Envoy for some minutes, with tables of what came of it.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;

use super::{machine, print};
use crate::envoy::{self, Options};
use crate::soak::{self, Effort};

/// Sends mixed load through Envoy with the plugin, and fails when the memory of the wasm VMs goes on growing after warm-up, an answer is not as it
/// must be, or the plugin traps.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// How long, in minutes.
    #[arg(long, default_value_t = 20.0, value_parser = minutes)]
    minutes: f64,
    /// Requests a second.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rate: u32,
    /// Clients at once.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    clients: u16,
    /// The built plugin.
    #[arg(long, default_value = "target/wasm/floodmark.wasm")]
    wasm: PathBuf,
    /// The Envoy binary; without it the variable FLOODMARK_ENVOY names it.
    #[arg(long)]
    envoy: Option<PathBuf>,
}

impl Args {
    /// Loads, watches and prints.
    ///
    /// # Errors
    /// When Envoy cannot be started or its memory cannot be read.
    pub fn run(&self) -> anyhow::Result<ExitCode> {
        let effort = Effort {
            envoy: Options { binary: envoy::binary(self.envoy.as_deref())?, concurrency: 2 },
            wasm: self.wasm.clone(),
            time: Duration::from_secs_f64(self.minutes * 60.0),
            rate: self.rate,
            clients: self.clients.into(),
        };
        let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
        eprintln!("load for {} minutes ...", self.minutes);
        let outcome = runtime.block_on(soak::run(&effort))?;
        print(&format!("{}\n\n{}\n\n{}\n", outcome.requests(), outcome.counters(), outcome.memory()))?;
        let asked = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
        print(&format!("floodmark-host {asked}\n{} requests by {} clients; {}.", outcome.sent(), effort.clients, machine()))?;
        let wrong = outcome.wrong();
        for line in &wrong {
            print(&format!("WRONG {line}"))?;
        }
        if wrong.is_empty() {
            let (growth, warm_up) = (outcome.wasm_growth_bytes().unwrap_or(0) / 1024, outcome.warm_up.as_secs_f64());
            print(&format!("Every answer was as it must be. Wasm memory grew by {growth} KiB after the first {warm_up:.0} s."))?;
            return Ok(ExitCode::SUCCESS);
        }
        Ok(ExitCode::FAILURE)
    }
}

fn minutes(text: &str) -> Result<f64, String> {
    let minutes: f64 = text.parse().map_err(|error| format!("{error}"))?;
    if (0.1..=10_000.0).contains(&minutes) { Ok(minutes) } else { Err("between 0.1 and 10000".to_owned()) }
}
