//! Writes the detector of record: the table as bytes, the numbers beside it as Rust, and what its golden texts score.

use std::path::Path;

use anyhow::Context as _;
use floodmark_core::Detector;
use floodmark_core::detector::{Member, Model};
use serde::{Deserialize, Serialize};

use crate::events::Scorer;

use super::levels::{Calibrated, Table};

/// The files, from the repository's root.
pub const TABLE: &str = "tables/src/generated/detector.bin";
pub const SOURCE: &str = "tables/src/generated/detector.rs";
pub const GOLDEN: &str = "testdata/detector/golden.jsonl";

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
    let mut hash = blake3::Hasher::new();
    hash.update(&table.weights);
    let levels = found.levels;
    for number in
        [table.unit, table.bias, found.platt.slope, found.platt.offset, levels.tau_event, levels.event_block, levels.drift, levels.alarm]
    {
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
    put(&root.join(SOURCE), source(table, found, version).as_bytes())?;
    let path = root.join(GOLDEN);
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let members = [Member { name: "linear", model: Model::Linear(table.model(found.platt)) }];
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

/// `tables/src/generated/detector.rs`.
fn source(table: &Table, found: &Calibrated, version: &str) -> String {
    let (platt, levels) = (found.platt, found.levels);
    format!(
        r#"//! The detector of record: written by `cargo xtask train detector` from rules/detector and the data that rules/detector/README.md lists, with their licences.
//! Do not edit: change the recipe and run the command again.

use floodmark_core::detector::{{Detector, Levels, LinearModel, Member, Model, Platt}};

/// The detector of record.
#[rustfmt::skip]
pub static DETECTOR: Detector<'static> = Detector {{
    members: &[Member {{
        name: "linear",
        model: Model::Linear(LinearModel {{
            weights: include_bytes!("detector.bin"),
            unit: {:?},
            bias: {:?},
            platt: Platt {{ slope: {:?}, offset: {:?} }},
        }}),
    }}],
    levels: Levels {{ tau_event: {:?}, event_block: {:?}, drift: {:?}, alarm: {:?} }},
    version: "{version}",
}};
"#,
        table.unit, table.bias, platt.slope, platt.offset, levels.tau_event, levels.event_block, levels.drift, levels.alarm
    )
}
