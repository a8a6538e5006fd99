//! Rules for the repository as a whole, as ordinary tests: files, documents, dependencies.
mod commands;
mod dependencies;
mod files;
mod map;

use std::path::{Path, PathBuf};

use crate::paths;

/// Every file that is or would be committed, as paths from the root.
fn files() -> Vec<PathBuf> {
    let root = paths::root();
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_symlink() || ["target", ".git", "__pycache__", ".venv", "node_modules"].contains(&name) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path.strip_prefix(&root).unwrap().to_owned());
            }
        }
    }
    found.sort();
    assert!(found.contains(&PathBuf::from("Cargo.toml")), "the list of files must start at the repository's root");
    found
}

fn text(file: &Path) -> String {
    std::fs::read_to_string(paths::root().join(file)).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn has_extension(file: &Path, extensions: &[&str]) -> bool {
    file.extension().is_some_and(|found| extensions.iter().any(|extension| found == *extension))
}

/// Fails with every finding at once.
fn none(what: &str, findings: &[String]) {
    assert!(findings.is_empty(), "{what}:\n  {}", findings.join("\n  "));
}
