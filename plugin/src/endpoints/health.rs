//! `GET v1/health`: what runs here, and whether it can keep state.

use serde::Serialize;

use super::{Answer, Call, Desk, Problem};

#[derive(Serialize)]
struct Health<'h> {
    status: &'h str,
    build: crate::About,
    mode: &'h str,
}

pub(super) fn get(desk: &Desk<'_>, _: &Call<'_>) -> Result<Answer, Problem> {
    let mode = desk.shared.rules.defaults.settings.mode.name();
    Ok(Answer::new(&Health { status: "ok", build: crate::about(), mode }))
}
