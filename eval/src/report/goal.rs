//! What a figure is to be, and whether it is.

use std::fmt;

use crate::markdown::percent;

/// The word for a goal that was not met.
pub const MISSED: &str = "missed";

/// What a share is to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// At least this.
    AtLeast(f64),
    /// At most this.
    AtMost(f64),
}

impl fmt::Display for Goal {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Goal::AtLeast(least) => write!(to, "at least {}", percent(*least)),
            Goal::AtMost(most) => write!(to, "at most {}", percent(*most)),
        }
    }
}

impl Goal {
    /// Whether a value meets it, in a word.
    pub fn verdict(self, value: Option<f64>) -> &'static str {
        match (self, value) {
            (_, None) => "not measured",
            (Goal::AtLeast(least), Some(value)) if value >= least => "met",
            (Goal::AtMost(most), Some(value)) if value <= most => "met",
            _ => MISSED,
        }
    }
}
