//! Which settings a request gets.

use std::rc::Rc;

use floodmark_core::Judge;
use floodmark_core::policy::PolicyError;

use super::exemptions::{self, Applies};
use super::{ApprovalsConfig, Match, Settings, State};
use crate::endpoints::{Endpoints, Lineage};
use crate::keys::Secret;
use crate::request::Request;

/// A checked configuration.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The kill switch.
    pub enabled: bool,
    /// The operator's secrets; the first is used.
    pub keys: Vec<Secret>,
    /// What is remembered; `None` when nothing is.
    pub state: Option<State>,
    /// For every request that no override matches.
    pub defaults: Rc<Ruleset>,
    /// In order; the first match counts.
    pub overrides: Vec<(Match, Rc<Ruleset>)>,
    /// The operator's endpoints, where they are answered.
    pub endpoints: Option<Endpoints>,
    /// How long approvals live.
    pub approvals: ApprovalsConfig,
    /// The lineage gate, where it is on.
    pub lineage: Option<Lineage>,
}

/// Settings, and the judge that they make.
#[derive(Clone, Debug)]
pub struct Ruleset {
    /// As configured.
    pub settings: Settings,
    /// Ready for judging.
    pub judge: Judge<'static>,
    /// Beside the judge's exemptions.
    exemptions: Vec<Applies>,
}

/// What overrides look at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Target<'r> {
    /// Host with or without a port.
    pub host: &'r str,
    /// Normalized path ([`crate::path::normalize`]).
    pub path: &'r str,
}

impl Ruleset {
    pub(super) fn new(settings: Settings) -> Result<Self, PolicyError> {
        let of_policy = |refused: PolicyError| PolicyError { key: format!("policy.{}", refused.key), ..refused };
        let mut judge = Judge::new(&settings.policy, &floodmark_tables::TABLES).map_err(of_policy)?;
        let mut ready = Vec::new();
        for (number, exemption) in settings.exemptions.iter().enumerate() {
            let applies = Applies::new(exemption).and_then(|applies| {
                judge.exempt(&exemption.rules, &exemption.channels)?;
                Ok(applies)
            });
            ready.push(applies.map_err(|refused| exemptions::key(number, refused))?);
        }
        Ok(Ruleset { settings, judge, exemptions: ready })
    }

    /// The exemptions that apply to a request, as a judge's hint names them.
    pub fn exemptions(&self, request: &Request, target: Target<'_>, route: impl Fn() -> Option<String>) -> u64 {
        let applying = self.exemptions.iter().enumerate().filter(|(_, exemption)| exemption.to(request, target, &route));
        applying.fold(0, |bits, (number, _)| bits | 1 << number)
    }
}

impl Rules {
    /// The settings for a request. `route` is asked only when an override names one, since it costs a host call.
    pub fn for_request(&self, target: Target<'_>, route: impl Fn() -> Option<String>) -> &Rc<Ruleset> {
        let found = self.overrides.iter().find(|(matches, _)| matches.matches(target, &route));
        found.map_or(&self.defaults, |(_, ruleset)| ruleset)
    }
}

impl Match {
    pub(super) fn matches(&self, target: Target<'_>, route: impl Fn() -> Option<String>) -> bool {
        self.host.as_deref().is_none_or(|pattern| host_matches(pattern, target.host))
            && self.path_prefix.as_deref().is_none_or(|prefix| target.path.starts_with(prefix))
            && self.route.as_deref().is_none_or(|name| route().is_some_and(|route| route == name))
    }
}

/// `*.example.com` matches what ends in `.example.com`; anything else matches itself. A port is left out, but not an IPv6 address's colons.
fn host_matches(pattern: &str, host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if (!name.contains(':') || name.ends_with(']')) && port.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    match pattern.strip_prefix('*') {
        Some(suffix) => suffix.starts_with('.') && name.len() > suffix.len() && name.ends_with(suffix),
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        for (pattern, host, expected) in [
            ("api.example.com", "api.example.com", true),
            ("api.example.com", "API.example.com:8443", true),
            ("api.example.com", "xapi.example.com", false),
            ("*.example.com", "a.example.com", true),
            ("*.example.com", "example.com", false),
            ("*.example.com", "badexample.com", false),
            ("[::1]", "[::1]:80", true),
            ("::1", "::1", true),
        ] {
            assert_eq!(host_matches(pattern, host), expected, "{pattern} {host}");
        }
    }

    #[test]
    fn all_that_is_given_must_match_and_the_first_counts() {
        let text = br#"{"version":1,"overrides":[
            {"match":{"host":"a","path_prefix":"/x"},"settings":{"mode":"off"}},
            {"match":{"route":"lab"},"settings":{"mode":"enforce"}},
            {"match":{"path_prefix":"/x"},"settings":{"max_body_bytes":5}}]}"#;
        let rules = crate::config::parse(text).expect("valid");
        let mode = |host, path, route: Option<&str>| {
            let found = rules.for_request(Target { host, path }, || route.map(str::to_owned));
            (found.settings.mode.name(), found.settings.max_body_bytes)
        };
        assert_eq!(mode("a", "/x/y", None), ("off", 1_000_000));
        assert_eq!(mode("b", "/x/y", None), ("monitor", 5));
        assert_eq!(mode("b", "/x/y", Some("lab")), ("enforce", 1_000_000));
        assert_eq!(mode("b", "/z", Some("other")), ("monitor", 1_000_000));
    }
}
