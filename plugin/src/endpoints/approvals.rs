//! `POST v1/approvals`: an operator approves or denies what a rule with the use `ask` holds back.

use serde::{Deserialize, Serialize};

use super::{Answer, Call, Desk, Problem};
use crate::approvals::{Decided, Refused, Status, hex};
use crate::host::LogLevel;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    id: String,
    decision: Decision,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Decision {
    Approve,
    Deny,
}

#[derive(Serialize)]
struct Told<'t> {
    id: &'t str,
    status: Status,
    changed: bool,
    run: String,
    expires_ms: u64,
}

pub(super) fn post(desk: &Desk<'_>, call: &Call<'_>) -> Result<Answer, Problem> {
    let Given { id, decision } = call.read()?;
    let state = desk.state()?;
    let approve = decision == Decision::Approve;
    let tenants: Option<Vec<_>> = call.token.tenants.as_ref().map(|names| names.iter().map(|name| state.tenant(name).1).collect());
    let by = (call.token.name.as_str(), tenants.as_deref());
    let decided = state.approvals.decide(desk.host, &desk.shared.metrics.approvals, &id, approve, by, desk.now_ms());
    let Decided { status, changed, run, expires_ms } = decided.map_err(problem)?;
    let run = hex(&run);
    if changed {
        let said = if approve { "approved" } else { "denied" };
        desk.host
            .log(LogLevel::Info, &format!("floodmark approval={said} id={id} run={run} token={} event={}", call.token.name, call.event_id));
    }
    Ok(Answer::new(&Told { id: &id, status, changed, run, expires_ms }))
}

fn problem(refused: Refused) -> Problem {
    match refused {
        Refused::Malformed => {
            Problem::Malformed("the body at id: must be 32 lower-case hex digits, `-` and 8 more, as the refusal gave it".to_owned())
        }
        Refused::Unknown => Problem::Unknown("approval"),
        Refused::Limited => Problem::Limited("tenants"),
        Refused::Used => Problem::Conflict("the approval was used; the next request asks anew, under another id"),
        Refused::Denied => Problem::Conflict("the approval was denied, and stays so until it expires"),
        Refused::State => Problem::State,
    }
}
