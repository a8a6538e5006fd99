//! `GET` and `DELETE v1/runs/<id>`: what is remembered of a run, and its end.

use floodmark_core::run::Run;
use serde::Serialize;

use super::{Answer, Call, Desk, Problem};
use crate::approvals::unhex;
use crate::host::LogLevel;
use crate::state::table::{Change, Key, Outcome};

/// Sums are as they stood at `touched_ms`: since then they fade by the configured half-life.
#[derive(Serialize)]
struct Told<'t> {
    id: &'t str,
    events: u32,
    turns: u32,
    over: u32,
    peak: f64,
    cusum: f64,
    persistence: f64,
    alarms: u32,
    restarts: u32,
    rewritten: u32,
    overflow: bool,
    touched_ms: u64,
}

#[derive(Serialize)]
struct Ended<'e> {
    id: &'e str,
    ended: bool,
}

pub(super) fn get(desk: &Desk<'_>, call: &Call<'_>) -> Result<Answer, Problem> {
    let id = id(call)?;
    let entry = desk.state()?.runs.get(desk.host, &id, None, desk.now_ms()).map_err(|_| Problem::State)?;
    let run = Run::decode(&entry.ok_or(UNKNOWN)?.payload).map_err(|_| Problem::State)?;
    Ok(Answer::new(&Told {
        id: call.part,
        events: run.events(),
        turns: run.turns(),
        over: run.over(),
        peak: run.peak(),
        cusum: run.cusum(),
        persistence: run.persistence(),
        alarms: run.alarms(),
        restarts: run.restarts(),
        rewritten: run.rewritten(),
        overflow: run.overflow(),
        touched_ms: run.touched_ms(),
    }))
}

pub(super) fn delete(desk: &Desk<'_>, call: &Call<'_>) -> Result<Answer, Problem> {
    let id = id(call)?;
    let done = desk.state()?.runs.update(desk.host, &id, None, desk.now_ms(), &mut |_| Change::Remove).map_err(|_| Problem::State)?;
    if done.outcome != Outcome::Removed {
        return Err(UNKNOWN);
    }
    let Call { token, part, event_id, .. } = *call;
    desk.host.log(LogLevel::Info, &["floodmark run=ended id=", part, " token=", &token.name, " event=", event_id].concat());
    Ok(Answer::new(&Ended { id: part, ended: true }))
}

const UNKNOWN: Problem = Problem::Unknown("run");

fn id(call: &Call<'_>) -> Result<Key, Problem> {
    unhex(call.part).ok_or_else(|| Problem::Malformed("a run's id has 32 lower-case hex digits, as the log gives it".to_owned()))
}
