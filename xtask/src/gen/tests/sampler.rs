//! Random text from the patterns themselves: matches, near misses, and what stands beside them.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

use super::patterns;

/// What may stand between, before and behind two samples; the borders of words are where automata go wrong.
const JOINTS: [&str; 14] = ["", " ", "  ", "\n", "\u{a0}", ".", ", ", "-", "'", "_", "7", "s", "\u{e9}", "x "];

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

/// A text that `pattern` matches, by a random walk through it.
pub fn walk(pattern: &str, random: &mut Random) -> String {
    let hir = ParserBuilder::new().unicode(false).utf8(false).build().parse(pattern).expect("a checked pattern");
    let mut out = Vec::new();
    step(&hir, random, &mut out);
    String::from_utf8(out).expect("patterns are ASCII")
}

fn step(hir: &Hir, random: &mut Random, out: &mut Vec<u8>) {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => out.extend_from_slice(&literal.0),
        HirKind::Class(Class::Bytes(class)) => {
            let bytes: Vec<u8> = class.iter().flat_map(|range| range.start()..=range.end()).collect();
            out.push(*random.pick(&bytes));
        }
        HirKind::Class(Class::Unicode(class)) => panic!("{class:?} in a byte pattern"),
        HirKind::Repetition(repetition) => {
            let (least, most) = (repetition.min, repetition.max.expect("bounded"));
            let spread = usize::try_from(most - least).expect("small") + 1;
            for _ in 0..usize::try_from(least).expect("small") + random.below(spread) {
                step(&repetition.sub, random, out);
            }
        }
        HirKind::Capture(capture) => step(&capture.sub, random, out),
        HirKind::Concat(parts) => parts.iter().for_each(|part| step(part, random, out)),
        HirKind::Alternation(parts) => step(random.pick(parts), random, out),
    }
}

/// One to three samples side by side, now and then with a letter lost, doubled or in upper case.
pub fn text(first: &str, random: &mut Random) -> String {
    let all: Vec<&str> = patterns().map(|pattern| pattern.pattern.as_str()).collect();
    let mut text = JOINTS[random.below(JOINTS.len())].to_owned();
    for part in 0..=random.below(3) {
        let pattern = if part == 0 { first } else { *random.pick(&all) };
        let mut sample: Vec<char> = walk(pattern, random).chars().collect();
        let at = random.below(sample.len());
        match random.below(8) {
            0 => drop(sample.remove(at)),
            1 => sample.insert(at, sample[at]),
            2 => sample[at] = sample[at].to_ascii_uppercase(),
            _ => {}
        }
        text.extend(sample);
        text.push_str(JOINTS[random.below(JOINTS.len())]);
    }
    text
}
