//! Writes the detector of record: the table as bytes, the numbers beside it as Rust, and what its golden texts score.

use std::path::Path;

use anyhow::Context as _;
use floodmark_core::Detector;
use floodmark_core::detector::{Levels, Platt};
use serde::{Deserialize, Serialize};

use crate::events::Scorer;

use super::levels::{Calibrated, MEMBER, Table};
use super::own;
use super::recipe::FOLDER;

/// The files, from the repository's root.
pub const TABLE: &str = "tables/src/generated/detector.bin";
pub const SOURCE: &str = "tables/src/generated/detector.rs";
pub const GOLDEN: &str = "testdata/detector/golden.jsonl";
/// What the line of [`SOURCE`] begins with that names what it was trained from.
const INPUTS: &str = "//! Fingerprint of rules/detector: ";

/// A text and its score, to be the same natively, in wasm, in a browser and here.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Golden {
    text: String,
    #[serde(default)]
    score: f64,
}

/// Version of a detector: the recipe's, and the hash of table and numbers.
pub fn version(recipe_version: &str, table: &Table, found: &Calibrated) -> String {
    version_of(recipe_version, table, found.platt, found.levels)
}

fn version_of(recipe_version: &str, table: &Table, platt: Platt, levels: Levels) -> String {
    let mut hash = blake3::Hasher::new();
    hash.update(&table.weights);
    for number in [table.unit, table.bias, platt.slope, platt.offset, levels.tau_event, levels.event_block, levels.drift, levels.alarm] {
        hash.update(&number.to_le_bytes());
    }
    format!("{recipe_version}-{}", &hash.finalize().to_hex()[..12])
}

/// Writes the detector under the repository's root `root`.
///
/// # Errors
/// When a file cannot be read or written.
pub fn write(root: &Path, table: &Table, found: &Calibrated, version: &str) -> anyhow::Result<()> {
    put(&root.join(TABLE), &table.weights)?;
    put(&root.join(SOURCE), source(table, found, version, &inputs(root)?).as_bytes())?;
    let path = root.join(GOLDEN);
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let members = table.members(found.platt);
    let detector = Detector { members: &members, levels: found.levels, version };
    let mut scorer = Scorer::new(&detector);
    let mut golden = String::new();
    for line in text.lines() {
        let mut case: Golden = serde_json::from_str(line).with_context(|| format!("in {}", path.display()))?;
        case.score = scorer.score(&case.text);
        golden += &serde_json::to_string(&case)?;
        golden.push('\n');
    }
    put(&path, golden.as_bytes())
}

fn put(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// Fingerprint of the recipe and our own texts under the repository's root.
fn inputs(root: &Path) -> anyhow::Result<String> {
    let folder = root.join(FOLDER);
    let mut hash = blake3::Hasher::new();
    for path in own::paths(&folder.join("texts"))?.into_iter().chain([folder.join("recipe.toml")]) {
        let bytes = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        hash.update(blake3::hash(&bytes).as_bytes());
    }
    Ok(hash.finalize().to_hex()[..16].to_owned())
}

/// `tables/src/generated/detector.rs`.
fn source(table: &Table, found: &Calibrated, version: &str, inputs: &str) -> String {
    let (platt, levels) = (found.platt, found.levels);
    format!(
        r#"//! The detector of record: written by `cargo xtask train detector` from rules/detector and the data that rules/detector/README.md lists, with their licences.
{INPUTS}{inputs}
//! Do not edit: change the recipe and run the command again.

use floodmark_core::detector::{{Detector, Levels, LinearModel, Member, Model, Platt}};

/// The detector of record.
#[rustfmt::skip]
pub static DETECTOR: Detector<'static> = Detector {{
    members: &[Member {{
        name: "{MEMBER}",
        model: Model::Linear(LinearModel {{
            weights: include_bytes!("detector.bin"),
            unit: {:?},
            bias: {:?},
            platt: Platt {{ slope: {:?}, offset: {:?} }},
        }}),
    }}],
    levels: Levels {{ tau_event: {:?}, event_block: {:?}, drift: {:?}, alarm: {:?}, caller_alarm: {:?} }},
    version: "{version}",
}};
"#,
        table.unit,
        table.bias,
        platt.slope,
        platt.offset,
        levels.tau_event,
        levels.event_block,
        levels.drift,
        levels.alarm,
        levels.caller_alarm
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use floodmark_core::detector::{LinearModel, Model};
    use floodmark_tables::DETECTOR;

    fn root() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
    }

    #[test]
    fn the_version_is_that_of_the_table_and_its_numbers() {
        let Model::Linear(LinearModel { weights, unit, bias, platt }) = DETECTOR.members[0].model;
        let recipe = super::super::recipe::Recipe::read(&root().join(FOLDER)).unwrap();
        assert_eq!(weights.len(), 1 << recipe.bits);
        let table = Table { weights: weights.to_vec(), unit, bias };
        assert_eq!(version_of(&recipe.version, &table, platt, DETECTOR.levels), DETECTOR.version);
    }

    #[test]
    fn the_table_was_trained_from_the_recipe_and_the_texts_that_are_here() {
        let source = std::fs::read_to_string(root().join(SOURCE)).unwrap();
        let named = source.lines().find_map(|line| line.strip_prefix(INPUTS)).expect("a line that names the fingerprint");
        assert_eq!(named, inputs(&root()).unwrap(), "rules/detector changed: run `cargo xtask train detector --data ../shared/data`");
    }
}
