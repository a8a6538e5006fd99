//! `POST v1/lineage/grants`: a mandate that an administrator gives and seals.

use floodmark_core::lineage::{Digest, grant};

use super::{misfit, requests};
use crate::endpoints::{Answer, Call, Desk, Problem};
use crate::metrics::LineageCount;

pub fn post(desk: &Desk<'_>, call: &Call<'_>) -> Result<Answer, Problem> {
    let (lineage, _) = desk.lineage()?;
    let request = call.read_by(requests::grant)?;
    call.token.for_tenant(&request.tenant)?;
    let answer = grant(&request, &call.token.name, &lineage.ring, desk.now_ms()).map_err(misfit)?;
    desk.counted(LineageCount::Granted);
    let principal = request.principal.as_deref().unwrap_or("");
    let names = [("name", request.name.as_str()), ("tenant", &request.tenant), ("principal", principal), ("tool", &request.tool)];
    let words = [("grant", Digest::of(answer.grant.as_bytes()).hex()), ("expires_ms", answer.expires_ms.to_string())];
    desk.told(call, "granted", &names, &words.each_ref().map(|(name, value)| (*name, value.as_str())));
    Ok(Answer::new(&answer))
}
