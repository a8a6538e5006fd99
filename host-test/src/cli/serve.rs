//! `floodmark-host serve`: a gateway with the plugin in it, before one upstream.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::envoy::Config;
use crate::runtime;
use crate::serve::{Server, Settings};

/// Serves HTTP/1.1 before one upstream, with the plugin judging what passes.
///
/// The access log goes to the output, one JSON object a line; the plugin's own lines go to the error output. SIGINT or SIGTERM ends it when
/// the requests under way have ended; a second one ends it at once.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The plugin's configuration: JSON as in docs/config.md, or an Envoy config (.yaml) that holds it.
    #[arg(long)]
    config: PathBuf,
    /// Where clients connect.
    #[arg(long, value_name = "HOST:PORT")]
    listen: String,
    /// Where requests go: http://host:port.
    #[arg(long, value_name = "URL")]
    upstream: String,
    /// Where /metrics (Prometheus) and /ready are; without it, nowhere.
    #[arg(long, value_name = "HOST:PORT")]
    admin: Option<String>,
    /// The built plugin.
    #[arg(long, default_value = "target/wasm/floodmark.wasm")]
    wasm: PathBuf,
    /// What runs the plugin. The compiler is there in builds with the cargo feature `jit`.
    #[arg(long, value_enum, default_value_t = runtime::Engine::default())]
    runtime: runtime::Engine,
    /// Copies of the plugin, each on a thread of its own; without it one for each processor.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=256))]
    workers: Option<u16>,
    /// Requests at once; one more is answered 503.
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    max_requests: u32,
    /// Connections at once; one more waits until another ends.
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    max_connections: u32,
    /// Body bytes kept for a request while the plugin holds it; one more is answered 413. Keep it above the plugin's max_body_bytes.
    #[arg(long, default_value_t = 4 << 20, value_parser = clap::value_parser!(u32).range(1..))]
    max_held_bytes: u32,
    /// Seconds that the upstream may take to answer, and that either side may pause within a body.
    #[arg(long, default_value_t = 300, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    timeout: u32,
    /// Seconds that requests under way get to end after SIGINT or SIGTERM.
    #[arg(long, default_value_t = 30, value_name = "SECONDS")]
    grace: u32,
}

impl Args {
    /// Serves until told to stop.
    ///
    /// # Errors
    /// When an argument, the configuration or the plugin is refused.
    pub fn run(&self) -> anyhow::Result<ExitCode> {
        let settings = self.settings()?;
        let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
        runtime.block_on(serve(&settings))
    }

    fn settings(&self) -> anyhow::Result<Settings> {
        Ok(Settings {
            listen: address("--listen", &self.listen)?,
            admin: self.admin.as_deref().map(|text| address("--admin", text)).transpose()?,
            upstream: self.upstream.clone(),
            config: plugin_config(&self.config)?,
            wasm: self.wasm.clone(),
            engine: self.runtime,
            workers: self.workers.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from),
            max_requests: self.max_requests as usize,
            max_connections: self.max_connections as usize,
            max_held_bytes: self.max_held_bytes as usize,
            timeout: Duration::from_secs(self.timeout.into()),
            grace: Duration::from_secs(self.grace.into()),
        })
    }
}

async fn serve(settings: &Settings) -> anyhow::Result<ExitCode> {
    // From here on a signal ends the server in order, even while it starts.
    let mut terminate = signal(SignalKind::terminate()).context("cannot wait for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot wait for SIGINT")?;
    let server = Server::start(settings).await?;
    eprintln!("listening on http://{} for {}, {} workers", server.address(), settings.upstream, settings.workers);
    if let Some(admin) = server.admin_address() {
        eprintln!("metrics on http://{admin}/metrics");
    }
    told_to_stop(&mut terminate, &mut interrupt).await;
    eprintln!("stopping: requests under way get {} s; once more to stop at once", settings.grace.as_secs());
    tokio::select! {
        () = server.stop() => Ok(ExitCode::SUCCESS),
        () = told_to_stop(&mut terminate, &mut interrupt) => Ok(ExitCode::FAILURE),
    }
}

async fn told_to_stop(terminate: &mut Signal, interrupt: &mut Signal) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

fn address(flag: &str, text: &str) -> anyhow::Result<SocketAddr> {
    let mut found =
        text.to_socket_addrs().with_context(|| format!("{flag} {text:?} is no address; write host:port, such as 127.0.0.1:8080"))?;
    found.next().with_context(|| format!("{flag} {text:?} names no address"))
}

fn plugin_config(path: &Path) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read the configuration {}", path.display()))?;
    let yaml = path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
    if yaml { Config::from_text(text).plugin_json().with_context(|| format!("in {}", path.display())) } else { Ok(text) }
}
