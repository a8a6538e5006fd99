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
    pub own_attack_weight: f64,
    pub own_benign_weight: f64,
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
    pub caller_run_length_events: u64,
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
        recipe.check().with_context(|| format!("{shown} is no recipe"))?;
        Ok(recipe)
    }

    /// Whether a training can take these numbers.
    fn check(&self) -> anyhow::Result<()> {
        let Recipe { samples, fit, table, levels, .. } = self;
        for (key, number, least, most) in [
            ("bits", f64::from(self.bits), 8.0, 20.0),
            ("samples.balance", samples.balance, 0.0, 1.0),
            ("samples.own_attack_weight", samples.own_attack_weight, 1e-6, 10.0),
            ("samples.own_benign_weight", samples.own_benign_weight, 1e-6, 10.0),
            ("samples.piece_bytes", samples.piece_bytes as f64, 100.0, 1e6),
            ("fit.cost", fit.cost, 1e-6, 1e6),
            ("fit.word_scale", fit.word_scale, 0.0, 1e3),
            ("fit.rounds", fit.rounds as f64, 1.0, 100.0),
            ("fit.first_chunks", fit.first_chunks as f64, 1.0, 1e3),
            ("fit.attack_share", fit.attack_share, 0.0, 1.0),
            ("fit.passes", fit.passes as f64, 1.0, 1e4),
            ("table.largest_quantile", table.largest_quantile, 0.5, 1.0),
            ("levels.event_false_alarms", levels.event_false_alarms, 1e-4, 0.5),
            ("levels.trajectory_false_alarms", levels.trajectory_false_alarms, 1e-4, 0.5),
            ("levels.caller_run_length_events", levels.caller_run_length_events as f64, 1e3, 1e8),
            ("levels.drift_quantile", levels.drift_quantile, 0.0, 1.0),
        ] {
            // What is no number is in no range.
            anyhow::ensure!((least..=most).contains(&number), "{key} is {number}; give a number from {least} to {most}");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_no_training_can_take_are_refused() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(FOLDER);
        let text = std::fs::read_to_string(folder.join("recipe.toml")).unwrap();
        let refused = |from: &str, to: &str| {
            let folder = tempfile::tempdir().unwrap();
            assert!(text.contains(from), "{from}");
            std::fs::write(folder.path().join("recipe.toml"), text.replacen(from, to, 1)).unwrap();
            format!("{:#}", Recipe::read(folder.path()).unwrap_err())
        };
        assert!(Recipe::read(&folder).is_ok());
        assert!(refused("\nrounds = ", "\nrounds = 0 # ").contains("fit.rounds is 0"));
        assert!(refused("\ncost = ", "\ncost = nan # ").contains("fit.cost is NaN"));
        assert!(refused("\nlargest_quantile = ", "\nlargest_quantile = 2.0 # ").contains("table.largest_quantile is 2"));
        assert!(refused("\nrounds = ", "\nrouds = 1\nrounds = ").contains("rouds"));
    }
}
