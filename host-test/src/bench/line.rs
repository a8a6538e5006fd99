//! The bench's table: a measured value, its budget where there is one, and the ratio of the two.

use comfy_table::{CellAlignment, Table};

/// One measured value.
#[derive(Clone, Debug)]
pub struct Line {
    /// What was measured.
    pub what: String,
    /// The value, in `unit`.
    pub value: f64,
    /// Unit.
    pub unit: &'static str,
    /// The budget, in the same unit. `None` where none was set.
    pub budget: Option<f64>,
}

impl Line {
    /// A value without a budget.
    #[must_use]
    pub fn new(what: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self { what: what.into(), value, unit, budget: None }
    }

    /// Adds the budget; every budget is a most, not a least.
    #[must_use]
    pub fn at_most(mut self, budget: f64) -> Self {
        self.budget = Some(budget);
        self
    }
}

/// One row a line.
#[must_use]
pub fn table(lines: &[Line]) -> Table {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::UTF8_FULL_CONDENSED);
    table.set_header(["measured", "value", "unit", "budget", "of budget"]);
    for line in lines {
        let ratio = line.budget.map(|budget| format!("{:.0} %", 100.0 * line.value / budget));
        table.add_row([
            line.what.clone(),
            short(line.value),
            line.unit.to_owned(),
            line.budget.map_or_else(String::new, short),
            ratio.unwrap_or_default(),
        ]);
    }
    for column in [1, 3, 4] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Three digits that count; large numbers whole.
fn short(value: f64) -> String {
    match value.abs() {
        a if a >= 100.0 => format!("{value:.0}"),
        a if a >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn three_digits_count() {
        assert_eq!([short(0.123), short(12.34), short(-123.4), short(45678.9)], ["0.12", "12.3", "-123", "45679"]);
    }
}
