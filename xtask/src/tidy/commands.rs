//! Commands of this tool that documents tell people to type do exist.
use clap::{CommandFactory, Parser};

use super::{files, has_extension, none, text};
use crate::cli::Cli;

/// Commands in the fenced `sh` blocks of a document: line number and the words after `cargo`.
fn commands(document: &str) -> Vec<(usize, Vec<String>)> {
    let mut inside = false;
    let mut found = Vec::new();
    for (number, line) in document.lines().enumerate() {
        let line = line.trim();
        if line.starts_with("```") {
            inside = !inside && ["```sh", "```bash", "```shell", "```console"].contains(&line);
            continue;
        }
        let typed = line.split(" #").next().unwrap_or_default().trim_start_matches("$ ");
        // Variables may be set before the command.
        let words = typed.split_whitespace().skip_while(|word| word.contains('='));
        let words: Vec<String> = words.map(str::to_owned).collect();
        if inside && words.iter().map(String::as_str).take(2).eq(["cargo", "xtask"]) {
            found.push((number + 1, words[1..].to_vec()));
        }
    }
    found
}

#[test]
fn documented_commands_exist() {
    let documents = files().into_iter().filter(|file| has_extension(file, &["md"]));
    let (mut seen, mut findings) = (0, Vec::new());
    for file in documents {
        for (line, words) in commands(&text(&file)) {
            seen += 1;
            if let Err(error) = Cli::try_parse_from(&words) {
                let reason = error.to_string();
                let reason = reason.lines().next().unwrap_or_default();
                findings.push(format!("{}:{line}: cargo {}: {reason}", file.display(), words.join(" ")));
            }
        }
    }
    none("documents name commands that do not exist", &findings);
    assert!(seen >= 2, "README.md must show `cargo xtask demo` and `cargo xtask test` in a ```sh block");
}

#[test]
fn command_line_is_well_formed() {
    Cli::command().debug_assert();
}

#[test]
fn a_wrong_command_is_found() {
    let document = "```sh\nKEY=1 cargo xtask wasm  # builds\ncargo xtask nonsense\ncargo build\n```\n\
                    cargo xtask prose\n```text\ncargo xtask picture\n```\n```sh\n$ cargo xtask web --serve\n```\n";
    let found = commands(document);
    assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2, 3, 11]);
    let fails: Vec<bool> = found.iter().map(|(_, words)| Cli::try_parse_from(words).is_err()).collect();
    assert_eq!(fails, [false, true, false]);
}
