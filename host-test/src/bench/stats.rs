//! Medians and quantiles, and the one loop that times a function.

use std::time::{Duration, Instant};

/// The value at `share` (0 to 1) of the sorted list, by the nearest rank; 0 for an empty list.
pub fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let rank = (share * values.len() as f64).ceil() as usize;
    values.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
}

/// The median.
pub fn median(values: &mut [f64]) -> f64 {
    quantile(values, 0.5)
}

/// How a function is timed.
#[derive(Clone, Copy, Debug)]
pub struct Samples {
    /// Number of samples; the median counts.
    pub count: usize,
    /// Shortest time of one sample.
    pub time: Duration,
}

/// Seconds that one call of `work` takes: the median of the samples, each of as many calls as fill its time.
pub fn time_of(samples: Samples, mut work: impl FnMut()) -> f64 {
    let mut batch = 1u32;
    // Doubles until a batch is long enough to be timed; this is the warm-up, too.
    loop {
        let started = Instant::now();
        (0..batch).for_each(|_| work());
        if started.elapsed() >= samples.time || batch > u32::MAX / 2 {
            break;
        }
        batch *= 2;
    }
    let mut times: Vec<f64> = (0..samples.count)
        .map(|_| {
            let started = Instant::now();
            (0..batch).for_each(|_| work());
            started.elapsed().as_secs_f64() / f64::from(batch)
        })
        .collect();
    median(&mut times)
}

#[cfg(test)]
mod tests {
    use super::{median, quantile};

    #[test]
    fn quantiles_are_by_the_nearest_rank() {
        let mut values = [5.0, 1.0, 4.0, 2.0, 3.0];
        assert_eq!(median(&mut values), 3.0);
        assert_eq!(quantile(&mut values, 0.99), 5.0);
        assert_eq!(quantile(&mut values, 0.2), 1.0);
        assert_eq!(quantile(&mut [], 0.5), 0.0);
    }
}
