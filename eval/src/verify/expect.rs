//! What a figure has to be: its name and a printed value.

use std::fmt;
use std::str::FromStr;

use anyhow::Context as _;

/// A figure's name and the value that was printed for it somewhere.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Expectation {
    name: String,
    printed: String,
    value: f64,
}

impl FromStr for Expectation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, printed) = text.split_once('=').ok_or("give a figure and its value, such as drift=0.437291")?;
        let value = printed.parse().ok().filter(|value: &f64| value.is_finite() && !printed.contains(['e', 'E']));
        let value = value.ok_or_else(|| format!("`{printed}` is no number in decimals"))?;
        Ok(Self { name: name.to_owned(), printed: printed.to_owned(), value })
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}={}", self.name, self.printed)
    }
}

impl Expectation {
    /// The figure of this name.
    pub(super) fn find(&self, named: &[(String, f64)]) -> anyhow::Result<f64> {
        let figure = named.iter().find(|(name, _)| *name == self.name).map(|&(_, value)| value);
        figure.with_context(|| {
            let names: Vec<&str> = named.iter().map(|(name, _)| name.as_str()).collect();
            format!("no figure `{}` in this receipt; there are {}", self.name, names.join(", "))
        })
    }

    /// Whether a value would be printed so, whichever way a half is rounded.
    pub(super) fn met(&self, found: f64) -> bool {
        let decimals = self.printed.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let half = 0.5 * 10_f64.powi(-i32::try_from(decimals).unwrap_or(i32::MAX));
        (found - self.value).abs() <= half + 1e-9
    }
}
