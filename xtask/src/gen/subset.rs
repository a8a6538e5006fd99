//! The syntax of patterns: pieces of a small regular language, at most so many words apart, over letters and digits.

use anyhow::{Context as _, Result, bail, ensure};
use floodmark_core::score::filter::WINDOW_LETTERS;
use floodmark_core::score::letters::is_separator;
use regex_syntax::ParserBuilder;
use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{Ast, ClassSet, ClassSetItem, GroupKind, RepetitionKind, RepetitionRange};
use regex_syntax::hir::{Class, Hir, HirKind, Repetition};

/// Most letters that a pattern may hold, its gaps aside.
const MAX_LETTERS: usize = 128;
/// Largest repetition count: programs grow with it.
const MAX_COUNT: u32 = 4;
/// Most words of a gap.
const MAX_GAP_WORDS: u8 = 8;
/// Characters that separate without being asked for: they make a pattern readable.
const FREE: [char; 6] = [' ', '\'', '-', '_', ',', '.'];
/// Characters that must stand where a pattern has them.
const REQUIRED: [char; 13] = [':', '<', '>', '[', ']', '{', '}', '|', '#', '/', '=', '(', ')'];

/// A pattern, read.
#[derive(Clone, Debug)]
pub struct Phrase {
    /// At least one.
    pub pieces: Vec<Hir>,
    /// Most words between each piece and the next.
    pub gaps: Vec<u8>,
}

/// Reads `pattern`.
///
/// # Errors
/// What is wrong and what to do.
pub fn parse(pattern: &str) -> Result<Phrase> {
    let mut phrase = Phrase { pieces: Vec::new(), gaps: Vec::new() };
    let mut rest = pattern;
    while let Some((before, words, after)) = first_gap(rest) {
        ensure!(
            (1..=MAX_GAP_WORDS).contains(&words),
            "a gap `~{words}` is out of range: from ~1 to ~{MAX_GAP_WORDS} words may stand between"
        );
        phrase.pieces.push(piece(before)?);
        phrase.gaps.push(words);
        rest = after;
    }
    phrase.pieces.push(piece(rest)?);
    let (_, longest) = phrase.pieces.iter().map(letters).fold((0, 0), |sum, piece| (sum.0 + piece.0, sum.1 + piece.1));
    ensure!(longest <= MAX_LETTERS, "it can hold {longest} letters, the most is {MAX_LETTERS}: cut it into two patterns");
    let last = phrase.pieces.last().context("a pattern has a piece")?;
    let (shortest, _) = letters(last);
    ensure!(
        shortest >= WINDOW_LETTERS,
        "its last piece can be {shortest} letters, which stand everywhere: it has at least {WINDOW_LETTERS}; make it longer or turn the pieces round"
    );
    Ok(phrase)
}

/// The text before the first gap, the gap's words, and the text behind it.
fn first_gap(pattern: &str) -> Option<(&str, u8, &str)> {
    let (before, rest) = pattern.split_once(" ~")?;
    let (words, after) = rest.split_once(' ')?;
    Some((before, words.parse().unwrap_or(0), after))
}

fn piece(text: &str) -> Result<Hir> {
    let ast = match Parser::new().parse(text) {
        Ok(ast) => ast,
        Err(error) => bail!("{error}"),
    };
    node(&ast)?;
    ensure!(!text.contains("  "), "two spaces in a row mean no more than one; write one");
    ensure!(text.trim() == text, "a piece begins and ends at a word's border, so a space at its side has no use: take it away");
    let hir = ParserBuilder::new().unicode(false).utf8(false).build().parse(text)?;
    ensure!(letters(&hir).0 > 0, "a piece without a letter or digit cannot be looked for: write the words beside it");
    Ok(hir)
}

fn node(ast: &Ast) -> Result<()> {
    match ast {
        Ast::Literal(literal) => letter(literal.c),
        Ast::Concat(concat) => concat.asts.iter().try_for_each(node),
        Ast::Alternation(alternation) => alternation.asts.iter().try_for_each(node),
        Ast::Group(group) => {
            let plain = match &group.kind {
                GroupKind::CaptureIndex(_) => true,
                GroupKind::CaptureName { .. } => false,
                GroupKind::NonCapturing(flags) => flags.items.is_empty(),
            };
            ensure!(plain, "names and flags in a group have no use here: write (...)");
            node(&group.ast)
        }
        Ast::Repetition(repetition) => {
            node(&repetition.ast)?;
            let most = match &repetition.op.kind {
                RepetitionKind::ZeroOrOne => Some(1),
                RepetitionKind::Range(RepetitionRange::Exactly(count) | RepetitionRange::Bounded(_, count)) => Some(*count),
                RepetitionKind::ZeroOrMore | RepetitionKind::OneOrMore | RepetitionKind::Range(RepetitionRange::AtLeast(_)) => None,
            };
            let Some(most) = most else { bail!("`*`, `+` and `{{n,}}` match without bound: use `?`, {{m,n}} or a gap such as ` ~3 `") };
            ensure!(most <= MAX_COUNT, "it repeats up to {most} times, the most is {MAX_COUNT}: write the words out");
            Ok(())
        }
        Ast::ClassBracketed(class) => {
            ensure!(!class.negated, "[^...] matches nearly anything: list the characters that are meant");
            let ClassSet::Item(item) = &class.kind else { bail!("class operators have no use here: list the characters") };
            class_item(item)
        }
        Ast::Dot(_) => {
            bail!("`.` matches anything: name the words that may stand there, or use a gap such as ` ~3 `; a full stop needs no place")
        }
        Ast::ClassPerl(_) | Ast::ClassUnicode(_) => {
            bail!("`\\d`, `\\w`, `\\s`, `\\p` are too wide: list the characters in [...]; any separators are one space")
        }
        Ast::Assertion(_) => bail!("`^`, `$` and `\\b` are not written: every piece begins and ends at a word's border"),
        Ast::Flags(_) => bail!("flags have no use here: text is folded to lower case first"),
        Ast::Empty(_) => bail!("an empty alternative: write (...)? instead"),
    }
}

fn class_item(item: &ClassSetItem) -> Result<()> {
    match item {
        ClassSetItem::Literal(literal) => letter(literal.c),
        ClassSetItem::Range(range) => letter(range.start.c).and_then(|()| letter(range.end.c)),
        ClassSetItem::Union(union) => union.items.iter().try_for_each(class_item),
        _ => bail!("only single characters and ranges may stand in [...]"),
    }
}

fn letter(letter: char) -> Result<()> {
    ensure!(!letter.is_ascii_uppercase(), "upper case {letter:?}: text is folded to lower case, write it so");
    let known = letter.is_ascii_lowercase() || letter.is_ascii_digit() || FREE.contains(&letter) || REQUIRED.contains(&letter);
    ensure!(known, "{letter:?} has no meaning here: letters, digits, {FREE:?} and {REQUIRED:?} have");
    Ok(())
}

/// Fewest and most letters and digits that `hir` matches.
pub fn letters(hir: &Hir) -> (usize, usize) {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => (0, 0),
        HirKind::Literal(literal) => {
            let count = literal.0.iter().filter(|&&byte| !is_separator(byte)).count();
            (count, count)
        }
        HirKind::Class(class) => {
            let bytes = class_bytes(class);
            (usize::from(!bytes.iter().any(|&byte| is_separator(byte))), usize::from(bytes.iter().any(|&byte| !is_separator(byte))))
        }
        HirKind::Repetition(repetition) => {
            let (least, most) = letters(&repetition.sub);
            let (min, max) = counts(repetition);
            (least * min, most * max)
        }
        HirKind::Capture(capture) => letters(&capture.sub),
        HirKind::Concat(parts) => parts.iter().map(letters).fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1)),
        HirKind::Alternation(parts) => {
            parts.iter().map(letters).reduce(|one, other| (one.0.min(other.0), one.1.max(other.1))).unwrap_or((0, 0))
        }
    }
}

/// Least and most repetitions; [`node`] has refused what has no most.
pub fn counts(repetition: &Repetition) -> (usize, usize) {
    let least = usize::try_from(repetition.min).unwrap_or(0);
    (least, repetition.max.and_then(|most| usize::try_from(most).ok()).unwrap_or(least))
}

/// The bytes of a class, ascending.
pub fn class_bytes(class: &Class) -> Vec<u8> {
    match class {
        Class::Bytes(class) => class.iter().flat_map(|range| range.start()..=range.end()).collect(),
        // An alternation of single letters becomes one of these, whatever was asked for.
        Class::Unicode(class) => {
            class.iter().flat_map(|range| range.start()..=range.end()).filter_map(|letter| u8::try_from(letter).ok()).collect()
        }
    }
}
