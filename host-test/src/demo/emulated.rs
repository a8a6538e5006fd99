//! The demo without Envoy: the same plugin, the same plugin configuration, in the bundled emulator.

use std::path::Path;

use anyhow::{Context as _, anyhow};

use super::{Case, Outcome, Seen};
use crate::emulator::{Exchange, Gateway, Options, Request, UpstreamReply};
use crate::envoy::Config;

/// The emulator with the plugin.
#[derive(Debug)]
pub struct Emulated(Gateway);

impl Emulated {
    /// Starts the plugin on the plugin configuration of `envoy-config/enforce.yaml`.
    ///
    /// # Errors
    /// When the module or the configuration is refused.
    pub fn start(wasm: &Path) -> anyhow::Result<Self> {
        // Only the plugin's part of the config is used, so the upstream's address does not matter.
        let config = Config::shipped("enforce", wasm, ([127, 0, 0, 1], 0).into())?.plugin_json()?;
        let bytes = std::fs::read(wasm).with_context(|| format!("cannot read {}", wasm.display()))?;
        Ok(Self(Gateway::start(&bytes, &config, Options::default())?))
    }

    /// Sends one conversation through.
    ///
    /// # Errors
    /// When the plugin traps or no whole answer comes.
    pub fn play(&mut self, case: &Case) -> anyhow::Result<Outcome> {
        let request = Request::post_json(&case.path, case.body.get()).header("x-request-id", &case.id);
        let exchange = self.0.exchange(&request, &UpstreamReply::ok())?;
        let reply = exchange.reply().ok_or_else(|| anyhow!("{}: no whole answer: {:?}", case.id, exchange.client))?;
        Ok(Outcome {
            verdict: exchange.state("floodmark.verdict").map(str::to_owned),
            score: exchange.state("floodmark.score").and_then(|score| score.parse().ok()),
            rule: exchange.state("floodmark.rule").map(str::to_owned),
            status: reply.status,
            seen: seen(&exchange),
            time: None,
        })
    }
}

fn seen(exchange: &Exchange) -> Seen {
    match &exchange.upstream {
        None => Seen::Nothing,
        Some(request) if request.complete => Seen::Whole(request.body.len()),
        Some(request) => Seen::Broken(request.body.len()),
    }
}
