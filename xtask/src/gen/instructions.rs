//! Reads `rules/instructions.toml`, holds its lines and writes the table of phrases that [`floodmark_core::instructions`] looks for.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context as _, Result, bail, ensure};
use floodmark_core::instructions::Likeness;
use floodmark_core::instructions::wording::{MAX_PHRASE_WORDS, Phrase, Wording, role};
use floodmark_core::text::{FoldTable, Folded};
use serde::Deserialize;

/// Where the lists lie.
pub const RULES: &str = "rules/instructions.toml";
/// Most bytes that the table may take in the module's data section: texts, and 12 bytes for each phrase.
pub const BUDGET_BYTES: usize = 40_000;
/// Bytes of a [`Phrase`] in wasm: pointer, length, roles.
const PHRASE_BYTES: usize = 12;

/// Roles that make an instruction of nothing: what has them passes.
const TAKES_AWAY: u32 = role::FINITE | role::PREDICATE | role::PLAIN;

const ROLES: [(&str, u32); 28] = [
    ("verb", role::VERB),
    ("noun_or_verb", role::NOUN_OR_VERB),
    ("object", role::OBJECT),
    ("lead", role::LEAD),
    ("condition", role::CONDITION),
    ("time", role::TIME),
    ("party", role::PARTY),
    ("universal", role::UNIVERSAL),
    ("duty", role::DUTY),
    ("be", role::BE),
    ("done", role::DONE),
    ("request", role::REQUEST),
    ("request_at_start", role::REQUEST_AT_START),
    ("obligation", role::OBLIGATION),
    ("key", role::KEY),
    ("schedule", role::SCHEDULE),
    ("finite", role::FINITE),
    ("predicate", role::PREDICATE),
    ("target", role::TARGET),
    ("goods", role::GOODS),
    ("determiner", role::DETERMINER),
    ("last", role::LAST),
    ("opens", role::OPENS),
    ("staff", role::STAFF),
    ("wish", role::WISH),
    ("action", role::ACTION),
    ("plain", role::PLAIN),
    ("moves", role::MOVES),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileForm {
    list: Vec<ListForm>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListForm {
    role: String,
    kind: String,
    reason: String,
    phrases: String,
    must_match: Vec<String>,
    must_not_match: Vec<String>,
}

/// One list.
struct List {
    at: String,
    role: u32,
    kind: String,
    phrases: Vec<String>,
    must_match: Vec<String>,
    must_not_match: Vec<String>,
}

/// The lists, read and folded.
pub struct Instructions {
    lists: Vec<List>,
}

impl Instructions {
    /// Reads the text of [`RULES`].
    ///
    /// # Errors
    /// The first thing wrong: the list and what to do.
    pub fn new(text: &str, folds: &FoldTable<'_>) -> Result<Self> {
        let form: FileForm = toml::from_str(text).context(RULES)?;
        let mut lists = Vec::new();
        for (number, form) in form.list.into_iter().enumerate() {
            let at = format!("{RULES}: list {} ({})", number + 1, form.role);
            lists.push(list(form, at.clone(), folds).with_context(|| at)?);
        }
        Ok(Self { lists })
    }

    /// Holds each list to its lines.
    ///
    /// # Errors
    /// Every line that does not hold: list, line and what to do.
    pub fn verify(&self, folds: &FoldTable<'_>) -> Result<()> {
        let whole = self.phrases(None);
        let mut wrong = Vec::new();
        for (number, list) in self.lists.iter().enumerate() {
            let without = self.phrases(Some(number));
            let takes_away = TAKES_AWAY & list.role != 0;
            let name = |phrases, line: &str| find(phrases, line, folds).map_or("nothing", Likeness::name);
            for line in &list.must_match {
                let (found, other) = (name(&whole, line), name(&without, line));
                if found != list.kind {
                    wrong.push(format!(
                        "{}: {line:?} is found as {found}, not as {}: widen the list or change the line",
                        list.at, list.kind
                    ));
                } else if other != "nothing" {
                    wrong.push(format!("{}: {line:?} is {other} without the list too: give a line that only it finds", list.at));
                }
            }
            for line in &list.must_not_match {
                let found = name(&whole, line);
                if takes_away && name(&without, line) == "nothing" {
                    wrong.push(format!("{}: {line:?} is not found without the list either: give a line that it saves", list.at));
                }
                if found != "nothing" {
                    wrong.push(format!(
                        "{}: its must_not_match line {line:?} is found as {found}: narrow a list or change the line",
                        list.at
                    ));
                }
            }
        }
        ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
        Ok(())
    }

    /// All phrases with their roles, without one of the lists if `without` says so.
    fn phrases(&self, without: Option<usize>) -> BTreeMap<&str, u32> {
        let mut phrases = BTreeMap::new();
        for (_, list) in self.lists.iter().enumerate().filter(|(number, _)| Some(*number) != without) {
            list.phrases.iter().for_each(|phrase| *phrases.entry(phrase.as_str()).or_insert(0) |= list.role);
        }
        phrases
    }

    /// `tables/src/generated/instructions.rs`.
    pub fn source(&self) -> String {
        let phrases = self.phrases(None);
        let mut out = format!(
            "//! The phrases that instructions are made of: generated by `cargo xtask gen` from {RULES}.\n\
             //! Licence: Apache-2.0. Do not edit: change the rules and run the command again.\n\n\
             use floodmark_core::instructions::wording::{{Phrase, Wording}};\n\n\
             /// What a text is read for that nobody vouches for.\n\
             pub static INSTRUCTIONS: Wording<'static> = Wording {{ phrases: &PHRASES }};\n\n\
             #[rustfmt::skip]\nstatic PHRASES: [Phrase<'static>; {}] = [\n",
            phrases.len()
        );
        for (words, roles) in phrases {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "    Phrase {{ words: {words:?}, roles: {roles:#x} }},");
        }
        out + "];\n"
    }

    /// Bytes in the data section, and blake3 of all phrases in a fixed form.
    pub fn row(&self) -> String {
        let phrases = self.phrases(None);
        let bytes: usize = phrases.keys().map(|words| words.len() + PHRASE_BYTES).sum();
        let mut hash = blake3::Hasher::new();
        hash.update(b"floodmark instructions 1\0");
        for (words, roles) in phrases {
            hash.update(words.as_bytes()).update(b"\0").update(&roles.to_le_bytes());
        }
        format!("instructions,{bytes},{},{BUDGET_BYTES}\n", hash.finalize().to_hex())
    }
}

fn list(form: ListForm, at: String, folds: &FoldTable<'_>) -> Result<List> {
    let Some((_, role)) = ROLES.iter().find(|(name, _)| *name == form.role) else {
        bail!("no such role; the roles are {}", ROLES.map(|(name, _)| name).join(", "));
    };
    let kinds = [Likeness::Imperative, Likeness::Request, Likeness::Obligation, Likeness::Schedule].map(Likeness::name);
    ensure!(kinds.contains(&form.kind.as_str()), "`kind` is {:?}; it must be one of {}", form.kind, kinds.join(", "));
    ensure!(!form.reason.trim().is_empty(), "`reason` is empty; say what the phrases do in an attack");
    ensure!(form.must_match.len() >= 2 || TAKES_AWAY & role != 0, "`must_match` has fewer than two lines; add some");
    ensure!(form.must_not_match.len() >= 2, "`must_not_match` has fewer than two lines; add some");
    let mut phrases = Vec::new();
    for phrase in form.phrases.split(',').map(str::trim).filter(|phrase| !phrase.is_empty()) {
        let words = words(phrase, folds);
        ensure!((1..=MAX_PHRASE_WORDS).contains(&words.split(' ').count()), "{phrase:?} has more than {MAX_PHRASE_WORDS} words; cut it");
        ensure!(!words.is_empty(), "{phrase:?} has no words; take it out");
        ensure!(!phrases.contains(&words), "{words:?} is there twice; take one out");
        phrases.push(words);
    }
    ensure!(!phrases.is_empty(), "no phrases; add some or take the list out");
    Ok(List { at, role: *role, kind: form.kind, phrases, must_match: form.must_match, must_not_match: form.must_not_match })
}

/// The words of a phrase as a folded text has them, with one space between.
fn words(phrase: &str, folds: &FoldTable<'_>) -> String {
    let folded = Folded::new(phrase, folds);
    let words = folded.as_str().split(|letter: char| letter.is_ascii() && !letter.is_ascii_alphanumeric());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

fn find(phrases: &BTreeMap<&str, u32>, line: &str, folds: &FoldTable<'_>) -> Option<Likeness> {
    let phrases: Vec<_> = phrases.iter().map(|(words, roles)| Phrase { words, roles: *roles }).collect();
    floodmark_core::instructions::wording(line, &Wording { phrases: &phrases }, folds)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = r#"
        [[list]]
        role = "verb"
        kind = "imperative"
        reason = "A command."
        phrases = "send, Don’t Sénd"
        must_match = ["Send it.", "Fine. Send it."]
        must_not_match = ["They send it.", "Sender of it."]
    "#;

    fn read(text: &str) -> Result<Instructions> {
        Instructions::new(text, &FoldTable::EMPTY)
    }

    #[test]
    fn phrases_are_folded_and_have_the_roles_of_all_their_lists() {
        let twice = LIST.to_owned() + &LIST.replace("\"verb\"", "\"lead\"");
        let folds = super::super::tests::folds();
        let read = Instructions::new(&twice, &folds.table()).expect("good lists");
        let both = role::VERB | role::LEAD;
        assert_eq!(read.phrases(None).into_iter().collect::<Vec<_>>(), [("don t send", both), ("send", both)]);
        assert_eq!(read.phrases(Some(0))["send"], role::LEAD);
        assert!(read.source().contains("Phrase { words: \"don t send\", roles: 0x9 },"), "{}", read.source());
    }

    #[test]
    fn bad_lists_are_refused_with_what_to_do() {
        for (from, to, expected) in [
            ("\"verb\"", "\"noun\"", "no such role; the roles are verb, noun_or_verb"),
            ("\"imperative\"", "\"category\"", "`kind` is \"category\"; it must be one of imperative, request, obligation, schedule"),
            ("A command.", " ", "`reason` is empty"),
            (", \"Fine. Send it.\"", "", "`must_match` has fewer than two lines"),
            (", \"Sender of it.\"", "", "`must_not_match` has fewer than two lines"),
            ("send, ", "send, Send, ", "\"send\" is there twice"),
            ("send, ", "a b c d e f g h i, ", "has more than 8 words"),
            ("send, ", "!, ", "\"!\" has no words"),
            ("phrases", "words", "unknown field `words`"),
        ] {
            let error = format!("{:#}", read(&LIST.replacen(from, to, 1)).map(|_| ()).expect_err(expected));
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn lines_that_do_not_hold_are_told() {
        let verify = |text: &str| read(text).expect("a good list").verify(&FoldTable::EMPTY).map_err(|error| error.to_string());
        assert_eq!(verify(LIST), Ok(()));
        for (from, to, expected) in [
            ("Fine. Send it.", "They wait.", "\"They wait.\" is found as nothing, not as imperative"),
            ("They send it.", "Send two.", "its must_not_match line \"Send two.\" is found as imperative"),
        ] {
            let error = verify(&LIST.replace(from, to)).expect_err(expected);
            assert!(error.contains(expected), "{error}");
        }
        let error = verify(&(LIST.to_owned() + LIST)).expect_err("both find the same");
        assert!(error.contains("is imperative without the list too"), "{error}");
    }
}
