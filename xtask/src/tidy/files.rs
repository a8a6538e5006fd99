//! Each source file says what it is for, is finished, and stays small.
use std::path::Path;

use super::{files, has_extension, none, text};

const MAX_LINES: usize = 500;

/// Written by `cargo xtask gen` or `eval`, or kept as data: no limit of length.
fn is_data(file: &Path) -> bool {
    let folders = ["tables/src/generated", "testdata", "rules"];
    let pages = ["docs/config.md", "docs/evaluation.md"];
    folders.iter().any(|folder| file.starts_with(folder)) || pages.iter().any(|page| file == Path::new(page))
}

#[test]
fn rust_files_open_with_their_purpose() {
    let rust = files().into_iter().filter(|file| has_extension(file, &["rs"]));
    let bare = rust.filter(|file| !text(file).starts_with("//! ")).map(|file| file.display().to_string());
    none("files must start with a `//!` sentence on what they are for", &bare.collect::<Vec<_>>());
}

#[test]
fn sources_are_finished() {
    // In pieces, since this file is looked at as well.
    let words = [concat!("to", "do"), concat!("fix", "me"), concat!("st", "ub"), concat!("st", "ubs"), concat!("place", "holder")];
    let mut findings = Vec::new();
    // What a text must not say is data, and written by nobody.
    for file in files().iter().filter(|file| has_extension(file, &["rs", "py", "js"]) && !is_data(file)) {
        for (number, line) in text(file).lines().enumerate() {
            let line = line.to_ascii_lowercase();
            let word = line.split(|c: char| !c.is_ascii_alphanumeric()).find(|token| words.contains(token));
            // The word alone is a status of proxy-wasm; only the macro marks unfinished work.
            let macro_call = line.contains(concat!("unimplemented", "!"));
            if word.is_some() || macro_call {
                findings.push(format!("{}:{}: {}", file.display(), number + 1, line.trim()));
            }
        }
    }
    none("words of unfinished work", &findings);
}

#[test]
fn files_stay_small() {
    let kinds = ["rs", "py", "js", "css", "html", "toml", "yaml", "md"];
    let mut findings = Vec::new();
    for file in files().iter().filter(|file| has_extension(file, &kinds) && !is_data(file)) {
        let lines = text(file).lines().count();
        if lines > MAX_LINES {
            findings.push(format!("{}: {lines} lines", file.display()));
        }
    }
    none(&format!("files of more than {MAX_LINES} lines; split them"), &findings);
}
