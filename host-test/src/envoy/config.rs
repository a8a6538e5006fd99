//! A shipped Envoy config with only the ports and the path of the module replaced.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context as _, ensure};

/// What `envoy-config/*.yaml` say; each stands there exactly once.
const LISTENER_PORT: &str = "port_value: 10000";
const ADMIN_PORT: &str = "port_value: 9901";
const UPSTREAM_PORT: &str = "port_value: 8000";
const MODULE: &str = "filename: target/wasm/floodmark.wasm";
const FILTER: &str = "- name: floodmark\n";
const ROUTER: &str = "- name: envoy.filters.http.router\n";

/// The text of an Envoy config on its way to a running Envoy.
#[derive(Clone, Debug)]
pub struct Config {
    text: String,
}

impl Config {
    /// Reads `envoy-config/{name}.yaml` of this repository, sends listener and admin to free ports and the cluster to
    /// `upstream`. Nothing else changes, so what runs is what is shipped.
    ///
    /// # Errors
    /// When the file cannot be read or a place to replace is not in it exactly once.
    pub fn shipped(name: &str, wasm: &Path, upstream: SocketAddr) -> anyhow::Result<Self> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../envoy-config").join(format!("{name}.yaml"));
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let wasm = std::path::absolute(wasm).with_context(|| format!("cannot resolve {}", wasm.display()))?;
        Self { text }
            .replace(LISTENER_PORT, "port_value: 0")?
            .replace(ADMIN_PORT, "port_value: 0")?
            .replace(UPSTREAM_PORT, &format!("port_value: {}", upstream.port()))?
            .replace(MODULE, &format!("filename: {:?}", wasm.display().to_string()))
            .with_context(|| format!("in {}", path.display()))
    }

    /// Replaces `from`, which must stand exactly once.
    ///
    /// # Errors
    /// When it stands there never or more than once.
    pub fn replace(self, from: &str, to: &str) -> anyhow::Result<Self> {
        let count = self.text.matches(from).count();
        ensure!(count == 1, "the config should hold {from:?} once, not {count} times");
        Ok(Self { text: self.text.replacen(from, to, 1) })
    }

    /// The same config with the filter cut out: what a request costs without Floodmark.
    ///
    /// # Errors
    /// When the filter and the router after it are not in the config.
    pub fn without_filter(self) -> anyhow::Result<Self> {
        let start = self.text.find(FILTER).context("no filter named floodmark")?;
        let length = self.text[start..].find(ROUTER).context("no router after the filter")?;
        let (before, rest) = self.text.split_at(start);
        Ok(Self { text: format!("{before}{}", &rest[length..]) })
    }

    /// The plugin's own configuration: the JSON in the block under `value: |`.
    ///
    /// # Errors
    /// When there is no such block or it is not JSON.
    pub fn plugin_json(&self) -> anyhow::Result<String> {
        let (before, block) = self.text.split_once("value: |\n").context("no block `value: |` in the config")?;
        let depth = before.len() - before.rfind('\n').map_or(0, |at| at + 1);
        let inside = |line: &&str| line.trim().is_empty() || line.bytes().take_while(|b| *b == b' ').count() > depth;
        let json = block.lines().take_while(inside).collect::<Vec<_>>().join("\n");
        serde_json::from_str::<serde_json::Value>(&json).context("the block `value: |` is not JSON")?;
        Ok(json)
    }

    /// The config's text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}
