//! The recipe: every number that the training takes, from `rules/detector/recipe.toml`.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;
use serde::Deserialize;

/// Where the recipe and the texts are, from the repository's root.
pub const FOLDER: &str = "rules/detector";

/// The numbers of a training; rules/detector/recipe.toml says what each is.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Version of the detector.
    pub version: String,
    /// Binary logarithm of the number of buckets.
    pub bits: u32,
    /// Seed of every draw.
    pub seed: u64,
    pub samples: Samples,
    pub fit: Fit,
    pub table: Table,
    pub levels: Levels,
    /// Versions by name.
    pub crates: BTreeMap<String, String>,
}

/// Which texts count, and how much.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Samples {
    pub benign_per_source: usize,
    pub attacks_per_source: usize,
    pub balance: f64,
    pub own_weight: f64,
    pub own_fillings: usize,
    pub piece_bytes: usize,
    pub pieces_per_source_file: usize,
}

/// How the weights are found.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fit {
    pub cost: f64,
    pub word_scale: f64,
    pub rounds: usize,
    pub first_chunks: usize,
    pub attack_share: f64,
    pub passes: usize,
}

/// How weights become bytes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    pub largest_quantile: f64,
}

/// How the levels are found.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Levels {
    pub event_false_alarms: f64,
    pub trajectory_false_alarms: f64,
    pub drift_quantile: f64,
}

impl Recipe {
    /// Reads the recipe of a folder.
    ///
    /// # Errors
    /// When it cannot be read, or has a key too many or too few; the error names the line.
    pub fn read(folder: &Path) -> anyhow::Result<Self> {
        let path = folder.join("recipe.toml");
        let shown = path.display();
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {shown}"))?;
        let recipe: Recipe = toml::from_str(&text).with_context(|| format!("{shown} is no recipe"))?;
        anyhow::ensure!((8..=20).contains(&recipe.bits), "{shown}: bits is {}; give a number from 8 to 20", recipe.bits);
        Ok(recipe)
    }
}
