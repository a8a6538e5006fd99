//! The part of regex syntax that rules may use: phrases over folded text whose automaton stays small and whose matches have a longest length.

use anyhow::{Result, bail, ensure};
use regex_syntax::ParserBuilder;
use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{Ast, ClassSet, ClassSetItem, GroupKind, RepetitionKind, RepetitionRange};
use regex_syntax::hir::{Class, Hir, HirKind};

/// Shortest text that a pattern may match: shorter ones are words, not phrases, and hit honest text.
const MIN_BYTES: usize = 4;
/// Longest text that a pattern may match. Interleaved scanning starts every stream this far early.
const MAX_BYTES: usize = 128;
/// Largest repetition count: states multiply with it.
const MAX_COUNT: u32 = 4;

/// What the generator needs to know of a pattern beside its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Longest match in bytes.
    pub longest_bytes: u16,
    /// A word boundary is asked for before the match.
    pub boundary_before: bool,
    /// A word boundary is asked for behind the match.
    pub boundary_after: bool,
}

impl Shape {
    /// `pattern` with its word boundaries, in which `boundary` is the caller's spelling of an ASCII `\b`.
    pub fn wrap(self, pattern: &str, boundary: &str) -> String {
        let at = |asked| if asked { boundary } else { "" };
        format!("{}(?:{pattern}){}", at(self.boundary_before), at(self.boundary_after))
    }
}

/// Checks that `pattern` is in the subset. With `whole_words` a boundary is put at each side that is a letter or digit.
///
/// # Errors
/// What is wrong and what to do.
pub fn check(pattern: &str, whole_words: bool) -> Result<Shape> {
    let ast = match Parser::new().parse(pattern) {
        Ok(ast) => ast,
        Err(error) => bail!("{error}"),
    };
    node(&ast)?;
    ensure!(!pattern.contains("  "), "two spaces in a row never occur in folded text; write one");
    let hir = ParserBuilder::new().unicode(false).utf8(false).build().parse(pattern)?;
    let shortest = hir.properties().minimum_len().unwrap_or(0);
    ensure!(shortest >= MIN_BYTES, "it matches {shortest} bytes; a phrase has at least {MIN_BYTES}: make it longer");
    let longest = hir.properties().maximum_len().unwrap_or(usize::MAX);
    ensure!(longest <= MAX_BYTES, "it can match {longest} bytes, the most is {MAX_BYTES}: cut it into two patterns");
    let (mut boundary_before, mut boundary_after) = (false, false);
    if whole_words {
        boundary_before = border(&hir, Side::Start)?;
        boundary_after = border(&hir, Side::End)?;
    }
    Ok(Shape { longest_bytes: u16::try_from(longest)?, boundary_before, boundary_after })
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
            let Some(most) = most else { bail!("`*`, `+` and `{{n,}}` match without bound: use `?` or {{m,n}}") };
            ensure!(most <= MAX_COUNT, "it repeats up to {most} times, the most is {MAX_COUNT}: write the words out");
            Ok(())
        }
        Ast::ClassBracketed(class) => {
            ensure!(!class.negated, "[^...] matches nearly anything: list the characters that are meant");
            let ClassSet::Item(item) = &class.kind else { bail!("class operators have no use here: list the characters") };
            class_item(item)
        }
        Ast::Dot(_) => bail!(
            "`.` matches anything and multiplies the automaton's states: name the words that may stand there, or cut the pattern in two"
        ),
        Ast::ClassPerl(_) | Ast::ClassUnicode(_) => {
            bail!("`\\d`, `\\w`, `\\s`, `\\p` are too wide: list the characters in [...]; white space is always one space")
        }
        Ast::Assertion(_) => bail!("`^`, `$` and `\\b` are not written: word boundaries are added unless `whole_words = false`"),
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
    ensure!(matches!(letter, ' '..='~'), "{letter:?} is not printable ASCII: patterns look at folded text, in ASCII");
    Ok(())
}

#[derive(Clone, Copy)]
enum Side {
    Start,
    End,
}

/// Whether the matches have a letter, digit or underscore at this side; refused if only some have.
fn border(hir: &Hir, side: Side) -> Result<bool> {
    let edge = edge(hir, side);
    let name = match side {
        Side::Start => "starts",
        Side::End => "ends",
    };
    ensure!(
        !(edge.word && edge.other),
        "it {name} now with a letter or digit, now with another character: cut it in two, or set `whole_words = false`"
    );
    Ok(edge.word)
}

/// What can stand at one side of a match.
#[derive(Clone, Copy, Default)]
struct Edge {
    word: bool,
    other: bool,
    /// Nothing at all, so that a neighbour's edge counts too.
    empty: bool,
}

fn edge(hir: &Hir, side: Side) -> Edge {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Edge { empty: true, ..Edge::default() },
        HirKind::Literal(literal) => {
            let byte = match side {
                Side::Start => literal.0.first(),
                Side::End => literal.0.last(),
            };
            byte.map_or_else(Edge::default, |&byte| bytes(&[(byte, byte)]))
        }
        HirKind::Class(Class::Bytes(class)) => bytes(&class.iter().map(|range| (range.start(), range.end())).collect::<Vec<_>>()),
        HirKind::Class(Class::Unicode(_)) => Edge { other: true, ..Edge::default() },
        HirKind::Repetition(repetition) => {
            let inner = edge(&repetition.sub, side);
            Edge { empty: inner.empty || repetition.min == 0, ..inner }
        }
        HirKind::Capture(capture) => edge(&capture.sub, side),
        HirKind::Alternation(parts) => parts.iter().map(|part| edge(part, side)).fold(Edge::default(), Edge::or),
        HirKind::Concat(parts) => {
            let mut ordered: Vec<_> = parts.iter().collect();
            if matches!(side, Side::End) {
                ordered.reverse();
            }
            let mut whole = Edge { empty: true, ..Edge::default() };
            for part in ordered {
                let next = edge(part, side);
                whole = Edge { empty: next.empty, ..whole.or(next) };
                if !next.empty {
                    break;
                }
            }
            whole
        }
    }
}

impl Edge {
    fn or(self, other: Edge) -> Edge {
        Edge { word: self.word || other.word, other: self.other || other.other, empty: self.empty || other.empty }
    }
}

fn bytes(ranges: &[(u8, u8)]) -> Edge {
    let all = || ranges.iter().flat_map(|&(from, to)| from..=to);
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    Edge { word: all().any(word), other: all().any(|byte| !word(byte)), empty: false }
}
