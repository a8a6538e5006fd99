//! The head of a store: a sealed count and digest of all its records, so that rows that were taken away, put back or replaced by older ones are noticed.

use alloc::vec::Vec;

use super::codec::{Reader, SealError, Writer};
use super::digest::Digest;
use super::seal::{Envelope, Fault, Key, KeyRing, Kind};
use crate::limits::{MAX_STORE_BYTES, MAX_TENANT_BYTES};

/// A sealed head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head<'a> {
    /// Whose store it is, 1 to 128 bytes.
    pub tenant: &'a str,
    /// The store's name, 1 to 128 bytes.
    pub store: &'a str,
    /// Grows with each change of the store.
    pub counter: u64,
    /// How many records the store has.
    pub count: u64,
    /// A keyed digest of the set of their hashes.
    pub set: [u8; 32],
    /// Unix time in milliseconds.
    pub created_ms: u64,
}

impl<'a> Head<'a> {
    /// Seals it with the ring's first key.
    ///
    /// # Errors
    /// The first field that is out of bounds.
    pub fn seal(&self, ring: &KeyRing) -> Result<Vec<u8>, SealError> {
        ring.seal(Kind::Head, &|writer| self.write(writer))
    }

    /// Reads and verifies a sealed head.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn open(sealed: &'a [u8], ring: &KeyRing) -> Result<Self, Fault> {
        Ok(Head::opened(sealed, ring)?.0)
    }

    fn opened<'r>(sealed: &'a [u8], ring: &'r KeyRing) -> Result<(Self, &'r Key), Fault> {
        let mut envelope = Envelope::new(Kind::Head, sealed).ok_or(Fault::Malformed)?;
        let head = Head::read(&mut envelope.fields).ok_or(Fault::Malformed)?;
        let key = envelope.verify(ring, &|writer| head.write(writer))?;
        Ok((head, key))
    }

    fn read(fields: &mut Reader<'a>) -> Option<Self> {
        Some(Head {
            tenant: fields.text()?,
            store: fields.text()?,
            counter: fields.number()?,
            count: fields.number()?,
            set: fields.digest()?,
            created_ms: fields.number()?,
        })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.text("tenant", self.tenant, 1, MAX_TENANT_BYTES);
        writer.text("store", self.store, 1, MAX_STORE_BYTES);
        writer.number(self.counter);
        writer.number(self.count);
        writer.raw(&self.set);
        writer.number(self.created_ms);
    }
}

/// Why a store is not what its head says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadFault {
    /// The head itself cannot be believed.
    Head(Fault),
    /// It is another store's or tenant's head.
    OtherStore,
    /// It is older than one that the caller knows: the store was put back.
    Older {
        /// The counter of the head.
        counter: u64,
        /// The counter that the caller knows.
        known: u64,
    },
    /// Records are missing or too many.
    Count {
        /// How many there should be.
        sealed: u64,
        /// How many there are.
        found: u64,
    },
    /// There are as many records as there should be, but they are others.
    Set,
}

/// The head of a store that somebody keeps in memory while the store is open: each change takes as long, however large the store is.
#[derive(Clone)]
pub struct StoreHead {
    key: Key,
    counter: u64,
    records: Sum,
}

impl core::fmt::Debug for StoreHead {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter.debug_struct("StoreHead").field("counter", &self.counter).field("count", &self.records.count).finish_non_exhaustive()
    }
}

/// Of a set of records: how many, and the sum of their keyed digests as numbers, the lowest byte first, without what does not fit.
#[derive(Clone, Default)]
struct Sum {
    count: u64,
    sum: [u8; 32],
}

impl Sum {
    fn add(&mut self, key: &Key, record: &Digest) {
        let mut carry = 0;
        for (byte, more) in self.sum.iter_mut().zip(element(key, record)) {
            let sum = u16::from(*byte) + u16::from(more) + carry;
            (*byte, carry) = (sum as u8, sum >> 8);
        }
        self.count = self.count.wrapping_add(1);
    }

    fn remove(&mut self, key: &Key, record: &Digest) {
        let mut borrow = 0;
        for (byte, less) in self.sum.iter_mut().zip(element(key, record)) {
            let difference = 256 + u16::from(*byte) - u16::from(less) - borrow;
            (*byte, borrow) = (difference as u8, 1 - (difference >> 8));
        }
        self.count = self.count.wrapping_sub(1);
    }

    fn set(&self, key: &Key) -> blake3::Hash {
        key.digest(b"floodmark lineage 1 set\0", &self.sum)
    }
}

fn element(key: &Key, record: &Digest) -> [u8; 32] {
    *key.digest(b"floodmark lineage 1 element\0", &record.0).as_bytes()
}

impl StoreHead {
    /// The head of a store without records.
    pub fn new(ring: &KeyRing) -> Self {
        StoreHead { key: ring.sealing().clone(), counter: 0, records: Sum::default() }
    }

    /// Opens a store: compares the hashes of all its records, in any order, with its sealed head. `known` is the counter of the newest head that the caller has seen,
    /// kept where whoever can write the store cannot write. A head under a retired key goes on under the ring's first.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn open(
        sealed: &[u8],
        (tenant, store): (&str, &str),
        records: &mut dyn Iterator<Item = Digest>,
        known: Option<u64>,
        ring: &KeyRing,
    ) -> Result<Self, HeadFault> {
        let (head, sealed_with) = Head::opened(sealed, ring).map_err(HeadFault::Head)?;
        if head.tenant != tenant || head.store != store {
            return Err(HeadFault::OtherStore);
        }
        let counter = head.counter;
        if let Some(known) = known.filter(|known| counter < *known) {
            return Err(HeadFault::Older { counter, known });
        }
        let key = ring.sealing();
        let (mut before, mut now) = (Sum::default(), Sum::default());
        for record in records {
            before.add(sealed_with, &record);
            if !core::ptr::eq(key, sealed_with) {
                now.add(key, &record);
            }
        }
        if head.count != before.count {
            return Err(HeadFault::Count { sealed: head.count, found: before.count });
        }
        if before.set(sealed_with) != head.set {
            return Err(HeadFault::Set);
        }
        let records = if core::ptr::eq(key, sealed_with) { before } else { now };
        Ok(StoreHead { key: key.clone(), counter, records })
    }

    /// Notes a new record.
    pub fn add(&mut self, record: &Digest) {
        self.records.add(&self.key, record);
        self.counter = self.counter.saturating_add(1);
    }

    /// Notes that a record went, which the store had.
    pub fn remove(&mut self, record: &Digest) {
        self.records.remove(&self.key, record);
        self.counter = self.counter.saturating_add(1);
    }

    /// Notes that a record took the place of another, which the store had.
    pub fn replace(&mut self, old: &Digest, new: &Digest) {
        self.records.remove(&self.key, old);
        self.add(new);
    }

    /// How often the store was changed.
    pub fn counter(&self) -> u64 {
        self.counter
    }

    /// How many records it has.
    pub fn count(&self) -> u64 {
        self.records.count
    }

    /// The sealed head as of now, with the ring that this was made with.
    ///
    /// # Errors
    /// When `tenant` or `store` is out of bounds.
    pub fn seal(&self, tenant: &str, store: &str, created_ms: u64, ring: &KeyRing) -> Result<Vec<u8>, SealError> {
        let set = *self.records.set(&self.key).as_bytes();
        Head { tenant, store, counter: self.counter, count: self.records.count, set, created_ms }.seal(ring)
    }
}
