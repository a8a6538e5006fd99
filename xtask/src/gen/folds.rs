//! Makes the fold table from Unicode's data and rules/folds.toml.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use floodmark_core::text::FoldTable;
use floodmark_core::text::fold_table::{BLOCK, value};
use regex_syntax::hir::{Class, ClassUnicode, HirKind};
use serde::Deserialize;
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// Most bytes that the table may take in the module's data section (performance.md).
pub const FOLDS_BUDGET_BYTES: usize = 60_000;
/// Scripts whose letters are used for Latin ones.
const LOOKALIKE_SCRIPTS: [&str; 5] = ["Greek", "Cyrillic", "Armenian", "Cherokee", "Coptic"];
/// Where alphabets of 26 letters begin that Unicode calls symbols: white in circles, white in squares, and of flags.
const ALPHABETS: [u32; 3] = [0x1_f150, 0x1_f170, 0x1_f1e6];
/// The end of plane 1. What lies behind it folds by code (tags, variation selectors) or not at all: ideographs.
const END: u32 = 0x2_0000;

/// A [`FoldTable`], owned.
pub struct Folds {
    blocks: Vec<u16>,
    values: Vec<u16>,
    strings: String,
    offsets: Vec<u16>,
}

/// What stands in rules/folds.toml: by ASCII text, the characters that become it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    text: BTreeMap<String, String>,
    lookalikes: BTreeMap<String, String>,
}

/// What one character becomes.
enum To {
    Value(u16),
    Text(String),
    Lookalike(char, String),
}

impl Folds {
    /// The table, with the hand-written folds in the text of rules/folds.toml.
    ///
    /// # Errors
    /// A malformed file, or a table over its budget.
    pub fn new(hand: &str) -> Result<Self> {
        let form: Form = toml::from_str(hand).context("rules/folds.toml")?;
        let unicode = Unicode::new(&form)?;
        let mut strings: BTreeMap<String, u16> = BTreeMap::new();
        let mut folds = Folds { blocks: Vec::new(), values: Vec::new(), strings: String::new(), offsets: vec![0] };
        let mut blocks: BTreeMap<Vec<u16>, u16> = BTreeMap::new();
        let mut block = Vec::new();
        for point in 0..END {
            let to = char::from_u32(point).map_or(To::Value(value::KEEP), |letter| unicode.fold(letter));
            block.push(match to {
                To::Value(value) => value,
                To::Text(text) => value::TEXT | folds.string(text, &mut strings)?,
                To::Lookalike(latin, text) => value::LOOKALIKE | folds.string(format!("{latin}{text}"), &mut strings)?,
            });
            if block.len() == BLOCK {
                let next = u16::try_from(blocks.len())?;
                let number = *blocks.entry(block.clone()).or_insert_with(|| {
                    folds.values.extend(&block);
                    next
                });
                folds.blocks.push(number);
                block.clear();
            }
        }
        let size = folds.table().size_bytes();
        ensure!(size <= FOLDS_BUDGET_BYTES, "the fold table takes {size} of {FOLDS_BUDGET_BYTES} bytes");
        Ok(folds)
    }

    /// The table as the core sees it.
    pub fn table(&self) -> FoldTable<'_> {
        FoldTable { blocks: &self.blocks, values: &self.values, strings: &self.strings, offsets: &self.offsets }
    }

    /// The number of a string, which is added if it is new.
    fn string(&mut self, text: String, known: &mut BTreeMap<String, u16>) -> Result<u16> {
        if let Some(&number) = known.get(&text) {
            return Ok(number);
        }
        let number = u16::try_from(known.len())?;
        ensure!(number < value::TEXT, "more strings than a value can number");
        self.strings += &text;
        self.offsets.push(u16::try_from(self.strings.len()).context("more than 64 KB of strings")?);
        known.insert(text, number);
        Ok(number)
    }
}

/// Unicode's data, as crates carry it.
struct Unicode {
    ignorable: ClassUnicode,
    letters: ClassUnicode,
    latin: ClassUnicode,
    lookalike_scripts: Vec<ClassUnicode>,
    text: BTreeMap<char, String>,
    lookalikes: BTreeMap<char, char>,
}

impl Unicode {
    fn new(form: &Form) -> Result<Self> {
        let mut text = BTreeMap::new();
        for (to, from) in &form.text {
            ensure!(to.len() == 1 && to.is_ascii(), "rules/folds.toml: text: {to:?} must be one ASCII character");
            text.extend(from.chars().map(|letter| (letter, to.clone())));
        }
        let mut lookalikes = BTreeMap::new();
        for (to, from) in &form.lookalikes {
            let latin = to.chars().next().filter(|letter| to.len() == 1 && letter.is_ascii_lowercase());
            let latin = latin.with_context(|| format!("rules/folds.toml: lookalikes: {to:?} must be one letter from a to z"))?;
            lookalikes.extend(from.chars().map(|letter| (letter, latin)));
        }
        Ok(Unicode {
            ignorable: class(r"[\p{Default_Ignorable_Code_Point}\u{FFF9}-\u{FFFB}]")?,
            letters: class(r"[\p{L}\p{N}]")?,
            latin: class(r"\p{Latin}")?,
            lookalike_scripts: LOOKALIKE_SCRIPTS.iter().map(|script| class(&format!(r"\p{{{script}}}"))).collect::<Result<_>>()?,
            text,
            lookalikes,
        })
    }

    fn fold(&self, letter: char) -> To {
        if letter.is_ascii() {
            return To::Value(value::KEEP);
        }
        if holds(&self.ignorable, letter) {
            return To::Value(value::REMOVE);
        }
        if let Some(text) = self.text.get(&letter) {
            return To::Text(text.clone());
        }
        if let Some(from) = ALPHABETS.into_iter().find(|&from| (from..from + 26).contains(&u32::from(letter))) {
            return To::Text(char::from(b'a' + u8::try_from(u32::from(letter) - from).unwrap_or(0)).into());
        }
        if letter.is_whitespace() {
            return To::Value(value::SEPARATOR);
        }
        if [letter].into_iter().nfkc().all(is_combining_mark) {
            return To::Value(value::MARK);
        }
        let folded = self.plain(letter);
        if folded.chars().all(|letter| !letter.is_alphanumeric()) {
            // Punctuation that is ASCII but for its width or place stays that: patterns may ask for it.
            let mark = folded.trim();
            return if mark.len() == 1 && mark.is_ascii() { To::Text(mark.to_owned()) } else { To::Value(value::SEPARATOR) };
        }
        if folded.is_ascii() {
            return To::Text(folded);
        }
        if let Some(latin) = self.latin_likeness(letter, &folded) {
            return if holds(&self.latin, letter) { To::Text(latin.into()) } else { To::Lookalike(latin, folded) };
        }
        if folded.chars().eq([letter]) { To::Value(value::KEEP) } else { To::Text(folded) }
    }

    /// NFKC and lower case, with marks taken off Latin letters, and spaces for what separates.
    fn plain(&self, letter: char) -> String {
        let lower = |text: String| text.to_lowercase().nfkc().collect::<String>();
        let composed = lower([letter].into_iter().nfkc().collect());
        let bare: String = composed.nfkd().filter(|letter| !is_combining_mark(*letter)).collect();
        let separated = |text: &str| -> String {
            text.chars()
                .map(|letter| if letter.is_ascii() || holds(&self.letters, letter) || is_combining_mark(letter) { letter } else { ' ' })
                .collect()
        };
        let bare = separated(&lower(bare));
        if bare.is_ascii() { bare } else { separated(&composed) }
    }

    /// The Latin letter or digit that a letter looks like.
    fn latin_likeness(&self, letter: char, folded: &str) -> Option<char> {
        let one = |text: &str| text.chars().next().filter(|_| text.chars().count() == 1);
        // A capital has a likeness of its own: small nu looks like v, but capital nu like N.
        let capital = !folded.chars().eq([letter]);
        let by_hand = |letter| self.lookalikes.get(&letter).copied();
        if let (Some(latin), false) = (one(folded).and_then(by_hand), capital) {
            return Some(latin);
        }
        if !holds(&self.latin, letter) && !self.lookalike_scripts.iter().any(|script| holds(script, letter)) {
            return None;
        }
        let likeness = |text: &str| -> Option<char> {
            let skeleton: String = unicode_security::skeleton(text).filter(|letter| !is_combining_mark(*letter)).collect();
            one(&skeleton.to_lowercase()).filter(char::is_ascii_alphanumeric)
        };
        let own = likeness(letter.encode_utf8(&mut [0; 4]));
        // Unicode's skeleton of a capital I is l, which no capital is meant for while its small letter looks like i.
        let sure = own.filter(|latin| !(capital && *latin == 'l'));
        sure.or_else(|| one(folded).and_then(by_hand)).or_else(|| likeness(folded)).or(own)
    }
}

fn class(pattern: &str) -> Result<ClassUnicode> {
    let hir = regex_syntax::parse(pattern)?;
    match hir.into_kind() {
        HirKind::Class(Class::Unicode(class)) => Ok(class),
        other => anyhow::bail!("{pattern} is no class of characters: {other:?}"),
    }
}

fn holds(class: &ClassUnicode, letter: char) -> bool {
    class
        .ranges()
        .binary_search_by(|range| {
            if range.end() < letter {
                std::cmp::Ordering::Less
            } else if range.start() > letter {
                std::cmp::Ordering::Greater
            } else {
                std::cmp::Ordering::Equal
            }
        })
        .is_ok()
}
