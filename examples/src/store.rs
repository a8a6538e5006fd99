//! A store of sealed entries in an SQLite file: whoever can write the file, but has no key, cannot make an entry look better than it is.
//!
//! Each row has its content and its record. All versions of an entry stay, for what was made of them names them as parents. One sealed head over the
//! whole store shows what no single row can: that rows are missing, or older ones were put back. What was verified is kept in memory, and each row that
//! is read later must still be the one that was verified.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use data_encoding::HEXLOWER;
use floodmark_core::lineage::{
    self, AncestorRequest, CallRequest, Channel, CheckAnswer, CheckRequest, Digest, Effect, Gate, Head, HeadFault, KeyRing, MintAnswer,
    MintRequest, StoreHead,
};
use floodmark_core::{Judge, Policy};
use rusqlite::{Connection, TransactionBehavior, params};

use crate::counter;
use crate::rows::{self, Index, Row, Version};

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
    /// A file that keeps the newest head's counter, where whoever can write `db` cannot write; each store has its own. Without it a file that was put back with its
    /// head looks new.
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

/// A row as [`Store::look`] finds it.
pub struct Finding {
    /// Whose entry it is.
    pub principal: String,
    /// The entry's name.
    pub entry: String,
    /// What is to be said of it.
    pub text: String,
    /// Whether it is as it was sealed.
    pub intact: bool,
}

/// An open store.
pub struct Store {
    db: Connection,
    options: Options,
    judge: Judge<'static>,
    seen: Moment,
    /// The verified head of that moment; `None` in a store that was opened to be looked at only.
    head: Option<StoreHead>,
}

/// The file at one moment.
struct Moment {
    data_version: i64,
    sealed: Option<Vec<u8>>,
    index: Index,
}

impl Store {
    /// Makes a new store.
    ///
    /// # Errors
    /// The file cannot be made, or the store is there already.
    pub fn create(options: Options) -> Result<Self> {
        let known = options.known()?;
        let gone = "the counter file knows this store, so its rows and head were taken away: bring back a copy of the file";
        ensure!(known.is_none() || options.db.exists(), gone);
        let mut store = Store::connect(options, true)?;
        let empty = store.seen.sealed.is_none() && store.seen.index.entries().next().is_none();
        ensure!(empty, "the store is there already; leave `init` out");
        ensure!(known.is_none(), gone);
        let head = StoreHead::new(&store.options.ring);
        store.change(head, |_, _| Ok(()))?;
        store.count()?;
        Ok(store)
    }

    /// Opens a store and compares all its rows with its head.
    ///
    /// # Errors
    /// What is wrong with the file, its head or the counter file, and what to do.
    pub fn open(options: Options) -> Result<Self> {
        // Before the file is read: a change in between makes the file newer, which is no alarm.
        let known = options.known()?;
        if let Some(file) = options.counter.as_ref().filter(|_| known.is_none()) {
            let file = file.display();
            bail!(
                "there is no counter file {file}: name the right one; if it is lost, look with `verify`, then make a new one with `reseal`"
            );
        }
        let mut store = Store::connect(options, false)?;
        store.head = Some(store.verified(&store.seen, known)?);
        Ok(store)
    }

    /// Opens a store as it is, to look at rows whatever the head says. Nothing can be written, and nothing that it recalls may be used: rows may be missing.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn inspect(options: Options) -> Result<Self> {
        Store::connect(options, false)
    }

    /// Seals a new head over the rows that there are: for an administrator who has looked at them. Rows that are broken stay so; rows that were taken away
    /// stay away, and what is then the newest version of an entry is taken for it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn reseal(options: Options) -> Result<Self> {
        let known = options.known()?;
        let mut store = Store::connect(options, false)?;
        let mut head = StoreHead::new(&store.options.ring);
        store.seen.index.hashes().for_each(|hash| head.add(&hash));
        // The counter must not fall behind what anybody has seen.
        let before = store.seen.sealed.as_ref().and_then(|sealed| Some(Head::open(sealed, &store.options.ring).ok()?.counter));
        while known.max(before).is_some_and(|known| head.counter() <= known) {
            head.add(&Digest([0; 32]));
            head.remove(&Digest([0; 32]));
        }
        store.change(head, |_, _| Ok(()))?;
        store.count()?;
        Ok(store)
    }

    /// Remembers an entry, as a new version where there is one of this name.
    ///
    /// # Errors
    /// A parent that is not there, a text out of bounds, or a file that changed under us.
    pub fn remember(&mut self, principal: &str, new: &New<'_>) -> Result<MintAnswer> {
        let mut head = self.writable()?;
        let parent = |entry: &&str| -> Result<Digest> {
            let version = self.newest(principal, entry).with_context(|| format!("parent {entry:?} is no entry of {principal}"))?;
            self.row(principal, entry, version)?;
            Ok(version.hash)
        };
        let parents = new.parents.iter().map(parent).collect::<Result<Vec<_>>>()?;
        // No number of a change comes twice, so no version does, even of an entry that was forgotten.
        let newest = self.newest(principal, new.entry).and_then(|version| version.number).unwrap_or(0);
        let version = newest.max(head.counter()).checked_add(1).context("there are no more versions")?;
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
        head.add(&minted.hash);
        let record = HEXLOWER.decode(minted.record.as_bytes())?;
        let id = self.change(head, |db, options| {
            let rows = db.execute(
                "INSERT INTO entries (tenant, store, principal, entry, content, record) VALUES (?, ?, ?, ?, ?, ?)",
                params![options.tenant, options.store, principal, new.entry, new.content, record],
            )?;
            ensure!(rows == 1, "the file did not take the row");
            Ok(db.last_insert_rowid())
        })?;
        self.seen.index.add(principal, new.entry, Version { id, hash: minted.hash, number: Some(version) });
        self.count()?;
        Ok(minted)
    }

    /// Forgets all versions of an entry. What was made of it has a parent missing from then on.
    ///
    /// # Errors
    /// No such entry, or a file that changed under us.
    pub fn forget(&mut self, principal: &str, entry: &str) -> Result<()> {
        let mut head = self.writable()?;
        let versions = self.seen.index.versions(principal, entry).to_vec();
        ensure!(!versions.is_empty(), "{principal} has no entry {entry:?}");
        versions.iter().for_each(|version| head.remove(&version.hash));
        self.change(head, |db, _| {
            for version in &versions {
                Row::read(db, version)?.with_context(|| gone(version))?;
                db.execute("DELETE FROM entries WHERE id = ?", [version.id])?;
            }
            Ok(())
        })?;
        self.seen.index.remove(principal, entry);
        self.count()
    }

    /// The newest version of an entry, and what may become of it. The text is for the model only if the answer says `run`, or `label` with the label before it.
    ///
    /// # Errors
    /// No such entry, a use that cannot be checked, or a file that was written by others.
    pub fn recall(&mut self, principal: &str, entry: &str, wanted: Use) -> Result<(String, CheckAnswer)> {
        self.recall_for(principal, entry, |_| Ok(wanted))
    }

    /// The same, where what it is recalled for depends on the text. Nothing may be done because of the text before there is an answer.
    ///
    /// # Errors
    /// No such entry, a use that cannot be checked, or a file that was written by others.
    pub fn recall_for(&mut self, principal: &str, entry: &str, wanted: impl FnOnce(&str) -> Result<Use>) -> Result<(String, CheckAnswer)> {
        self.refresh()?;
        let version = self.newest(principal, entry).with_context(|| format!("{principal} has no entry {entry:?}"))?;
        self.check(principal, entry, version, version.number, wanted)
    }

    /// The principals and names of all entries.
    ///
    /// # Errors
    /// A file that was written by others.
    pub fn entries(&mut self) -> Result<Vec<(String, String)>> {
        self.refresh()?;
        Ok(self.seen.index.entries().map(|(principal, entry, _)| (principal.to_owned(), entry.to_owned())).collect())
    }

    /// What is found of each row, older versions too.
    ///
    /// # Errors
    /// A file that was written by others.
    pub fn look(&mut self) -> Result<Vec<Finding>> {
        self.refresh()?;
        let mut findings = Vec::new();
        for (principal, entry, versions) in self.seen.index.entries() {
            let newest = self.newest(principal, entry).and_then(|version| version.number);
            for version in versions {
                let older = version.number.is_some() && version.number < newest;
                let (text, intact) = match self.check(principal, entry, version, newest.filter(|_| !older), |_| Ok(Use::default())) {
                    Err(error) => (format!("{error:#}"), false),
                    Ok((_, answer)) => {
                        let problem = answer.broken.map(|broken| broken.name()).or(answer.why.map(|why| why.name()));
                        let (is, class) = (if older { "older" } else { answer.decision.name() }, answer.authority_class as u8);
                        (format!("{is}, class {class} {}", problem.unwrap_or("intact")), problem.is_none())
                    }
                };
                findings.push(Finding { principal: principal.to_owned(), entry: entry.to_owned(), text, intact });
            }
        }
        Ok(findings)
    }

    fn connect(options: Options, create: bool) -> Result<Self> {
        options.gate.check().map_err(|(path, problem)| anyhow!("gate: {path}: {problem}"))?;
        let judge =
            Judge::new(&Policy::default(), &floodmark_tables::TABLES).map_err(|error| anyhow!("{}: {}", error.key, error.problem))?;
        let db = rows::connect(&options.db, create)?;
        let seen = Moment::read(&db, &options)?;
        Ok(Store { db, options, judge, seen, head: None })
    }

    /// Verifies again where anything was written to the file since, by another process of ours or by somebody else.
    fn refresh(&mut self) -> Result<()> {
        let Some(head) = &self.head else { return Ok(()) };
        let known = self.options.known()?;
        let sealed = rows::head(&self.db, &self.options.tenant, &self.options.store)?;
        if sealed == self.seen.sealed && rows::data_version(&self.db)? == self.seen.data_version {
            return Ok(());
        }
        let now = Moment::read(&self.db, &self.options)?;
        // Another head must be a newer one.
        let ours = head.counter() + u64::from(now.sealed != self.seen.sealed);
        self.head = Some(self.verified(&now, known.max(Some(ours)))?);
        self.seen = now;
        Ok(())
    }

    /// The head, for a change to be noted in.
    fn writable(&mut self) -> Result<StoreHead> {
        self.refresh()?;
        self.head.clone().context("the store was opened to be looked at only")
    }

    /// Does one change and seals the head that goes with it, both or neither. The counter follows; a crash in between leaves it one behind, which is no alarm.
    fn change<T>(&mut self, head: StoreHead, run: impl FnOnce(&Connection, &Options) -> Result<T>) -> Result<T> {
        let Options { tenant, store, ring, .. } = &self.options;
        let sealed = head.seal(tenant, store, crate::now_ms()?, ring).map_err(|error| anyhow!("{}: {}", error.field, error.problem))?;
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let same =
            rows::data_version(&transaction)? == self.seen.data_version && rows::head(&transaction, tenant, store)? == self.seen.sealed;
        ensure!(same, "somebody else changed the store just now; try again");
        let done = run(&transaction, &self.options)?;
        transaction.execute("INSERT OR REPLACE INTO heads VALUES (?, ?, ?)", params![tenant, store, sealed])?;
        transaction.commit()?;
        (self.seen.sealed, self.head) = (Some(sealed), Some(head));
        Ok(done)
    }

    /// Notes in the counter file that there was a change, under the other file's lock, so that of two processes none takes the other's number back.
    fn count(&mut self) -> Result<()> {
        if let (Some(file), Some(head)) = (&self.options.counter, &self.head) {
            let lock = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            counter::write(file, &self.options.tenant, &self.options.store, head.counter())?;
            lock.finish()?;
        }
        Ok(())
    }

    /// The head of this moment, if the rows are its own and it is not older than `known`.
    fn verified(&self, moment: &Moment, known: Option<u64>) -> Result<StoreHead> {
        let Options { tenant, store, ring, .. } = &self.options;
        let sealed = moment.sealed.as_ref();
        let sealed = sealed.context("the store has no head: make a new one with `init`; if it had one, somebody took it away")?;
        let fault = match StoreHead::open(sealed, (tenant, store), &mut moment.index.hashes(), known, ring) {
            Ok(head) => return Ok(head),
            Err(HeadFault::Head(fault)) => format!("the head itself is not ours ({fault:?})"),
            Err(HeadFault::OtherStore) => "the head is another store's".to_owned(),
            Err(HeadFault::Older { counter, known }) => {
                format!("the file is an older one: its head says change {counter}, there was change {known}")
            }
            Err(HeadFault::Count { sealed, found }) => format!("the head says {sealed} rows, there are {found}"),
            Err(HeadFault::Set) => "there are as many rows as the head says, but they are others".to_owned(),
        };
        bail!(
            "{fault}. Somebody wrote the file without a key: look at the rows with `verify`, bring back a good copy, or take the rows as they are with `reseal`"
        )
    }

    fn newest(&self, principal: &str, entry: &str) -> Option<&Version> {
        self.seen.index.newest(principal, entry)
    }

    /// The content and record of a row, if it is still the one that was seen and stands under the name that it was sealed for.
    fn row(&self, principal: &str, entry: &str, version: &Version) -> Result<(String, Vec<u8>)> {
        let Row { principal: of, entry: name, content, record } = Row::read(&self.db, version)?.with_context(|| gone(version))?;
        ensure!(
            of.as_deref() == Some(principal) && name.as_deref() == Some(entry),
            "row {} stands under another name than {entry:?} of {principal:?}, which it was sealed for: somebody moved it",
            version.id
        );
        Ok((content.with_context(|| format!("the content of row {} is no text: somebody wrote it without a key", version.id))?, record))
    }

    fn check(
        &self,
        principal: &str,
        entry: &str,
        version: &Version,
        newest: Option<u64>,
        wanted: impl FnOnce(&str) -> Result<Use>,
    ) -> Result<(String, CheckAnswer)> {
        let (content, record) = self.row(principal, entry, version)?;
        let wanted = wanted(&content)?;
        let request = CheckRequest {
            tenant: self.options.tenant.clone(),
            principal: principal.to_owned(),
            store: self.options.store.clone(),
            entry: Some(entry.to_owned()),
            content,
            // Somebody who writes the file can take a record away; that is no record, not an error.
            record: Some(HEXLOWER.encode(&record)).filter(|record| !record.is_empty()),
            ancestors: self.ancestors(&record)?,
            effect: if wanted.call.is_some() { Effect::SideEffect } else { Effect::Read },
            call: wanted.call,
            grants: wanted.grants,
            release: None,
            run: None,
        };
        let Options { gate, ring, .. } = &self.options;
        let answer = lineage::check(&request, gate, ring, &self.judge, newest, crate::now_ms()?)
            .map_err(|error| anyhow!("{}: {}", error.path, error.problem))?;
        Ok((request.content, answer))
    }

    /// The records that `record` comes from, with their contents: each once, by following the parents that they name. What is not to be had is missing.
    fn ancestors(&self, record: &[u8]) -> Result<Vec<AncestorRequest>> {
        let parents = |record: &[u8]| -> Vec<[u8; 32]> {
            lineage::Record::open(record, &self.options.ring).map(|record| record.parents.to_vec()).unwrap_or_default()
        };
        let (mut open, mut seen, mut found) = (parents(record), BTreeSet::new(), Vec::new());
        while let Some(hash) = open.pop() {
            let version = self.seen.index.with_hash(&Digest(hash)).filter(|_| seen.insert(hash));
            let row = version.map(|version| Row::read(&self.db, version)).transpose()?.flatten();
            if let Some(Row { record, content: Some(content), .. }) = row {
                open.extend(parents(&record));
                found.push(AncestorRequest { record: HEXLOWER.encode(&record), content: Some(content) });
            }
        }
        Ok(found)
    }
}

impl Options {
    /// The newest change that the counter file knows of.
    fn known(&self) -> Result<Option<u64>> {
        Ok(self.counter.as_ref().map(|file| counter::read(file, &self.tenant, &self.store)).transpose()?.flatten())
    }
}

impl Moment {
    fn read(db: &Connection, options: &Options) -> Result<Self> {
        let Options { tenant, store, ring, .. } = options;
        // All from one state of the file, whoever writes meanwhile.
        let transaction = db.unchecked_transaction()?;
        rows::check_schema(db)?;
        let moment = Moment {
            data_version: rows::data_version(db)?,
            sealed: rows::head(db, tenant, store)?,
            index: Index::read(db, tenant, store, ring)?,
        };
        transaction.finish()?;
        Ok(moment)
    }
}

fn gone(version: &Version) -> String {
    format!("row {} was changed or taken away while the store was open: somebody wrote the file without a key", version.id)
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
