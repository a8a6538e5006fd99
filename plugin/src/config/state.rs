//! What is remembered across requests: the operator's secrets, the tables' measures, and what names a run and its caller.

use core::fmt;

use floodmark_core::policy::PolicyError;
use serde::{Deserialize, Serialize};

use super::exemptions::is_header_name;
use crate::keys::Secret;

/// Most keys.
pub const MAX_KEYS: usize = 8;
/// Most callers' sources, and most runs'.
pub const MAX_SOURCES: usize = 8;
/// Most entries of a table: one of runs then takes at most 580 MB.
pub const MAX_ENTRIES: u32 = 1_048_576;
/// Longest time to live and half-life: 30 days.
pub const MAX_STATE_S: u32 = 2_592_000;

/// A secret that the operator chose.
#[derive(Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KeyConfig {
    /// Its name, 1 to 64 of `a-z`, `0-9`, `-` and `_`.
    pub id: String,
    /// 32 random bytes as 64 hex digits: `openssl rand -hex 32`. All gateways that share clients should have the same. Whoever can read the gateway's
    /// configuration (Envoy's `/config_dump`) can read it.
    pub secret: String,
}

impl fmt::Debug for KeyConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "KeyConfig({})", self.id)
    }
}

/// What is remembered of runs and callers across requests, in the gateway's memory. It is on when there are `keys`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct State {
    /// Whether anything is remembered.
    pub enabled: bool,
    /// Most runs that are remembered, 8 to 1048576; each takes at most 551 bytes, and the ids that name them as many times 55. A caller has at most half of
    /// each set of eight.
    pub runs: u32,
    /// Most callers that are remembered, 8 to 1048576; each takes at most 295 bytes.
    pub callers: u32,
    /// Most entries of which the lineage gate knows the newest version, 8 to 1048576; each takes 51 bytes. A tenant has at most half of each set of eight. Used where
    /// there is `lineage`.
    pub versions: u32,
    /// A run or caller that says nothing for so long is forgotten, in seconds, 60 to 2592000.
    pub ttl_s: u32,
    /// What was counted against a run or caller is half as much after so long, in seconds, 60 to 2592000.
    pub half_life_s: u32,
}

impl Default for State {
    fn default() -> Self {
        State { enabled: true, runs: 32_768, callers: 8192, versions: 262_144, ttl_s: 86_400, half_life_s: 3600 }
    }
}

/// What names a run and its caller. Used where there are `keys`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Session {
    /// Who a request is from: the first of these that it has, at most 8. Runs of different callers never meet. Requests that have none are all of one caller, for
    /// whom nothing is summed up.
    pub caller: Vec<CallerSource>,
    /// Which run a request belongs to: the first of these that it has, at most 8. A request that has none belongs to the run of its caller that began with the same
    /// first turn.
    pub sources: Vec<RunSource>,
    /// What an assistant's message counts as that a request brings for new and that did not leave through this gateway. Only where responses are read.
    pub unseen_assistant: UnseenAssistant,
}

/// Where a caller's identity stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CallerSource {
    /// Where it stands.
    pub from: CallerFrom,
    /// The header's name; only with `header`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Where a caller's identity stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CallerFrom {
    /// A header that the gateway or the provider checks. What nobody checks anyone can choose.
    Header,
    /// The client's certificate: its URI, else its subject.
    Certificate,
    /// The client's address, without the port. Behind another proxy that is the proxy's.
    Address,
}

/// Where a run's identifier stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RunSource {
    /// Where it stands.
    pub from: RunFrom,
    /// The header's name with `header`; with `metadata` a key of the body's `metadata`, or `user`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Where a run's identifier stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunFrom {
    /// A header of your own.
    Header,
    /// The header `mcp-session-id`.
    McpSession,
    /// `conversation` of OpenAI Responses.
    Conversation,
    /// `previous_response_id` of OpenAI Responses: the run whose response had that id.
    PreviousResponse,
    /// `contextId` of A2A.
    A2aContext,
    /// A key of the body's `metadata`, or the body's `user`.
    Metadata,
}

impl RunFrom {
    /// Its name in config and logs.
    pub const fn name(self) -> &'static str {
        match self {
            RunFrom::Header => "header",
            RunFrom::McpSession => "mcp_session",
            RunFrom::Conversation => "conversation",
            RunFrom::PreviousResponse => "previous_response",
            RunFrom::A2aContext => "a2a_context",
            RunFrom::Metadata => "metadata",
        }
    }

    const fn has_name(self) -> bool {
        matches!(self, RunFrom::Header | RunFrom::Metadata)
    }
}

/// What an assistant's message counts as that did not leave through this gateway.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum UnseenAssistant {
    /// As a user's: it is a step of the run, and a turn if it holds anything.
    #[default]
    User,
    /// As what it says it is: what is found in it only flags.
    Flag,
}

impl Default for Session {
    fn default() -> Self {
        let header = |name: &&str| CallerSource { from: CallerFrom::Header, name: Some((*name).to_owned()) };
        let headers = ["authorization", "x-api-key", "api-key", "x-goog-api-key"];
        let kinds = [RunFrom::McpSession, RunFrom::Conversation, RunFrom::PreviousResponse, RunFrom::A2aContext];
        let certificate = CallerSource { from: CallerFrom::Certificate, name: None };
        Session {
            caller: core::iter::once(certificate).chain(headers.iter().map(header)).collect(),
            sources: kinds.map(|from| RunSource { from, name: None }).into(),
            unseen_assistant: UnseenAssistant::default(),
        }
    }
}

fn refused(key: String, problem: impl Into<String>) -> PolicyError {
    PolicyError { key, problem: problem.into() }
}

/// Checks the keys. No problem that it names holds a secret.
pub(super) fn keys(keys: &[KeyConfig]) -> Result<Vec<Secret>, PolicyError> {
    if keys.len() > MAX_KEYS {
        return Err(refused("keys".to_owned(), format!("has {} entries; give at most {MAX_KEYS}", keys.len())));
    }
    let mut ready: Vec<Secret> = Vec::new();
    for (number, key) in keys.iter().enumerate() {
        let at = |name: &str| format!("keys[{number}].{name}");
        let fit = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
        if !(1..=64).contains(&key.id.len()) || !key.id.bytes().all(fit) {
            return Err(refused(at("id"), "must be 1 to 64 of a-z, 0-9, - and _"));
        }
        if ready.iter().any(|other| other.id == key.id) {
            return Err(refused(at("id"), format!("{:?} is another key's too", key.id)));
        }
        let Ok(secret) = blake3::Hash::from_hex(&key.secret) else {
            return Err(refused(at("secret"), "must be 64 hex digits; make them with `openssl rand -hex 32`"));
        };
        let secret = *secret.as_bytes();
        if secret.windows(2).all(|pair| pair.first() == pair.last()) {
            return Err(refused(at("secret"), "is one byte again and again, which anyone can guess; make one with `openssl rand -hex 32`"));
        }
        ready.push(Secret::new(key.id.clone(), secret));
    }
    Ok(ready)
}

impl State {
    pub(super) fn check(&self) -> Result<(), PolicyError> {
        let ranges = [
            ("runs", self.runs, 8, MAX_ENTRIES),
            ("callers", self.callers, 8, MAX_ENTRIES),
            ("versions", self.versions, 8, MAX_ENTRIES),
            ("ttl_s", self.ttl_s, 60, MAX_STATE_S),
            ("half_life_s", self.half_life_s, 60, MAX_STATE_S),
        ];
        for (key, value, least, most) in ranges {
            if !(least..=most).contains(&value) {
                return Err(refused(format!("state.{key}"), format!("{value} is out of range; give {least} to {most}")));
            }
        }
        Ok(())
    }
}

impl Session {
    /// Checks what the types cannot say; the error's key is that of the settings.
    pub(super) fn check(&self) -> Result<(), PolicyError> {
        if self.caller.is_empty() {
            let problem =
                "is empty, so that all requests would be one caller's; give `{\"from\": \"address\"}` if nothing else tells them apart";
            return Err(refused("session.caller".to_owned(), problem));
        }
        let callers = self.caller.iter().map(|one| (one.from == CallerFrom::Header, one.from == CallerFrom::Header, &one.name));
        list("session.caller", &mut callers.collect::<Vec<_>>().into_iter())?;
        let sources = self.sources.iter().map(|one| (one.from.has_name(), one.from == RunFrom::Header, &one.name));
        list("session.sources", &mut sources.collect::<Vec<_>>().into_iter())
    }
}

/// Entries as (it has a name, which is a header's, the name).
fn list(key: &str, entries: &mut dyn ExactSizeIterator<Item = (bool, bool, &Option<String>)>) -> Result<(), PolicyError> {
    if entries.len() > MAX_SOURCES {
        return Err(refused(key.to_owned(), format!("has {} entries; give at most {MAX_SOURCES}", entries.len())));
    }
    for (number, (has_name, of_header, name)) in entries.enumerate() {
        let problem = match name {
            None if has_name => "is missing",
            Some(_) if !has_name => "belongs to `header` and `metadata` only; leave it out",
            Some(name) if of_header && !is_header_name(name) => "must be a header's name: letters, digits, `-` and `_`",
            Some(name) if name.is_empty() || name.len() > 128 => "must be 1 to 128 bytes",
            _ => continue,
        };
        return Err(refused(format!("{key}[{number}].name"), problem));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
