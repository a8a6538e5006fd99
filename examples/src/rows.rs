//! The rows of the file. Their columns are not sealed, so what counts is what the records say; columns are for whoever reads the file with other programs.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use floodmark_core::lineage::{Digest, KeyRing, Record, record_hash};
use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, params};

/// Without constraints, which hold nobody who writes the file: what is read is looked at instead. The order is that of the names.
const TABLES: [&str; 2] = [
    "CREATE TABLE entries (id INTEGER PRIMARY KEY, tenant TEXT, store TEXT, principal TEXT, entry TEXT, content TEXT, record BLOB)",
    "CREATE TABLE heads (tenant TEXT, store TEXT, head BLOB, PRIMARY KEY (tenant, store)) WITHOUT ROWID",
];

/// Opens the file; nothing that others planted in it runs.
pub(crate) fn connect(file: &Path, create: bool) -> Result<Connection> {
    let create_flag = if create { OpenFlags::SQLITE_OPEN_CREATE } else { OpenFlags::empty() };
    let db = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | create_flag)
        .with_context(|| format!("cannot open {}; make a new one with `init`", file.display()))?;
    db.busy_timeout(Duration::from_secs(5))?;
    for (setting, value) in [
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
    ] {
        db.set_db_config(setting, value)?;
    }
    if create && schema(&db)?.is_empty() {
        db.execute_batch(&TABLES.join(";"))?;
    }
    Ok(db)
}

fn schema(db: &Connection) -> Result<Vec<Option<String>>> {
    let mut query = db.prepare("SELECT sql FROM sqlite_schema ORDER BY name").context("the file is no SQLite database that can be read")?;
    Ok(query.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?)
}

/// Whether the file has our tables, as we made them, and nothing else: a trigger or another kind of table would change what a statement does.
pub(crate) fn check_schema(db: &Connection) -> Result<()> {
    let found = schema(db)?;
    ensure!(!found.is_empty(), "the file has no store: make a new one with `init`");
    let ours = found.iter().map(Option::as_deref).eq(TABLES.map(Some));
    ensure!(ours, "the file's tables are not as `init` makes them, or there is more (a trigger?): bring back a good copy");
    Ok(())
}

/// Changes when another connection commits to the file.
pub(crate) fn data_version(db: &Connection) -> Result<i64> {
    Ok(db.pragma_query_value(None, "data_version", |row| row.get(0))?)
}

pub(crate) fn head(db: &Connection, tenant: &str, store: &str) -> Result<Option<Vec<u8>>> {
    let of_store = "SELECT head FROM heads WHERE tenant = ? AND store = ?";
    Ok(db.query_row(of_store, params![tenant, store], |row| Ok(bytes(row.get_ref(0)?))).optional()?)
}

/// One row as it stands in the file; `None` where there is no text in a column for one.
pub(crate) struct Row {
    pub principal: Option<String>,
    pub entry: Option<String>,
    pub content: Option<String>,
    pub record: Vec<u8>,
}

impl Row {
    /// The row with this number, if it has the record that the caller saw there.
    pub(crate) fn read(db: &Connection, version: &Version) -> Result<Option<Row>> {
        let row = db.query_row("SELECT principal, entry, content, record FROM entries WHERE id = ?", [version.id], |row| {
            Ok(Row {
                principal: text(row.get_ref(0)?),
                entry: text(row.get_ref(1)?),
                content: text(row.get_ref(2)?),
                record: bytes(row.get_ref(3)?),
            })
        });
        Ok(row.optional()?.filter(|row| record_hash(&row.record) == version.hash))
    }
}

fn text(value: ValueRef<'_>) -> Option<String> {
    value.as_str().ok().map(str::to_owned)
}

/// What is no bytes is no record.
fn bytes(value: ValueRef<'_>) -> Vec<u8> {
    value.as_blob().unwrap_or_default().to_vec()
}

/// One version of an entry: a row of the file.
#[derive(Clone)]
pub(crate) struct Version {
    pub id: i64,
    pub hash: Digest,
    /// As its record says; `None` where no record of this store can be opened.
    pub number: Option<u64>,
}

/// All rows of a store by what their records say, and by their columns where no record of this store says anything.
#[derive(Default)]
pub(crate) struct Index {
    entries: BTreeMap<(String, String), Vec<Version>>,
    by_hash: BTreeMap<Digest, Version>,
}

impl Index {
    pub(crate) fn read(db: &Connection, tenant: &str, store: &str, ring: &KeyRing) -> Result<Self> {
        let mut query = db.prepare("SELECT id, principal, entry, record FROM entries WHERE tenant = ? AND store = ? ORDER BY id")?;
        let mut rows = query.query(params![tenant, store])?;
        let mut index = Index::default();
        while let Some(row) = rows.next()? {
            let record = bytes(row.get_ref(3)?);
            let (id, hash) = (row.get(0)?, record_hash(&record));
            match Record::open(&record, ring) {
                Ok(record) if record.tenant == tenant && record.store == store => {
                    index.add(record.principal, record.entry, Version { id, hash, number: Some(record.entry_version) });
                }
                _ => {
                    let (principal, entry) = (text(row.get_ref(1)?).unwrap_or_default(), text(row.get_ref(2)?).unwrap_or_default());
                    index.add(&principal, &entry, Version { id, hash, number: None });
                }
            }
        }
        Ok(index)
    }

    pub(crate) fn add(&mut self, principal: &str, entry: &str, version: Version) {
        self.by_hash.insert(version.hash, version.clone());
        self.entries.entry((principal.to_owned(), entry.to_owned())).or_default().push(version);
    }

    pub(crate) fn remove(&mut self, principal: &str, entry: &str) {
        for version in self.entries.remove(&(principal.to_owned(), entry.to_owned())).unwrap_or_default() {
            self.by_hash.remove(&version.hash);
        }
    }

    /// All versions of an entry, in no order.
    pub(crate) fn versions(&self, principal: &str, entry: &str) -> &[Version] {
        self.entries.get(&(principal.to_owned(), entry.to_owned())).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn newest(&self, principal: &str, entry: &str) -> Option<&Version> {
        self.versions(principal, entry).iter().max_by_key(|version| version.number)
    }

    pub(crate) fn with_hash(&self, hash: &Digest) -> Option<&Version> {
        self.by_hash.get(hash)
    }

    /// Principal, name and versions of all entries.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, &str, &[Version])> {
        self.entries.iter().map(|((principal, entry), versions)| (principal.as_str(), entry.as_str(), versions.as_slice()))
    }

    /// The hashes of the records of all rows.
    pub(crate) fn hashes(&self) -> impl Iterator<Item = Digest> {
        self.entries.values().flatten().map(|version| version.hash)
    }
}
