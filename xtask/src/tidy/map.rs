//! ARCHITECTURE.md is a map: every path that it names is there.
use std::path::{Path, PathBuf};

use super::{files, none, text};
use crate::paths;

const EXTENSIONS: [&str; 12] = ["rs", "toml", "md", "json", "jsonl", "yaml", "html", "css", "js", "py", "sh", "csv"];

/// Words between single backticks, outside of fenced blocks.
fn quoted(text: &str) -> Vec<String> {
    let mut fenced = false;
    let mut words = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            words.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    words
}

/// Whether a quoted word means a file or folder of the repository.
fn is_path(word: &str) -> bool {
    let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c));
    let foreign = ["/", "target/", "application/", "text/"].iter().any(|start| word.starts_with(start));
    let extension = Path::new(word).extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    plain && !foreign && (word.contains('/') || EXTENSIONS.contains(&extension))
}

fn missing(document: &str, files: &[PathBuf], folder_exists: impl Fn(&str) -> bool) -> Vec<String> {
    let there = |word: &str| {
        // A bare file name stands for any file of that name.
        let bare = !word.contains('/') && files.iter().any(|file| file.file_name().is_some_and(|name| name == word));
        bare || files.iter().any(|file| file == Path::new(word)) || folder_exists(word)
    };
    quoted(document).into_iter().filter(|word| is_path(word) && !there(word)).collect()
}

#[test]
fn every_path_of_the_map_exists() {
    let document = text(Path::new("ARCHITECTURE.md"));
    let named = quoted(&document).iter().filter(|word| is_path(word)).count();
    assert!(named >= 10, "ARCHITECTURE.md names only {named} paths in backticks: it is no map");
    none("ARCHITECTURE.md names what is not there", &missing(&document, &files(), |word| paths::root().join(word).is_dir()));
}

#[test]
fn a_missing_path_is_found() {
    let files = [PathBuf::from("core/src/lib.rs"), PathBuf::from(".ci/run")];
    let document = "See `core/src/lib.rs`, `lib.rs`, `core/`, `.ci/run`, `gone.rs`, `core/gone`, `core::judge` and `application/json`.\n\
                    ```text\n`core/in_a_picture.rs`\n```\nThen `A -> B` and `docs/gone.md`.";
    assert_eq!(missing(document, &files, |word| word == "core/"), ["gone.rs", "core/gone", "docs/gone.md"]);
}
