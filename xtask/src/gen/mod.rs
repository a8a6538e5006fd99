//! `cargo xtask gen`: turns the hand-edited rules into static tables and expands the oracle cases with the rules' own lines.

mod compiled;
mod config_doc;
mod emit;
mod folds;
mod instructions;
mod program;
mod rules;
mod spellings;
mod subset;
mod tails;
mod vectors;
mod verify;
mod wire_doc;

#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

/// Where the rules lie, one file a category.
const RULES: &str = "rules/categories";
/// What folding does beyond Unicode's data.
const FOLDS: &str = "rules/folds.toml";
/// For each profile the oracle cases, a verbatim copy of the independent ones, and the conversations that they are expanded to.
const CONVERSATIONS: [(&str, &str); 2] = [
    ("testdata/vectors/conversation.json", "testdata/conversations/paper.jsonl"),
    ("testdata/vectors/conversation_floodmark.json", "testdata/conversations/floodmark.jsonl"),
];
/// Most bytes that the patterns' tables may take in the module's data section (performance.md, automata).
const PATTERNS_BUDGET_BYTES: usize = 200_000;
/// The table of the detector of record: `cargo xtask train detector` writes it, here only its fingerprint is taken.
const DETECTOR: &str = "tables/src/generated/detector.bin";
/// Most bytes that the detector's tables may take there (performance.md).
const DETECTOR_BUDGET_BYTES: usize = 262_144;

/// A generated file.
struct Output {
    /// From the repository's root.
    path: &'static str,
    text: String,
}

/// Writes the generated files; with `check` writes nothing and fails if a committed one is stale.
///
/// # Errors
/// A bad rule (file, pattern and what to do), an unreadable file, or the list of stale files.
pub fn run(check: bool) -> Result<()> {
    let mut stale = Vec::new();
    for output in outputs(&root())? {
        let path = root().join(output.path);
        if fs::read_to_string(&path).is_ok_and(|committed| committed == output.text) {
            continue;
        }
        if check {
            stale.push(output.path);
            continue;
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(|| format!("cannot make folder {}", folder.display()))?;
        }
        fs::write(&path, output.text).with_context(|| format!("cannot write {}", path.display()))?;
        println!("wrote {}", output.path);
    }
    if !stale.is_empty() {
        bail!("stale: {}. Run `cargo xtask gen` and commit the result.", stale.join(", "));
    }
    Ok(())
}

/// All generated files, made from the sources under `root`.
fn outputs(root: &Path) -> Result<Vec<Output>> {
    let compiled = compiled(root)?;
    verify::lines(&compiled)?;
    let instructions = instructions(root, &compiled)?;
    let detector = fs::read(root.join(DETECTOR)).with_context(|| format!("cannot read {DETECTOR}; check it out again"))?;
    let lock = read(&root.join("Cargo.lock"))?;
    let version = |package| emit::locked_version(&lock, package).map(|version| format!("{package} {version}"));
    let tools = [version("unicode-normalization")?, version("unicode-security")?, version("regex-syntax")?].join(", ");
    let mut outputs = vec![
        Output { path: "tables/src/generated/categories.rs", text: emit::categories(&compiled, &version("regex-automata")?) },
        Output { path: "tables/src/generated/folds.rs", text: emit::folds(&compiled, &tools) },
        Output { path: "tables/src/generated/instructions.rs", text: instructions.source() },
        Output { path: "tables/fingerprints.csv", text: emit::fingerprints(&compiled, &detector) + &instructions.row() },
        Output { path: "docs/config.md", text: compiled.with_set(config_doc::page)? },
        Output { path: wire_doc::PAGE, text: wire_doc::page(&read(&root.join(wire_doc::PAGE))?, &positions(root)?)? },
    ];
    for (vectors, path) in CONVERSATIONS {
        outputs.push(Output { path, text: vectors::expand(vectors, &read(&root.join(vectors))?, &compiled)? });
    }
    Ok(outputs)
}

/// The files of testdata/positions, in the order of the formats.
fn positions(root: &Path) -> Result<Vec<String>> {
    floodmark_core::wire::Format::KNOWN
        .iter()
        .map(|format| read(&root.join(format!("testdata/positions/{}.json", format.name()))))
        .collect()
}

/// The wording of instructions, which holds its lines.
fn instructions(root: &Path, compiled: &compiled::Compiled) -> Result<instructions::Instructions> {
    compiled.with_set(|set| {
        let instructions = instructions::Instructions::new(&read(&root.join(instructions::RULES))?, &set.folds)?;
        instructions.verify(&set.folds)?;
        Ok(instructions)
    })
}

/// The rules under `root`, compiled.
fn compiled(root: &Path) -> Result<compiled::Compiled> {
    compiled::Compiled::new(rules::read_all(&root.join(RULES))?, folds::Folds::new(&read(&root.join(FOLDS))?)?)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
