//! The table of docs/evasions.md.

use std::fs;
use std::path::PathBuf;

const BEGIN: &str = "<!-- table: written by the test `evasion` of tables/ -->\n";
const END: &str = "<!-- end of table -->\n";

/// What a trick came to.
pub struct Row {
    pub trick: &'static str,
    /// Rules that some line of theirs escaped, of how many.
    pub escaped: usize,
    pub rules: usize,
}

/// The table as the page must hold it. Numbers are left out, so that a new pattern does not change it unless it is worse off than others.
pub fn table(rows: &[Row]) -> String {
    let mut text = "\n| trick | covered |\n| --- | --- |\n".to_owned();
    for Row { trick, escaped, rules } in rows {
        let state = match escaped {
            0 => "yes",
            // A few short patterns are found whatever stands between words.
            most if 20 * (rules - most) <= *rules => "**no**",
            _ => "**in part**",
        };
        text += &format!("| {} | {state} |\n", trick.replace('|', "\\|"));
    }
    text + "\n"
}

/// Fails when the page's table is another; with `UPDATE_EXPECT` set it is written instead.
pub fn check(table: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/evasions.md");
    let page = fs::read_to_string(&path).expect("docs/evasions.md");
    let (before, rest) = page.split_once(BEGIN).expect("the table's begin");
    let (written, behind) = rest.split_once(END).expect("the table's end");
    if written == table {
        return;
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, format!("{before}{BEGIN}{table}{END}{behind}")).expect("the page can be written");
        return;
    }
    let changed: Vec<&str> = table.lines().filter(|line| !written.contains(line)).collect();
    panic!(
        "docs/evasions.md does not say what was found; these lines are new or other:\n{}\nmend the patterns or the engine, or write the page: UPDATE_EXPECT=1 \
         cargo test -p floodmark-tables --test evasion",
        changed.join("\n")
    );
}
