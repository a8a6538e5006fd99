//! Plots as data: axes, series of points, and levels drawn across.

use serde::Serialize;

/// A plot of one or more series.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plot {
    /// Its name in files.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// From left to right.
    pub x: Axis,
    /// From bottom to top.
    pub y: Axis,
    /// What is drawn.
    pub series: Vec<Series>,
    /// Lines across, of thresholds and the like.
    pub levels: Vec<Level>,
}

/// An axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Axis {
    /// What it measures, with the unit.
    pub name: String,
    /// Where it begins.
    pub low: f64,
    /// Where it ends.
    pub high: f64,
}

/// Points that belong together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// How its points are drawn.
    pub mark: Mark,
    /// Points (x, y), by x.
    pub points: Vec<[f64; 2]>,
}

/// How points are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// As a line from each to the next.
    Line,
    /// As a dot each.
    Dots,
    /// As a bar each, from 0 up, as wide as to the next.
    Bars,
}

/// A line across the plot.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Level {
    /// Its name in the legend.
    pub name: String,
    /// Where it stands.
    pub at: f64,
    /// From bottom to top at an x; from left to right at a y otherwise.
    pub upright: bool,
}

/// Bars of a histogram.
const BARS: usize = 25;

impl Series {
    /// Shares of values in equal steps from 0 to the highest, which is in the last.
    pub fn bars(name: impl Into<String>, values: &[f64], highest: f64) -> Self {
        let mut counts = [0_u32; BARS];
        for value in values {
            counts[((value / highest * BARS as f64) as usize).min(BARS - 1)] += 1;
        }
        let (width, all) = (highest / BARS as f64, values.len().max(1) as f64);
        let points = counts.iter().enumerate().map(|(at, &count)| [at as f64 * width, f64::from(count) / all]).collect();
        Series { name: name.into(), mark: Mark::Bars, points }
    }
}

impl Axis {
    /// An axis.
    pub fn new(name: impl Into<String>, low: f64, high: f64) -> Self {
        Axis { name: name.into(), low, high }
    }

    /// An axis of shares.
    pub fn share(name: impl Into<String>) -> Self {
        Axis::new(name, 0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_shares_of_equal_steps() {
        let bars = Series::bars("some", &[0.0, 0.039, 0.04, 1.0], 1.0);
        assert_eq!((bars.points.len(), bars.points[0], bars.points[1], bars.points[24]), (25, [0.0, 0.5], [0.04, 0.25], [0.96, 0.25]));
        assert_eq!(Series::bars("wide", &[2.0], 2.0).points[24], [1.92, 1.0]);
    }
}
