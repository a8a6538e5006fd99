//! The rules with everything that is made from them.

use anyhow::{Context as _, Result, ensure};
use floodmark_core::score::category::{CategoryInfo, CategorySet, PatternInfo};
use floodmark_core::score::filter::{FILTER_WORDS, Filter};

use super::PATTERNS_BUDGET_BYTES;
use super::folds::Folds;
use super::rules::{Category, Pattern};
use super::{program, spellings, tails};

/// The rules and the tables made from them.
pub struct Compiled {
    /// In table order.
    pub categories: Vec<Category>,
    programs: Vec<program::Program>,
    filter: Box<[u64; FILTER_WORDS]>,
    tails: tails::Tables,
    folds: Folds,
    fingerprint: String,
}

impl Compiled {
    /// Compiles the patterns of `categories`.
    ///
    /// # Errors
    /// A pattern that has no program, or tables over their budget.
    pub fn new(categories: Vec<Category>, folds: Folds) -> Result<Self> {
        let patterns: Vec<_> = categories.iter().flat_map(|category| &category.patterns).collect();
        let write = |pattern: &&Pattern| program::write(&pattern.phrase).with_context(|| format!("pattern {:?}", pattern.id));
        let programs = patterns.iter().map(write).collect::<Result<Vec<_>>>()?;
        let filter = spellings::filter(patterns.iter().map(|pattern| &pattern.phrase));
        let tails = tails::Tables::new(&patterns.iter().filter_map(|pattern| pattern.phrase.pieces.last()).collect::<Vec<_>>())?;
        let mut compiled = Compiled { categories, programs, filter, tails, folds, fingerprint: String::new() };
        let bytes = compiled.with_set(pattern_bytes);
        ensure!(
            bytes <= PATTERNS_BUDGET_BYTES,
            "the patterns' tables take {bytes} of {PATTERNS_BUDGET_BYTES} bytes: take alternatives out of the patterns' ends"
        );
        compiled.fingerprint = compiled.with_set(super::emit::digest);
        compiled.fingerprint.truncate(16);
        Ok(compiled)
    }

    /// Calls `run` with the rules as the core sees them.
    pub fn with_set<T>(&self, run: impl FnOnce(&CategorySet<'_>) -> T) -> T {
        let categories: Vec<_> =
            self.categories.iter().map(|category| CategoryInfo { name: &category.name, weight: category.weight }).collect();
        let numbered =
            (0u8..).zip(&self.categories).flat_map(|(number, category)| category.patterns.iter().map(move |pattern| (number, pattern)));
        let patterns: Vec<_> = numbered
            .zip(&self.programs)
            .map(|((category, pattern), program)| PatternInfo {
                id: &pattern.id,
                category,
                program: &program.bytes,
                gap_at: program.gap_at,
            })
            .collect();
        run(&CategorySet {
            categories: &categories,
            patterns: &patterns,
            filter: Filter { bits: &self.filter },
            tails: self.tails.tails(),
            folds: self.folds.table(),
            fingerprint: &self.fingerprint,
        })
    }
}

/// What the patterns take in the data section.
pub fn pattern_bytes(set: &CategorySet<'_>) -> usize {
    8 * set.filter.bits.len() + set.tails.size_bytes() + set.patterns.iter().map(|pattern| pattern.program.len()).sum::<usize>()
}
