//! Exemptions: whose hits count for nothing, and which requests that is.

use core::fmt::Write as _;

use floodmark_core::policy::PolicyError;
use floodmark_core::wire::Channel;
use serde::{Deserialize, Serialize};

use super::{Match, Target};
use crate::request::Request;

/// Hits that count for nothing. All that is given must apply. They are reported as exempt and counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Exemption {
    /// Why, for whoever reads this configuration; must not be empty.
    pub reason: String,
    /// Rule ids or groups as in `policy.rules`; left out, every rule but `wire.*`, which has to be named.
    #[serde(default)]
    pub rules: Vec<String>,
    /// Where the text came from; left out, anywhere.
    #[serde(default)]
    pub channels: Vec<Channel>,
    /// Which requests; left out, all.
    #[serde(default, rename = "match")]
    pub matches: Match,
    /// A header that the request must bring, once. Whoever knows its value is exempt, so choose it like a password. A name that begins with `x-floodmark-` is
    /// taken away in enforce mode, so that it does not get to the provider.
    #[serde(default)]
    pub header: Option<ExemptHeader>,
}

/// A header that tells an exempt client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExemptHeader {
    /// The header's name.
    pub name: String,
    /// Its value. Give this or `blake3`.
    #[serde(default)]
    pub value: Option<String>,
    /// The BLAKE3 hash of its value in 64 hex digits (`printf %s VALUE | b3sum`), so that this configuration, which gateways show, does not hold it.
    #[serde(default)]
    pub blake3: Option<String>,
}

/// An exemption, ready for requests.
#[derive(Clone, Debug)]
pub(super) struct Applies {
    matches: Match,
    header: Option<(String, blake3::Hash)>,
}

impl Applies {
    /// Checks what the types cannot say; the error's key is the exemption's own.
    pub fn new(exemption: &Exemption) -> Result<Self, PolicyError> {
        let refused = |key: &str, problem: &str| Err(PolicyError { key: key.to_owned(), problem: problem.to_owned() });
        if exemption.reason.trim().is_empty() {
            return refused("reason", "is empty; say why these hits do not count");
        }
        let anyone = exemption.matches == Match::default() && exemption.header.is_none();
        if anyone && exemption.rules.is_empty() && exemption.channels.is_empty() {
            return refused("", "exempts everything; name rules, channels, match or header, or use mode `off`");
        }
        let header = match &exemption.header {
            None => None,
            Some(ExemptHeader { name, .. }) if !is_header_name(name) => {
                return refused("header.name", "must be a header's name: letters, digits, `-` and `_`");
            }
            Some(ExemptHeader { value: Some(value), .. }) if value.trim() != value => {
                return refused("header.value", "has white space at its side, which no header's value has");
            }
            Some(ExemptHeader { name, value: Some(value), blake3: None }) if !value.is_empty() => {
                Some((name.clone(), blake3::hash(value.as_bytes())))
            }
            Some(ExemptHeader { name, value: None, blake3: Some(hex) }) => match blake3::Hash::from_hex(hex) {
                Ok(hash) => Some((name.clone(), hash)),
                Err(_) => return refused("header.blake3", "must be 64 hex digits"),
            },
            Some(_) => return refused("header", "give one of value and blake3, not empty"),
        };
        Ok(Applies { matches: exemption.matches.clone(), header })
    }

    /// Whether it applies to a request. A header that comes twice tells nobody.
    pub fn to(&self, request: &Request, target: Target<'_>, route: impl Fn() -> Option<String>) -> bool {
        let brings = |(name, hash): &(String, blake3::Hash)| request.only_value(name).is_some_and(|value| blake3::hash(value) == *hash);
        self.header.as_ref().is_none_or(brings) && self.matches.matches(target, route)
    }
}

/// Not the pseudo-headers, such as `:method`, which every request has.
pub(super) fn is_header_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// The key of an exemption's problem inside the settings.
pub(super) fn key(number: usize, refused: PolicyError) -> PolicyError {
    let mut key = format!("exemptions[{number}]");
    if !refused.key.is_empty() {
        // Writing to a string cannot fail.
        let _ = write!(key, ".{}", refused.key);
    }
    PolicyError { key, ..refused }
}
