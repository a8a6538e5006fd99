//! `POST v1/lineage/check`: whether an entry may be used now. Core judges; here is what is remembered: newest versions, releases, approvals.

use floodmark_core::lineage::{CallRequest, CheckAnswer, CheckRequest, Decision, Digest, Reason, check};
use serde::Serialize;

use super::quarantine::put;
use super::{Entry, Lineage, misfit, requests};
use crate::approvals::{self, hex};
use crate::config;
use crate::endpoints::{Answer, Call, Desk, Problem};
use crate::host::LogLevel;
use crate::keys::first;
use crate::metrics::LineageCount;
use crate::state::State;
use crate::state::quarantine::Note;

/// What the gateway adds to core's answer.
#[derive(Serialize)]
struct Added<'t> {
    approval: Option<&'t str>,
    approval_status: Option<&'t str>,
}

pub fn post(desk: &Desk<'_>, call: &Call<'_>) -> Result<Answer, Problem> {
    let (lineage, state) = desk.lineage()?;
    let request = call.read_by(requests::check)?;
    call.token.for_tenant(&request.tenant)?;
    let content = Digest::of(request.content.as_bytes());
    let name = request.entry.clone().unwrap_or_else(|| content.hex());
    let CheckRequest { tenant, principal, store, .. } = &request;
    let entry = Entry { tenant, principal, store, entry: &name, content: &content };
    let mut answer = newest(desk, (lineage, state), &request, entry)?;
    if answer.decision == Decision::Quarantine {
        let release = note(desk, state, &request, &name, &answer)?;
        if request.release.is_none() {
            answer.let_out(&release, &request, &lineage.ring, desk.now_ms());
        }
    }
    // Whoever approves must see what: a side effect without its call stays as it is.
    let asked = match (answer.decision, &request.call) {
        (Decision::Ask, Some(CallRequest { tool, .. })) => Some(approval(desk, call, state, (&request, &name, tool), &answer)),
        _ => None,
    };
    let (status, id) = match &asked {
        Some(approvals::Answer::Granted { id, .. }) => {
            (answer.decision, answer.reason) = (Decision::Run, Some(Reason::Approved));
            (Some("used"), Some(id.as_str()))
        }
        Some(approvals::Answer::Pending { id, .. }) => (Some("pending"), Some(id.as_str())),
        Some(approvals::Answer::Denied { id }) => (Some("denied"), Some(id.as_str())),
        Some(approvals::Answer::Impossible) | None => (None, None),
    };
    desk.counted(match answer.decision {
        Decision::Run => LineageCount::Run,
        Decision::Label => LineageCount::Label,
        Decision::Ask => LineageCount::Ask,
        Decision::Quarantine => LineageCount::Quarantine,
    });
    if answer.decision == Decision::Quarantine {
        let reason = if answer.broken.is_some() { "broken_lineage" } else { "untrusted" };
        let content = answer.content_digest.hex();
        desk.told(
            call,
            "quarantined",
            &names(&request, &name),
            &[("reason", reason), ("record", &hash_of(&answer)), ("content", &content)],
        );
    }
    Ok(Answer::joined(&answer, &Added { approval: id, approval_status: status }))
}

/// The record's hash for the log.
fn hash_of(answer: &CheckAnswer) -> String {
    answer.record_hash.map_or_else(|| "-".to_owned(), |hash| hash.hex())
}

fn names<'r>(request: &'r CheckRequest, name: &'r str) -> [(&'static str, &'r str); 4] {
    [("tenant", &request.tenant), ("principal", &request.principal), ("store", &request.store), ("entry", name)]
}

fn judged(desk: &Desk<'_>, lineage: &Lineage, request: &CheckRequest, newest: Option<u64>) -> Result<CheckAnswer, Problem> {
    let judge = &desk.shared.rules.defaults.judge;
    check(request, &lineage.gate, &lineage.ring, judge, newest, desk.now_ms()).map_err(misfit)
}

/// A known version that is asked about again keeps its place in the table longer; that is written down no more than once in this time.
const REFRESH_MS: u64 = 3600 * 1000;

/// The answer under the newest version that is known, of which the entry's own may be one now.
fn newest(desk: &Desk<'_>, (lineage, state): (&Lineage, &State), request: &CheckRequest, entry: Entry<'_>) -> Result<CheckAnswer, Problem> {
    let known = entry.newest(desk, (lineage, state))?;
    let answer = judged(desk, lineage, request, known.version)?;
    let is_fresh = desk.now_ms().saturating_sub(known.touched_ms) < REFRESH_MS;
    let is_news = |version: &u64| known.version.is_none_or(|known| known < *version || known == *version && !is_fresh);
    let Some(version) = answer.version.filter(is_news) else { return Ok(answer) };
    let mut standing = None;
    entry.raise(desk, (lineage, state), known.firm, &mut |newest| {
        standing = newest;
        Some(version).filter(|version| newest.is_none_or(|newest| newest <= *version))
    })?;
    // Another call may have seen a newer one meanwhile.
    if standing > Some(version) { judged(desk, lineage, request, standing) } else { Ok(answer) }
}

/// Notes what is held back, and gives the release that the list has of it, empty for none.
fn note(desk: &Desk<'_>, state: &State, request: &CheckRequest, name: &str, answer: &CheckAnswer) -> Result<Vec<u8>, Problem> {
    let note = Note {
        content: answer.content_digest.0,
        noted_ms: desk.now_ms(),
        broken: answer.broken.is_some(),
        is_verified: answer.version.is_some(),
        expires_ms: 0,
        principal: request.principal.clone(),
        store: request.store.clone(),
        entry: name.to_owned(),
        release: Vec::new(),
    };
    // Where there is no room for it in the list it is held back all the same.
    Ok(put(desk, state, &request.tenant, note)?.0)
}

/// Asks for the approval of exactly this: who acts, in which run, with which entry as it was judged, and the call.
fn approval(
    desk: &Desk<'_>,
    call: &Call<'_>,
    state: &State,
    (request, name, tool): (&CheckRequest, &str, &str),
    answer: &CheckAnswer,
) -> approvals::Answer {
    let digest = |parts: &[&[u8]]| state.lineage_key.digest(parts);
    // As the caller spelled them: what is read of them may be rounded, and the tool gets what was spelled.
    let Some(arguments) = config::raw(call.bytes, &["call", "arguments"]) else { return approvals::Answer::Impossible };
    let record = answer.record_hash.map(|hash| hash.0).unwrap_or_default();
    let judged = [
        answer.authority_class.number(),
        u8::from(answer.released),
        u8::from(answer.record_hash.is_some()),
        answer.broken.map_or(0, |broken| 1 + broken as u8),
        answer.why.map_or(0, |why| 1 + why as u8),
    ];
    let asked = digest(&[
        b"asked",
        request.tenant.as_bytes(),
        request.principal.as_bytes(),
        request.store.as_bytes(),
        name.as_bytes(),
        &answer.content_digest.0,
        &record,
        &judged,
        tool.as_bytes(),
        arguments,
    ]);
    let run = request.run.as_deref();
    let run = first(&digest(&[b"run", &[u8::from(run.is_some())], run.unwrap_or_default().as_bytes()]));
    // Of each token there are so many at most, so that none pushes out what waits for another.
    let caller = first(&digest(&[b"caller", call.token.name.as_bytes()]));
    let (_, tenant) = state.tenant(&request.tenant);
    // Whoever has a token has proven more than any caller of AI traffic.
    let asking = approvals::Request { caller: &caller, run: &run, asked: &first(&asked), is_proven: true, tenant };
    let told = state.approvals.ask(desk.host, &desk.shared.metrics.approvals, asking, desk.now_ms());
    let (said, id, by) = match &told {
        approvals::Answer::Pending { id, new: true } => ("asked", id, None),
        approvals::Answer::Granted { id, by } => ("used", id, Some(by)),
        _ => return told,
    };
    let mut line = ["floodmark approval=", said, " id=", id, " run=", &hex(&run)].concat();
    for (name, value) in names(request, name).iter().chain(&[("tool", tool)]) {
        line.push_str(&format!(" {name}={value:?}"));
    }
    let content = answer.content_digest.hex();
    line.push_str(&[" content=", &content, " record=", &hash_of(answer), " arguments=", &Digest::of(arguments).hex()].concat());
    if let Some(by) = by {
        line.push_str(&[" token=", by].concat());
    }
    line.push_str(&[" event=", call.event_id].concat());
    desk.host.log(LogLevel::Info, &line);
    told
}
