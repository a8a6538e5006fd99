//! `POST v1/lineage/check`: whether an entry may be used now. What core answers is put beside what is remembered: newest versions, releases, approvals.

use floodmark_core::lineage::{CheckAnswer, CheckRequest, Decision, Digest, Reason, check};
use serde::Serialize;
use serde_json::Value;

use super::quarantine::put;
use super::{Entry, misfit, tenant};
use crate::approvals::{Answer as Asked, Request, Status, hex};
use crate::endpoints::{Answer, Call, Desk, Problem};
use crate::host::LogLevel;
use crate::keys::first;
use crate::metrics::LineageCount;
use crate::state::State;
use crate::state::quarantine::Note;

pub fn post(desk: &Desk<'_>, call: &Call<'_>) -> Result<Answer, Problem> {
    let (lineage, state) = desk.lineage()?;
    let mut request: CheckRequest = call.read()?;
    call.token.for_tenant(&request.tenant)?;
    todo!()
}
