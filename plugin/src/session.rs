//! Who a request is from, and which run it belongs to. Nothing that a client chooses is used as it comes: callers, runs and identifiers have keyed
//! digests for names, and everything of a run hangs on its caller.

use floodmark_core::run::Opened;
use floodmark_core::wire::{Body, IdKind, named_string};

use crate::config::{CallerFrom, RunFrom, Session};
use crate::headers::Fields;
use crate::host::Host;
use crate::keys::first;
use crate::state::State;
use crate::state::table::{CallerTag, Change, Key, StateError};

/// The header of an MCP session.
pub const MCP_SESSION_HEADER: &str = "mcp-session-id";
/// The source of a run that its caller and its first turn name.
pub const FALLBACK: &str = "fallback";
/// The source where nothing names a run.
pub const NONE: &str = "none";

/// Whom a request is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    digest: [u8; 32],
    /// Something says it; else it is everybody of whom nothing does.
    pub is_known: bool,
    /// The header that says it came more than once.
    pub is_ambiguous: bool,
}

impl Caller {
    /// The caller of a request with these headers.
    pub fn of(state: &State, session: &Session, fields: &Fields, host: &dyn Host) -> Self {
        for source in &session.caller {
            let name = source.name.as_deref().unwrap_or_default();
            let values = match source.from {
                CallerFrom::Header => fields.values(name).map(credential).filter(|value| !value.is_empty()).collect(),
                CallerFrom::Certificate => property(host, &["connection", "uri_san_peer_certificate"])
                    .or_else(|| property(host, &["connection", "subject_peer_certificate"]))
                    .into_iter()
                    .collect(),
                CallerFrom::Address => property(host, &["source", "address"]).map(without_port).into_iter().collect::<Vec<_>>(),
            };
            if !values.is_empty() {
                let kind = [source.from as u8];
                let parts: Vec<&[u8]> = [&kind[..], name.as_bytes()].into_iter().chain(values.iter().map(Vec::as_slice)).collect();
                return Caller { digest: state.caller_key.digest(&parts), is_known: true, is_ambiguous: values.len() > 1 };
            }
        }
        Caller { digest: state.caller_key.digest(&[]), is_known: false, is_ambiguous: false }
    }

    /// Its name in the table of callers.
    pub fn key(&self) -> Key {
        first(&self.digest)
    }

    /// Its name beside the entries that are its own.
    pub fn tag(&self) -> CallerTag {
        first(&self.digest)
    }
}

/// A credential without what may be written in many ways: the scheme's case, and white space. The rest is compared byte by byte.
fn credential(value: &[u8]) -> Vec<u8> {
    let value = value.trim_ascii();
    match value.iter().position(u8::is_ascii_whitespace).and_then(|at| value.split_at_checked(at)) {
        Some((scheme, rest)) => [&scheme.to_ascii_lowercase(), &b" "[..], rest.trim_ascii()].concat(),
        None => value.to_vec(),
    }
}

fn property(host: &dyn Host, path: &[&str]) -> Option<Vec<u8>> {
    host.property(path).ok().filter(|value| !value.is_empty())
}

/// `192.0.2.1:4711` or `[2001:db8::1]:4711` without the port.
fn without_port(mut address: Vec<u8>) -> Vec<u8> {
    if let Some(colon) = address.iter().rposition(|&byte| byte == b':')
        && address.iter().skip(colon + 1).all(u8::is_ascii_digit)
    {
        address.truncate(colon);
    }
    address
}

/// What may name a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Candidate {
    from: RunFrom,
    /// The run of that name.
    run: Key,
    /// The name under which a response may have taught another run.
    learned: Option<Key>,
}

/// A request's caller, and what its headers say of its run.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Who it is from.
    pub caller: Caller,
    /// Beside the sources of the settings.
    by_header: Vec<Option<Candidate>>,
}

/// The run that a request belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    /// Its id.
    pub id: Key,
    /// What named it.
    pub source: &'static str,
}

impl Named {
    /// The id as everyone sees it: 32 hex digits.
    pub fn hex(&self) -> String {
        blake3::Hash::from_bytes(core::array::from_fn(|at| self.id.get(at).copied().unwrap_or_default()))
            .to_hex()
            .chars()
            .take(32)
            .collect()
    }

    /// Only caller and first turn name it.
    pub fn is_fallback(&self) -> bool {
        self.source == FALLBACK
    }
}

/// An identifier that a response gave out.
#[derive(Clone, Copy, Debug)]
pub struct Taught<'i> {
    /// Where it will stand in requests.
    pub from: RunFrom,
    /// The identifier.
    pub id: &'i [u8],
    /// The run that it belongs to; `None` for the run of its own name.
    pub run: Option<Key>,
    /// The run's heat, since who loses the one loses the other; `None` when its caller is not proven.
    pub heat: Option<f32>,
}

impl Identity {
    /// What a request's headers say.
    pub fn of(state: &State, session: &Session, fields: &Fields, host: &dyn Host) -> Self {
        let caller = Caller::of(state, session, fields, host);
        let by_header = session.sources.iter().map(|source| {
            let name = match source.from {
                RunFrom::Header => source.name.as_deref()?,
                RunFrom::McpSession => MCP_SESSION_HEADER,
                _ => return None,
            };
            let values: Vec<&[u8]> = fields.values(name).map(<[u8]>::trim_ascii).filter(|value| !value.is_empty()).collect();
            (!values.is_empty()).then(|| candidate(state, &caller, source.from, name, &values))
        });
        Identity { caller, by_header: by_header.collect() }
    }

    /// The run that the headers name; bodies are not looked at.
    pub fn named_by_headers(&self, state: &State, host: &dyn Host, now_ms: u64) -> Option<Named> {
        let candidate = self.by_header.iter().flatten().next()?;
        Some(self.follow(state, host, candidate, now_ms))
    }

    /// The run that a request belongs to; `None` where nothing names one.
    pub fn named(
        &self,
        state: &State,
        session: &Session,
        opened: &Opened<'_, '_>,
        body: &Body<'_>,
        host: &dyn Host,
        now_ms: u64,
    ) -> Option<Named> {
        let by_body = |kind: IdKind| opened.document().ids.iter().find(|id| id.kind == kind).map(|id| id.value.clone());
        for (source, by_header) in session.sources.iter().zip(&self.by_header) {
            let name = source.name.as_deref().unwrap_or_default();
            let value = match source.from {
                RunFrom::Header | RunFrom::McpSession => None,
                RunFrom::Conversation => by_body(IdKind::Conversation),
                RunFrom::PreviousResponse => by_body(IdKind::PreviousResponse),
                RunFrom::A2aContext => by_body(IdKind::Context),
                RunFrom::Metadata => named_string(body, name),
            };
            let candidate = by_header.or_else(|| Some(candidate(state, &self.caller, source.from, name, &[value?.as_bytes()])));
            if let Some(candidate) = candidate {
                return Some(self.follow(state, host, &candidate, now_ms));
            }
        }
        let first_turn = opened.first_turn(&state.event_key)?;
        let id = first(&state.run_key.digest(&[&self.caller.digest, FALLBACK.as_bytes(), &first_turn]));
        Some(Named { id, source: FALLBACK })
    }

    /// The run that a response taught for this identifier, else the identifier's own.
    fn follow(&self, state: &State, host: &dyn Host, candidate: &Candidate, now_ms: u64) -> Named {
        let own = Named { id: candidate.run, source: candidate.from.name() };
        let Some(learned) = candidate.learned else { return own };
        let tag = self.caller.tag();
        let Ok(Some(entry)) = state.ids.get(host, &learned, Some(&tag), now_ms) else { return own };
        let Ok(id) = Key::try_from(entry.payload.as_slice()) else { return own };
        // What is in use is not to expire.
        if now_ms.saturating_sub(entry.touched_ms) > state.ttl_ms / 2 {
            let heat = entry.firm.then_some(entry.heat);
            let _ = learn(state, host, &self.caller, learned, &id, heat, now_ms);
        }
        Named { id, ..own }
    }

    /// Remembers what a response taught.
    pub fn teach(&self, state: &State, host: &dyn Host, taught: &Taught<'_>, now_ms: u64) {
        let Taught { from, id, run, heat } = *taught;
        let name = if from == RunFrom::McpSession { MCP_SESSION_HEADER } else { "" };
        let candidate = candidate(state, &self.caller, from, name, &[id]);
        if let Some(learned) = candidate.learned {
            // What is lost here is counted by the table, and its next request goes by its own name.
            let _ = learn(state, host, &self.caller, learned, &run.unwrap_or(candidate.run), heat, now_ms);
        }
    }
}

fn candidate(state: &State, caller: &Caller, from: RunFrom, name: &str, values: &[&[u8]]) -> Candidate {
    let kind = from.name().as_bytes();
    let run = [&[&caller.digest[..], kind, name.as_bytes()], values].concat();
    // Without the caller, so that it shows when another one uses it.
    let learned = [&[kind], values].concat();
    let is_given_out = !matches!(from, RunFrom::Header | RunFrom::Metadata);
    Candidate { from, run: first(&state.run_key.digest(&run)), learned: is_given_out.then(|| first(&state.id_key.digest(&learned))) }
}

fn learn(
    state: &State,
    host: &dyn Host,
    caller: &Caller,
    learned: Key,
    run: &Key,
    heat: Option<f32>,
    now_ms: u64,
) -> Result<(), StateError> {
    let (heat, firm) = (heat.unwrap_or_default(), heat.is_some());
    let mut store = |_: Option<&[u8]>| Change::Store { payload: run.to_vec(), heat, firm };
    state.ids.update(host, &learned, Some(&caller.tag()), now_ms, &mut store).map(|_| ())
}

#[cfg(test)]
mod tests;
