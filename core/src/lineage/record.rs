//! The derivation record: where an entry of a store came from.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::codec::{Reader, SealError, Writer};
use super::digest::Digest;
use super::seal::{Envelope, Fault, KeyRing, Kind};
use crate::limits::{
    MAX_AUTHOR_BYTES, MAX_ENTRY_BYTES, MAX_PARENTS, MAX_POLICY_BYTES, MAX_PRINCIPAL_BYTES, MAX_STORE_BYTES, MAX_TENANT_BYTES,
};

/// Which way a text came into a store. The store side says so, never the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// The user wrote it.
    User,
    /// A source gave it that the operator may have approved: the record's author.
    ApprovedSource,
    /// The agent made it from its parents.
    Agent,
    /// A tool's result.
    Tool,
    /// A page of the web.
    Web,
    /// Brought in from elsewhere.
    Import,
    /// A plugin wrote it.
    Plugin,
    /// The user pasted what somebody else wrote.
    Pasted,
    /// A scheduler fired it.
    Scheduler,
    /// Nobody knows.
    Unknown,
}

impl Channel {
    /// All, by their numbers in a record.
    pub const ALL: [Channel; 10] = [
        Channel::User,
        Channel::ApprovedSource,
        Channel::Agent,
        Channel::Tool,
        Channel::Web,
        Channel::Import,
        Channel::Plugin,
        Channel::Pasted,
        Channel::Scheduler,
        Channel::Unknown,
    ];

    /// Its name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Channel::User => "user",
            Channel::ApprovedSource => "approved_source",
            Channel::Agent => "agent",
            Channel::Tool => "tool",
            Channel::Web => "web",
            Channel::Import => "import",
            Channel::Plugin => "plugin",
            Channel::Pasted => "pasted",
            Channel::Scheduler => "scheduler",
            Channel::Unknown => "unknown",
        }
    }
}

/// What is known of one version of an entry. The key's name, which comes first in the body, is the ring's affair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Whose store it is, 1 to 128 bytes.
    pub tenant: &'a str,
    /// For whom it was written, 1 to 256 bytes.
    pub principal: &'a str,
    /// The store's name, 1 to 128 bytes.
    pub store: &'a str,
    /// The store's key of the entry, else the content's digest in lower-case hex; 1 to 512 bytes.
    pub entry: &'a str,
    /// Grows with each version of the entry.
    pub entry_version: u64,
    /// Which way it came.
    pub channel: Channel,
    /// Who wrote it, or which source gave it; up to 256 bytes.
    pub author: &'a str,
    /// Hashes of the records that it was made from, strictly ascending, at most 64.
    pub parents: &'a [[u8; 32]],
    /// Version of the policy that it was written under, 1 to 64 bytes.
    pub policy: &'a str,
    /// Unix time in milliseconds.
    pub created_ms: u64,
    /// BLAKE3 of the content.
    pub content: [u8; 32],
}

impl<'a> Record<'a> {
    /// Seals it with the ring's first key.
    ///
    /// # Errors
    /// The first field that is out of bounds.
    pub fn seal(&self, ring: &KeyRing) -> Result<Vec<u8>, SealError> {
        ring.seal(Kind::Record, &|writer| self.write(writer))
    }

    /// Reads and verifies a sealed record.
    ///
    /// # Errors
    /// What is wrong with it; nothing of it is known then.
    pub fn open(sealed: &'a [u8], ring: &KeyRing) -> Result<Self, Fault> {
        let mut envelope = Envelope::new(Kind::Record, sealed).ok_or(Fault::Malformed)?;
        let record = Record::read(&mut envelope.fields).ok_or(Fault::Malformed)?;
        envelope.verify(ring, &|writer| record.write(writer))?;
        Ok(record)
    }

    fn read(fields: &mut Reader<'a>) -> Option<Self> {
        Some(Record {
            tenant: fields.text()?,
            principal: fields.text()?,
            store: fields.text()?,
            entry: fields.text()?,
            entry_version: fields.number()?,
            channel: *Channel::ALL.get(fields.length()?)?,
            author: fields.text()?,
            parents: fields.digests()?,
            policy: fields.text()?,
            created_ms: fields.number()?,
            content: fields.digest()?,
        })
    }

    #[inline(never)]

    fn write(&self, writer: &mut Writer<'_>) {
        writer.text("tenant", self.tenant, 1, MAX_TENANT_BYTES);
        writer.text("principal", self.principal, 1, MAX_PRINCIPAL_BYTES);
        writer.text("store", self.store, 1, MAX_STORE_BYTES);
        writer.text("entry", self.entry, 1, MAX_ENTRY_BYTES);
        writer.number(self.entry_version);
        writer.number(self.channel as u64);
        writer.text("author", self.author, 0, MAX_AUTHOR_BYTES);
        writer.count("parents", self.parents.len(), 0, MAX_PARENTS);
        if !self.parents.is_sorted_by(|before, after| before < after) {
            writer.wrong("parents", || String::from("must ascend, each once"));
        }
        writer.raw(self.parents.as_flattened());
        writer.text("policy", self.policy, 1, MAX_POLICY_BYTES);
        writer.number(self.created_ms);
        writer.raw(&self.content);
    }
}

/// What names a sealed record, as a parent for example.
pub fn record_hash(sealed: &[u8]) -> Digest {
    Digest(*blake3::Hasher::new().update(b"floodmark lineage 1 hash\0").update(sealed).finalize().as_bytes())
}
