//! The statistics by their definitions, as plainly as they can be written: agreement with the gateway's incremental ones then means something.

use crate::stats::settled;

/// The CUSUM after each event, from g_0 = `start`: the sum so far, less the lowest point that it could have been reset at.
pub fn path(scores: &[f64], drift: f64, start: f64) -> Vec<f64> {
    let mut sums = vec![0.0];
    for score in scores {
        sums.push(sums[sums.len() - 1] + (score - drift));
    }
    // Before the first event the CUSUM is at `start`; a start below 0 is as if the sum had come down from that much higher.
    let mut lows = vec![sums[0] - start];
    for sum in &sums[1..] {
        lows.push(sum.min(lows[lows.len() - 1]));
    }
    sums.iter().zip(&lows).skip(1).map(|(sum, low)| settled(sum - low)).collect()
}

/// The highest CUSUM, from g_0 = `start`; 0 of no events.
pub fn persistence(scores: &[f64], drift: f64, start: f64) -> f64 {
    path(scores, drift, start).into_iter().fold(0.0, f64::max)
}

/// The highest score; 0 of no events.
pub fn peak(scores: &[f64]) -> f64 {
    scores.iter().copied().reduce(f64::max).unwrap_or(0.0)
}

/// Share of events at or over the threshold; 0 of no events.
pub fn frac_over_tau(scores: &[f64], tau: f64) -> f64 {
    let over = scores.iter().filter(|&&score| score >= tau).count();
    if scores.is_empty() { 0.0 } else { over as f64 / scores.len() as f64 }
}
