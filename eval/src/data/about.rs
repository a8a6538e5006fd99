//! What the READMEs of the data say about sources and licences.

/// Whether a README is the overview of a data folder: it has the table of files with their licences. Any other README says nothing of them.
pub(super) fn is_overview(readme: &str) -> bool {
    readme.lines().any(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        matches!(cells.as_slice(), ["", "folder", "file", _, _, "licence", ..])
    })
}

/// The licence of a file from the overview's table, whose columns are folder, file, records, labels, licence.
pub(super) fn licence(overview: &str, set: &str, file: &str) -> Option<String> {
    overview.lines().find_map(|line| {
        let cells: Vec<&str> = line.strip_prefix('|')?.split('|').map(str::trim).collect();
        match cells.as_slice() {
            [of_set, of_file, _, _, licence, ..] if *of_set == set && *of_file == file && !licence.is_empty() => {
                Some((*licence).to_owned())
            }
            _ => None,
        }
    })
}

/// The list under `## Source`, one source after the other.
pub(super) fn source(readme: &str) -> Option<String> {
    let section = readme.lines().skip_while(|line| line.trim() != "## Source").skip(1);
    let items = section.take_while(|line| !line.starts_with("## ")).filter_map(|line| line.trim().strip_prefix("- "));
    let items: Vec<&str> = items.map(str::trim).filter(|item| !item.is_empty()).collect();
    (!items.is_empty()).then(|| items.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licence_and_source_are_found_where_they_stand() {
        let overview =
            "| folder | file | records | labels | licence |\n| --- | --- | --- | --- | --- |\n| a | b.jsonl.gz | 2 | x | MIT, ODC-BY |\n";
        assert!(is_overview(overview) && !is_overview("# Notes\n\n| folder | what |\n"));
        assert_eq!(licence(overview, "a", "b.jsonl.gz").as_deref(), Some("MIT, ODC-BY"));
        assert_eq!(licence(overview, "a", "c.jsonl.gz"), None);
        let readme = "# A\n\n- no source\n\n## Source\n\n- github one/two, commit 3\n- package four\n\n## Licence\n\n- MIT\n";
        assert_eq!(source(readme).as_deref(), Some("github one/two, commit 3; package four"));
        assert_eq!(source("## Source\n\n## Licence\n- MIT\n"), None);
    }
}
