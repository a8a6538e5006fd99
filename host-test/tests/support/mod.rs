//! What several tests need: the built plugin, files of the repository, and the engines that are compiled in.
#![allow(dead_code, reason = "each test file uses a part")]

use std::path::{Path, PathBuf};

use clap::ValueEnum as _;
use floodmark_host::replay::Replay;
use floodmark_host::runtime::Engine;

/// A file of the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// Where the built plugin lies: `FLOODMARK_WASM`, or the place where `cargo xtask wasm` puts it.
pub fn plugin_path() -> PathBuf {
    std::env::var_os("FLOODMARK_WASM").map_or_else(|| repository("target/wasm/floodmark.wasm"), PathBuf::from)
}

/// The built plugin.
pub fn plugin() -> Vec<u8> {
    read(&plugin_path())
}

/// The plugin built to trap when a request asks for it, for tests only.
pub fn trapping_plugin_path() -> PathBuf {
    let built = || repository("target/wasm/floodmark-trap-for-tests.wasm");
    std::env::var_os("FLOODMARK_TRAP_WASM").map_or_else(built, PathBuf::from)
}

/// The same, read.
pub fn trapping_plugin() -> Vec<u8> {
    read(&trapping_plugin_path())
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("run cargo xtask test --only tests: cannot read {}: {error}", path.display()))
}

/// Runtimes that are compiled in.
pub fn runtimes() -> impl Iterator<Item = Engine> {
    Engine::value_variants().iter().copied()
}

/// Every way to judge, by name, the native one first.
pub fn ways(config: &str) -> Vec<(String, Replay)> {
    let wasm = plugin();
    let mut ways = vec![("native".to_owned(), Replay::native(config).unwrap())];
    ways.extend(runtimes().map(|engine| (format!("wasm in {engine:?}"), Replay::wasm(&wasm, config, engine).unwrap())));
    ways
}
