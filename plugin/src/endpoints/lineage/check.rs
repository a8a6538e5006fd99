//! `POST v1/lineage/check`: whether an entry may be used now. Core judges; here is what is remembered: newest versions, releases, approvals.

use floodmark_core::lineage::{CheckAnswer, CheckRequest, Decision, Digest, Reason, check, encode_hex};
use serde::Serialize;
use serde_json::Value;

use super::quarantine::put;
use super::{Entry, Lineage, misfit, requests};
use crate::approvals::{self, hex};
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
    let mut request = call.read_by(requests::check)?;
    call.token.for_tenant(&request.tenant)?;
    let name = request.entry.clone().unwrap_or_else(|| Digest::of(request.content.as_bytes()).hex());
    let mut answer = newest(desk, (lineage, state), &request, &name)?;
    if answer.decision == Decision::Quarantine {
        let release = note(desk, state, &request, &name, &answer)?;
        if request.release.is_none() && !release.is_empty() {
            request.release = Some(encode_hex(&release));
            answer = judged(desk, lineage, &request, answer.version)?;
        }
    }
    let asked = match answer.decision {
        Decision::Ask => Some(approval(desk, call, state, (&request, &name), &answer)),
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
        let record = answer.record_hash.map_or_else(|| "-".to_owned(), |hash| hash.hex());
        let reason = if answer.broken.is_some() { "broken_lineage" } else { "untrusted" };
        let content = answer.content_digest.hex();
        desk.told(call, "quarantined", &names(&request, &name), &[("reason", reason), ("record", &record), ("content", &content)]);
    }
    Ok(Answer::joined(&answer, &Added { approval: id, approval_status: status }))
}

fn names<'r>(request: &'r CheckRequest, name: &'r str) -> [(&'static str, &'r str); 4] {
    [("tenant", &request.tenant), ("principal", &request.principal), ("store", &request.store), ("entry", name)]
}

fn judged(desk: &Desk<'_>, lineage: &Lineage, request: &CheckRequest, newest: Option<u64>) -> Result<CheckAnswer, Problem> {
    let judge = &desk.shared.rules.defaults.judge;
    check(request, &lineage.gate, &lineage.ring, judge, newest, desk.now_ms()).map_err(misfit)
}

/// The answer under the newest version that is known, of which the entry's own may be one now.
fn newest(desk: &Desk<'_>, (lineage, state): (&Lineage, &State), request: &CheckRequest, name: &str) -> Result<CheckAnswer, Problem> {
    let entry = Entry { tenant: &request.tenant, store: &request.store, entry: name };
    let known = entry.newest(desk, state)?;
    let answer = judged(desk, lineage, request, known)?;
    let Some(version) = answer.version.filter(|version| known.is_none_or(|known| known < *version)) else { return Ok(answer) };
    let mut standing = None;
    entry.raise(desk, state, &mut |newest| {
        standing = newest;
        Some(version).filter(|version| newest.is_none_or(|newest| newest < *version))
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
        principal: request.principal.clone(),
        store: request.store.clone(),
        entry: name.to_owned(),
        release: Vec::new(),
    };
    // Where there is no room for the list it is held back all the same.
    Ok(put(desk, state, &request.tenant, note)?.unwrap_or_default())
}

/// Asks for the approval of exactly this: who acts, in which run, with which entry as it was judged, and the call.
fn approval(
    desk: &Desk<'_>,
    call: &Call<'_>,
    state: &State,
    (request, name): (&CheckRequest, &str),
    answer: &CheckAnswer,
) -> approvals::Answer {
    let digest = |parts: &[&[u8]]| state.lineage_key.digest(parts);
    let tool = request.call.as_ref().map_or("", |call| call.tool.as_str());
    let arguments = call.body.get("call").and_then(|call| call.get("arguments")).unwrap_or(&Value::Null);
    let record = answer.record_hash.map(|hash| hash.0).unwrap_or_default();
    let judged = [
        answer.authority_class.number(),
        u8::from(answer.released),
        u8::from(request.call.is_some()),
        u8::from(answer.record_hash.is_some()),
        answer.broken.map_or(0, |broken| 1 + broken as u8),
        answer.why.map_or(0, |why| 1 + why as u8),
    ];
    let asked = digest(&[
        b"asked",
        request.store.as_bytes(),
        name.as_bytes(),
        &answer.content_digest.0,
        &record,
        &judged,
        tool.as_bytes(),
        arguments.to_string().as_bytes(),
    ]);
    let run = request.run.as_deref();
    let run = first(&digest(&[b"run", &[u8::from(run.is_some())], run.unwrap_or_default().as_bytes()]));
    let caller = first(&digest(&[b"caller", request.tenant.as_bytes(), request.principal.as_bytes()]));
    // Whoever has a token has proven more than any caller of AI traffic.
    let asking = approvals::Request { caller: &caller, run: &run, asked: &first(&asked), is_proven: true };
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
    if let Some(by) = by {
        line.push_str(&[" token=", by].concat());
    }
    line.push_str(&[" event=", call.event_id].concat());
    desk.host.log(LogLevel::Info, &line);
    told
}
