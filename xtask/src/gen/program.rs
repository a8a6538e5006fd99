//! Writes a phrase as the program that `floodmark_core::score::phrase` runs: the pattern from its end to its start.

use anyhow::{Result, ensure};
use floodmark_core::score::phrase::op;
use regex_syntax::hir::{Hir, HirKind};

use super::subset::{Phrase, class_bytes, counts};

/// The program of `phrase`.
///
/// # Errors
/// A character that must stand behind the phrase stands there only sometimes; a pattern too long for jumps of two bytes.
pub fn write(phrase: &Phrase) -> Result<Vec<u8>> {
    let mut program = Vec::new();
    let mut place = Place::Behind;
    let mut gaps = phrase.gaps.iter().rev();
    for piece in phrase.pieces.iter().rev() {
        emit(piece, &mut program, &mut place)?;
        if let Some(&words) = gaps.next() {
            program.extend([op::GAP, words]);
            place = Place::Inside;
        }
    }
    program.push(op::END);
    Ok(program)
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

fn emit(hir: &Hir, out: &mut Vec<u8>, place: &mut Place) -> Result<()> {
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

fn emit_byte(byte: u8, out: &mut Vec<u8>, place: &mut Place) -> Result<()> {
    match byte {
        b' ' => out.push(op::SPACE),
        b'\'' | b'-' | b'_' | b',' | b'.' => out.push(op::MAYBE),
        _ if byte.is_ascii_alphanumeric() => {
            out.push(byte);
            *place = Place::Inside;
        }
        _ => match place {
            Place::Behind => out.extend([op::BEHIND, byte]),
            Place::Inside => out.push(byte),
            Place::Either => {
                let byte = char::from(byte);
                ensure!(false, "{byte:?} stands at the end or not, as the words behind it are there or not: cut the pattern in two");
            }
        },
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
