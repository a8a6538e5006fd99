//! The commands and their options.
use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::sh::Sh;
use crate::test::Step;
use crate::{eval, fuzz, r#gen, host, test, wasm, web};

/// The one tool of the Floodmark repository.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Set up, build, and show the plugin at work in Envoy
    Demo {
        /// Leave Envoy running afterwards and print curl commands to try
        #[arg(long)]
        keep: bool,
    },
    /// Run every check, setting up what is missing
    Test {
        /// Run one step only
        #[arg(long, value_name = "STEP")]
        only: Option<Step>,
    },
    /// What .ci/run calls: every check and the demonstration
    Ci,
    /// Build the plugin: target/wasm/floodmark.wasm
    Wasm,
    /// Write the generated files from rules/ and testdata/vectors/
    Gen {
        /// Write nothing; fail when a generated file is not what the rules give
        #[arg(long)]
        check: bool,
    },
    /// Build the web page: target/web
    Web {
        /// Serve it on this machine
        #[arg(long)]
        serve: bool,
        /// Port to serve on
        #[arg(long, default_value_t = 8000, requires = "serve")]
        port: u16,
    },
    /// Measure on data sets: what follows goes to floodmark-eval, for example `patterns --data ../shared/data`
    Eval {
        /// A subcommand of floodmark-eval and its options
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        arguments: Vec<String>,
    },
    /// Train a model that is baked into the plugin, from data sets: what follows goes to floodmark-eval, for example `detector --data ../shared/data`
    Train {
        /// A model of `floodmark-eval train` and its options
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        arguments: Vec<String>,
    },
    /// Measure speed: native, wasm and Envoy, beside the budgets
    Bench {
        /// Only see that everything runs; the values mean little
        #[arg(long)]
        quick: bool,
    },
    /// Feed the readers with bytes made to break them
    Fuzz {
        /// Only this target of fuzz/
        #[arg(long)]
        target: Option<String>,
        /// How long for each target
        #[arg(long, default_value_t = 60)]
        seconds: u32,
    },
    /// Load Envoy for some minutes and watch the plugin's memory
    Soak {
        /// How long
        #[arg(long, default_value_t = 20.0)]
        minutes: f64,
    },
}

impl Cli {
    /// Does what was asked for.
    pub fn run(self) -> Result<()> {
        let sh = Sh::Terminal;
        match self.command {
            Command::Demo { keep } => host::demo(&sh, keep),
            Command::Test { only } => test::test(only),
            Command::Ci => test::ci(),
            Command::Wasm => wasm::run(&sh),
            Command::Gen { check } => r#gen::run(check),
            Command::Web { serve, port } => web::run(&sh, serve, port),
            Command::Eval { arguments } => eval::run(&sh, &arguments),
            Command::Train { arguments } => eval::train(&sh, &arguments),
            Command::Bench { quick } => host::bench(&sh, quick),
            Command::Fuzz { target, seconds } => fuzz::run(target.as_deref(), seconds),
            Command::Soak { minutes } => host::soak(&sh, minutes),
        }
    }
}
