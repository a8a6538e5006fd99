//! The sealed envelope, the same for the four kinds: a body and a tag that only a key of the ring makes.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::codec::{Reader, SealError, Writer, has_control};
use crate::keys;
use crate::limits::{MAX_KEY_BYTES, MAX_KEYS};

/// The version of all bodies.
const FORMAT: u8 = 1;
/// Bytes of a tag.
const TAG_BYTES: usize = 32;

/// What is sealed; a tag of one kind is none of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Record,
    Grant,
    Release,
    Head,
}

impl Kind {
    /// What stands before a body in its tag.
    const fn domain(self) -> &'static [u8] {
        match self {
            Kind::Record => b"floodmark lineage 1 record\0",
            Kind::Grant => b"floodmark lineage 1 grant\0",
            Kind::Release => b"floodmark lineage 1 release\0",
            Kind::Head => b"floodmark lineage 1 head\0",
        }
    }
}

/// Why sealed bytes are not what they seem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// They do not decode, are spelled in another way than ours, or a field is out of bounds.
    Malformed,
    /// They name a key that is not in the ring, so nothing in them is believed.
    UnknownKey,
    /// Their tag is not the one of that key.
    HashMismatch,
}

/// A key with its name.
#[derive(Clone)]
pub(super) struct Key {
    pub id: String,
    sub_key: [u8; 32],
}

impl Key {
    /// A keyed digest of `domain` and `bytes`, to be compared in constant time.
    pub fn digest(&self, domain: &[u8], bytes: &[u8]) -> blake3::Hash {
        blake3::Hasher::new_keyed(&self.sub_key).update(domain).update(bytes).finalize()
    }
}

/// The keys that seal and verify: the first seals, all verify, so a retired key stays behind the new one as long as its records count.
#[derive(Clone)]
pub struct KeyRing {
    sealing: Key,
    retired: Vec<Key>,
    /// A number that nobody without the secrets can know.
    secret_number: u64,
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.keys().map(|key| &key.id)).finish()
    }
}

/// Why there is no ring of some keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingError {
    /// There is no key, or more than [`MAX_KEYS`].
    Count,
    /// The name of the key of this number, 0-based, takes 1 to [`MAX_KEY_BYTES`] bytes without control characters.
    Name(usize),
    /// The key of this number, 0-based, has the name of one before it.
    Twice(usize),
}

impl KeyRing {
    /// A ring of secrets with their names, the one that seals first. Only keys that are derived from them are kept.
    ///
    /// # Errors
    /// What is wrong with their number or names.
    #[inline(never)]
    pub fn new(secrets: Vec<(String, [u8; 32])>) -> Result<Self, RingError> {
        if secrets.len() > MAX_KEYS {
            return Err(RingError::Count);
        }
        let mut keys: Vec<Key> = Vec::new();
        for (number, (id, secret)) in secrets.into_iter().enumerate() {
            if !(1..=MAX_KEY_BYTES).contains(&id.len()) || has_control(&id) {
                return Err(RingError::Name(number));
            }
            if keys.iter().any(|key| key.id == id) {
                return Err(RingError::Twice(number));
            }
            keys.push(Key { id, sub_key: keys::derive("lineage", &secret) });
        }
        let mut keys = keys.into_iter();
        let sealing = keys.next().ok_or(RingError::Count)?;
        let digest = sealing.digest(b"floodmark lineage 1 index\0", b"");
        let secret_number = digest.as_bytes().first_chunk().copied().map_or(0, u64::from_le_bytes);
        Ok(KeyRing { sealing, retired: keys.collect(), secret_number })
    }

    fn keys(&self) -> impl Iterator<Item = &Key> {
        core::iter::once(&self.sealing).chain(&self.retired)
    }

    /// The key of this name.
    fn key(&self, id: &str) -> Option<&Key> {
        self.keys().find(|key| key.id == id)
    }

    /// The key that seals.
    pub(super) fn sealing(&self) -> &Key {
        &self.sealing
    }

    pub(super) fn secret_number(&self) -> u64 {
        self.secret_number
    }

    /// Seals what `write` writes.
    ///
    /// # Errors
    /// The first field that is out of bounds.
    #[inline(never)]
    pub(super) fn seal(&self, kind: Kind, write: &dyn Fn(&mut Writer<'_>)) -> Result<Vec<u8>, SealError> {
        let mut writer = Writer::writing();
        start(&mut writer, &self.sealing.id);
        write(&mut writer);
        let mut sealed = writer.written()?;
        let tag = self.sealing.digest(kind.domain(), &sealed);
        sealed.extend_from_slice(tag.as_bytes());
        Ok(sealed)
    }
}

fn start(writer: &mut Writer<'_>, key: &str) {
    writer.byte(FORMAT);
    writer.text("key", key, 1, MAX_KEY_BYTES);
}

/// Sealed bytes of which nothing is verified yet.
#[derive(Debug)]
pub(super) struct Envelope<'a> {
    kind: Kind,
    body: &'a [u8],
    tag: &'a [u8; TAG_BYTES],
    /// The name of the key that they say they are sealed with.
    pub key: &'a str,
    /// The fields of the kind.
    pub fields: Reader<'a>,
}

impl<'a> Envelope<'a> {
    /// `None` when they are too short for any, or of another version.
    pub fn new(kind: Kind, sealed: &'a [u8]) -> Option<Self> {
        let (body, tag) = sealed.split_last_chunk()?;
        let mut fields = Reader::new(body);
        let format = fields.byte()?;
        let key = fields.text()?;
        (format == FORMAT).then_some(Envelope { kind, body, tag, key, fields })
    }

    /// Verifies them after all fields were read, and gives the key that they are sealed with.
    ///
    /// # Errors
    /// Bytes behind the fields, another spelling than what `write` writes, a field out of bounds, a key that is not in `ring`, or another tag.
    pub fn verify<'r>(&self, ring: &'r KeyRing, write: &dyn Fn(&mut Writer<'_>)) -> Result<&'r Key, Fault> {
        let mut writer = Writer::comparing(self.body);
        start(&mut writer, self.key);
        write(&mut writer);
        if !self.fields.is_empty() || !writer.is_same() {
            return Err(Fault::Malformed);
        }
        let key = ring.key(self.key).ok_or(Fault::UnknownKey)?;
        // Hashes compare in constant time.
        if key.digest(self.kind.domain(), self.body) == *self.tag { Ok(key) } else { Err(Fault::HashMismatch) }
    }
}
