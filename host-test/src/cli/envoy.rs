//! `floodmark-host envoy`: real Envoy on a shipped config before a server of yours, for as long as somebody holds its input open.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;

use super::print;
use crate::envoy::{self, Config, Envoy, Options};

/// Starts Envoy on a config of envoy-config/ with the plugin, before an upstream on this machine, and prints one JSON line with where it listens.
///
/// It ends when its input ends. `cargo xtask test` runs the official clients of the providers through it; try your own, for example
/// `floodmark-host envoy enforce --upstream 127.0.0.1:8000 --set '{"defaults": {"action": "label"}}'`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Which config: `enforce` or `monitor`.
    #[arg(value_parser = ["enforce", "monitor"])]
    config: String,
    /// Where requests go.
    #[arg(long, value_name = "IP:PORT")]
    upstream: SocketAddr,
    /// JSON that is laid over the plugin's part of the config: objects are merged, null takes a key away, anything else replaces.
    #[arg(long, value_name = "JSON", value_parser = parse)]
    set: Option<Value>,
    /// The built plugin.
    #[arg(long, default_value = "target/wasm/floodmark.wasm")]
    wasm: PathBuf,
    /// The Envoy binary; without it the variable FLOODMARK_ENVOY names it.
    #[arg(long)]
    envoy: Option<PathBuf>,
    /// Worker threads.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    workers: u16,
}

impl Args {
    /// Starts, prints and waits.
    ///
    /// # Errors
    /// When Envoy cannot be started, or refuses the config.
    pub fn run(&self) -> anyhow::Result<ExitCode> {
        let binary = envoy::binary(self.envoy.as_deref())?;
        let config = config(&self.config, &self.wasm, self.upstream, self.set.as_ref())?;
        let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
        runtime.block_on(async {
            let envoy = Envoy::start(&Options { binary, concurrency: self.workers.into() }, &config).await?;
            let line = json!({
                "address": envoy.address().to_string(),
                "admin": envoy.admin_address().to_string(),
                "access_log": envoy.access_log(),
            });
            print(&line.to_string())?;
            let mut rest = Vec::new();
            tokio::io::stdin().read_to_end(&mut rest).await.context("cannot read the input")?;
            Ok(ExitCode::SUCCESS)
        })
    }
}

fn config(name: &str, wasm: &Path, upstream: SocketAddr, set: Option<&Value>) -> anyhow::Result<Config> {
    let shipped = Config::shipped(name, wasm, upstream)?;
    let Some(set) = set else { return Ok(shipped) };
    let mut value: Value = serde_json::from_str(&shipped.plugin_json()?).context("the plugin's configuration is not JSON")?;
    merge(&mut value, set);
    shipped.with_plugin_text(&value.to_string())
}

/// Told to clap by name, since a JSON value can also be made of any text.
fn parse(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str(text)
}

/// RFC 7396.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    let Value::Object(target) = target else { return };
    for (key, value) in patch {
        if value.is_null() {
            target.remove(key);
        } else {
            merge(target.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cases of RFC 7396, appendix A.
    #[test]
    fn patches_are_laid_over() {
        for (target, patch, result) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
            (json!({"a": "b"}), json!({"a": null}), json!({})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
            (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
            (json!([1, 2]), json!({"a": "b", "c": null}), json!({"a": "b"})),
            (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
        ] {
            let mut value = target.clone();
            merge(&mut value, &patch);
            assert_eq!(value, result, "{target} with {patch}");
        }
    }

    #[test]
    fn the_option_is_read_as_json() {
        #[derive(clap::Parser)]
        struct Cli {
            #[command(flatten)]
            args: Args,
        }
        let words = |set| ["floodmark-host", "enforce", "--upstream", "127.0.0.1:1", "--set", set];
        let cli = <Cli as clap::Parser>::try_parse_from(words(r#"{"enabled": false}"#)).unwrap();
        assert_eq!(cli.args.set, Some(json!({"enabled": false})));
        assert!(<Cli as clap::Parser>::try_parse_from(words("enabled")).is_err());
    }

    #[test]
    fn what_is_set_is_in_the_plugins_part_only() {
        let (wasm, upstream) = (Path::new("/opt/floodmark.wasm"), ([127, 0, 0, 1], 4321).into());
        let shipped = config("enforce", wasm, upstream, None).unwrap();
        let changed = config("enforce", wasm, upstream, Some(&json!({"defaults": {"action": "redact"}}))).unwrap();
        let mut wanted: Value = serde_json::from_str(&shipped.plugin_json().unwrap()).unwrap();
        wanted["defaults"]["action"] = "redact".into();
        let text = changed.plugin_json().unwrap();
        let inner: String = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&inner).unwrap(), wanted);
        assert!(changed.text().contains("port_value: 4321"));
    }
}
