//! One whole judgement as native code: read, fold, match, score.

use anyhow::{anyhow, ensure};
use floodmark_core::{Hint, Judge, Policy};

use super::body::{Kind, chat};
use super::line::Line;
use super::stats::{Samples, median, time_of};

/// Sizes of the bodies and their names.
pub const SIZES: [(usize, &str); 3] = [(1024, "1 KB"), (4096, "4 KB"), (65536, "64 KB")];

/// A judge of the shipped policy.
///
/// # Errors
/// When the shipped policy is not valid.
pub fn judge() -> anyhow::Result<Judge<'static>> {
    judge_with(&Policy::default())
}

fn judge_with(policy: &Policy) -> anyhow::Result<Judge<'static>> {
    let refused = |error: floodmark_core::policy::PolicyError| anyhow!("{}: {}", error.key, error.problem);
    Judge::new(policy, &floodmark_tables::TABLES).map_err(refused)
}

/// Microseconds a KB for each kind and size of body.
///
/// # Errors
/// When a body gets another verdict than it should.
pub fn measure(samples: Samples) -> anyhow::Result<Vec<Line>> {
    let mut lines = Vec::new();
    for kind in Kind::ALL {
        for (bytes, size) in SIZES {
            lines.push(Line::new(format!("native, {size}, {}", kind.name()), us_per_kb(kind, bytes, samples)?, "us/KB"));
        }
    }
    lines.push(Line::new("native, 64 KB, benign: share of the resampling check", resampling_share(samples)?, "%").at_most(15.0));
    Ok(lines)
}

/// How much of a judgement is spent on resampling, in percent: the judgement with and without it, in turns.
fn resampling_share(samples: Samples) -> anyhow::Result<f64> {
    const ROUNDS: usize = 5;
    let mut without = Policy::default();
    without.conversation.resampling = false;
    let judges = [judge()?, judge_with(&without)?];
    let body = chat(Kind::Benign, 65536);
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (judge, times) in judges.iter().zip(&mut times) {
            times.push(time_of(samples, || {
                std::hint::black_box(judge.judge(std::hint::black_box(body.as_bytes()), Hint::default()));
            }));
        }
    }
    let [with, without] = times.each_mut().map(|times| median(times));
    Ok(100.0 * (with - without) / with)
}

/// Microseconds a KB for one kind and size of body.
///
/// # Errors
/// When the body gets another verdict than it should.
pub fn us_per_kb(kind: Kind, bytes: usize, samples: Samples) -> anyhow::Result<f64> {
    let judge = judge()?;
    let body = chat(kind, bytes);
    let verdict = judge.judge(body.as_bytes(), Hint::default()).verdict.name();
    ensure!(verdict == kind.verdict(), "the {} body of {bytes} bytes got {verdict}, not {}", kind.name(), kind.verdict());
    let seconds = time_of(samples, || {
        std::hint::black_box(judge.judge(std::hint::black_box(body.as_bytes()), Hint::default()));
    });
    Ok(per_kb(seconds, bytes))
}

/// Seconds for `bytes` bytes as microseconds a KB.
pub fn per_kb(seconds: f64, bytes: usize) -> f64 {
    seconds * 1e6 / (bytes as f64 / 1024.0)
}
