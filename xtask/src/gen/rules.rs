//! Reads `rules/categories/*.toml` and refuses what is not a complete, well-formed rule.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use floodmark_core::limits::MAX_CATEGORIES;
use serde::Deserialize;

use super::subset::{self, Phrase};

/// One category: what stands in its file.
#[derive(Debug)]
pub struct Category {
    /// The file's name without `.toml`.
    pub name: String,
    /// What a hit adds to its turn, 0 to 1.
    pub weight: f64,
    /// In the file's order.
    pub patterns: Vec<Pattern>,
}

/// One pattern with its examples.
#[derive(Debug)]
pub struct Pattern {
    /// The rule id, `category.short_id`.
    pub id: String,
    /// As written, in the syntax of [`subset`].
    #[cfg(test)]
    pub pattern: String,
    /// The same, read.
    pub phrase: Phrase,
    /// Lines that it must hit.
    pub must_match: Vec<String>,
    /// Lines that no pattern of its category may hit.
    pub must_not_match: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileForm {
    category: String,
    weight: f64,
    summary: String,
    pattern: Vec<PatternForm>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PatternForm {
    id: String,
    pattern: String,
    reason: String,
    must_match: Vec<String>,
    must_not_match: Vec<String>,
}

/// All categories in `folder`, by file name.
///
/// # Errors
/// An unreadable file, or the first bad rule: file, pattern and what to do.
pub fn read_all(folder: &Path) -> Result<Vec<Category>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut names = BTreeSet::new();
    for entry in entries {
        let path = entry?.path();
        let stem = path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned);
        match (stem, path.extension().is_some_and(|extension| extension == "toml")) {
            (Some(stem), true) => names.insert(stem),
            _ => bail!("{}: only NAME.toml files belong here; move it away", path.display()),
        };
    }
    ensure!(!names.is_empty(), "{}: no rules found", folder.display());
    ensure!(names.len() <= MAX_CATEGORIES, "{}: at most {MAX_CATEGORIES} categories; merge some", folder.display());
    names.iter().map(|name| parse(name, &super::read(&folder.join(format!("{name}.toml")))?)).collect()
}

/// The category `name` from the text of its file.
///
/// # Errors
/// The first thing wrong: file, pattern and what to do.
pub fn parse(name: &str, text: &str) -> Result<Category> {
    let file = format!("{}/{name}.toml", super::RULES);
    let form: FileForm = toml::from_str(text).with_context(|| file.clone())?;
    ensure!(form.category == name, "{file}: `category` is {:?}; it must be the file's name, {name:?}", form.category);
    ensure!(is_name(name), "{file}: a category's name is made of a-z, 0-9 and _; rename the file");
    ensure!((0.0..=1.0).contains(&form.weight), "{file}: `weight` is {}; it must be from 0 to 1", form.weight);
    ensure!(!form.summary.trim().is_empty(), "{file}: `summary` is empty; say what the category is about");
    ensure!(!form.pattern.is_empty(), "{file}: no [[pattern]]; add one or remove the file");
    let mut ids = BTreeSet::new();
    let mut patterns = Vec::new();
    for form in form.pattern {
        let at = format!("{file}: pattern {:?}", form.id);
        ensure!(ids.insert(form.id.clone()), "{at}: the id is used twice; rename one");
        patterns.push(pattern(name, form).with_context(|| at)?);
    }
    Ok(Category { name: name.to_owned(), weight: form.weight, patterns })
}

fn pattern(category: &str, form: PatternForm) -> Result<Pattern> {
    ensure!(is_name(&form.id), "an id is made of a-z, 0-9 and _; rename it");
    ensure!(!form.reason.trim().is_empty(), "`reason` is empty; say what the phrase does in an attack");
    for (key, lines) in [("must_match", &form.must_match), ("must_not_match", &form.must_not_match)] {
        let distinct: BTreeSet<_> = lines.iter().collect();
        ensure!(distinct.len() >= 2, "`{key}` has {} distinct lines; give at least two", distinct.len());
        ensure!(distinct.len() == lines.len(), "`{key}` has a line twice; replace one");
    }
    let phrase = subset::parse(&form.pattern)?;
    let id = format!("{category}.{}", form.id);
    Ok(Pattern {
        id,
        #[cfg(test)]
        pattern: form.pattern,
        phrase,
        must_match: form.must_match,
        must_not_match: form.must_not_match,
    })
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
}
