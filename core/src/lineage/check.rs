//! The check of an entry that comes back: its lineage, what its text is like, and what the gate makes of both.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Range;

use super::LABEL;
use super::class::{Class, Why};
use super::digest::{Digest, decode_hex};
use super::gate::{Decision, Effect, Gate, NoRecord, decide, text};
use super::grant::Grant;
use super::release::Release;
use super::request::{CheckAnswer, CheckRequest, RequestError};
use super::seal::KeyRing;
use super::verify::{Ancestor, Presented, VerifiedLineage};
use crate::Judge;
use crate::limits::{
    MAX_ENTRY_BYTES, MAX_GRANTS, MAX_LINEAGE_RECORDS, MAX_PRINCIPAL_BYTES, MAX_STORE_BYTES, MAX_TENANT_BYTES, MAX_TOOL_BYTES,
};

/// Checks an entry. `newest` is the newest version of it that was ever seen, if anybody remembers. Linear in the request.
///
/// Records that are not hex in lower case are malformed records, as others that do not decode are: whoever can write a store must not be able to choose an error
/// instead of an answer.
///
/// # Errors
/// The first key of the request whose value cannot be what it should, or too many records.
pub fn check(
    request: &CheckRequest,
    gate: &Gate,
    ring: &KeyRing,
    judge: &Judge<'_>,
    newest: Option<u64>,
    now_ms: u64,
) -> Result<CheckAnswer, RequestError> {
    bounds(request)?;
    let content_digest = Digest::of(request.content.as_bytes());
    let hex;
    let entry = match &request.entry {
        Some(entry) => entry,
        None => {
            hex = content_digest.hex();
            &hex
        }
    };
    let lineage = verify(request, entry, content_digest, newest, gate, ring)?;
    let likeness = judge.instruction_like(&request.content);
    let mandate = mandate(request, &lineage, gate, ring, now_ms)?;
    let (decision, reason) = decide(lineage.class(), lineage.broken(), likeness.is_some(), request.effect, mandate.is_some());
    let mut answer = CheckAnswer {
        decision,
        reason,
        authority_class: lineage.class(),
        why: lineage.why(),
        broken: lineage.broken(),
        instruction_like: likeness.is_some(),
        likeness,
        mandate,
        released: false,
        label: (decision == Decision::Label).then_some(LABEL),
        content_digest,
        record_hash: lineage.record_hash(),
        version: lineage.version(),
    };
    if let Some(hex) = &request.release {
        let mut sealed = Vec::new();
        if !decode_hex(hex, &mut sealed) {
            return Err(RequestError::new("release", "is not lower-case hex"));
        }
        answer.let_out(&sealed, request, ring, now_ms);
    }
    let before_records = gate.no_record == NoRecord::Label && lineage.why() == Some(Why::NoRecord) && lineage.record_hash().is_none();
    if before_records && answer.decision == Decision::Quarantine {
        answer.soften(request.effect);
    }
    Ok(answer)
}

impl CheckAnswer {
    /// Lets what `request` asked about out of quarantine if `release`, a sealed one, covers it. It is labelled or asked for then, and never runs.
    pub fn let_out(&mut self, release: &[u8], request: &CheckRequest, ring: &KeyRing, now_ms: u64) {
        let covers = |release: Release<'_>| release.covers(&request.tenant, &self.content_digest.0, now_ms);
        if self.decision == Decision::Quarantine && Release::open(release, ring).is_ok_and(covers) {
            self.released = true;
            self.soften(request.effect);
        }
    }

    /// Held back no longer, and no more than that.
    fn soften(&mut self, effect: Effect) {
        (self.decision, self.label) = match effect {
            Effect::Read => (Decision::Label, Some(LABEL)),
            Effect::SideEffect => (Decision::Ask, None),
        };
        self.reason = None;
    }
}

fn bounds(request: &CheckRequest) -> Result<(), RequestError> {
    text(&|| "tenant".to_string(), &request.tenant, MAX_TENANT_BYTES)?;
    text(&|| "principal".to_string(), &request.principal, MAX_PRINCIPAL_BYTES)?;
    text(&|| "store".to_string(), &request.store, MAX_STORE_BYTES)?;
    if let Some(entry) = &request.entry {
        text(&|| "entry".to_string(), entry, MAX_ENTRY_BYTES)?;
    }
    if let Some(call) = &request.call {
        text(&|| "call.tool".to_string(), &call.tool, MAX_TOOL_BYTES)?;
    }
    if request.grants.len() > MAX_GRANTS {
        return Err(RequestError::new("grants", &format!("takes at most {MAX_GRANTS}")));
    }
    Ok(())
}

#[inline(never)]
fn verify(
    request: &CheckRequest,
    entry: &str,
    content: Digest,
    newest: Option<u64>,
    gate: &Gate,
    ring: &KeyRing,
) -> Result<VerifiedLineage, RequestError> {
    let too_many = || RequestError::new("ancestors", &format!("takes at most {} records", MAX_LINEAGE_RECORDS - 1));
    if request.ancestors.len() >= MAX_LINEAGE_RECORDS {
        return Err(too_many());
    }
    // All records one behind the other, so that none has memory of its own.
    let hex = || request.record.iter().chain(request.ancestors.iter().map(|ancestor| &ancestor.record));
    let mut bytes = Vec::with_capacity(hex().map(|hex| hex.len() / 2).sum());
    let mut places: Vec<Range<usize>> = Vec::with_capacity(request.ancestors.len() + 1);
    for hex in hex() {
        let start = bytes.len();
        if !decode_hex(hex, &mut bytes) {
            // No record is empty, so it is malformed.
            bytes.truncate(start);
        }
        places.push(start..bytes.len());
    }
    let mut records = places.into_iter().map(|place| bytes.get(place).unwrap_or_default());
    let record = request.record.as_ref().and_then(|_| records.next());
    let mut ancestors = Vec::with_capacity(request.ancestors.len());
    for (record, ancestor) in records.zip(&request.ancestors) {
        ancestors.push(Ancestor { record, content: ancestor.content.as_deref().map(str::as_bytes) });
    }
    let presented =
        Presented { tenant: &request.tenant, principal: &request.principal, store: &request.store, entry, content, record, newest };
    VerifiedLineage::verify(&presented, &ancestors, gate, ring).map_err(|_| too_many())
}

/// The mandate that the call is inside of. It matters for class 3 alone, and is looked for nowhere else.
#[inline(never)]
fn mandate(
    request: &CheckRequest,
    lineage: &VerifiedLineage,
    gate: &Gate,
    ring: &KeyRing,
    now_ms: u64,
) -> Result<Option<String>, RequestError> {
    let needed = lineage.class() == Class::Derived && request.effect == Effect::SideEffect;
    let mut found = None;
    if let Some(call) = request.call.as_ref().filter(|_| needed) {
        found = gate.mandate(&request.tenant, &request.principal, &call.tool, &call.arguments).map(String::from);
    }
    // A grant that is no hex is refused whether it is needed or not, so that a mistake shows.
    for (number, hex) in request.grants.iter().enumerate() {
        let mut sealed = Vec::new();
        if !decode_hex(hex, &mut sealed) {
            return Err(RequestError::new(&format!("grants[{number}]"), "is not lower-case hex"));
        }
        let Some(call) = request.call.as_ref().filter(|_| needed && found.is_none()) else { continue };
        let grant = Grant::open(&sealed, ring).ok();
        let grant = grant.filter(|grant| grant.covers(&request.tenant, &request.principal, &call.tool, &call.arguments, now_ms));
        found = grant.map(|grant| grant.name);
    }
    Ok(found)
}
