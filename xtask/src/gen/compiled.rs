//! The rules with everything that is made from them.

use anyhow::{Result, ensure};
use floodmark_core::score::category::{CategoryInfo, CategorySet, PatternInfo};

use super::PATTERNS_BUDGET_BYTES;
use super::folds::Folds;
use super::grams::{self, Tables};
use super::program;
use super::rules::Category;

/// The rules and the tables made from them.
pub struct Compiled {
    /// In table order.
    pub categories: Vec<Category>,
    programs: Vec<Vec<u8>>,
    tables: Tables,
    folds: Folds,
    fingerprint: String,
}

impl Compiled {
    /// Compiles the patterns of `categories`.
    ///
    /// # Errors
    /// A pattern that has no program or too many spellings, or tables over their budget.
    pub fn new(categories: Vec<Category>, folds: Folds) -> Result<Self> {
        let (mut programs, mut spellings) = (Vec::new(), Vec::new());
        for pattern in categories.iter().flat_map(|category| &category.patterns) {
            let named = |error: anyhow::Error| error.context(format!("pattern {:?}", pattern.id));
            programs.push(program::write(&pattern.phrase).map_err(named)?);
            spellings.push(grams::spellings(&pattern.phrase).map_err(named)?);
        }
        let tables = Tables::new(&spellings)?;
        let mut compiled = Compiled { categories, programs, tables, folds, fingerprint: String::new() };
        let bytes = compiled.with_set(pattern_bytes);
        ensure!(
            bytes <= PATTERNS_BUDGET_BYTES,
            "grams and programs take {bytes} of {PATTERNS_BUDGET_BYTES} bytes: take alternatives out of the patterns' ends"
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
        let patterns: Vec<_> =
            numbered.zip(&self.programs).map(|((category, pattern), program)| PatternInfo { id: &pattern.id, category, program }).collect();
        run(&CategorySet {
            categories: &categories,
            patterns: &patterns,
            grams: self.tables.grams(),
            folds: self.folds.table(),
            fingerprint: &self.fingerprint,
        })
    }
}

/// What the patterns take in the data section: grams and programs.
pub fn pattern_bytes(set: &CategorySet<'_>) -> usize {
    set.grams.size_bytes() + set.patterns.iter().map(|pattern| pattern.program.len()).sum::<usize>()
}
