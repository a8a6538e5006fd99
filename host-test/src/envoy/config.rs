//! A shipped Envoy config with only the ports and the path of the module replaced.

use std::hash::{BuildHasher as _, RandomState};
use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context as _, ensure};
use serde_json::Value;
use yaml_rust2::{Yaml, YamlLoader};

/// What `envoy-config/*.yaml` say; each stands there exactly once.
const LISTENER_PORT: &str = "port_value: 10000";
/// Of a listener for the operator, in those that have one.
const OPERATORS_PORT: &str = "port_value: 10001";
const ADMIN_PORT: &str = "port_value: 9901";
const UPSTREAM_PORT: &str = "port_value: 8000";
const MODULE: &str = "filename: target/wasm/floodmark.wasm";
/// What stands in the place of an operator's own secret and of tokens' hashes, in those that have them.
const SECRET: &str = "PUT-64-HEX-DIGITS-HERE";
const TOKEN_HASHES: [&str; 2] = ["PUT-THE-HASH-HERE", "PUT-ANOTHER-HASH-HERE"];
const FILTER: &str = "- name: floodmark\n";
const ROUTER: &str = "- name: envoy.filters.http.router\n";
const STRUCT: &str = "Struct\n";

/// The text of an Envoy config on its way to a running Envoy.
#[derive(Clone, Debug)]
pub struct Config {
    text: String,
}

impl Config {
    /// Reads `envoy-config/{name}.yaml` of this repository, sends listeners and admin to free ports and the cluster to
    /// `upstream`. Where a secret has to be put in, it gets random digits, and so do tokens' hashes. Nothing else changes, so what
    /// runs is what is shipped.
    ///
    /// # Errors
    /// When the file cannot be read or a place to replace is not in it exactly once.
    pub fn shipped(name: &str, wasm: &Path, upstream: SocketAddr) -> anyhow::Result<Self> {
        let wasm = std::path::absolute(wasm).with_context(|| format!("cannot resolve {}", wasm.display()))?;
        let Self { text } = Self::file(name)?;
        let text = text.replacen(OPERATORS_PORT, "port_value: 0", 1);
        let text = text.replacen(SECRET, &random_hex(), 1);
        let text = TOKEN_HASHES.iter().fold(text, |text, hash| text.replacen(hash, &random_hex(), 1));
        Self { text }
            .replace(UPSTREAM_PORT, &format!("port_value: {}", upstream.port()))?
            .replace(MODULE, &format!("filename: {:?}", wasm.display().to_string()))
            .with_context(|| format!("in envoy-config/{name}.yaml"))
    }

    /// Reads `envoy-config/{name}.yaml`, an Envoy before other gateways, sends listener and admin to free ports, and those gateways that it has at ports
    /// 10001 and up to `gateways`.
    ///
    /// # Errors
    /// When the file cannot be read or a place to replace is not in it exactly once.
    pub fn front(name: &str, gateways: &[SocketAddr]) -> anyhow::Result<Self> {
        gateways.iter().zip(10_001..).try_fold(Self::file(name)?, |config, (gateway, port)| {
            config.replace(&format!("port_value: {port}"), &format!("port_value: {}", gateway.port()))
        })
    }

    fn file(name: &str) -> anyhow::Result<Self> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../envoy-config").join(format!("{name}.yaml"));
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Self { text }
            .replace(LISTENER_PORT, "port_value: 0")?
            .replace(ADMIN_PORT, "port_value: 0")
            .with_context(|| format!("in {}", path.display()))
    }

    /// Any Envoy config.
    #[must_use]
    pub fn from_text(text: String) -> Self {
        Self { text }
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

    /// The plugin's own configuration as JSON text.
    ///
    /// # Errors
    /// When the config is not YAML or has no such part.
    pub fn plugin_json(&self) -> anyhow::Result<String> {
        let documents = YamlLoader::load_from_str(&self.text).context("the config is not YAML")?;
        let found = documents.iter().find_map(plugin_value).context("no plugin configuration in the config")?;
        Ok(serde_json::to_string(&json(found)?)?)
    }

    /// The same config with `text` as the plugin's configuration, in a StringValue instead of a Struct.
    ///
    /// # Errors
    /// When the Struct or the router after it is not in the config.
    pub fn with_plugin_text(self, text: &str) -> anyhow::Result<Self> {
        let (before, rest) = self.text.split_once(STRUCT).context("no Struct in the config")?;
        let (_, after) = rest.split_once(ROUTER).context("no router after the plugin")?;
        let quoted = text.replace('\'', "''");
        let value = format!("StringValue\n                          value: '{quoted}'\n                  ");
        Ok(Self { text: format!("{before}{value}{ROUTER}{after}") })
    }

    /// The config's text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// 64 hex digits, random enough for tests: each state is seeded with others.
fn random_hex() -> String {
    (0..4).map(|_| format!("{:016x}", RandomState::new().hash_one(0))).collect()
}

/// The value under the first key `configuration`, wherever it stands.
fn plugin_value(yaml: &Yaml) -> Option<&Yaml> {
    match yaml {
        Yaml::Hash(map) => map.iter().find_map(|(key, value)| match key.as_str() {
            Some("configuration") => Some(&value["value"]),
            _ => plugin_value(value),
        }),
        Yaml::Array(list) => list.iter().find_map(plugin_value),
        _ => None,
    }
}

fn json(yaml: &Yaml) -> anyhow::Result<Value> {
    Ok(match yaml {
        Yaml::Null => Value::Null,
        Yaml::Boolean(value) => Value::Bool(*value),
        Yaml::Integer(value) => Value::from(*value),
        Yaml::Real(text) => Value::from(text.parse::<f64>().with_context(|| format!("{text} is no number"))?),
        Yaml::String(text) => Value::from(text.as_str()),
        Yaml::Array(list) => Value::Array(list.iter().map(json).collect::<anyhow::Result<_>>()?),
        Yaml::Hash(map) => {
            let pair = |(key, value): (&Yaml, &Yaml)| Ok((key.as_str().context("a key is no string")?.to_owned(), json(value)?));
            Value::Object(map.iter().map(pair).collect::<anyhow::Result<_>>()?)
        }
        Yaml::Alias(_) | Yaml::BadValue => anyhow::bail!("the plugin configuration is missing or holds an alias"),
    })
}

#[cfg(test)]
mod tests {
    use floodmark_plugin::config::{Mode, parse};

    use super::*;

    fn shipped(name: &str) -> Config {
        Config::shipped(name, Path::new("/opt/floodmark.wasm"), ([127, 0, 0, 1], 4321).into()).unwrap()
    }

    #[test]
    fn the_plugin_accepts_what_the_shipped_configs_hold() {
        for (name, mode) in [("enforce", Mode::Enforce), ("monitor", Mode::Monitor)] {
            let settings = parse(shipped(name).plugin_json().unwrap().as_bytes()).unwrap().defaults.settings.clone();
            assert_eq!((settings.mode, settings.max_body_bytes, settings.hold_headers), (mode, 1_000_000, false), "{name}");
        }
    }

    #[test]
    fn both_plugins_of_the_endpoints_config_are_accepted_and_share_their_state() {
        let documents = YamlLoader::load_from_str(shipped("endpoints").text()).unwrap();
        let mut plugins = Vec::new();
        for listener in documents[0]["static_resources"]["listeners"].as_vec().unwrap() {
            let manager = &listener["filter_chains"][0]["filters"][0]["typed_config"];
            let plugin = &manager["http_filters"][0]["typed_config"]["config"];
            let rules = parse(json(plugin_value(plugin).unwrap()).unwrap().to_string().as_bytes()).unwrap();
            let held = plugin["allow_on_headers_stop_iteration"].as_bool();
            plugins.push((rules.endpoints.is_some(), rules.state.is_some(), held, plugin["vm_config"].clone(), rules.keys));
        }
        let [(false, true, None, gateways_vm, gateways_keys), (true, true, Some(true), vm, keys)] = &plugins[..] else {
            panic!("{plugins:?}")
        };
        assert_eq!((gateways_vm, gateways_vm["vm_id"].as_str()), (vm, Some("floodmark")));
        assert_eq!(gateways_keys[0].derive("run").bytes(), keys[0].derive("run").bytes());
    }

    /// Whoever starts it as it is must not get a secret that everybody has.
    #[test]
    fn the_endpoints_config_is_refused_until_its_own_secret_and_token_are_put_in() {
        let Config { text } = Config::file("endpoints").unwrap();
        let refused = |text: &str| -> Vec<String> {
            let documents = YamlLoader::load_from_str(text).unwrap();
            let listeners = documents[0]["static_resources"]["listeners"].as_vec().unwrap();
            let plugins = listeners.iter().map(|listener| json(plugin_value(listener).unwrap()).unwrap().to_string());
            plugins.filter_map(|plugin| parse(plugin.as_bytes()).err()).map(|error| error.to_string()).collect()
        };
        let errors = refused(&text);
        assert_eq!(errors.len(), 2, "both listeners");
        for line in errors {
            assert!(line.contains("at keys[0].secret: must be 64 hex digits") && line.contains("openssl rand -hex 32"), "{line}");
        }
        let hex = "0123456789abcdef".repeat(4);
        let errors = refused(&text.replace(SECRET, &hex));
        assert_eq!(errors.len(), 1, "only one listener has tokens");
        assert!(errors[0].contains("at endpoints.tokens[0].blake3: must be 64 hex digits") && errors[0].contains("b3sum"), "{}", errors[0]);
        let [first, second] = TOKEN_HASHES;
        let text = text.replace(SECRET, &hex).replace(first, &hex);
        assert!(refused(&text)[0].contains("at endpoints.tokens[1].blake3: must be 64 hex digits"), "each needs its own");
        assert!(refused(&text.replace(second, &hex))[0].contains("at endpoints.tokens[1].blake3: is the hash of token"), "and another one");
        assert_eq!(refused(&text.replace(second, &"fedcba9876543210".repeat(4))), [""; 0]);
    }

    #[test]
    fn only_ports_and_module_are_replaced() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../envoy-config/enforce.yaml");
        let (file, config) = (std::fs::read_to_string(path).unwrap(), shipped("enforce"));
        let changed: Vec<&str> = file.lines().zip(config.text().lines()).filter(|(a, b)| a != b).map(|(_, b)| b.trim()).collect();
        let lines = [
            "socket_address: {address: 127.0.0.1, port_value: 0}",
            "socket_address: {address: 127.0.0.1, port_value: 0}",
            "local: {filename: \"/opt/floodmark.wasm\"}",
            "socket_address: {address: 127.0.0.1, port_value: 4321}",
        ];
        assert_eq!(changed, lines);
        assert_eq!(file.lines().count(), config.text().lines().count());
    }

    #[test]
    fn an_edit_that_does_not_apply_is_an_error() {
        let error = shipped("monitor").replace("hold_headers: false", "hold_headers: true").unwrap_err();
        assert!(error.to_string().contains("not 0 times"), "{error}");
        let plain = shipped("enforce").without_filter().unwrap();
        assert!(!plain.text().contains("wasm.v3.Wasm") && plain.text().contains("router.v3.Router"));
        assert!(plain.without_filter().is_err());
    }
}
