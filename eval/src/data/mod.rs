//! The data folder: which sets and files it holds, where they come from, and their records one by one.
//!
//! A data folder holds a README.md with a table of files and licences, and one folder for each set with a README.md that names the source and files of JSON lines,
//! `*.jsonl` or `*.jsonl.gz`. Users bring folders without READMEs, or a file alone; docs/data-format.md has the shapes.

mod about;
mod message;
mod part;
mod read;
mod record;
mod unit;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

pub use message::{Call, Message};
pub use part::Part;
pub use read::{OnBroken, Records, Taken};
pub use record::{Channel, Label, Record, Split};
pub use unit::{unit, unit_of};

/// The licence and the source of what a user brings.
pub const NOT_NAMED: &str = "not named";
/// Endings of files of records.
const ENDINGS: [&str; 2] = [".jsonl", ".jsonl.gz"];

/// One file of records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFile {
    /// The set's folder name; of a file that is in no set's folder its own name without the ending.
    pub set: String,
    /// The file's name.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// The licence, as the data folder's README names it; else [`NOT_NAMED`].
    pub licence: String,
    /// Where the records come from, as the set's README says; else [`NOT_NAMED`].
    pub source: String,
}

impl DataFile {
    /// The file's name without its ending.
    pub fn stem(&self) -> &str {
        stem(&self.name)
    }
}

/// The files of a data folder, by set and name, or a file alone. Where the folder's README.md has the table of files, all must be in it; a folder without such a
/// README is a user's own.
///
/// # Errors
/// When there is nothing of that name, it holds no records, or a README of a data folder does not say where they come from.
pub fn files(path: &Path) -> anyhow::Result<Vec<DataFile>> {
    let shown = path.display();
    let about = fs::metadata(path).with_context(|| {
        format!(
            "cannot find {shown}; give a data folder with --data, for example ../shared/data, or a file of JSON lines (docs/data-format.md)"
        )
    })?;
    if !about.is_dir() {
        return Ok(vec![DataFile::own(stem(&file_name(path)).to_owned(), path.to_owned())]);
    }
    let overview = path.join("README.md");
    let overview = if overview.exists() { Some(read_text(&overview)?).filter(|text| about::is_overview(text)) } else { None };
    let mut found = Vec::new();
    for inside in sorted(path)? {
        let of_set = if inside.is_dir() { sorted(&inside)? } else { vec![inside.clone()] };
        for file in of_set.into_iter().filter(|file| is_records(file)) {
            let set = if inside.is_dir() { file_name(&inside) } else { stem(&file_name(&file)).to_owned() };
            found.push(match &overview {
                Some(overview) => DataFile::listed(set, file, path, overview)?,
                None => DataFile::own(set, file),
            });
        }
    }
    if found.is_empty() {
        bail!("{shown} holds no *.jsonl or *.jsonl.gz, and no folder with any; give a folder that does, or a file (docs/data-format.md)");
    }
    Ok(found)
}

impl DataFile {
    /// A file that a user brings.
    fn own(set: String, path: PathBuf) -> Self {
        Self { set, name: file_name(&path), path, licence: NOT_NAMED.to_owned(), source: NOT_NAMED.to_owned() }
    }

    /// A file of a data folder with an overview.
    fn listed(set: String, path: PathBuf, folder: &Path, overview: &str) -> anyhow::Result<Self> {
        let name = file_name(&path);
        let licence = about::licence(overview, &set, &name).with_context(|| {
            format!("{}/README.md names no licence for {set}/{name}; add its line to the table of files", folder.display())
        })?;
        let readme = path.with_file_name("README.md");
        let source = about::source(&read_text(&readme)?)
            .with_context(|| format!("{} names no source; add a section `## Source` with a list", readme.display()))?;
        Ok(Self { set, name, path, licence, source })
    }
}

fn is_records(path: &Path) -> bool {
    let name = file_name(path);
    path.is_file() && ENDINGS.iter().any(|ending| name.ends_with(ending))
}

fn stem(name: &str) -> &str {
    ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
}

fn sorted(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read the folder {}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn read_text(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
