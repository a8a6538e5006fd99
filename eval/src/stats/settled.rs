//! Sums without the noise of rounding.

/// Sums are taken to this many steps in one. What differs by rounding alone is equal, or ties would be broken by noise; it is far below what a score can mean
/// and far above what rounding does to a sum.
const STEPS: f64 = 1e10;

/// A sum or difference of scores without the noise of rounding.
pub fn settled(sum: f64) -> f64 {
    (sum * STEPS).round() / STEPS
}
