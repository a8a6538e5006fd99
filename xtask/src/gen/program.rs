//! Writes a phrase as the program that `floodmark_core::score::phrase` runs: the pattern from its end to its start.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use floodmark_core::score::phrase::op;
use regex_syntax::hir::{Hir, HirKind};

use super::spellings::pairs;
use super::subset::{Phrase, class_bytes, counts};

/// A program, and where its first gap is; 0 without one.
#[derive(Debug, PartialEq, Eq)]
pub struct Program {
    pub bytes: Vec<u8>,
    pub gap_at: u16,
}

/// The program of `phrase`.
///
/// # Errors
/// A character that must stand behind the phrase stands there only sometimes; a pattern too long for jumps of two bytes.
pub fn write(phrase: &Phrase) -> Result<Program> {
    let mut program = Vec::new();
    let mut gap_at = 0;
    let mut place = Place::Behind;
    for (number, piece) in phrase.pieces.iter().enumerate().rev() {
        emit(piece, &mut program, &mut place)?;
        if let Some(gap) = number.checked_sub(1) {
            if gap_at == 0 {
                gap_at = u16::try_from(program.len())?;
            }
            program.extend([op::GAP, phrase.gaps[gap]]);
            program.extend(pairs(&phrase.pieces[gap]).to_le_bytes());
            place = Place::Inside;
        }
    }
    program.push(op::END);
    Ok(Program { bytes: program, gap_at })
}

/// Where the next instruction reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Behind the phrase: no letter was read.
    Behind,
    /// Before a letter that was read.
    Inside,
    /// One or the other, as alternatives went.
    Either,
}

/// Most texts that are written out one by one.
const MAX_TEXTS: usize = 64;

/// Writes `hir` in the shorter of two ways: with its alternatives as instructions, or as a list of texts.
fn emit(hir: &Hir, out: &mut Vec<u8>, place: &mut Place) -> Result<()> {
    let mut own = Vec::new();
    let mut after = *place;
    emit_parts(hir, &mut own, &mut after)?;
    let texts = if matches!(hir.kind(), HirKind::Concat(_) | HirKind::Literal(_)) { None } else { texts(hir) };
    // What must stand behind the phrase has an instruction of its own.
    let texts =
        texts.filter(|texts| *place == Place::Inside || texts.iter().flatten().all(|&byte| byte.is_ascii_alphanumeric() || is_free(byte)));
    match texts {
        Some(texts) if 3 + texts.iter().map(|text| 1 + text.len()).sum::<usize>() < own.len() => {
            let end = open(op::ANY, out);
            for text in texts {
                out.push(u8::try_from(text.len())?);
                out.extend(text.iter().rev().map(|&byte| code(byte)));
            }
            close(end, out)?;
        }
        _ => out.extend(own),
    }
    *place = after;
    Ok(())
}

/// All texts that `hir` matches, unless they are many.
fn texts(hir: &Hir) -> Option<BTreeSet<Vec<u8>>> {
    let one = |text: &[u8]| BTreeSet::from([text.to_vec()]);
    let all: BTreeSet<Vec<u8>> = match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => one(b""),
        HirKind::Literal(literal) => one(&literal.0),
        HirKind::Class(class) => class_bytes(class).into_iter().map(|byte| vec![byte]).collect(),
        HirKind::Repetition(repetition) => {
            let (least, most) = counts(repetition);
            let sub = texts(&repetition.sub)?;
            let mut own = one(b"");
            let mut all = BTreeSet::new();
            for count in 0..=most {
                if count >= least {
                    all.extend(own.iter().cloned());
                }
                own = product(&own, &sub)?;
            }
            all
        }
        HirKind::Capture(capture) => texts(&capture.sub)?,
        HirKind::Concat(parts) => parts.iter().try_fold(one(b""), |before, part| product(&before, &texts(part)?))?,
        HirKind::Alternation(parts) => parts.iter().map(texts).collect::<Option<Vec<_>>>()?.into_iter().flatten().collect(),
    };
    (all.len() <= MAX_TEXTS).then_some(all)
}

fn product(before: &BTreeSet<Vec<u8>>, behind: &BTreeSet<Vec<u8>>) -> Option<BTreeSet<Vec<u8>>> {
    let all = before.iter().flat_map(|one| behind.iter().map(move |other| [one.as_slice(), other].concat()));
    (before.len() * behind.len() <= MAX_TEXTS).then(|| all.collect())
}

fn emit_parts(hir: &Hir, out: &mut Vec<u8>, place: &mut Place) -> Result<()> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => literal.0.iter().rev().try_for_each(|&byte| emit_byte(byte, out, place))?,
        HirKind::Class(class) => {
            let bytes = class_bytes(class);
            alternatives(&bytes, out, place, |&byte, out, place| emit_byte(byte, out, place))?;
        }
        HirKind::Repetition(repetition) => {
            let (least, most) = counts(repetition);
            for _ in 0..least {
                emit(&repetition.sub, out, place)?;
            }
            optional(&repetition.sub, most - least, out, place)?;
        }
        HirKind::Capture(capture) => emit(&capture.sub, out, place)?,
        HirKind::Concat(parts) => parts.iter().rev().try_for_each(|part| emit(part, out, place))?,
        HirKind::Alternation(parts) => alternatives(parts, out, place, emit)?,
    }
    Ok(())
}

/// Whether a character only makes a pattern readable.
fn is_free(byte: u8) -> bool {
    matches!(byte, b' ' | b'\'' | b'-' | b'_' | b',' | b'.')
}

/// The instruction for a character inside the phrase.
fn code(byte: u8) -> u8 {
    match byte {
        b' ' => op::SPACE,
        _ if is_free(byte) => op::MAYBE,
        _ => byte,
    }
}

fn emit_byte(byte: u8, out: &mut Vec<u8>, place: &mut Place) -> Result<()> {
    if is_free(byte) || byte.is_ascii_alphanumeric() {
        out.push(code(byte));
        if !is_free(byte) {
            *place = Place::Inside;
        }
        return Ok(());
    }
    match place {
        Place::Behind => out.extend([op::BEHIND, byte]),
        Place::Inside => out.push(byte),
        Place::Either => {
            let byte = char::from(byte);
            bail!("{byte:?} stands at the end or not, as the words behind it are there or not: cut the pattern in two");
        }
    }
    Ok(())
}

/// At most `most` times, each of them or not.
fn optional(hir: &Hir, most: usize, out: &mut Vec<u8>, place: &mut Place) -> Result<()> {
    if most == 0 {
        return Ok(());
    }
    let before = *place;
    let split = open(op::SPLIT, out);
    emit(hir, out, place)?;
    optional(hir, most - 1, out, place)?;
    close(split, out)?;
    *place = place.or(before);
    Ok(())
}

fn alternatives<T>(
    all: &[T],
    out: &mut Vec<u8>,
    place: &mut Place,
    mut emit: impl FnMut(&T, &mut Vec<u8>, &mut Place) -> Result<()>,
) -> Result<()> {
    let before = *place;
    let mut jumps = Vec::new();
    let mut after: Option<Place> = None;
    for (number, one) in all.iter().enumerate() {
        let last = number + 1 == all.len();
        let split = (!last).then(|| open(op::SPLIT, out));
        let mut own = before;
        emit(one, out, &mut own)?;
        after = Some(after.map_or(own, |after| after.or(own)));
        if let Some(split) = split {
            jumps.push(open(op::JUMP, out));
            close(split, out)?;
        }
    }
    *place = after.unwrap_or(before);
    jumps.into_iter().try_for_each(|jump| close(jump, out))
}

impl Place {
    fn or(self, other: Place) -> Place {
        if self == other { self } else { Place::Either }
    }
}

/// Writes an instruction whose operand comes later, and returns where that is.
fn open(code: u8, out: &mut Vec<u8>) -> usize {
    out.push(code);
    out.extend([0; 2]);
    out.len() - 2
}

/// Lets the instruction with its operand at `at` lead here.
fn close(at: usize, out: &mut [u8]) -> Result<()> {
    let offset = u16::try_from(out.len() - at - 2)?;
    if let Some(operand) = out.get_mut(at..at + 2) {
        operand.copy_from_slice(&offset.to_le_bytes());
    }
    Ok(())
}
