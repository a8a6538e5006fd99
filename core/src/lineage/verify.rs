//! Verifying an entry that is presented, with all its ancestors.

use alloc::vec::Vec;

use super::class::{Broken, Class, Outcome, Why};
use super::digest::Digest;
use super::gate::Gate;
use super::record::{Channel, Record, record_hash};
use super::seal::{Fault, KeyRing};
use super::walk::{Graph, walk};
use crate::limits::MAX_LINEAGE_RECORDS;

/// An entry as it comes back.
#[derive(Clone, Copy, Debug)]
pub struct Presented<'a> {
    /// The tenant that acts.
    pub tenant: &'a str,
    /// The principal that acts.
    pub principal: &'a str,
    /// The store that it came from.
    pub store: &'a str,
    /// The store's key of it, else the content's digest in lower-case hex.
    pub entry: &'a str,
    /// The digest of its content.
    pub content: Digest,
    /// Its sealed record; `None` when there is none.
    pub record: Option<&'a [u8]>,
    /// The newest version of it that was ever seen.
    pub newest: Option<u64>,
}

/// A record that may be an ancestor's. It is found by its hash; what is not reached is not looked at.
#[derive(Clone, Copy, Debug)]
pub struct Ancestor<'a> {
    /// The sealed record.
    pub record: &'a [u8],
    /// The content, which must be the sealed one if it is given.
    pub content: Option<&'a [u8]>,
}

/// There are more than [`MAX_LINEAGE_RECORDS`] records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany;

/// What an entry's lineage is worth. Only verifying makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedLineage {
    outcome: Outcome,
    version: Option<u64>,
    hash: Option<Digest>,
}

impl VerifiedLineage {
    /// Verifies a presented entry and its ancestors. Linear in the bytes, records and links to parents.
    ///
    /// # Errors
    /// More records than are looked at.
    pub fn verify(presented: &Presented<'_>, ancestors: &[Ancestor<'_>], gate: &Gate, ring: &KeyRing) -> Result<Self, TooMany> {
        if ancestors.len() >= MAX_LINEAGE_RECORDS {
            return Err(TooMany);
        }
        let Some(record) = presented.record else {
            return Ok(VerifiedLineage { outcome: Outcome::why(Why::NoRecord), version: None, hash: None });
        };
        let mut rows = Vec::with_capacity(ancestors.len() + 1);
        let hash = record_hash(record);
        rows.push(Row::new(record, None, hash));
        rows.extend(ancestors.iter().map(|ancestor| Row::new(ancestor.record, ancestor.content, record_hash(ancestor.record))));
        let mut records = Records { presented, gate, ring, index: Index::new(&mut rows, ring.secret_number()), rows, version: None };
        let count = records.rows.len();
        let outcome = walk(&mut records, count, 0);
        Ok(VerifiedLineage { outcome, version: records.version, hash: Some(hash) })
    }

    /// The class; 4 for what is broken.
    pub fn class(&self) -> Class {
        self.outcome.class
    }

    /// The special reason for class 4, if there is one.
    pub fn why(&self) -> Option<Why> {
        self.outcome.why
    }

    /// What is broken; it counts whatever the class.
    pub fn broken(&self) -> Option<Broken> {
        self.outcome.broken
    }

    /// The entry's version, where its own record is sealed for this tenant, principal (or one of a group with it), entry and content: the newest that was seen, if
    /// none before was newer.
    pub fn version(&self) -> Option<u64> {
        self.version
    }

    /// The hash of its record.
    pub fn record_hash(&self) -> Option<Digest> {
        self.hash
    }
}

/// A record that was given.
struct Row<'a> {
    record: &'a [u8],
    content: Option<&'a [u8]>,
    hash: Digest,
    /// The next row with the same record; the number of no row when there is none.
    same: usize,
    /// Known when the walk was there.
    parents: &'a [[u8; 32]],
}

impl<'a> Row<'a> {
    fn new(record: &'a [u8], content: Option<&'a [u8]>, hash: Digest) -> Self {
        Row { record, content, hash, same: usize::MAX, parents: &[] }
    }
}

/// Where the row with a hash is: open addressing. What places a row is multiplied with a secret, so that nobody can choose records that share a place.
struct Index {
    /// Twice as many as there are rows, or more: a power of two.
    slots: Vec<u32>,
    factor: u64,
}

impl Index {
    const FREE: u32 = u32::MAX;

    fn new(rows: &mut [Row<'_>], secret: u64) -> Self {
        let mut slots = Vec::new();
        slots.resize((rows.len() * 2).next_power_of_two(), Index::FREE);
        let mut index = Index { slots, factor: secret | 1 };
        for number in 0..rows.len() {
            let Some(hash) = rows.get(number).map(|row| row.hash) else { continue };
            let (slot, found) = index.find(rows, &hash.0);
            if let Some(first) = found {
                // The rows with the same record are a chain that the first begins.
                let next = rows.get_mut(first).map(|row| core::mem::replace(&mut row.same, number));
                if let (Some(row), Some(next)) = (rows.get_mut(number), next) {
                    row.same = next;
                }
            } else if let Some(place) = index.slots.get_mut(slot) {
                *place = u32::try_from(number).unwrap_or(Index::FREE);
            }
        }
        index
    }

    /// The slot of a hash, and the first row that has it.
    fn find(&self, rows: &[Row<'_>], hash: &[u8; 32]) -> (usize, Option<usize>) {
        let number = hash.first_chunk().copied().map_or(0, u64::from_le_bytes);
        let mut slot = (number.wrapping_mul(self.factor) >> 32) as usize;
        // There is a free slot: no more than half of them are taken.
        loop {
            slot &= self.slots.len() - 1;
            let taken = self.slots.get(slot).copied().unwrap_or(Index::FREE) as usize;
            match rows.get(taken) {
                None => return (slot, None),
                Some(row) if row.hash.0 == *hash => return (slot, Some(taken)),
                Some(_) => slot += 1,
            }
        }
    }
}

/// All records that were given, as the walk sees them: the presented one is number 0.
struct Records<'a, 'g> {
    presented: &'g Presented<'a>,
    gate: &'g Gate,
    ring: &'g KeyRing,
    rows: Vec<Row<'a>>,
    index: Index,
    version: Option<u64>,
}

impl<'a> Records<'a, '_> {
    /// Whether all contents that were given with a record are the sealed one.
    fn has_content(&self, mut number: usize, content: &[u8; 32]) -> bool {
        while let Some(row) = self.rows.get(number) {
            if row.content.is_some_and(|given| Digest::of(given).0 != *content) {
                return false;
            }
            number = row.same;
        }
        true
    }

    /// What a record is by itself.
    fn own(&mut self, number: usize, record: &Record<'a>) -> Outcome {
        let presented = self.presented;
        let is_ours = record.tenant == presented.tenant && self.gate.is_one(record.tenant, presented.principal, record.principal);
        if number == 0 {
            if record.content != presented.content.0 {
                return Outcome::broken(Broken::ContentMismatch);
            }
            if record.store != presented.store || record.entry != presented.entry {
                return Outcome::broken(Broken::WrongEntry);
            }
            if is_ours {
                self.version = Some(record.entry_version);
            }
        }
        if !self.has_content(number, &record.content) {
            return Outcome::broken(Broken::ContentMismatch);
        }
        if !is_ours {
            return Outcome::why(Why::OtherPrincipal);
        }
        if number == 0 && presented.newest.is_some_and(|newest| record.entry_version < newest) {
            return Outcome::why(Why::Stale);
        }
        Outcome::class(match record.channel {
            Channel::User => Class::User,
            Channel::ApprovedSource if self.gate.approves(record.author) => Class::Approved,
            Channel::Agent if !record.parents.is_empty() => Class::Derived,
            _ => Class::Untrusted,
        })
    }
}

impl Graph for Records<'_, '_> {
    fn enter(&mut self, node: usize) -> (Outcome, usize) {
        let Some(sealed) = self.rows.get(node).map(|row| row.record) else {
            return (Outcome::broken(Broken::MissingParent), 0);
        };
        let record = match Record::open(sealed, self.ring) {
            Ok(record) => record,
            Err(Fault::Malformed) => return (Outcome::broken(Broken::Malformed), 0),
            Err(Fault::HashMismatch) => return (Outcome::broken(Broken::HashMismatch), 0),
            Err(Fault::UnknownKey) => return (Outcome::why(Why::UnknownKey), 0),
        };
        let outcome = self.own(node, &record);
        if outcome.broken.is_some() {
            return (outcome, 0);
        }
        if let Some(row) = self.rows.get_mut(node) {
            row.parents = record.parents;
        }
        (outcome, record.parents.len())
    }

    fn parent(&self, node: usize, link: usize) -> Option<usize> {
        let hash = self.rows.get(node)?.parents.get(link)?;
        self.index.find(&self.rows, hash).1
    }
}
