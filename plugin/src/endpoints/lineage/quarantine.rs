//! `GET v1/quarantine/<tenant>` and `POST v1/quarantine`: what is held back of a tenant's, and the release of a content.

use floodmark_core::lineage::{Digest, release};
use serde::{Deserialize, Serialize};

use super::{malformed, misfit, tenant};
use crate::approvals::hex;
use crate::endpoints::{Answer, Call, Desk, Problem};
use crate::metrics::LineageCount;
use crate::state::State;
use crate::state::quarantine::{List, Note};
use crate::state::table::{Change, Outcome};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    tenant: String,
    content_digest: Digest,
    #[serde(default)]
    expires_s: Option<u32>,
}

#[derive(Serialize)]
struct Held<'h> {
    content_digest: Digest,
    /// `None` when it was released unseen.
    reason: Option<&'h str>,
    principal: &'h str,
    store: &'h str,
    entry: &'h str,
    noted_ms: u64,
    release: Option<String>,
}

#[derive(Serialize)]
struct Listed<'l> {
    tenant: &'l str,
    entries: Vec<Held<'l>>,
}

#[derive(Serialize)]
struct Released<'r> {
    tenant: &'r str,
    content_digest: Digest,
    release: String,
    expires_ms: u64,
}

pub fn get(desk: &Desk<'_>, call: &Call<'_>) -> Result<Answer, Problem> {
    let (_, state) = desk.lineage()?;
    call.token.for_tenant(call.part)?;
    let (key, tag) = tenant(state, call.part);
    let found = state.quarantine.get(desk.host, &key, Some(&tag), desk.now_ms()).map_err(|_| Problem::State)?;
    let list = found.and_then(|found| List::decode(&found.payload)).unwrap_or_default();
    let entries = list.notes.iter().rev().map(|note| Held {
        content_digest: Digest(note.content),
        reason: Some(if note.broken { "broken_lineage" } else { "untrusted" }).filter(|_| !note.store.is_empty()),
        principal: &note.principal,
        store: &note.store,
        entry: &note.entry,
        noted_ms: note.noted_ms,
        release: Some(hex(&note.release)).filter(|release| !release.is_empty()),
    });
    Ok(Answer::new(&Listed { tenant: call.part, entries: entries.collect() }))
}

pub fn post(desk: &Desk<'_>, call: &Call<'_>) -> Result<Answer, Problem> {
    let (lineage, state) = desk.lineage()?;
    let Given { tenant, content_digest, expires_s } = call.read()?;
    call.token.for_tenant(&tenant)?;
    let now_ms = desk.now_ms();
    let expires_ms = expiry(now_ms, expires_s)?;
    let sealed = release(&lineage.ring, &tenant, content_digest, &call.token.name, now_ms, expires_ms).map_err(misfit)?;
    let note = Note { content: content_digest.0, noted_ms: now_ms, release: sealed.clone(), ..Note::default() };
    put(desk, state, &tenant, note)?.ok_or(Problem::State)?;
    desk.counted(LineageCount::Released);
    let words = [("content", content_digest.hex()), ("expires_ms", expires_ms.to_string())];
    desk.told(call, "released", &[("tenant", &tenant)], &words.each_ref().map(|(name, value)| (*name, value.as_str())));
    Ok(Answer::new(&Released { tenant: &tenant, content_digest, release: hex(&sealed), expires_ms }))
}

/// When what is given ends, in Unix milliseconds; 0 is never.
pub(super) fn expiry(now_ms: u64, expires_s: Option<u32>) -> Result<u64, Problem> {
    match expires_s {
        None => Ok(0),
        Some(0) => Err(malformed("expires_s", "must be at least 1")),
        Some(seconds) => Ok(now_ms.saturating_add(u64::from(seconds) * 1000)),
    }
}

/// Puts a note into a tenant's list, and gives the release of its content that stood there, empty for none. `None` when there is no room for the list.
pub(super) fn put(desk: &Desk<'_>, state: &State, of: &str, note: Note) -> Result<Option<Vec<u8>>, Problem> {
    let (key, tag) = tenant(state, of);
    let mut released = Vec::new();
    let mut change = |standing: Option<&[u8]>| {
        let mut list = standing.and_then(List::decode).unwrap_or_default();
        released = list.find(&note.content).map(|note| note.release.clone()).unwrap_or_default();
        if !list.put(note.clone()) {
            return Change::Keep;
        }
        // No list with a release gives way to one without.
        Change::Store { payload: list.encode(), heat: 0.0, firm: list.has_releases() }
    };
    let done = state.quarantine.update(desk.host, &key, Some(&tag), desk.now_ms(), &mut change).map_err(|_| Problem::State)?;
    Ok(Some(released).filter(|_| done.outcome != Outcome::Full))
}
