//! Holds every rule to its own examples, with the tables just made and the core's own scan.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};

use super::compiled::Compiled;
use super::rules::Category;

/// Checks all `must_match` and `must_not_match` lines, and that each category has lines of its own.
///
/// # Errors
/// The first line that does not hold: file, pattern, line and what to do.
pub fn lines(compiled: &Compiled) -> Result<()> {
    for category in &compiled.categories {
        let file = format!("{}/{}.toml", super::RULES, category.name);
        for pattern in &category.patterns {
            let at = format!("{file}: pattern {:?}", pattern.id);
            for line in &pattern.must_match {
                let hits = hits(compiled, line);
                ensure!(hits.contains(&pattern.id), "{at} does not match {line:?} (hits: {hits:?}): widen it or change the line");
            }
            for line in &pattern.must_not_match {
                let hits = hits(compiled, line);
                let own = hits.iter().find(|id| belongs(category, id));
                ensure!(own.is_none(), "{at}: its must_not_match line {line:?} hits {hits:?}: narrow that pattern or change the line");
            }
        }
        ensure!(
            !own_lines(compiled, category).is_empty(),
            "{file}: every must_match line hits another category too: add one that does not"
        );
    }
    Ok(())
}

/// The ids of the patterns that occur in `text`.
pub fn hits(compiled: &Compiled, text: &str) -> BTreeSet<String> {
    compiled.with_set(|set| {
        let hits = set.scan_text(text);
        hits.iter().filter_map(|hit| set.patterns.get(usize::from(hit.pattern))).map(|info| info.id.to_owned()).collect()
    })
}

/// The `must_match` lines that hit `category` and no other.
pub fn own_lines<'c>(compiled: &Compiled, category: &'c Category) -> Vec<&'c str> {
    let alone = |line: &&str| hits(compiled, line).iter().all(|id| belongs(category, id));
    category.patterns.iter().flat_map(|pattern| &pattern.must_match).map(String::as_str).filter(alone).collect()
}

fn belongs(category: &Category, id: &str) -> bool {
    id.strip_prefix(category.name.as_str()).is_some_and(|rest| rest.starts_with('.'))
}
