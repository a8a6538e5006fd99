//! The lineage gate's endpoints. What is judged and sealed is core's; here is who may ask for it, and what is remembered between calls.

mod check;
mod grants;
mod quarantine;
mod records;
mod requests;

pub(super) use check::post as check;
pub(super) use grants::post as grants;
pub(super) use quarantine::{get as quarantined, post as release};
pub(super) use records::{adopt, post as records};

use floodmark_core::lineage::{Gate, KeyRing, RequestError};

use serde_json::Value;

use super::{Call, Desk, Problem};
use crate::config::ConfigError;
use crate::host::LogLevel;
use crate::keys::first;
use crate::metrics::LineageCount;
use crate::state::State;
use crate::state::table::{CallerTag, Change, Key, Outcome};

/// The gate as configured, ready for use.
#[derive(Clone, Debug)]
pub struct Lineage {
    /// What it lets pass.
    pub gate: Gate,
    /// What seals and verifies.
    pub ring: KeyRing,
}

impl<'d> Desk<'d> {
    /// The gate, and what is remembered for it.
    fn lineage(&self) -> Result<(&'d Lineage, &'d State), Problem> {
        let lineage = self.shared.rules.lineage.as_ref().ok_or(Problem::NoLineage)?;
        Ok((lineage, self.shared.state.as_ref().ok_or(Problem::State)?))
    }

    fn counted(&self, what: LineageCount) {
        self.shared.metrics.lineage.count(self.host, what);
    }

    /// One line for what was given or held back. Names are quoted, so that none can look like another field.
    fn told(&self, call: &Call<'_>, said: &str, names: &[(&str, &str)], words: &[(&str, &str)]) {
        let mut line = ["floodmark lineage=", said].concat();
        for (name, value) in names {
            line.push_str(&format!(" {name}={value:?}"));
        }
        for (name, value) in words.iter().chain(&[("token", call.token.name.as_str()), ("event", call.event_id)]) {
            line.push_str(&[" ", name, "=", value].concat());
        }
        self.host.log(LogLevel::Info, &line);
    }
}

impl Call<'_> {
    /// The body as `read` takes it.
    fn read_by<T>(&self, read: fn(&Value) -> Result<T, ConfigError>) -> Result<T, Problem> {
        read(self.body).map_err(|misfit| Problem::Malformed(misfit.of("the body")))
    }
}

/// What does not fit in a request, for the client.
fn misfit(refused: RequestError) -> Problem {
    malformed(refused.path, refused.problem)
}

fn malformed(path: impl Into<String>, problem: impl Into<String>) -> Problem {
    Problem::Malformed(ConfigError { path: path.into(), problem: problem.into() }.of("the body"))
}

/// A tenant's name in the tables, and beside all that is its own.
fn tenant(state: &State, tenant: &str) -> (Key, CallerTag) {
    let digest = state.lineage_key.digest(&[b"tenant", tenant.as_bytes()]);
    (first(&digest), first(&digest))
}

/// An entry of a tenant's store.
#[derive(Clone, Copy)]
struct Entry<'e> {
    tenant: &'e str,
    store: &'e str,
    entry: &'e str,
}

impl Entry<'_> {
    fn key(&self, state: &State) -> Key {
        first(&state.lineage_key.digest(&[b"entry", self.tenant.as_bytes(), self.store.as_bytes(), self.entry.as_bytes()]))
    }

    /// Its newest version, as far as that is known.
    fn newest(&self, desk: &Desk<'_>, state: &State) -> Result<Option<u64>, Problem> {
        let (_, tag) = tenant(state, self.tenant);
        let found = state.versions.get(desk.host, &self.key(state), Some(&tag), desk.now_ms()).map_err(|_| Problem::State)?;
        Ok(found.and_then(|found| version(&found.payload)))
    }

    /// Sets its newest version to what `next` makes of the one that stands; `None` leaves it.
    fn raise(&self, desk: &Desk<'_>, state: &State, next: &mut dyn FnMut(Option<u64>) -> Option<u64>) -> Result<(), Problem> {
        let (_, tag) = tenant(state, self.tenant);
        let mut change = |standing: Option<&[u8]>| match next(standing.and_then(version)) {
            Some(version) => Change::Store { payload: version.to_le_bytes().to_vec(), heat: 0.0, firm: false },
            None => Change::Keep,
        };
        match state.versions.update(desk.host, &self.key(state), Some(&tag), desk.now_ms(), &mut change) {
            Ok(done) if done.outcome != Outcome::Full => Ok(()),
            _ => Err(Problem::State),
        }
    }
}

fn version(payload: &[u8]) -> Option<u64> {
    payload.try_into().ok().map(u64::from_le_bytes)
}
