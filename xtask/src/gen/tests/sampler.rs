//! Random text from the patterns themselves: matches, near misses, and what stands beside them.

use regex_syntax::hir::{Hir, HirKind};

use super::patterns;
use crate::r#gen::subset::{Phrase, class_bytes, counts};

/// What may stand between, before and behind two samples; the borders of words are where automata go wrong.
const JOINTS: [&str; 13] = ["", " ", "  ", "\n", "\u{1f}", ".", ", ", "-", "'", "_", "7", "s", "x "];
/// Words for gaps. Also more of them than a gap may hold.
const FILLERS: [&str; 6] = [" really ", " a ", " -- ", ", every one of the ", " some of the many other ", " "];
/// What may come between two letters.
const APART: [&str; 6] = [" ", "-", ".", "_", "**", " . "];

/// A small generator (xorshift64*), seeded, so that a failure repeats.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `limit`, which is not 0.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(number).expect("31 bits") % limit
    }

    pub fn pick<'i, T>(&mut self, items: &'i [T]) -> &'i T {
        &items[self.below(items.len())]
    }
}

/// A text that `phrase` matches, by a random walk through it; gaps hold nothing or one word.
pub fn walk(phrase: &Phrase, random: &mut Random) -> String {
    let mut out = Vec::new();
    for (number, piece) in phrase.pieces.iter().enumerate() {
        if number > 0 {
            out.extend_from_slice(random.pick(&[" ", " really ", " (quite) "]).as_bytes());
        }
        step(piece, random, &mut out);
    }
    String::from_utf8(out).expect("patterns are ASCII")
}

fn step(hir: &Hir, random: &mut Random, out: &mut Vec<u8>) {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => out.extend_from_slice(&literal.0),
        HirKind::Class(class) => out.push(*random.pick(&class_bytes(class))),
        HirKind::Repetition(repetition) => {
            let (least, most) = counts(repetition);
            for _ in 0..least + random.below(most - least + 1) {
                step(&repetition.sub, random, out);
            }
        }
        HirKind::Capture(capture) => step(&capture.sub, random, out),
        HirKind::Concat(parts) => parts.iter().for_each(|part| step(part, random, out)),
        HirKind::Alternation(parts) => step(random.pick(parts), random, out),
    }
}

/// One to three samples side by side, now and then with a letter lost, doubled, set apart or in upper case, or with more words in it.
pub fn text(first: &Phrase, random: &mut Random) -> String {
    let all: Vec<&Phrase> = patterns().map(|pattern| &pattern.phrase).collect();
    let mut text = JOINTS[random.below(JOINTS.len())].to_owned();
    for part in 0..=random.below(2) {
        let phrase = if part == 0 { first } else { *random.pick(&all) };
        let sample = walk(phrase, random);
        let at = random.below(sample.len());
        let (before, after) = sample.split_at(at);
        text += &match random.below(10) {
            0 => format!("{before}{}", &after[1..]),
            1 => format!("{before}{}{after}", &after[..1]),
            2 => sample.to_ascii_uppercase(),
            3 => {
                let filler: &str = random.pick::<&str>(&FILLERS);
                sample.replacen(' ', filler, 1 + random.below(3))
            }
            4 => {
                let apart = *random.pick(&APART);
                sample.chars().map(|letter| format!("{letter}{apart}")).collect()
            }
            5 => format!("{before}{}{after}", random.pick(&APART)),
            _ => sample,
        };
        text.push_str(JOINTS[random.below(JOINTS.len())]);
    }
    text
}
