//! Rows of reports in Markdown, for tests of the commands.

/// The cells of the rows of a section that begin with these cells.
pub fn row(report: &str, section: &str, start: &str) -> Vec<String> {
    let lines = report.lines().skip_while(|line| *line != section).skip(1).take_while(|line| !line.starts_with("## "));
    let found: Vec<&str> = lines.filter(|line| line.starts_with(&format!("| {start} |"))).collect();
    assert_eq!(found.len(), 1, "one row {start} under {section} in\n{report}");
    found[0].trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect()
}
