//! What the detector adds: fuel of judgements with it above those without, on texts that are hard for it.

use std::fmt::Write as _;

use floodmark_host::emulator::{Request, UpstreamReply};

use crate::requests::{count, text};
use crate::{Hard, PATH, SIZES, fuel, gateway, hard};

/// Most that the detector may take for a byte of text: a little more than for words of one letter, which are looked up among the last ones at every
/// second byte.
const MOST: f64 = 660.0;
/// Behind a short message, as in [`text`].
const START: &str = r#"{"messages":[{"role":"user","content":"Hello."},{"role":"user","content":""#;

const HARD: &[Hard] = &[
    hard("words", |bytes| text("Plants need light, water and patience; which of these can live in a room to the north? ", bytes)),
    hard("one word", |bytes| text("abcdefghijklmnopqrstuvwxyz", bytes)),
    hard("words that differ", |bytes| count(START, "w# ", r#""}]}"#, bytes)),
    hard("one word again and again", |bytes| text("same ", bytes)),
    hard("two words in turn", |bytes| text("a b ", bytes)),
    hard("more words than are remembered", |bytes| text("a b c d e f g h i ", bytes)),
    hard("marks between letters", |bytes| text("a.b-", bytes)),
    hard("wide letters", |bytes| text("\u{4f60}\u{597d}\u{4e16}\u{754c}", bytes)),
    hard("wide letters and others in turn", |bytes| text("\u{4f60}a \u{e9}", bytes)),
];

#[test]
fn the_detector_is_linear_and_bounded() {
    let mut with = gateway(r#""mode":"monitor""#);
    let mut without = gateway(r#""mode":"monitor","policy":{"rules":{"detector":"off"}}"#);
    let (mut table, mut good) = (String::new(), true);
    for hard in HARD {
        let message = |bytes| (Request::post_json(PATH, (hard.body)(bytes)), UpstreamReply::ok());
        let (with, without) = (fuel(&mut with, message), fuel(&mut without, message));
        let added: [f64; SIZES.len()] = std::array::from_fn(|at| with[at] - without[at]);
        let [small, .., large] = added;
        // The setting up of a short text is part of its cost.
        good &= added.iter().all(|added| (1.0..MOST).contains(added)) && large < 1.2 * small;
        writeln!(table, "{:<40} {:>7.1} {:>7.1} {:>7.1}", hard.name, added[0], added[1], added[2]).unwrap();
    }
    println!("{table}");
    assert!(good, "fuel that the detector adds for a byte of {SIZES:?} bytes grows or is above {MOST}:\n{table}");
}
