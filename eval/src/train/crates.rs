//! Honest texts of crates: documentation, licences and source code, in pieces as an agent's tool would return them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use crate::data::Split;
use crate::stats::Chance;

use super::recipe::Recipe;

/// What the units of crates begin with.
pub const CRATES: &str = "crates/";
/// One crate of so many is dev.
const ONE_IS_DEV: u8 = 5;

/// A piece of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The crate's name.
    pub name: String,
    pub split: Split,
    /// Source code, and no prose.
    pub code: bool,
    pub text: String,
}

impl Piece {
    /// Its independence unit: the crate.
    pub fn unit(&self) -> String {
        format!("{CRATES}{}", self.name)
    }
}

/// The pieces of the recipe's crates, which lie under `folder` as `name-version`, in their order; each text once.
///
/// # Errors
/// When a crate is not there, or a file cannot be read.
pub fn read(folder: &Path, recipe: &Recipe) -> anyhow::Result<Vec<Piece>> {
    let mut chance = Chance::new(recipe.seed);
    let mut seen = BTreeSet::new();
    let mut pieces = Vec::new();
    for (name, version) in &recipe.crates {
        let of_crate = folder.join(format!("{name}-{version}"));
        ensure!(
            of_crate.is_dir(),
            "{} is not there; `cargo xtask train` fetches the crates of the recipe and gives their folder with --crates",
            of_crate.display()
        );
        let dev = blake3::hash(name.as_bytes()).as_bytes()[0].is_multiple_of(ONE_IS_DEV);
        let split = if dev { Split::Dev } else { Split::Train };
        let mut files = Vec::new();
        list(&of_crate, &mut files)?;
        files.sort();
        for path in files {
            let Some(code) = kind(&path, &of_crate) else { continue };
            // What is no UTF-8 is a case for tests.
            let Ok(text) = String::from_utf8(fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?) else { continue };
            let mut cut = cut(&text, recipe.samples.piece_bytes);
            if code {
                cut = chance.some(cut, recipe.samples.pieces_per_source_file);
            }
            for text in cut.into_iter().filter(|text| !text.trim().is_empty()) {
                if seen.insert(text.to_owned()) {
                    pieces.push(Piece { name: name.clone(), split, code, text: text.to_owned() });
                }
            }
        }
    }
    Ok(pieces)
}

/// Whether a file is code; `None` of those that are neither code nor prose.
fn kind(path: &Path, of_crate: &Path) -> Option<bool> {
    let inside = path.strip_prefix(of_crate).ok()?;
    let extension = path.extension().and_then(|extension| extension.to_str());
    let name = path.file_name()?.to_str()?;
    match extension {
        Some("rs") if inside.starts_with("src") => Some(true),
        Some("md") => Some(false),
        _ if name.starts_with("LICENSE") || name.starts_with("COPYING") => Some(false),
        _ => None,
    }
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read the folder {}", folder.display()))? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            list(&entry.path(), files)?;
        } else {
            files.push(entry.path());
        }
    }
    Ok(())
}

/// Pieces of at most so many bytes that end with a line where they can.
fn cut(text: &str, most: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while rest.len() > most {
        let end = rest.floor_char_boundary(most);
        let end = rest[..end].rfind('\n').map_or(end, |line| line + 1);
        let (piece, behind) = rest.split_at(end);
        pieces.push(piece);
        rest = behind;
    }
    pieces.push(rest);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_end_with_lines_where_they_can() {
        assert_eq!(cut("ab\ncd\nef", 6), ["ab\ncd\n", "ef"]);
        assert_eq!(cut("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(cut("äöü", 3), ["ä", "ö", "ü"]);
        assert_eq!(cut("", 3), [""]);
    }
}
