//! One line of a replay's result.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The parts of a report that a replay prints, numbers and all as the report spells them.
#[derive(Debug, Serialize)]
pub struct Row<'a> {
    /// The line's id.
    pub id: &'a RawValue,
    /// `allow`, `flag` or `block`.
    pub verdict: &'a RawValue,
    /// The conversation's score, 0 to 1.
    pub score: &'a RawValue,
    /// Score of each user message and tool result.
    pub turn_scores: &'a RawValue,
    /// Everything found.
    pub reasons: &'a RawValue,
    /// What was odd about the body.
    pub issues: &'a RawValue,
}

/// A report as far as a row needs it.
#[derive(Deserialize)]
struct Report<'a> {
    #[serde(borrow)]
    verdict: &'a RawValue,
    #[serde(borrow)]
    score: &'a RawValue,
    #[serde(borrow)]
    turn_scores: &'a RawValue,
    #[serde(borrow)]
    reasons: &'a RawValue,
    #[serde(borrow)]
    issues: &'a RawValue,
}

impl<'a> Row<'a> {
    /// Picks the row out of a report.
    ///
    /// # Errors
    /// When id or report are no JSON, or the report lacks a part.
    pub fn new(id: &'a str, report: &'a str) -> serde_json::Result<Self> {
        let id = serde_json::from_str(id)?;
        let Report { verdict, score, turn_scores, reasons, issues } = serde_json::from_str(report)?;
        Ok(Self { id, verdict, score, turn_scores, reasons, issues })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_keeps_the_reports_spelling_and_order() {
        let report =
            r#"{"rule":null,"score":0.30000000000000004,"verdict":"allow","issues":[],"turn_scores":[0.0,1e-7],"reasons":[{"b":1,"a":2}]}"#;
        let row = serde_json::to_string(&Row::new("\"x\"", report).unwrap()).unwrap();
        let expected =
            r#"{"id":"x","verdict":"allow","score":0.30000000000000004,"turn_scores":[0.0,1e-7],"reasons":[{"b":1,"a":2}],"issues":[]}"#;
        assert_eq!(row, expected);
    }
}
