//! `GET v1/health`: what runs here, and whether it can keep state.

use serde::Serialize;

use super::{Answer, Call, Desk, Problem};

#[derive(Serialize)]
struct Health<'h> {
    status: &'h str,
    build: crate::About,
    mode: &'h str,
    state: &'h str,
}

pub(super) fn get(desk: &Desk<'_>, _: &Call<'_>) -> Result<Answer, Problem> {
    let mode = desk.shared.rules.defaults.settings.mode.name();
    // Whatever the configuration says, only the gateway knows whether it has shared data.
    let state = match &desk.shared.state {
        None => "off",
        Some(_) if desk.host.shared_data("floodmark/1/start").is_err() => "unavailable",
        Some(_) => "available",
    };
    Ok(Answer::new(&Health { status: "ok", build: crate::about(), mode, state }))
}
