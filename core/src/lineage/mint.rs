//! Sealing what was asked for: records, and the grants and releases of administrators. Who may ask is for the caller to know.

use alloc::format;
use alloc::vec::Vec;

use super::digest::{Digest, encode_hex};
use super::gate::{Gate, check_arguments};
use super::grant::Grant;
use super::record::{Record, record_hash};
use super::release::Release;
use super::request::{GrantAnswer, GrantRequest, MintAnswer, MintRequest, ReleaseAnswer, ReleaseRequest, RequestError};
use super::seal::KeyRing;
use crate::limits::MAX_PARENTS;

/// Seals the record of an entry as its version `version`; whoever calls has seen to it that it is a new one.
///
/// # Errors
/// The first key of the request whose value cannot be sealed.
#[inline(never)]
pub fn mint(request: &MintRequest, gate: &Gate, ring: &KeyRing, version: u64, now_ms: u64) -> Result<MintAnswer, RequestError> {
    let content_digest = Digest::of(request.content.as_bytes());
    let entry = request.entry.clone().unwrap_or_else(|| content_digest.hex());
    if request.parents.len() > MAX_PARENTS {
        return Err(RequestError::new("parents", &format!("takes at most {MAX_PARENTS}; mint a record for a part of them and name that")));
    }
    let mut parents: Vec<[u8; 32]> = Vec::new();
    for Digest(parent) in &request.parents {
        if let Err(place) = parents.binary_search(parent) {
            parents.insert(place, *parent);
        }
    }
    let record = Record {
        tenant: &request.tenant,
        principal: &request.principal,
        store: &request.store,
        entry: &entry,
        entry_version: version,
        channel: request.channel,
        author: &request.author,
        parents: &parents,
        policy: &gate.policy,
        created_ms: now_ms,
        content: content_digest.0,
    };
    let sealed = record.seal(ring)?;
    Ok(MintAnswer { record: encode_hex(&sealed), hash: record_hash(&sealed), entry, version, content_digest })
}

/// Seals a grant of an administrator.
///
/// # Errors
/// The first key of the request whose value cannot be sealed.
#[inline(never)]
pub fn grant(request: &GrantRequest, granter: &str, ring: &KeyRing, now_ms: u64) -> Result<GrantAnswer, RequestError> {
    check_arguments("arguments", &request.arguments)?;
    let expires_ms = expires(request.expires_s, now_ms)?;
    let grant = Grant {
        name: request.name.clone(),
        tenant: request.tenant.clone(),
        principal: request.principal.clone(),
        tool: request.tool.clone(),
        arguments: request.arguments.clone(),
        granter: granter.into(),
        created_ms: now_ms,
        expires_ms,
    };
    Ok(GrantAnswer { grant: encode_hex(&grant.seal(ring)?), expires_ms })
}

/// Seals a release of an administrator.
///
/// # Errors
/// The first key of the request whose value cannot be sealed.
#[inline(never)]
pub fn release(request: &ReleaseRequest, granter: &str, ring: &KeyRing, now_ms: u64) -> Result<ReleaseAnswer, RequestError> {
    let expires_ms = request.expires_s.map_or(Ok(0), |seconds| expires(seconds, now_ms))?;
    let content = request.content_digest;
    let sealed = Release { tenant: &request.tenant, content: content.0, granter, created_ms: now_ms, expires_ms }.seal(ring)?;
    Ok(ReleaseAnswer { release: encode_hex(&sealed), content_digest: content, expires_ms })
}

/// The time after so many seconds.
fn expires(seconds: u64, now_ms: u64) -> Result<u64, RequestError> {
    if seconds == 0 {
        return Err(RequestError::new("expires_s", "must be at least 1"));
    }
    let expires_ms = seconds.checked_mul(1000).and_then(|ms| now_ms.checked_add(ms));
    expires_ms.ok_or_else(|| RequestError::new("expires_s", "is too large"))
}
