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
    /// Whether a value meets it, and whether its interval leaves that open.
    pub fn verdict_within(self, value: Option<f64>, interval: Option<(f64, f64)>) -> String {
        let said = self.verdict(value);
        let at = |value| self.verdict(Some(value)) == said;
        match interval {
            Some((low, high)) if !(at(low) && at(high)) => format!("{said}, not certain"),
            _ => said.to_owned(),
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_over_the_border_leaves_it_open() {
        let goal = Goal::AtMost(0.005);
        let of = |value, low, high| goal.verdict_within(Some(value), Some((low, high)));
        assert_eq!([of(0.0, 0.0, 0.004), of(0.0, 0.0, 0.1)], ["met", "met, not certain"]);
        assert_eq!([of(0.1, 0.02, 0.3), of(0.1, 0.001, 0.3)], ["missed", "missed, not certain"]);
        assert_eq!([goal.verdict_within(None, None), goal.verdict_within(Some(0.1), None)], ["not measured", "missed"]);
    }
}
