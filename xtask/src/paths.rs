//! Where things lie in the repository, and where the tool puts what it makes.
use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn root() -> PathBuf {
    // `cargo run` sets the variable, so a moved checkout with an old binary still finds itself.
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let xtask = manifest.filter(|dir| dir.ends_with("xtask")).unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    xtask.parent().map(Path::to_path_buf).unwrap_or(xtask)
}

/// `path` under the folder that holds everything made; never committed.
pub fn target(path: &str) -> PathBuf {
    root().join("target").join(path)
}

/// The plugin as gateways load it.
pub fn plugin_wasm() -> PathBuf {
    target("wasm/floodmark.wasm")
}

/// The plugin with a way to make it trap, for tests only.
pub fn trapping_wasm() -> PathBuf {
    target("wasm/floodmark-trap-for-tests.wasm")
}

/// `path` as seen from the root when it lies below it, for short messages.
pub fn short(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}
