//! `cargo xtask eval` and `cargo xtask train`: build floodmark-eval for speed and hand over to it.
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::sh::{self, Sh};
use crate::{r#gen, paths, wasm};

/// Runs floodmark-eval with `arguments` in the repository's root, so that relative paths mean the same wherever it is called from. What is to be judged by the wasm is
/// built first, unless another is named.
pub fn run(sh: &Sh, arguments: &[String]) -> Result<()> {
    if needs_wasm(arguments) {
        println!("plugin: {}", wasm::build(sh)?);
    }
    let mut command = sh::cargo();
    command.args(["run", "--quiet", "--profile", "tool", "--package", "floodmark-eval", "--"]).args(arguments);
    sh.run(&mut command)
}

/// Whether the built plugin judges.
fn needs_wasm(arguments: &[String]) -> bool {
    let engine = arguments.windows(2).any(|pair| pair == ["--engine", "wasm"]) || arguments.iter().any(|one| one == "--engine=wasm");
    engine && !arguments.iter().any(|one| one == "--wasm" || one.starts_with("--wasm="))
}

/// Trains a model and takes the fingerprint of its table.
pub fn train(sh: &Sh, arguments: &[String]) -> Result<()> {
    let crates = crates(sh)?;
    let folder = crates.to_str().context("the repository's path is no UTF-8")?;
    run(sh, &[&[String::from("train")], arguments, &[String::from("--crates"), folder.to_owned()]].concat())?;
    r#gen::run(false)
}

/// Recipe of the detector, of which only the list of crates is read here.
#[derive(Deserialize)]
struct Recipe {
    crates: BTreeMap<String, String>,
}

/// Fetches the crates whose files the detector is trained on, and gives the folder that they are in as `name-version`.
fn crates(sh: &Sh) -> Result<PathBuf> {
    let recipe = paths::root().join("rules/detector/recipe.toml");
    let text = fs::read_to_string(&recipe).with_context(|| format!("cannot read {}", recipe.display()))?;
    let Recipe { crates } = toml::from_str(&text).with_context(|| format!("{} has no list of crates", recipe.display()))?;
    let folder = paths::root().join("target/train");
    let vendored = folder.join("vendor");
    if crates.iter().all(|(name, version)| vendored.join(format!("{name}-{version}")).is_dir()) {
        return Ok(vendored);
    }
    // A package that is never built, only fetched for; its dependencies' own come along and are not read.
    let mut manifest =
        String::from("[package]\nname = \"floodmark-train\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n");
    for (name, version) in &crates {
        manifest += &format!("{name} = {{ version = \"={version}\", default-features = false }}\n");
    }
    fs::create_dir_all(folder.join("src")).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    fs::write(folder.join("Cargo.toml"), manifest)?;
    fs::write(folder.join("src/lib.rs"), "")?;
    sh.run(sh::cargo().current_dir(&folder).args(["vendor", "--quiet", "--versioned-dirs", "vendor"]))
        .context("the crates of rules/detector/recipe.toml could not be fetched; the training needs the versions that are named there")?;
    Ok(vendored)
}

#[cfg(test)]
mod tests {
    use super::needs_wasm;

    #[test]
    fn the_plugin_is_built_for_the_engine_that_runs_it() {
        let of = |line: &str| needs_wasm(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert!(of("--data d --engine wasm") && of("--engine=wasm --data d"));
        assert!(!of("--data d") && !of("--engine native --data wasm") && !of("--engine wasm --wasm other.wasm"));
    }
}
