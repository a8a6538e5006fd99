//! `POST v1/lineage/records` and `POST v1/lineage/adopt`: records of entries, new ones and those that were there before the gate.

use floodmark_core::limits::{MAX_ADOPTED, MAX_ENTRY_VERSION, MAX_VERSION_AHEAD_MS};
use floodmark_core::lineage::{Channel, MintAnswer, MintRequest, mint};
use serde::Serialize;

use super::requests::{self, Adopted, Adoption};
use super::{Entry, Lineage, malformed, misfit};
use crate::endpoints::{Answer, Call, Desk, Problem};
use crate::metrics::LineageCount;
use crate::state::State;

#[derive(Serialize)]
struct Told {
    records: Vec<MintAnswer>,
}

pub fn post(desk: &Desk<'_>, call: &Call<'_>) -> Result<Answer, Problem> {
    let (lineage, state) = desk.lineage()?;
    let request = call.read_by(requests::mint)?;
    let token = call.token;
    token.for_tenant(&request.tenant)?;
    if !token.channels.contains(&request.channel) {
        return Err(Problem::Limited("channels"));
    }
    if request.channel == Channel::ApprovedSource && !token.sources.contains(&request.author) {
        return Err(Problem::Limited("sources"));
    }
    let now_ms = desk.now_ms();
    if request.version.is_some_and(|version| version > now_ms.saturating_add(MAX_VERSION_AHEAD_MS)) {
        return Err(malformed("version", "must be at most a day ahead of the time in Unix milliseconds"));
    }
    let answer = mint(&request, &lineage.gate, &lineage.ring, request.version.unwrap_or(now_ms), now_ms).map_err(misfit)?;
    record((desk, now_ms), call, (lineage, state), &request, answer, "minted").map(|answer| Answer::new(&answer))
}

pub fn adopt(desk: &Desk<'_>, call: &Call<'_>) -> Result<Answer, Problem> {
    let (lineage, state) = desk.lineage()?;
    let Adoption { tenant, principal, store, entries } = call.read_by(requests::adopt)?;
    call.token.for_tenant(&tenant)?;
    if !(1..=MAX_ADOPTED).contains(&entries.len()) {
        return Err(malformed("entries", format!("has {}; give 1 to {MAX_ADOPTED}", entries.len())));
    }
    let now_ms = desk.now_ms();
    // All are checked before the first one counts.
    let mut ready = Vec::new();
    for (number, Adopted { entry, content, channel, author }) in entries.into_iter().enumerate() {
        let at = |key: &str| format!("entries[{number}].{key}");
        let author = match (channel, author) {
            (Channel::ApprovedSource, Some(author)) if lineage.gate.approved_sources.contains(&author) => author,
            (Channel::ApprovedSource, _) => {
                return Err(malformed(at("author"), "must be one of the configuration's `lineage.approved_sources` with this channel"));
            }
            (_, Some(_)) => return Err(malformed(at("author"), "is who adopts, which the token says; leave it out")),
            (_, None) => call.token.name.clone(),
        };
        let request = MintRequest {
            tenant: tenant.clone(),
            principal: principal.clone(),
            store: store.clone(),
            entry,
            version: None,
            channel,
            author,
            content,
            parents: Vec::new(),
        };
        let answer = mint(&request, &lineage.gate, &lineage.ring, now_ms, now_ms);
        let answer = answer.map_err(|refused| malformed(at(&refused.path), refused.problem))?;
        ready.push((request, answer));
    }
    let mut records = Vec::new();
    for (request, answer) in ready {
        records.push(record((desk, now_ms), call, (lineage, state), &request, answer, "adopted")?);
    }
    Ok(Answer::new(&Told { records }))
}

/// Makes a record the newest of its entry. `answer` is that of a version that may be behind; then the record is made anew. The time is that of `answer`, so that it
/// seldom is.
fn record(
    (desk, now_ms): (&Desk<'_>, u64),
    call: &Call<'_>,
    (lineage, state): (&Lineage, &State),
    request: &MintRequest,
    mut answer: MintAnswer,
    said: &str,
) -> Result<MintAnswer, Problem> {
    let MintRequest { tenant, principal, store, .. } = request;
    let entry = Entry { tenant, principal, store, entry: &answer.entry, content: &answer.content_digest };
    let mut version = None;
    entry.raise(desk, (lineage, state), false, &mut |newest| {
        version = match (request.version, newest) {
            (given, None) => Some(given.unwrap_or(now_ms)),
            (Some(given), Some(newest)) => Some(given).filter(|given| *given > newest),
            (None, Some(newest)) => Some(now_ms.max(newest.saturating_add(1))).filter(|next| *next <= MAX_ENTRY_VERSION),
        };
        version
    })?;
    let Some(version) = version else {
        return Err(Problem::Conflict("the entry's newest version that is known is as high or higher"));
    };
    if version != answer.version {
        answer = mint(request, &lineage.gate, &lineage.ring, version, now_ms).map_err(misfit)?;
    }
    desk.counted(if said == "minted" { LineageCount::Minted } else { LineageCount::Adopted });
    desk.told(
        call,
        said,
        &[("tenant", tenant), ("principal", principal), ("store", store), ("entry", &answer.entry)],
        &[
            ("version", &version.to_string()),
            ("channel", request.channel.name()),
            ("record", &answer.hash.hex()),
            ("content", &answer.content_digest.hex()),
        ],
    );
    Ok(answer)
}
