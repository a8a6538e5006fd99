//! Generated static data for Floodmark. Written by `cargo xtask gen` and `cargo xtask train` from `rules/`; `fingerprints.csv` lists each table's size and hash.
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used))]

mod generated {
    pub mod categories;
    pub mod detector;
    pub mod folds;
    pub mod instructions;
}

use floodmark_core::Tables;
pub use generated::categories::CATEGORIES;
pub use generated::detector::DETECTOR;
pub use generated::instructions::INSTRUCTIONS;

/// All of them, as a judge takes them.
pub static TABLES: Tables<'static> = Tables { categories: &CATEGORIES, detector: Some(&DETECTOR), instructions: Some(&INSTRUCTIONS) };
/// Those for patterns alone, for measuring and testing what they do.
pub static PATTERNS: Tables<'static> = Tables { detector: None, ..TABLES };

#[cfg(test)]
mod tests {
    use super::{CATEGORIES, DETECTOR, INSTRUCTIONS};
    use floodmark_core::detector::Model;
    use floodmark_core::limits::MAX_CATEGORIES;

    const FINGERPRINTS: &str = include_str!("../fingerprints.csv");

    /// The columns of the row `name`: bytes, blake3, budget in bytes.
    fn row(name: &str) -> [&str; 3] {
        let line = FINGERPRINTS.lines().find(|line| line.split(',').next() == Some(name)).expect("a row of this name");
        let mut columns = line.split(',').skip(1);
        [columns.next(), columns.next(), columns.next()].map(|column| column.expect("four columns"))
    }

    #[test]
    fn no_look_up_leaves_the_tables() {
        assert_eq!(CATEGORIES.tails.check(CATEGORIES.patterns.len()), Ok(()));
        assert!(CATEGORIES.categories.len() <= MAX_CATEGORIES);
        assert!(CATEGORIES.patterns.iter().all(|pattern| usize::from(pattern.category) < CATEGORIES.categories.len()));
    }

    #[test]
    fn the_listed_size_is_the_size_and_within_budget() {
        let programs: usize = CATEGORIES.patterns.iter().map(|pattern| pattern.program.len()).sum();
        for (name, size) in [
            ("categories", 8 * CATEGORIES.filter.bits.len() + CATEGORIES.tails.size_bytes() + programs),
            ("folds", CATEGORIES.folds.size_bytes()),
            ("instructions", INSTRUCTIONS.phrases.iter().map(|phrase| phrase.words.len() + 12).sum()),
            (
                "detector",
                DETECTOR
                    .members
                    .iter()
                    .map(|member| match member.model {
                        Model::Linear(model) => model.weights.len(),
                    })
                    .sum(),
            ),
        ] {
            let [bytes, _, budget] = row(name);
            assert_eq!(bytes.parse(), Ok(size), "{name}");
            assert!(size <= budget.parse().expect("a number"), "{name}: {size} bytes are over the budget of {budget}");
        }
        let [_, hash, _] = row("categories");
        assert!(hash.starts_with(CATEGORIES.fingerprint) && CATEGORIES.fingerprint.len() == 16);
    }

    #[test]
    fn the_detectors_levels_are_apart() {
        let levels = DETECTOR.levels;
        assert!(
            0.0 < levels.drift && levels.drift < levels.event_block && levels.tau_event < levels.event_block && levels.event_block < 1.0
        );
        // One event cannot alarm, whatever its score: that is the blocking level's part.
        assert!(levels.alarm >= 1.0 - levels.drift);
    }

    #[test]
    fn every_id_is_its_categorys_own() {
        for (number, pattern) in CATEGORIES.patterns.iter().enumerate() {
            let category = CATEGORIES.categories[usize::from(pattern.category)].name;
            assert_eq!(pattern.id.split('.').next(), Some(category), "{}", pattern.id);
            assert!(CATEGORIES.patterns[..number].iter().all(|other| other.id != pattern.id), "{} is there twice", pattern.id);
        }
        assert!(CATEGORIES.categories.iter().all(|category| (0.0..=1.0).contains(&category.weight)));
    }
}
