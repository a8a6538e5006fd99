//! What is asked of the lineage gate and what it answers, as JSON spells it. Class, instruction-likeness and mandates have no key in a request: they are computed.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::argument::Arguments;
use super::class::{Broken, Class, Why};
use super::codec::SealError;
use super::digest::Digest;
use super::gate::{Decision, Effect, Reason};
use super::grant::Limit;
use super::record::Channel;
use crate::instructions::Likeness;

/// A request that cannot be answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestError {
    /// Where, for example `ancestors`.
    pub path: String,
    /// What is wrong and what would be right.
    pub problem: String,
}

impl RequestError {
    pub(super) fn new(path: &str, problem: &str) -> Self {
        RequestError { path: path.to_owned(), problem: problem.to_owned() }
    }
}

impl From<SealError> for RequestError {
    fn from(error: SealError) -> Self {
        RequestError { path: error.field.to_owned(), problem: error.problem }
    }
}

impl From<(String, String)> for RequestError {
    fn from((path, problem): (String, String)) -> Self {
        RequestError { path, problem }
    }
}

/// Asks for the record of an entry that is being written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MintRequest {
    /// Whose store it is, 1 to 128 bytes.
    pub tenant: String,
    /// For whom it is written, 1 to 256 bytes.
    pub principal: String,
    /// The store's name, 1 to 128 bytes.
    pub store: String,
    /// The store's key of the entry, 1 to 512 bytes; the content's digest where it is left out.
    pub entry: Option<String>,
    /// The entry's version, where the store counts them.
    pub version: Option<u64>,
    /// Which way it came.
    pub channel: Channel,
    /// Who wrote it or which source gave it, up to 256 bytes.
    #[serde(default)]
    pub author: String,
    /// The entry's content.
    pub content: String,
    /// Hashes of the records that it was made from, at most 64, in any order.
    #[serde(default)]
    pub parents: Vec<Digest>,
}

/// The record of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MintAnswer {
    /// The sealed record in hex, to be stored with the entry.
    pub record: String,
    /// Its hash, to be named as a parent.
    pub hash: Digest,
    /// The entry.
    pub entry: String,
    /// Its version.
    pub version: u64,
    /// The content's digest.
    pub content_digest: Digest,
}

/// Asks what may become of an entry that comes back.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckRequest {
    /// The tenant that acts, 1 to 128 bytes.
    pub tenant: String,
    /// The principal that acts, 1 to 256 bytes.
    pub principal: String,
    /// The store that the entry came from, 1 to 128 bytes.
    pub store: String,
    /// The store's key of the entry, 1 to 512 bytes; the content's digest where it is left out.
    pub entry: Option<String>,
    /// The entry's content.
    pub content: String,
    /// Its sealed record in hex; left out when it has none.
    pub record: Option<String>,
    /// Records that it was made from, theirs, and so on; at most 16,383.
    #[serde(default)]
    pub ancestors: Vec<AncestorRequest>,
    /// What the entry is for.
    pub effect: Effect,
    /// With `side_effect`: the call that would be made.
    pub call: Option<CallRequest>,
    /// Sealed grants in hex, at most 32.
    #[serde(default)]
    pub grants: Vec<String>,
    /// A sealed release in hex.
    pub release: Option<String>,
    /// The run that asks; the gate itself has no use for it, approvals are bound to it.
    pub run: Option<String>,
}

/// A record that may be an ancestor's.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AncestorRequest {
    /// The sealed record in hex.
    pub record: String,
    /// The content, which must be the sealed one if it is given.
    pub content: Option<String>,
}

/// A call that would be made.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallRequest {
    /// The tool's name, 1 to 128 bytes.
    pub tool: String,
    /// Its arguments, an object.
    #[serde(default)]
    pub arguments: Arguments,
}

/// What may become of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckAnswer {
    /// What becomes of it.
    pub decision: Decision,
    /// Why, where the class alone does not say so.
    pub reason: Option<Reason>,
    /// From 1 to 4.
    pub authority_class: Class,
    /// The special reason for class 4.
    pub why: Option<Why>,
    /// What is broken.
    pub broken: Option<Broken>,
    /// Whether the content is like an instruction.
    pub instruction_like: bool,
    /// What makes it so.
    pub likeness: Option<Likeness>,
    /// The mandate that the call is inside of, where one was needed.
    pub mandate: Option<String>,
    /// Whether a release lets it out of quarantine.
    pub released: bool,
    /// What to say before the content; with `label`.
    pub label: Option<&'static str>,
    /// The content's digest.
    pub content_digest: Digest,
    /// The record's hash.
    pub record_hash: Option<Digest>,
    /// The entry's version, where its record is sealed for it and for who acts: what whoever remembers newest versions has seen now. Not in the JSON.
    #[serde(skip)]
    pub version: Option<u64>,
}

/// Asks for a grant.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrantRequest {
    /// What answers call it, 1 to 64 bytes.
    pub name: String,
    /// The tenant that it is for, 1 to 128 bytes.
    pub tenant: String,
    /// The principal that it is for, 1 to 256 bytes; all of the tenant where it is left out.
    pub principal: Option<String>,
    /// The tool that may be called, 1 to 128 bytes; `*` stands for any characters.
    pub tool: String,
    /// What each argument may be, by its name, at most 32. Only one that may be anything can be left out of a call.
    #[serde(default)]
    pub arguments: BTreeMap<String, Limit>,
    /// For how many seconds it holds, at least 1.
    pub expires_s: u64,
}

/// A grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GrantAnswer {
    /// The sealed grant in hex.
    pub grant: String,
    /// Unix time in milliseconds from which it holds no longer.
    pub expires_ms: u64,
}

/// Asks for a release.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReleaseRequest {
    /// Whose quarantine it is about, 1 to 128 bytes.
    pub tenant: String,
    /// The digest of the content that is let out.
    pub content_digest: Digest,
    /// For how many seconds it holds, at least 1; for ever where it is left out.
    pub expires_s: Option<u64>,
}

/// A release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReleaseAnswer {
    /// The sealed release in hex.
    pub release: String,
    /// The digest of the content that is let out.
    pub content_digest: Digest,
    /// Unix time in milliseconds from which it holds no longer; 0 for never.
    pub expires_ms: u64,
}
