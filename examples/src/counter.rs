//! The file that keeps how often a store was changed: the one thing that tells an older copy of a store from the store.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Counter {
    tenant: String,
    store: String,
    changes: u64,
}

/// The newest change that the file knows of; `None` when there is no file.
///
/// # Errors
/// It cannot be read, or is another store's.
pub(crate) fn read(file: &Path, tenant: &str, store: &str) -> Result<Option<u64>> {
    let place = file.display();
    let text = match fs::read_to_string(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        text => text.with_context(|| format!("cannot read {place}"))?,
    };
    let known: Counter = serde_json::from_str(&text).with_context(|| format!("{place} is no counter file"))?;
    ensure!(
        known.tenant == tenant && known.store == store,
        "{place} is the counter file of store {:?} of {:?}: give store {store:?} of {tenant:?} one of its own",
        known.store,
        known.tenant
    );
    Ok(Some(known.changes))
}

/// Notes a change, whole or not at all. The caller keeps others from doing so at the same time.
///
/// # Errors
/// It cannot be written.
pub(crate) fn write(file: &Path, tenant: &str, store: &str, changes: u64) -> Result<()> {
    let changes = read(file, tenant, store)?.map_or(changes, |known| known.max(changes));
    let text = serde_json::to_string(&Counter { tenant: tenant.into(), store: store.into(), changes })?;
    let part = file.with_added_extension("part");
    fs::write(&part, text).and_then(|()| fs::rename(&part, file)).with_context(|| format!("cannot write {}", file.display()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn whoever_comes_late_takes_no_number_back() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("count");
        for (changes, known) in [(6, 6), (8, 8), (7, 8), (9, 9)] {
            super::write(&file, "acme", "memories", changes).unwrap();
            assert_eq!(super::read(&file, "acme", "memories").unwrap(), Some(known));
        }
        assert!(super::write(&file, "acme", "tasks", 10).is_err());
    }
}
