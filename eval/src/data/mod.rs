//! The data folder: which sets and files it holds, where they come from, and their records one by one.
//!
//! A data folder holds a README.md with a table of files and licences, and one folder for each set with a README.md that names the
//! source and `*.jsonl.gz` files of JSON lines.

mod about;
mod read;
mod record;
mod unit;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

pub use read::Records;
pub use record::{Call, Channel, Label, Message, Record, Split};
pub use unit::{unit, unit_of};

/// One file of records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFile {
    /// The set's folder name.
    pub set: String,
    /// The file's name.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// The licence, as the data folder's README names it.
    pub licence: String,
    /// Where the records come from, as the set's README says.
    pub source: String,
}

/// The files of a data folder, by set and name.
///
/// # Errors
/// When there is no such folder, it holds no records, or a README does not say where they come from.
pub fn files(folder: &Path) -> anyhow::Result<Vec<DataFile>> {
    let shown = folder.display();
    let overview = read_text(&folder.join("README.md")).with_context(|| {
        format!(
            "{shown} is no data folder; give one with --data that holds README.md and one folder for each set, for example ../shared/data"
        )
    })?;
    let mut found = Vec::new();
    for set in sorted(folder)?.into_iter().filter(|path| path.is_dir()) {
        for path in sorted(&set)? {
            let name = file_name(&path);
            if !name.ends_with(".jsonl.gz") {
                continue;
            }
            let set_name = file_name(&set);
            let licence = about::licence(&overview, &set_name, &name)
                .with_context(|| format!("{shown}/README.md names no licence for {set_name}/{name}; add its line to the table of files"))?;
            let readme = set.join("README.md");
            let source = about::source(&read_text(&readme)?)
                .with_context(|| format!("{} names no source; add a section `## Source` with a list", readme.display()))?;
            found.push(DataFile { set: set_name, name, path, licence, source });
        }
    }
    if found.is_empty() {
        bail!("{shown} holds no */*.jsonl.gz; give the folder that holds the sets' folders");
    }
    Ok(found)
}

impl DataFile {
    /// The records, one by one.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn records(&self) -> anyhow::Result<Records> {
        Records::open(&self.path)
    }

    /// Gives `take` every record.
    ///
    /// # Errors
    /// When the file cannot be read, which names the line, or what `take` says of a record, with its id.
    pub fn each(&self, mut take: impl FnMut(&Record) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let mut records = self.records()?;
        while let Some(record) = records.next_record()? {
            take(&record).with_context(|| format!("{}: record {}", self.path.display(), record.id))?;
        }
        Ok(())
    }
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
