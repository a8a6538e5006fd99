//! Tiny data sets made by hand, and rows of the reports on them.

use std::fs;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;

/// A data folder with these files; each holds a line for each record.
pub fn folder(files: &[(&str, &[String])]) -> TempDir {
    let folder = TempDir::new().unwrap();
    let mut overview = "| folder | file | records | labels | licence |\n| --- | --- | --- | --- | --- |\n".to_owned();
    for (path, lines) in files {
        let (set, file) = path.split_once('/').unwrap();
        overview += &format!("| {set} | {file} | {} | x | Licence of {set} |\n", lines.len());
        fs::create_dir_all(folder.path().join(set)).unwrap();
        fs::write(folder.path().join(set).join("README.md"), format!("# {set}\n\n## Source\n\n- made by hand for {set}\n")).unwrap();
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all((lines.join("\n") + "\n").as_bytes()).unwrap();
        fs::write(folder.path().join(path), gzip.finish().unwrap()).unwrap();
    }
    fs::write(folder.path().join("README.md"), overview).unwrap();
    folder
}

/// A record; `keys` is the rest of the object.
pub fn record(id: &str, label: &str, split: &str, keys: &str) -> String {
    format!(r#"{{"id":"{id}","source":"hand","label":"{label}","split":"{split}",{keys}}}"#)
}

/// The cells of the rows of a section that begin with these cells.
pub fn row(report: &str, section: &str, start: &str) -> Vec<String> {
    let lines = report.lines().skip_while(|line| *line != section).skip(1).take_while(|line| !line.starts_with("## "));
    let found: Vec<&str> = lines.filter(|line| line.starts_with(&format!("| {start} |"))).collect();
    assert_eq!(found.len(), 1, "one row {start} under {section} in\n{report}");
    found[0].trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect()
}
