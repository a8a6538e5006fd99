//! Cells of tables: numbers keep their intervals, how these were taken, and what they were counted on.

use serde::Serialize;

use crate::markdown::percent;
use crate::stats::{Ends, Estimate, Share};

/// A cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A whole number.
    Count(u64),
    /// A number; `None` where there was nothing to compute it from.
    Number {
        /// Itself.
        value: Option<f64>,
        /// Its interval.
        #[serde(skip_serializing_if = "Option::is_none")]
        interval: Option<Interval>,
        /// Decimals that are shown.
        #[serde(skip)]
        decimals: usize,
    },
    /// A share of records.
    Share {
        /// Records that count.
        hits: u64,
        /// All records.
        records: u64,
        /// Independent units of the records.
        units: u64,
        /// What the records are worth at worst, when those of a unit are all alike (Kish); the interval is at this number.
        effective: f64,
        /// The share; `None` of no records.
        value: Option<f64>,
        /// Its interval.
        #[serde(skip_serializing_if = "Option::is_none")]
        interval: Option<Interval>,
    },
}

/// A 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// How it was taken: `wilson`, `bootstrap_bca` and so on.
    pub method: &'static str,
}

impl Cell {
    /// Nothing.
    pub fn empty() -> Self {
        Cell::Text(String::new())
    }

    /// A number with this many decimals.
    pub fn number(value: impl Into<Option<f64>>, decimals: usize) -> Self {
        Cell::Number { value: value.into().filter(|value| value.is_finite()), interval: None, decimals }
    }

    /// A number with its interval.
    pub fn ranged(value: f64, interval: Option<Interval>, decimals: usize) -> Self {
        Cell::Number { value: Some(value).filter(|value| value.is_finite()), interval, decimals }
    }

    /// A figure with its interval.
    pub fn estimate(estimate: impl Into<Option<Estimate>>, decimals: usize) -> Self {
        match estimate.into() {
            Some(Estimate { value, ends }) => Self::ranged(value, ends.map(Interval::from), decimals),
            None => Self::number(None, decimals),
        }
    }

    /// As text on one line: names come from data, and what steers a terminal is none of its letters.
    pub fn shown(&self) -> String {
        match self {
            Cell::Text(text) => text.chars().map(|letter| if letter.is_control() { char::REPLACEMENT_CHARACTER } else { letter }).collect(),
            Cell::Count(count) => count.to_string(),
            Cell::Number { value: None, .. } | Cell::Share { value: None, .. } => "-".to_owned(),
            Cell::Number { value: Some(value), interval, decimals } => {
                let ends = interval.map(|Interval { low, high, .. }| format!(" [{low:.decimals$}, {high:.decimals$}]"));
                format!("{value:.decimals$}{}", ends.unwrap_or_default())
            }
            Cell::Share { hits, records, value: Some(value), interval, .. } => {
                let ends =
                    interval.map(|Interval { low, high, .. }| format!("; {} to {}", percent(low).trim_end_matches(" %"), percent(high)));
                format!("{hits}/{records} ({}{})", percent(*value), ends.unwrap_or_default())
            }
        }
    }
}

impl From<Ends> for Interval {
    fn from(Ends { low, high, method }: Ends) -> Self {
        Interval { low, high, method }
    }
}

/// With its interval by Wilson at the effective number of records.
impl From<&Share> for Cell {
    fn from(share: &Share) -> Self {
        Cell::Share {
            hits: share.hits().into(),
            records: share.records().into(),
            units: share.units() as u64,
            effective: share.effective(),
            value: share.value(),
            interval: share.estimate().and_then(|estimate| estimate.ends).map(Interval::from),
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Cell::Text(text)
    }
}

impl From<usize> for Cell {
    fn from(count: usize) -> Self {
        Cell::Count(count as u64)
    }
}

impl From<u64> for Cell {
    fn from(count: u64) -> Self {
        Cell::Count(count)
    }
}

impl From<u32> for Cell {
    fn from(count: u32) -> Self {
        Cell::Count(count.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_say_their_intervals() {
        let interval = Some(Interval { low: 0.25, high: 0.75, method: "wilson" });
        assert_eq!(Cell::ranged(0.5, interval, 3).shown(), "0.500 [0.250, 0.750]");
        assert_eq!(
            Cell::Share { hits: 1, records: 2, units: 2, effective: 2.0, value: Some(0.5), interval }.shown(),
            "1/2 (50 %; 25 to 75 %)"
        );
        let mut share = Share::default();
        (0..60).for_each(|unit| share.count(&unit.to_string(), false));
        // Of 60 none: up to 3.8415 / 63.8415.
        assert_eq!(Cell::from(&share).shown(), "0/60 (0 %; 0 to 6.02 %)");
        assert_eq!(Cell::estimate(share.estimate(), 3).shown(), "0.000 [0.000, 0.060]");
        assert_eq!([Cell::from(&Share::default()).shown(), Cell::estimate(None, 3).shown()], ["-", "-"]);
        assert_eq!([Cell::number(None, 2).shown(), Cell::number(f64::NAN, 2).shown()], ["-", "-"]);
        assert_eq!(Cell::from("a\nb\u{1b}[2J").shown(), "a\u{fffd}b\u{fffd}[2J");
        assert_eq!(serde_json::to_string(&Cell::number(f64::INFINITY, 2)).unwrap(), r#"{"value":null}"#);
    }
}
