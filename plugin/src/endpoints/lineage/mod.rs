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

use floodmark_core::lineage::{Digest, Gate, KeyRing, RequestError};

use serde_json::Value;

use super::{Call, Desk, Problem};
use crate::config::ConfigError;
use crate::host::LogLevel;
use crate::keys::first;
use crate::metrics::LineageCount;
use crate::state::State;
use crate::state::table::{CallerTag, Change, Key};

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

/// An entry of a principal's in a tenant's store.
#[derive(Clone, Copy)]
struct Entry<'e> {
    tenant: &'e str,
    principal: &'e str,
    store: &'e str,
    entry: &'e str,
    content: &'e Digest,
}

/// The newest version of an entry, where one is known.
#[derive(Clone, Copy, Default)]
struct Known {
    version: Option<u64>,
    touched_ms: u64,
    /// It superseded an older one.
    firm: bool,
}

impl Entry<'_> {
    /// What names it where newest versions stand, and its tenant's tag. `None` for one that has no key but its content: it is the same whenever it comes back.
    /// Principals whose entries count for each other have one name, so that no other principal makes what is theirs stale.
    fn key(&self, gate: &Gate, state: &State) -> Option<(Key, CallerTag)> {
        if self.entry == self.content.hex() {
            return None;
        }
        let groups = gate.groups.iter().filter(|group| group.tenant == self.tenant);
        let of = groups.map(|group| &group.principals).find(|principals| principals.iter().any(|one| one == self.principal));
        let owner = of.and_then(|principals| principals.first()).map_or(self.principal, String::as_str);
        let parts = [b"entry", self.tenant.as_bytes(), owner.as_bytes(), self.store.as_bytes(), self.entry.as_bytes()];
        Some((first(&state.lineage_key.digest(&parts)), state.tenant(self.tenant).1))
    }

    /// Its newest version, as far as that is known.
    fn newest(&self, desk: &Desk<'_>, (lineage, state): (&Lineage, &State)) -> Result<Known, Problem> {
        let Some((key, tag)) = self.key(&lineage.gate, state) else { return Ok(Known::default()) };
        let found = state.versions.get(desk.host, &key, Some(&tag), desk.now_ms()).map_err(|_| Problem::State)?;
        Ok(found.map_or(Known::default(), |found| Known {
            version: version(&found.payload),
            touched_ms: found.touched_ms,
            firm: found.firm,
        }))
    }

    /// Sets its newest version to what `next` makes of the one that stands; `None` leaves it. What supersedes another version, and where `firm`, gives way to no
    /// first version: else whoever makes many entries lets old records count again.
    fn raise(
        &self,
        desk: &Desk<'_>,
        (lineage, state): (&Lineage, &State),
        firm: bool,
        next: &mut dyn FnMut(Option<u64>) -> Option<u64>,
    ) -> Result<(), Problem> {
        let Some((key, tag)) = self.key(&lineage.gate, state) else {
            next(None);
            return Ok(());
        };
        let mut change = |standing: Option<&[u8]>| {
            let standing = standing.and_then(version);
            match next(standing) {
                Some(version) => Change::Store {
                    payload: version.to_le_bytes().to_vec(),
                    heat: 0.0,
                    firm: firm || standing.is_some_and(|standing| standing != version),
                },
                None => Change::Keep,
            }
        };
        state.versions.update(desk.host, &key, Some(&tag), desk.now_ms(), &mut change).map_err(|_| Problem::State)?;
        Ok(())
    }
}

fn version(payload: &[u8]) -> Option<u64> {
    payload.try_into().ok().map(u64::from_le_bytes)
}
