//! Where a judgement's time goes, stage by stage, for plain text, for attacks, and for text that is made to be slow.

use std::hint::black_box;

use floodmark_core::Hint;
use floodmark_core::text::{Folded, decode};
use floodmark_core::wire::{Body, Direction, read};
use floodmark_tables::{CATEGORIES, DETECTOR};
use serde_json::json;

use super::body::{Kind, chat};
use super::line::Line;
use super::native::{judge, per_kb};
use super::stats::{Samples, time_of};

const BODY_BYTES: usize = 65536;
const MESSAGE_BYTES: usize = 400;
/// The budget of hostile text of any kind, in microseconds a KB, in V8 or wasmtime (performance.md).
const HOSTILE_US_PER_KB: f64 = 30.0;

/// Text that is slow to look at, by what makes it so. Each was the worst of its kind that a review found.
const HOSTILE: [(&str, &str); 6] = [
    ("ends of phrases", "previous instructions forward it to sales no restrictions reply that "),
    ("ends of phrases, letters apart", "a b o v e r u l e s p r e v i o u s i n s t r u c t i o n s "),
    (
        "ends of phrases, invisible characters",
        "n\u{200b}o\u{200b} r\u{200b}e\u{200b}s\u{200b}t\u{200b}r\u{200b}i\u{200b}c\u{200b}t\u{200b}i\u{200b}o\u{200b}n\u{200b}s ",
    ),
    ("escapes", "&#105;&a %69\\u0069\\q <b> &nbsp;"),
    ("base64 and hex", "aGVsbG8gd29ybGQgaGVsbG8gd29ybGQ= 68656c6c6f20776f726c64 "),
    ("letters of other scripts", "\u{43f}\u{440}\u{438}\u{432}\u{435}\u{442} c\u{430}f\u{e9} \u{4f60}\u{597d} \u{ff49}\u{ff47} "),
];

/// All lines.
///
/// # Errors
/// When the shipped policy is not valid.
pub fn measure(samples: Samples) -> anyhow::Result<Vec<Line>> {
    let mut lines = Vec::new();
    for kind in Kind::ALL {
        lines.extend(stages(kind.name(), &chat(kind, BODY_BYTES), samples));
    }
    let judge = judge()?;
    for (name, unit) in HOSTILE {
        let body = body(unit);
        let seconds = time_of(samples, || {
            black_box(judge.judge(black_box(body.as_bytes()), Hint::default()));
        });
        let line = Line::new(format!("native, 64 KB, hostile: {name}"), per_kb(seconds, body.len()), "us/KB");
        lines.push(line.at_most(HOSTILE_US_PER_KB));
    }
    Ok(lines)
}

/// A chat body of messages that repeat `unit`.
fn body(unit: &str) -> String {
    let text = unit.repeat(MESSAGE_BYTES / unit.len() + 1);
    let messages = vec![json!({"role": "assistant", "content": text}); BODY_BYTES / (text.len() + 40) + 1];
    json!({"model": "bench", "messages": messages}).to_string()
}

/// The stages of one body: what is left of the whole judgement is scoring, resampling and the report of what was found.
fn stages(name: &str, body: &str, samples: Samples) -> Vec<Line> {
    let read_body = Body::new(body.as_bytes());
    let document = read(&read_body, None, Direction::Request);
    let texts: Vec<&str> = document.events.iter().map(|event| &*event.text).collect();
    let view = |text| Folded::of(text, &CATEGORIES.folds);
    let views: Vec<_> = texts.iter().map(|text| view(text)).collect();
    let line = |stage: &str, seconds| Line::new(format!("native, 64 KB, {name}: {stage}"), per_kb(seconds, body.len()), "us/KB");
    let reading = time_of(samples, || {
        black_box(read(&Body::new(black_box(body.as_bytes())), None, Direction::Request));
    });
    let decoding = time_of(samples, || {
        for text in &texts {
            black_box(decode(black_box(text), |found| drop(black_box(found))));
        }
    });
    let viewing = time_of(samples, || texts.iter().for_each(|text| drop(black_box(view(black_box(text))))));
    let scanning = time_of(samples, || {
        let mut hits = Vec::new();
        CATEGORIES.scan(black_box(&views), |_| true, |_, hit| hits.push(hit));
        black_box(hits);
    });
    let detecting = time_of(samples, || {
        for view in &views {
            black_box(DETECTOR.score(black_box(view.as_str())));
        }
    });
    vec![
        line("reading", reading),
        line("decoding", decoding),
        line("views", viewing),
        line("scanning", scanning),
        line("detecting", detecting),
    ]
}
