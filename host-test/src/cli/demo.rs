//! `floodmark-host demo`: written conversations through the gateway, with the expected verdicts checked.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;

use super::print;
use crate::demo::{self, Case, Emulated, Gateway, Outcome};
use crate::envoy::{self, BINARY_VARIABLE, Options};

/// Sends the conversations of testdata/demo.jsonl through Envoy with the plugin and checks what becomes of them.
///
/// The exit code is 1 when a verdict, a score, a status or what the upstream received is not as it should be.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The built plugin.
    #[arg(long, default_value = "target/wasm/floodmark.wasm")]
    wasm: PathBuf,
    /// The Envoy binary; without it and without the variable FLOODMARK_ENVOY the bundled emulator stands in.
    #[arg(long)]
    envoy: Option<PathBuf>,
    /// The conversations.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/demo.jsonl"))]
    cases: PathBuf,
    /// Leave Envoy running afterwards and print commands to talk to it.
    #[arg(long)]
    keep: bool,
}

impl Args {
    /// Plays all conversations.
    ///
    /// # Errors
    /// When a file cannot be read or the gateway cannot be started.
    pub fn run(&self) -> anyhow::Result<ExitCode> {
        let cases = demo::load(&self.cases)?;
        let mut rows = Vec::new();
        if self.envoy.is_none() && std::env::var_os(BINARY_VARIABLE).is_none() {
            print("No Envoy given: the bundled emulator runs the same plugin instead, so there are no times.\n")?;
            let mut emulated = Emulated::start(&self.wasm)?;
            for case in &cases {
                rows.push((case, emulated.play(case)?));
            }
            if self.keep {
                print("--keep needs Envoy; nothing is left running.")?;
            }
            return report(&rows);
        }
        let binary = envoy::binary(self.envoy.as_deref())?;
        let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
        runtime.block_on(self.through_envoy(&binary, &cases))
    }

    async fn through_envoy(&self, binary: &Path, cases: &[Case]) -> anyhow::Result<ExitCode> {
        let gateway = Gateway::start(&Options { binary: binary.to_path_buf(), concurrency: 2 }, &self.wasm).await?;
        print("Envoy on envoy-config/enforce.yaml, the plugin in it, a small provider behind it.\n")?;
        let mut rows = Vec::new();
        for case in cases {
            rows.push((case, gateway.play(case).await?));
        }
        let code = report(&rows)?;
        print("Time added: the median of 41 requests less that of the same requests through an Envoy without the plugin.")?;
        print("A blocked request saves its way to the provider, which here takes no time to answer.")?;
        if self.keep {
            demo::keep(&gateway, cases).await?;
        }
        Ok(code)
    }
}

fn report(rows: &[(&Case, Outcome)]) -> anyhow::Result<ExitCode> {
    for (case, _) in rows {
        print(&format!("{:<22}  {}", case.id, case.about))?;
    }
    print(&format!("\n{}", demo::table(rows)?))?;
    let wrong: Vec<String> = rows.iter().flat_map(|(case, outcome)| outcome.mismatches(case)).collect();
    for line in &wrong {
        print(&format!("MISMATCH {line}"))?;
    }
    if wrong.is_empty() {
        print(&format!(
            "All {} verdicts, scores and statuses are as expected; of a blocked body the provider received no byte.",
            rows.len()
        ))?;
        return Ok(ExitCode::SUCCESS);
    }
    Ok(ExitCode::FAILURE)
}
