//! What each crate may depend on, and the one direction between our own crates.
use std::collections::BTreeMap;

use serde_json::Value;

use super::{files, none, text};
use crate::sh;

/// Our crates that each of ours may use, in any kind of dependency: core <- tables <- {plugin, web-demo, examples}, plugin <- host-test <- eval.
const DIRECTION: [(&str, &[&str]); 10] = [
    ("floodmark-core", &[]),
    ("floodmark-tables", &["floodmark-core"]),
    ("floodmark-plugin", &["floodmark-core", "floodmark-tables"]),
    ("floodmark-demo", &["floodmark-core", "floodmark-tables"]),
    ("floodmark-host", &["floodmark-core", "floodmark-tables", "floodmark-plugin"]),
    ("floodmark-eval", &["floodmark-core", "floodmark-tables", "floodmark-plugin", "floodmark-host"]),
    ("floodmark-examples", &["floodmark-core", "floodmark-tables"]),
    ("xtask", &["floodmark-core", "floodmark-tables", "floodmark-plugin"]),
    ("floodmark-bindgen", &[]),
    ("floodmark-fuzz", &["floodmark-core", "floodmark-tables", "floodmark-plugin"]),
];

/// Everything else that the crates in gateways and browsers may be built from. A crate here is code that each gateway runs.
const ALLOWED: [(&str, &[&str]); 4] = [
    ("floodmark-core", &["blake3", "libm", "miniz_oxide", "postcard", "regex-lite?", "serde", "schemars?", "siphasher"]),
    ("floodmark-tables", &[]),
    ("floodmark-plugin", &["blake3", "proxy-wasm", "schemars?", "serde", "serde_json"]),
    ("floodmark-demo", &["serde", "serde_json", "wasm-bindgen"]),
];

struct Dependency {
    name: String,
    /// With a question mark when it is optional.
    spelled: String,
    /// Compiled into the crate, not only into its tests.
    normal: bool,
}

/// Our crates and what each depends on, those of fuzz/ too.
fn workspace() -> BTreeMap<String, Vec<Dependency>> {
    let metadata = |manifest: &str| -> Value {
        let arguments = ["metadata", "--format-version", "1", "--no-deps", "--offline", "--manifest-path", manifest];
        serde_json::from_str(&sh::read(sh::cargo().args(arguments)).unwrap()).unwrap()
    };
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let dependency = |value: &Value| {
        let name = word(&value["name"]);
        let mark = if value["optional"].as_bool().unwrap() { "?" } else { "" };
        Dependency { spelled: format!("{name}{mark}"), name, normal: value["kind"].as_str() != Some("dev") }
    };
    let packages = ["Cargo.toml", "fuzz/Cargo.toml"].map(|manifest| metadata(manifest)["packages"].as_array().unwrap().clone());
    let list = |package: &Value| package["dependencies"].as_array().unwrap().iter().map(dependency).collect();
    packages.iter().flatten().map(|package| (word(&package["name"]), list(package))).collect()
}

#[test]
fn our_crates_depend_one_way() {
    let workspace = workspace();
    let mut findings = Vec::new();
    for (package, dependencies) in &workspace {
        let Some((_, allowed)) = DIRECTION.iter().find(|(name, _)| name == package) else {
            findings.push(format!("{package}: a new crate; say in DIRECTION what it may know"));
            continue;
        };
        let ours = dependencies.iter().filter(|dependency| workspace.contains_key(&dependency.name));
        let wrong = ours.filter(|dependency| !allowed.contains(&dependency.name.as_str()));
        findings.extend(wrong.map(|dependency| format!("{package} must not know {}", dependency.name)));
    }
    none("dependencies against the direction", &findings);
    assert_eq!(workspace.len(), DIRECTION.len(), "a crate of DIRECTION is gone");
}

#[test]
fn gateways_run_only_what_was_decided() {
    let workspace = workspace();
    let mut findings = Vec::new();
    for (package, allowed) in ALLOWED {
        let foreign = workspace[package].iter().filter(|dependency| dependency.normal && !workspace.contains_key(&dependency.name));
        let wrong = foreign.filter(|dependency| !allowed.contains(&dependency.spelled.as_str()));
        findings.extend(wrong.map(|dependency| format!("{package}: {}", dependency.spelled)));
    }
    none("dependencies that nobody decided on (a `?` marks optional ones); see ALLOWED in xtask/src/tidy/dependencies.rs", &findings);
}

/// `eval verify` recomputes what the gateway's code computed: with a line of that code in it, agreement would say nothing.
#[test]
fn what_verifies_shares_no_code() {
    let plain = |file: &std::path::PathBuf| file.starts_with("eval/src/verify") || file.starts_with("eval/src/stats");
    let verify: Vec<_> = files().into_iter().filter(plain).collect();
    assert!(verify.len() > 9, "eval/src/verify or eval/src/stats is gone");
    let mut findings = Vec::new();
    for file in verify {
        for (number, line) in text(&file).lines().enumerate() {
            let comment = line.trim_start().starts_with("//");
            let line = line.replace("crate::stats", "");
            if !comment && ["floodmark_", "crate::", "super::super", "include!", "#[path"].iter().any(|word| line.contains(word)) {
                findings.push(format!("{}:{}: {}", file.display(), number + 1, line.trim()));
            }
        }
    }
    none("code from elsewhere in eval/src/verify and eval/src/stats", &findings);
}
