//! The two ways to a report: the plugin's filter as native code, or the built plugin in the emulator.

use anyhow::Context as _;

use super::line::LineError;
use super::native::Native;
use crate::emulator::{Gateway, Options, Request, UpstreamReply};
use crate::runtime::Engine;

/// The filter state that holds the report.
pub(super) const REPORT_STATE: &str = "floodmark.report";

/// A configured plugin that judges one request after another.
#[derive(Debug)]
pub struct Replay(Way);

#[derive(Debug)]
enum Way {
    Native(Native),
    Wasm(Box<Gateway>),
}

/// What became of a request: its report as the plugin spells it, or why there is none.
pub type Judged = Result<String, LineError>;

impl Replay {
    /// The plugin's filter as native code.
    ///
    /// # Errors
    /// When the plugin refuses the configuration; the error names the key.
    pub fn native(config: &str) -> anyhow::Result<Self> {
        Ok(Self(Way::Native(Native::new(config).map_err(|refused| anyhow::anyhow!("{refused}"))?)))
    }

    /// The built plugin in the emulator.
    ///
    /// # Errors
    /// When the module cannot be loaded or refuses the configuration.
    pub fn wasm(wasm: &[u8], config: &str, engine: Engine) -> anyhow::Result<Self> {
        // The plugin's own limit decides here, and a plugin that holds headers must be able to.
        let options = Options { engine, buffer_limit_bytes: usize::MAX, allow_on_headers_stop_iteration: true, ..Options::default() };
        Ok(Self(Way::Wasm(Box::new(Gateway::start(wasm, config, options)?))))
    }

    /// Judges one request.
    ///
    /// # Errors
    /// When the plugin traps; nothing more can be judged then.
    pub fn judge(&mut self, request: &Request) -> anyhow::Result<Judged> {
        let report = match &mut self.0 {
            Way::Native(native) => native.report(request),
            Way::Wasm(gateway) => {
                let exchange = gateway.exchange(request, &UpstreamReply::ok()).context("the plugin died")?;
                gateway.take_logs();
                exchange.state(REPORT_STATE).map(str::to_owned)
            }
        };
        Ok(report.ok_or_else(|| LineError::NotJudged(request.headers.text(":path").unwrap_or_default().to_owned())))
    }
}
