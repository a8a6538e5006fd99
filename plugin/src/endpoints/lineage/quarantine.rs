//! `GET v1/quarantine/<tenant>` and `POST v1/quarantine`: what is held back of a tenant's, and the release of a content.

use floodmark_core::lineage::{Digest, decode_hex, release};
use serde::Serialize;

use super::{misfit, requests};
use crate::approvals::hex;
use crate::endpoints::{Answer, Call, Desk, Problem};
use crate::metrics::LineageCount;
use crate::state::State;
use crate::state::quarantine::{List, Note, Put};
use crate::state::table::{Change, Outcome};

#[derive(Serialize)]
struct Held<'h> {
    content_digest: Digest,
    /// `None` when it was released unseen.
    reason: Option<&'h str>,
    principal: &'h str,
    store: &'h str,
    entry: &'h str,
    /// Its record is sealed for this entry, content and principal; else whoever asked said so.
    verified: bool,
    noted_ms: u64,
    release: Option<String>,
}

#[derive(Serialize)]
struct Listed<'l> {
    tenant: &'l str,
    entries: Vec<Held<'l>>,
}

pub fn get(desk: &Desk<'_>, call: &Call<'_>) -> Result<Answer, Problem> {
    let (_, state) = desk.lineage()?;
    call.token.for_tenant(call.part)?;
    let (key, tag) = state.tenant(call.part);
    let found = state.quarantine.get(desk.host, &key, Some(&tag), desk.now_ms()).map_err(|_| Problem::State)?;
    let list = found.and_then(|found| List::decode(&found.payload)).unwrap_or_default();
    let entries = list.notes.iter().rev().map(|note| Held {
        content_digest: Digest(note.content),
        reason: Some(if note.broken { "broken_lineage" } else { "untrusted" }).filter(|_| !note.store.is_empty()),
        principal: &note.principal,
        store: &note.store,
        entry: &note.entry,
        verified: note.is_verified,
        noted_ms: note.noted_ms,
        release: Some(hex(&note.release)).filter(|release| !release.is_empty()),
    });
    Ok(Answer::new(&Listed { tenant: call.part, entries: entries.collect() }))
}

pub fn post(desk: &Desk<'_>, call: &Call<'_>) -> Result<Answer, Problem> {
    let (lineage, state) = desk.lineage()?;
    let request = call.read_by(requests::release)?;
    call.token.for_tenant(&request.tenant)?;
    let now_ms = desk.now_ms();
    let answer = release(&request, &call.token.name, &lineage.ring, now_ms).map_err(misfit)?;
    let mut note = Note { content: request.content_digest.0, noted_ms: now_ms, expires_ms: answer.expires_ms, ..Note::default() };
    // What core spells it reads.
    let _ = decode_hex(&answer.release, &mut note.release);
    if !put(desk, state, &request.tenant, note)?.1 {
        return Err(Problem::Conflict(
            "there is no room in the list for another release, since none of those in it has expired; give releases an `expires_s`",
        ));
    }
    desk.counted(LineageCount::Released);
    let words = [("content", answer.content_digest.hex()), ("expires_ms", answer.expires_ms.to_string())];
    desk.told(call, "released", &[("tenant", &request.tenant)], &words.each_ref().map(|(name, value)| (*name, value.as_str())));
    Ok(Answer::new(&answer))
}

/// Puts a note into a tenant's list, and gives the release of its content that stood there, empty for none, and whether there was room for the note.
pub(super) fn put(desk: &Desk<'_>, state: &State, of: &str, note: Note) -> Result<(Vec<u8>, bool), Problem> {
    let now_ms = desk.now_ms();
    let (key, tag) = state.tenant(of);
    let (mut released, mut put) = (Vec::new(), Put::Full);
    let mut change = |standing: Option<&[u8]>| {
        let mut list = standing.and_then(List::decode).unwrap_or_default();
        released = list.find(&note.content).map(|note| note.release.clone()).unwrap_or_default();
        put = list.put(note.clone(), now_ms);
        if put != Put::Changed {
            return Change::Keep;
        }
        // No list with a release gives way to one without.
        Change::Store { payload: list.encode(), heat: 0.0, firm: list.has_releases(now_ms) }
    };
    let done = state.quarantine.update(desk.host, &key, Some(&tag), now_ms, &mut change).map_err(|_| Problem::State)?;
    Ok((released, put != Put::Full && done.outcome != Outcome::Full))
}
