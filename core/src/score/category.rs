//! Category hits: which patterns of a set occur in a folded text, and which categories they belong to.

use alloc::vec::Vec;

use super::automaton::Automaton;

/// A category of attack phrases (DESIGN.md 7; the four of arXiv 2602.11247 are the default set).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CategoryInfo<'t> {
    /// Its name in config, metrics and reports, for example `role_confusion`.
    pub name: &'t str,
    /// What a turn that hits it adds to the turn's score, 0 to 1, unless the config says otherwise.
    pub weight: f64,
}

/// A pattern of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PatternInfo<'t> {
    /// Its rule id, `category.name`; shown to clients and operators, never the pattern itself.
    pub id: &'t str,
    /// Index of its category in [`CategorySet::categories`].
    pub category: u8,
    /// Longest text it can match, in bytes of the folded view.
    pub longest_bytes: u16,
}

/// Categories, their patterns and the automaton that finds them. Filled by `floodmark-tables`; tests use tiny ones.
#[derive(Clone, Copy, Debug)]
pub struct CategorySet<'t> {
    /// At most [`crate::limits::MAX_CATEGORIES`].
    pub categories: &'t [CategoryInfo<'t>],
    /// In the order of the automaton's pattern numbers.
    pub patterns: &'t [PatternInfo<'t>],
    /// Runs over folded text ([`crate::text::Folded`]).
    pub automaton: Automaton<'t>,
    /// First 16 hex digits of the blake3 hash of the tables; logged at VM start.
    pub fingerprint: &'t str,
}

/// The first place where a pattern matched, as byte offsets into the scanned (folded) text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Index into [`CategorySet::patterns`].
    pub pattern: u16,
    /// Offset behind the match's last byte.
    pub end: usize,
}

impl CategorySet<'_> {
    /// Finds the patterns that occur in `folded`, each once, in order of their first end. Linear in the text.
    pub fn scan(&self, folded: &str) -> Vec<Hit> {
        let mut hits: Vec<Hit> = Vec::new();
        self.automaton.scan(folded.as_bytes(), |end, patterns| {
            for &pattern in patterns {
                if hits.iter().all(|hit| hit.pattern != pattern) {
                    hits.push(Hit { pattern, end });
                }
            }
        });
        hits
    }

    /// Byte range of `hit` in the text that was scanned.
    pub fn span(&self, folded: &str, hit: Hit) -> (usize, usize) {
        let longest = self.patterns.get(usize::from(hit.pattern)).map_or(0, |pattern| usize::from(pattern.longest_bytes));
        (self.automaton.latest_start(folded.as_bytes(), hit.pattern, hit.end, longest), hit.end)
    }

    /// The bit of a pattern's category in a mask of categories.
    pub fn category_bit(&self, pattern: u16) -> u32 {
        let category = self.patterns.get(usize::from(pattern)).map_or(u32::MAX, |pattern| u32::from(pattern.category));
        1u32.checked_shl(category).unwrap_or(0)
    }
}
