//! Operators' own patterns: compiled when the configuration is read, looked for in every text, bounded in size and in work.
//!
//! A pattern is a regular expression ([`regex_lite`]) over folded text: what the views give ([`crate::text`]), any run of white space as one
//! space, in any case. Every match must hold a literal, which one pass over the text looks for; only around its places, at most
//! [`OPERATOR_WINDOW_BYTES`] to each side, the expression itself is run. So a text without the literals costs one pass, and no byte is run
//! twice for a pattern.

mod index;
mod literal;
mod window;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use regex_lite::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

use self::index::Index;
use self::window::{Places, Window};
#[cfg(doc)]
use crate::limits::OPERATOR_WINDOW_BYTES;
use crate::limits::{
    MAX_CATEGORIES, MAX_OPERATOR_COMPILED_BYTES, MAX_OPERATOR_NAME_BYTES, MAX_OPERATOR_PATTERN_BYTES, MAX_OPERATOR_PATTERNS,
    MAX_OPERATOR_SCAN_BYTES,
};
use crate::policy::{Policy, PolicyError};
use crate::score::CategorySet;

/// What the rule ids of operators' patterns begin with.
pub const PREFIX: &str = "operator.";

/// A pattern of the operator's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OperatorPattern {
    /// The rule's id in reports, logs and refusals: `operator.` and a name of lower-case letters, digits and underscores.
    pub id: String,
    /// The category that a hit counts for: one of the built-in ones, or a new one, which needs its weight in `weights`.
    pub category: String,
    /// A regular expression (syntax of the crate `regex-lite`) over text in which any run of white space is one space, in any case. Every match must hold
    /// three characters or more that stand in the pattern next to each other, outside groups, brackets and alternatives and without a space:
    /// they are looked for first. A match is found when it reaches at most 256 bytes to each side of them. No `^` and `$`, no flags, at most 256 bytes.
    pub pattern: String,
}

/// The compiled patterns of one policy.
#[derive(Clone, Debug, Default)]
pub struct OperatorPatterns {
    patterns: Vec<Compiled>,
    index: Index,
}

#[derive(Clone, Debug)]
struct Compiled {
    id: String,
    category: String,
    regex: Regex,
}

/// The first place where a pattern stands in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorHit {
    /// Number of the text.
    pub text: usize,
    /// Number of the pattern, in the order of the policy.
    pub pattern: usize,
    /// Bytes of the text.
    pub span: Range<usize>,
}

/// How far a pattern's search in one text has come.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Progress {
    /// Its literal was not met, or led to nothing.
    Nothing,
    /// To be run around these places, to which later ones may still come.
    Waiting(Places),
    Found,
}

impl OperatorPatterns {
    /// Compiles `patterns`. `fold` gives a text's folded view.
    ///
    /// # Errors
    /// The first pattern that cannot be used, with the key inside the policy and what would be right.
    #[cold]
    #[inline(never)]
    pub fn new(patterns: &[OperatorPattern], fold: impl Fn(&str) -> String) -> Result<Self, PolicyError> {
        if patterns.len() > MAX_OPERATOR_PATTERNS {
            let problem = format!("{} patterns are too many; give at most {MAX_OPERATOR_PATTERNS}", patterns.len());
            return Err(PolicyError { key: "patterns".to_string(), problem });
        }
        let mut compiled: Vec<Compiled> = Vec::new();
        let mut literals = Vec::new();
        for (number, pattern) in patterns.iter().enumerate() {
            let refused = |key: &str, problem: String| PolicyError { key: format!("patterns[{number}].{key}"), problem };
            check_id(&pattern.id).map_err(|problem| refused("id", problem))?;
            if compiled.iter().any(|other| other.id == pattern.id) {
                return Err(refused("id", format!("{:?} is there twice", pattern.id)));
            }
            if !is_name(&pattern.category) {
                return Err(refused("category", format!("{:?} must be lower-case letters, digits and underscores", pattern.category)));
            }
            let (literal, regex) = compile(&pattern.pattern, &fold).map_err(|problem| refused("pattern", problem))?;
            compiled.push(Compiled { id: pattern.id.clone(), category: pattern.category.clone(), regex });
            literals.push(literal);
        }
        Ok(OperatorPatterns { patterns: compiled, index: Index::new(literals) })
    }

    /// Number of patterns.
    pub fn len(&self) -> usize {
        self.patterns.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// The rule id of a pattern.
    pub fn id(&self, pattern: usize) -> Option<&str> {
        self.patterns.get(pattern).map(|pattern| pattern.id.as_str())
    }

    /// The name of a pattern's category.
    pub fn category(&self, pattern: usize) -> Option<&str> {
        self.patterns.get(pattern).map(|pattern| pattern.category.as_str())
    }

    /// Gives `found` the patterns that each of `texts` holds, each once a text. `false` when more had to be run than
    /// [`MAX_OPERATOR_SCAN_BYTES`], so that some may have been missed. Linear in the texts.
    #[must_use = "what was not looked at must be reported"]
    pub fn scan<'v>(&self, texts: impl Iterator<Item = &'v str>, mut found: impl FnMut(OperatorHit)) -> bool {
        if self.is_empty() {
            return true;
        }
        let mut budget_bytes = MAX_OPERATOR_SCAN_BYTES;
        let mut whole = true;
        let mut progress = vec![Progress::Nothing; self.patterns.len()];
        for (number, text) in texts.enumerate() {
            progress.fill(Progress::Nothing);
            let mut run = |pattern: usize, places: &Places| {
                let mut window = Window::around(text, places);
                whole &= window.cap(text, &mut budget_bytes);
                let span = self.patterns.get(pattern).and_then(|compiled| window.find(text, &compiled.regex))?;
                found(OperatorHit { text: number, pattern, span });
                Some(Progress::Found)
            };
            self.index.find(text.as_bytes(), |pattern, at, end| {
                let Some(progress) = progress.get_mut(pattern) else { return };
                let ran = match progress {
                    Progress::Found => return,
                    Progress::Nothing => None,
                    Progress::Waiting(places) => {
                        if places.take(text.as_bytes(), at, end) {
                            return;
                        }
                        run(pattern, places)
                    }
                };
                *progress = ran.unwrap_or_else(|| Progress::Waiting(Places::new(at, end)));
            });
            for (pattern, progress) in progress.iter().enumerate() {
                if let Progress::Waiting(places) = progress {
                    run(pattern, places);
                }
            }
        }
        whole
    }
}

/// The categories that the policy's own patterns name and `set` does not have, in the order of the patterns.
///
/// # Errors
/// A category without a weight, or one too many.
#[cold]
#[inline(never)]
pub(crate) fn new_categories(policy: &Policy, set: &CategorySet<'_>) -> Result<Vec<String>, PolicyError> {
    let mut found: Vec<String> = Vec::new();
    for (number, pattern) in policy.patterns.iter().enumerate() {
        let name = &pattern.category;
        if set.categories.iter().any(|category| category.name == name) || found.contains(name) {
            continue;
        }
        let refused = |problem| PolicyError { key: format!("patterns[{number}].category"), problem };
        if !policy.weights.contains_key(name) {
            let known: Vec<&str> = set.categories.iter().map(|category| category.name).collect();
            let known = known.join(", ");
            return Err(refused(format!("{name:?} is a new category; give its weight under weights.{name}, or use one of {known}")));
        }
        if set.categories.len() + found.len() >= MAX_CATEGORIES {
            return Err(refused(format!("one category too many: {MAX_CATEGORIES} are allowed, with the built-in ones")));
        }
        found.push(name.clone());
    }
    Ok(found)
}

fn check_id(id: &str) -> Result<(), String> {
    match id.strip_prefix(PREFIX) {
        Some(name) if is_name(name) => Ok(()),
        _ => Err(format!(
            "{id:?} must be `{PREFIX}` and a name of lower-case letters, digits and underscores, for example `{PREFIX}code_names`"
        )),
    }
}

/// Names end up in logs, metrics and replies.
fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    (1..=MAX_OPERATOR_NAME_BYTES).contains(&name.len()) && name.bytes().all(plain)
}

/// The literal that every match holds, and the expression.
#[cold]
#[inline(never)]
fn compile(pattern: &str, fold: impl Fn(&str) -> String) -> Result<(String, Regex), String> {
    if pattern.len() > MAX_OPERATOR_PATTERN_BYTES {
        return Err(format!("{} bytes are too long; use at most {MAX_OPERATOR_PATTERN_BYTES}, or several patterns", pattern.len()));
    }
    let regex = RegexBuilder::new(pattern).case_insensitive(true).size_limit(MAX_OPERATOR_COMPILED_BYTES).build();
    let regex = regex.map_err(|problem| format!("is no regular expression that can be used: {problem}"))?;
    let mut buffer = [0; 4];
    for letter in pattern.chars().filter(|letter| !letter.is_ascii()) {
        let letter = &*letter.encode_utf8(&mut buffer);
        let folded = fold(letter);
        if folded != letter {
            return Err(format!("{letter:?} never stands in folded text, where it is {folded:?}; write it so"));
        }
    }
    Ok((literal::required(pattern)?, regex))
}

#[cfg(test)]
mod tests;
