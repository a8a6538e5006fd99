//! A store of sealed entries in an SQLite file: whoever can write the file, but has no key, cannot make an entry look better than it is.
//!
//! Each row has its content and its record. All versions of an entry stay, for what was made of them names them as parents. One sealed head over the
//! whole store shows what no single row can: that rows are missing, or older ones were put back.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use data_encoding::HEXLOWER;
use floodmark_core::lineage::{
    self, AncestorRequest, CallRequest, Channel, CheckAnswer, CheckRequest, Digest, Effect, Gate, HeadFault, KeyRing, MintAnswer,
    MintRequest, StoreHead, record_hash,
};
use floodmark_core::{Judge, Policy};
use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS entries (
        tenant TEXT NOT NULL, store TEXT NOT NULL, principal TEXT NOT NULL, entry TEXT NOT NULL, version INTEGER NOT NULL,
        content TEXT NOT NULL, record BLOB, hash BLOB, PRIMARY KEY (tenant, store, principal, entry, version));
    CREATE INDEX IF NOT EXISTS by_hash ON entries (hash);
    CREATE TABLE IF NOT EXISTS heads (tenant TEXT NOT NULL, store TEXT NOT NULL, head BLOB NOT NULL, PRIMARY KEY (tenant, store));";

/// Where a store lies and what it is opened with.
pub struct Options {
    /// The SQLite file.
    pub db: PathBuf,
    /// Whose store it is.
    pub tenant: String,
    /// Its name: entries of one store count for nothing in another.
    pub store: String,
    /// What the gate goes by.
    pub gate: Gate,
    /// Seals and verifies.
    pub ring: KeyRing,
    /// A file that keeps the newest head's counter, where whoever can write `db` cannot write. Without it a file that was put back with its head looks new.
    pub counter: Option<PathBuf>,
}

/// What is to be remembered.
pub struct New<'a> {
    /// Its key.
    pub entry: &'a str,
    /// Its text.
    pub content: &'a str,
    /// Which way it came, as the caller knows; never what the text says of itself.
    pub channel: Channel,
    /// Who wrote it.
    pub author: &'a str,
    /// Entries of the same principal that it was made from, in their newest versions.
    pub parents: &'a [&'a str],
}

/// What an entry is recalled for.
#[derive(Default)]
pub struct Use {
    /// The call that would be made; without one it is only read.
    pub call: Option<CallRequest>,
    /// Sealed grants that may cover the call.
    pub grants: Vec<String>,
}

/// An open store.
pub struct Store {
    db: Connection,
    options: Options,
    judge: Judge<'static>,
    /// The head as sealed in the file, and what it says; `None` when it could not be opened.
    head: Option<(Vec<u8>, StoreHead)>,
}

impl Store {
    /// Makes a new store.
    ///
    /// # Errors
    /// The file cannot be made, or the store is there already.
    pub fn create(options: Options) -> Result<Self> {
        let mut store = Store::connect(options)?;
        ensure!(store.sealed_head()?.is_none() && store.hashes()?.is_empty(), "the store is there already; leave `init` out");
        ensure!(
            store.known()?.is_none(),
            "the counter file knows this store, so its rows and head were taken away: bring back a copy of the file"
        );
        let head = StoreHead::new(&store.options.ring);
        store.change(head, |_, _| Ok(()))?;
        Ok(store)
    }

    /// Opens a store and compares all its rows with its head.
    ///
    /// # Errors
    /// What is wrong with the head, and what to do.
    pub fn open(options: Options) -> Result<Self> {
        let mut store = Store::connect(options)?;
        let sealed =
            store.sealed_head()?.context("the store has no head: make a new one with `init`; if it had one, somebody took it away")?;
        let head = store.verified(&sealed)?;
        store.head = Some((sealed, head));
        Ok(store)
    }

    /// Opens a store as it is, to look at rows whatever the head says. Nothing can be written.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn inspect(options: Options) -> Result<Self> {
        Store::connect(options)
    }

    /// Seals a new head over the rows that there are: for an administrator who has looked at them. Rows that are broken stay so.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn reseal(options: Options) -> Result<Self> {
        let mut store = Store::connect(options)?;
        let mut head = StoreHead::new(&store.options.ring);
        store.hashes()?.iter().for_each(|hash| head.add(hash));
        // The counter must not fall behind what anybody has seen.
        while store.known()?.is_some_and(|known| head.counter() <= known) {
            head.add(&Digest([0; 32]));
            head.remove(&Digest([0; 32]));
        }
        store.change(head, |_, _| Ok(()))?;
        Ok(store)
    }

    /// Remembers an entry, as a new version where there is one of this name.
    ///
    /// # Errors
    /// A parent that is not there, a text out of bounds, or a file that changed under us.
    pub fn remember(&mut self, principal: &str, new: &New<'_>) -> Result<MintAnswer> {
        let parents = new.parents.iter().map(|parent| self.parent(principal, parent)).collect::<Result<Vec<_>>>()?;
        let version = self.newest(principal, new.entry)?.map_or(1, |row| row.version + 1);
        let request = MintRequest {
            tenant: self.options.tenant.clone(),
            principal: principal.to_owned(),
            store: self.options.store.clone(),
            entry: Some(new.entry.to_owned()),
            version: None,
            channel: new.channel,
            author: new.author.to_owned(),
            content: new.content.to_owned(),
            parents,
        };
        let minted = lineage::mint(&request, &self.options.gate, &self.options.ring, version, crate::now_ms()?)
            .map_err(|error| anyhow!("{}: {}", error.path, error.problem))?;
        let mut head = self.head()?.clone();
        head.add(&minted.hash);
        let record = HEXLOWER.decode(minted.record.as_bytes())?;
        self.change(head, |db, options| {
            db.execute(
                "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                params![options.tenant, options.store, principal, new.entry, version, new.content, record, minted.hash.0],
            )?;
            Ok(())
        })?;
        Ok(minted)
    }

    /// Forgets all versions of an entry. What was made of it has a parent missing from then on.
    ///
    /// # Errors
    /// No such entry, or a file that changed under us.
    pub fn forget(&mut self, principal: &str, entry: &str) -> Result<()> {
        let mut head = self.head()?.clone();
        let rows = self.rows(principal, entry)?;
        ensure!(!rows.is_empty(), "{principal} has no entry {entry:?}");
        rows.iter().for_each(|row| head.remove(&record_hash(&row.record)));
        self.change(head, |db, options| {
            let of_entry = "DELETE FROM entries WHERE tenant = ? AND store = ? AND principal = ? AND entry = ?";
            db.execute(of_entry, params![options.tenant, options.store, principal, entry])?;
            Ok(())
        })
    }

    /// The newest version of an entry, and what may become of it. The text is for the model only if the answer says `run`, or `label` with the label before it.
    ///
    /// # Errors
    /// No such entry, or a use that cannot be checked.
    pub fn recall(&self, principal: &str, entry: &str, wanted: Use) -> Result<(String, CheckAnswer)> {
        self.recall_for(principal, entry, |_| Ok(wanted))
    }

    /// The same, where what it is recalled for depends on the text. Nothing may be done because of the text before there is an answer.
    ///
    /// # Errors
    /// No such entry, or a use that cannot be checked.
    pub fn recall_for(&self, principal: &str, entry: &str, wanted: impl FnOnce(&str) -> Result<Use>) -> Result<(String, CheckAnswer)> {
        let row = self.newest(principal, entry)?.with_context(|| format!("{principal} has no entry {entry:?}"))?;
        let wanted = wanted(&row.content)?;
        let request = CheckRequest {
            tenant: self.options.tenant.clone(),
            principal: principal.to_owned(),
            store: self.options.store.clone(),
            entry: Some(entry.to_owned()),
            content: row.content,
            // Somebody who writes the file can take a record away; that is no record, not an error.
            record: Some(HEXLOWER.encode(&row.record)).filter(|record| !record.is_empty()),
            ancestors: self.ancestors(&row.record)?,
            effect: if wanted.call.is_some() { Effect::SideEffect } else { Effect::Read },
            call: wanted.call,
            grants: wanted.grants,
            release: None,
            run: None,
        };
        let Options { gate, ring, .. } = &self.options;
        let answer = lineage::check(&request, gate, ring, &self.judge, Some(row.version), crate::now_ms()?)
            .map_err(|error| anyhow!("{}: {}", error.path, error.problem))?;
        Ok((request.content, answer))
    }

    /// The principals and names of all entries.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn entries(&self) -> Result<Vec<(String, String)>> {
        let mut query = self.db.prepare("SELECT DISTINCT principal, entry FROM entries WHERE tenant = ? AND store = ? ORDER BY 1, 2")?;
        let rows = query.query_map(params![self.options.tenant, self.options.store], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn connect(options: Options) -> Result<Self> {
        let db = Connection::open(&options.db).with_context(|| format!("cannot open {}", options.db.display()))?;
        db.busy_timeout(std::time::Duration::from_secs(5))?;
        db.execute_batch(SCHEMA)?;
        let judge =
            Judge::new(&Policy::default(), &floodmark_tables::TABLES).map_err(|error| anyhow!("{}: {}", error.key, error.problem))?;
        options.gate.check().map_err(|(path, problem)| anyhow!("gate: {path}: {problem}"))?;
        Ok(Store { db, options, judge, head: None })
    }

    /// Does one change and seals the head that goes with it, both or neither. The counter follows; a crash in between leaves it one behind, which is no alarm.
    fn change(&mut self, head: StoreHead, run: impl FnOnce(&Connection, &Options) -> Result<()>) -> Result<()> {
        let Options { tenant, store, ring, .. } = &self.options;
        let sealed = head.seal(tenant, store, crate::now_ms()?, ring).map_err(|error| anyhow!("{}: {}", error.field, error.problem))?;
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if let Some((before, _)) = &self.head {
            let now: Option<Vec<u8>> = transaction.query_row(READ_HEAD, params![tenant, store], |row| row.get(0)).optional()?;
            ensure!(now.as_ref() == Some(before), "somebody else changed the store; open it again");
        }
        run(&transaction, &self.options)?;
        transaction.execute("INSERT OR REPLACE INTO heads VALUES (?, ?, ?)", params![tenant, store, sealed])?;
        transaction.commit()?;
        if let Some(file) = &self.options.counter {
            let part = file.with_extension("part");
            fs::write(&part, head.counter().to_string())
                .and_then(|()| fs::rename(&part, file))
                .with_context(|| format!("cannot write {}", file.display()))?;
        }
        self.head = Some((sealed, head));
        Ok(())
    }

    fn head(&self) -> Result<&StoreHead> {
        self.head.as_ref().map(|(_, head)| head).context("the store was opened to be looked at only")
    }

    fn sealed_head(&self) -> Result<Option<Vec<u8>>> {
        Ok(self.db.query_row(READ_HEAD, params![self.options.tenant, self.options.store], |row| row.get(0)).optional()?)
    }

    /// The head, if the rows are its own.
    fn verified(&self, sealed: &[u8]) -> Result<StoreHead> {
        let Options { tenant, store, ring, .. } = &self.options;
        let fault = match StoreHead::open(sealed, (tenant, store), &mut self.hashes()?.into_iter(), self.known()?, ring) {
            Ok(head) => return Ok(head),
            Err(HeadFault::Head(fault)) => format!("the head itself is not ours ({fault:?})"),
            Err(HeadFault::OtherStore) => "the head is another store's".to_owned(),
            Err(HeadFault::Older { counter, known }) => {
                format!("the file is an older one: its head says change {counter}, the counter file {known}")
            }
            Err(HeadFault::Count { sealed, found }) => format!("the head says {sealed} rows, there are {found}"),
            Err(HeadFault::Set) => "there are as many rows as the head says, but they are others".to_owned(),
        };
        bail!(
            "{fault}. Somebody wrote the file without a key: look at the rows with `verify`, bring back a good copy, or take the rows as they are with `reseal`"
        )
    }

    /// The newest counter that anybody saw.
    fn known(&self) -> Result<Option<u64>> {
        let Some(file) = &self.options.counter else { return Ok(None) };
        match fs::read_to_string(file) {
            Ok(text) => Ok(Some(text.trim().parse().with_context(|| format!("{} holds no number", file.display()))?)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", file.display())),
        }
    }

    /// The hashes of the records of all rows, computed; what the column says is only for finding.
    fn hashes(&self) -> Result<Vec<Digest>> {
        let mut query = self.db.prepare("SELECT record FROM entries WHERE tenant = ? AND store = ?")?;
        let rows = query.query_map(params![self.options.tenant, self.options.store], |row| row.get::<_, Option<Vec<u8>>>(0))?;
        Ok(rows.map(|row| Ok(record_hash(&row?.unwrap_or_default()))).collect::<rusqlite::Result<_>>()?)
    }

    fn parent(&self, principal: &str, entry: &str) -> Result<Digest> {
        let row = self.newest(principal, entry)?.with_context(|| format!("parent {entry:?} is no entry of {principal}"))?;
        Ok(record_hash(&row.record))
    }

    fn newest(&self, principal: &str, entry: &str) -> Result<Option<Row>> {
        Ok(self.rows(principal, entry)?.pop())
    }

    /// All versions of an entry, the newest last.
    fn rows(&self, principal: &str, entry: &str) -> Result<Vec<Row>> {
        let of_entry =
            "SELECT version, content, record FROM entries WHERE tenant = ? AND store = ? AND principal = ? AND entry = ? ORDER BY version";
        let mut query = self.db.prepare(of_entry)?;
        let rows = query.query_map(params![self.options.tenant, self.options.store, principal, entry], |row| {
            Ok(Row { version: row.get(0)?, content: row.get(1)?, record: row.get::<_, Option<Vec<u8>>>(2)?.unwrap_or_default() })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// The records that `record` comes from, with their contents: each once, by following the parents that they name.
    fn ancestors(&self, record: &[u8]) -> Result<Vec<AncestorRequest>> {
        let parents = |record: &[u8]| -> Vec<[u8; 32]> {
            lineage::Record::open(record, &self.options.ring).map(|record| record.parents.to_vec()).unwrap_or_default()
        };
        let mut query = self.db.prepare("SELECT record, content FROM entries WHERE hash = ?")?;
        let (mut open, mut seen, mut found) = (parents(record), BTreeSet::new(), Vec::new());
        while let Some(hash) = open.pop() {
            if !seen.insert(hash) {
                continue;
            }
            let rows = query.query_map(params![hash], |row| Ok((row.get::<_, Option<Vec<u8>>>(0)?.unwrap_or_default(), row.get(1)?)))?;
            for row in rows {
                let (record, content): (Vec<u8>, String) = row?;
                open.extend(parents(&record));
                found.push(AncestorRequest { record: HEXLOWER.encode(&record), content: Some(content) });
            }
        }
        Ok(found)
    }
}

const READ_HEAD: &str = "SELECT head FROM heads WHERE tenant = ? AND store = ?";

struct Row {
    version: u64,
    content: String,
    record: Vec<u8>,
}

/// Reads what the gate goes by from a JSON file; without one nothing is approved.
///
/// # Errors
/// The file cannot be read, or says something that the gate does not know.
pub fn gate(file: Option<&Path>) -> Result<Gate> {
    let Some(file) = file else { return Ok(Gate::default()) };
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    serde_json::from_str(&text).with_context(|| file.display().to_string())
}
