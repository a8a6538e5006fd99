//! From the configuration's bytes to checked rules, or to an error that names the key.

use core::fmt;
use std::rc::Rc;

use floodmark_core::RuleUse;
use floodmark_core::policy::PolicyError;
use floodmark_core::wire::json::{Nest, Reader, Token};
use floodmark_core::wire::{IssueKind, Issues};
use serde_json::{Map, Value};

use super::routes::{Rules, Ruleset};
use super::{CONFIG_VERSION, Config, EndpointsConfig, MAX_BODY_BYTES_LIMIT, Match, Mode, OtherPaths, Override, Settings};
use super::{lineage, protobuf, read, state};

/// Why a configuration was refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigError {
    /// Path of the key, for example `overrides[0].settings.mode`; empty for the whole.
    pub path: String,
    /// What is wrong and what would be right.
    pub problem: String,
}

impl ConfigError {
    /// The same, of what stands under `key`.
    #[inline(never)]
    pub(crate) fn inside(mut self, key: &str) -> Self {
        let path = &self.path;
        let dot = if path.is_empty() || path.starts_with('[') { "" } else { "." };
        self.path = [key, dot, path].concat();
        self
    }

    /// The same, of an item of a list.
    #[inline(never)]
    pub(crate) fn at(self, index: usize) -> Self {
        self.inside(&format!("[{index}]"))
    }

    /// The same of another document, which `what` names.
    pub fn of(&self, what: &str) -> String {
        let at = if self.path.is_empty() { "" } else { " at " };
        [what, at, &self.path, ": ", &self.problem].concat()
    }
}

impl fmt::Display for ConfigError {
    /// One line, whatever stands in the keys.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = match self.path.as_str() {
            "" => format!("configuration refused: {}", self.problem),
            path => format!("configuration refused at {path}: {}", self.problem),
        };
        line.chars().try_for_each(|letter| match letter.is_control() {
            true => write!(formatter, "{}", letter.escape_default()),
            false => write!(formatter, "{letter}"),
        })
    }
}

/// Reads and checks a configuration.
///
/// # Errors
/// The first key that is unknown, of the wrong type, or out of its range.
pub fn parse(bytes: &[u8]) -> Result<Rules, ConfigError> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(error("", "it is empty; the smallest is {\"version\": 1}"));
    }
    let whole = match protobuf::read(bytes) {
        Some(object) => object,
        None => document(bytes)?,
    };
    let config: Config = read::read(&whole).map_err(without_secrets)?;
    if config.version != CONFIG_VERSION {
        return Err(error("version", format!("{} is not known; this plugin reads version {CONFIG_VERSION}", config.version)));
    }
    let of_state = |refused: PolicyError| error(refused.key, refused.problem);
    let keys = state::keys(&config.keys).map_err(of_state)?;
    if config.state.is_some() && keys.is_empty() {
        return Err(error("state", "needs `keys`: what is remembered is named by keyed digests"));
    }
    let state = config.state.unwrap_or_default();
    state.check().map_err(of_state)?;
    let state = Some(state).filter(|state| state.enabled && !keys.is_empty());
    for (key, given) in [("endpoints", config.endpoints.is_some()), ("approvals", config.approvals.is_some())] {
        if given && keys.is_empty() {
            return Err(error(key, "needs `keys`: runs and approvals are named by keyed digests"));
        }
    }
    let approvals = config.approvals.unwrap_or_default();
    approvals.check()?;
    let lineage = config.lineage.as_ref().map(|gate| lineage::lineage(gate, &keys, state.is_some())).transpose()?;
    let overrides = config.overrides.iter().enumerate();
    let rules = Rules {
        lineage,
        enabled: config.enabled,
        approvals,
        state,
        keys,
        defaults: ruleset(config.defaults, "defaults")?,
        overrides: overrides
            .map(|(index, one)| overridden(one, whole.get("defaults"), &format!("overrides[{index}]")))
            .collect::<Result<_, _>>()?,
        endpoints: config.endpoints.as_ref().map(|given| EndpointsConfig::read(given)?.ready()).transpose()?,
    };
    if rules.state.is_none() {
        let overrides = rules.overrides.iter().enumerate();
        let overrides = overrides.map(|(index, (_, ruleset))| (format!("overrides[{index}].settings"), ruleset));
        for (path, ruleset) in [("defaults".to_owned(), &rules.defaults)].into_iter().chain(overrides) {
            nothing_asks(&ruleset.settings, &path)?;
        }
    }
    Ok(rules)
}

/// Where no approval can be kept, a rule that asks for one would block for ever.
fn nothing_asks(settings: &Settings, path: &str) -> Result<(), ConfigError> {
    let asks = settings.policy.rules.iter().find(|(_, rule_use)| **rule_use == RuleUse::Ask);
    match asks.filter(|_| settings.mode == Mode::Enforce) {
        Some((name, _)) => {
            let problem = "`ask` needs `keys`, and `state.enabled`: approvals are kept with the state";
            Err(error(format!("{path}.policy.rules.{name}"), problem))
        }
        None => Ok(()),
    }
}

/// One JSON document, in which no key stands twice in an object.
///
/// # Errors
/// Bytes that are none, with the place.
pub fn document(bytes: &[u8]) -> Result<Value, ConfigError> {
    refuse_doubled_keys(bytes)?;
    serde_json::from_slice(bytes).map_err(|problem| error("", problem))
}

/// The bytes of the value under these keys of a document that [`document`] took, as they stand there; empty where it is not there. `None` for what cannot be read.
pub fn raw<'b>(bytes: &'b [u8], keys: &[&str]) -> Option<&'b [u8]> {
    let mut reader = Reader::new(core::str::from_utf8(bytes).ok()?, 0, Issues::default());
    for key in keys {
        if reader.token()? != Token::Open(Nest::Object) {
            return Some(&[]);
        }
        loop {
            match reader.token()? {
                Token::Key(name) if name.decode(&mut Issues::default()) == *key => break,
                Token::Key(_) => reader.skip_value()?,
                _ => return Some(&[]),
            }
        }
    }
    let from = reader.at();
    reader.skip_value()?;
    Some(bytes.get(from..reader.at())?.trim_ascii_start())
}

/// An error at `keys` that does not show what stands there, since the log is read by others.
fn without_secrets(mut misfit: ConfigError) -> ConfigError {
    if misfit.path.starts_with("keys") && misfit.problem.starts_with("invalid type") {
        misfit.problem = "is of another type (it is not shown here); keys are [{\"id\": a name, \"secret\": 64 hex digits}]".to_owned();
    }
    misfit
}

/// Keys that stand twice are refused at every depth; some of the types would take the last one silently.
fn refuse_doubled_keys(bytes: &[u8]) -> Result<(), ConfigError> {
    let text = core::str::from_utf8(bytes).map_err(|problem| error("", problem))?;
    let mut reader = Reader::new(text, 0, Issues::default());
    // Where this is no JSON at all, the typed reader says so better.
    let _ = reader.skip_value();
    match reader.issues.as_slice().iter().find(|issue| issue.kind == IssueKind::DuplicateKey) {
        Some(issue) => Err(error("", format!("the object that begins at byte {} holds a key twice", issue.at))),
        None => Ok(()),
    }
}

fn overridden(one: &Override, defaults: Option<&Value>, path: &str) -> Result<(Match, Rc<Ruleset>), ConfigError> {
    if one.matches == Match::default() {
        return Err(error(format!("{path}.match"), "it is empty and would match every request; name a host, path_prefix or route"));
    }
    check_match(&one.matches, &format!("{path}.match"))?;
    let path = format!("{path}.settings");
    if !one.settings.is_object() {
        return Err(error(path, "must be an object with keys of `defaults`"));
    }
    let mut merged = defaults.cloned().unwrap_or_else(|| Value::Object(Map::new()));
    merge(&mut merged, &one.settings);
    let settings = read::read(&merged).map_err(|misfit| error(format!("{path}.{}", misfit.path), misfit.problem))?;
    Ok((one.matches.clone(), ruleset(settings, &path)?))
}

/// Refuses what could never match, or would match more than it seems to.
fn check_match(matches: &Match, path: &str) -> Result<(), ConfigError> {
    if let Some(host) = &matches.host {
        let name = host.strip_prefix("*.").unwrap_or(host);
        let port = name.rsplit_once(':').is_some_and(|(name, _)| !name.contains(':'));
        if name.is_empty() || name.contains('*') || port || *host != host.to_ascii_lowercase() || name.ends_with('.') {
            let problem = format!("{host:?} must be a host name in lower case without port, or `*.` and one");
            return Err(error(format!("{path}.host"), problem));
        }
    }
    match &matches.path_prefix {
        Some(prefix) if crate::path::normalize(prefix.as_bytes()) != *prefix => {
            let problem = format!("{prefix:?} must start with a slash and hold no query, dots or escapes");
            Err(error(format!("{path}.path_prefix"), problem))
        }
        _ => Ok(()),
    }
}

/// Lays `over` over `base`: objects key by key, everything else whole. As deep as `over`, whose depth serde_json bounds.
fn merge(base: &mut Value, over: &Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                merge(base.entry(key.as_str()).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over.clone(),
    }
}

/// Checks what the types cannot say.
fn ruleset(settings: Settings, path: &str) -> Result<Rc<Ruleset>, ConfigError> {
    let caps = [("max_body_bytes", Some(settings.max_body_bytes)), ("responses.max_bytes", settings.responses.max_bytes)];
    for (key, bytes) in caps.into_iter().filter_map(|(key, bytes)| Some((key, bytes?))) {
        if !(1..=MAX_BODY_BYTES_LIMIT).contains(&bytes) {
            return Err(error(format!("{path}.{key}"), format!("{bytes} is out of range; give 1 to {MAX_BODY_BYTES_LIMIT}")));
        }
    }
    if !(400..=499).contains(&settings.reply.status) {
        let problem = format!("{} is out of range; give 400 to 499, since clients retry a server's errors", settings.reply.status);
        return Err(error(format!("{path}.reply.status"), problem));
    }
    for (index, ai_path) in settings.paths.iter().enumerate() {
        // A verb stands behind a colon in the last segment.
        let start = if ai_path.suffix.starts_with(':') { "/x" } else { "" };
        let whole = format!("{start}{}", ai_path.suffix);
        if ai_path.suffix.len() < 2 || crate::path::normalize(whole.as_bytes()) != whole {
            let problem =
                format!("{:?} must be a slash and a name, or a colon and a verb, and hold no query, dots or escapes", ai_path.suffix);
            return Err(error(format!("{path}.paths[{index}].suffix"), problem));
        }
    }
    if settings.mode != Mode::Off && settings.paths.is_empty() && settings.other_paths == OtherPaths::Ignore {
        return Err(error(
            format!("{path}.paths"),
            "is empty while other_paths is `ignore`: nothing would be judged; use mode `off` to mean that",
        ));
    }
    settings.session.check().map_err(|refused| error(format!("{path}.{}", refused.key), refused.problem))?;
    for (number, exemption) in settings.exemptions.iter().enumerate() {
        check_match(&exemption.matches, &format!("{path}.exemptions[{number}].match"))?;
    }
    Ruleset::new(settings).map(Rc::new).map_err(|refused| error(format!("{path}.{}", refused.key), refused.problem))
}

pub(super) fn error(path: impl Into<String>, problem: impl ToString) -> ConfigError {
    ConfigError { path: path.into(), problem: problem.to_string() }
}

#[cfg(test)]
mod tests {
    use super::super::Hold;
    use super::*;
    use crate::config::Mode;

    fn refused(text: &str) -> String {
        parse(text.as_bytes()).expect_err(text).to_string()
    }

    /// A configuration with one number of the conversation score.
    macro_rules! conversation {
        ($key:literal, $value:literal) => {
            concat!(r#"{"version":1,"defaults":{"policy":{"conversation":{""#, $key, r#"":"#, $value, "}}}}")
        };
    }

    #[test]
    fn errors_name_the_key_and_what_would_be_right() {
        for (text, path, word) in [
            ("", "configuration refused: ", "{\"version\": 1}"),
            ("{", "configuration refused: ", "line 1 column 1"),
            ("{}", "configuration refused: ", "missing field `version`"),
            ("{\"version\":1} x", "configuration refused: ", "trailing characters"),
            (r#"{"version":2}"#, "at version:", "reads version 1"),
            (r#"{"version":1,"defaults":{"mode":"block"}}"#, "at defaults.mode:", "`off`, `monitor`, `enforce`"),
            (r#"{"version":1,"defaults":{"moode":"off"}}"#, "at defaults.moode:", "unknown field `moode`"),
            (r#"{"version":1,"extra":0}"#, "at extra:", "unknown field `extra`"),
            (r#"{"version":1,"version":1}"#, "configuration refused: ", "byte 0 holds a key twice"),
            (r#"{"version":1,"defaults":{"policy":{"weights":{"role_confusion":0.5,"role_confusion":0}}}}"#, "refused: ", "byte 45 holds"),
            ("{\"version\":1,\"a\\nfloodmark verdict=allow\":0}", "at a\\nfloodmark", "unknown field"),
            (r#"{"version":1,"defaults":{"paths":[{"suffix":"/"}]}}"#, "at defaults.paths[0].suffix:", "a slash and a name"),
            (r#"{"version":1,"defaults":{"paths":[{"suffix":":"}]}}"#, "at defaults.paths[0].suffix:", "a colon and a verb"),
            (r#"{"version":1,"defaults":{"paths":[{"suffix":":a?b"}]}}"#, "at defaults.paths[0].suffix:", "no query"),
            (r#"{"version":1,"defaults":{"paths":[{"suffix":"a:b"}]}}"#, "at defaults.paths[0].suffix:", "a colon and a verb"),
            (r#"{"version":1,"defaults":{"paths":[],"other_paths":"ignore"}}"#, "at defaults.paths:", "nothing would be judged"),
            (r#"{"version":1,"defaults":{"policy":{"conversation":{"tau":1e-10}}}}"#, "at defaults.policy.conversation.tau:", "0.01 to 1"),
            (
                r#"{"version":1,"defaults":{"policy":{"conversation":{"min_user_turns":5000}}}}"#,
                "conversation.min_user_turns:",
                "0 to 1000",
            ),
            (r#"{"version":1,"defaults":{"policy":{"profile":"peak"}}}"#, "at defaults.policy.profile:", "`floodmark` or `paper`"),
            (conversation!("min_turns", 1001), "at defaults.policy.conversation.min_turns:", "0 to 1000"),
            (conversation!("window_max_turns", 0), "at defaults.policy.conversation.window_max_turns:", "1 to 64"),
            (conversation!("window_max_turns", 65), "at defaults.policy.conversation.window_max_turns:", "1 to 64"),
            (conversation!("window_min_turns", 0), "at defaults.policy.conversation.window_min_turns:", "1 to 64"),
            (conversation!("fresh_turns", 64), "at defaults.policy.conversation.gone_turns:", "65 to 16385"),
            (conversation!("fresh_turns", 4294967295), "at defaults.policy.conversation.fresh_turns:", "0 to 16384"),
            (conversation!("gone_turns", 16), "at defaults.policy.conversation.gone_turns:", "17 to 16385"),
            (conversation!("gone_turns", 16386), "at defaults.policy.conversation.gone_turns:", "17 to 16385"),
            (conversation!("decay", 1), "at defaults.policy.conversation.decay:", "expected a boolean"),
            (
                r#"{"version":1,"overrides":[{"match":{"host":"API.example.com"},"settings":{}}]}"#,
                "at overrides[0].match.host:",
                "lower case",
            ),
            (
                r#"{"version":1,"overrides":[{"match":{"host":"a.example:8443"},"settings":{}}]}"#,
                "at overrides[0].match.host:",
                "without port",
            ),
            (r#"{"version":1,"overrides":[{"match":{"host":"*"},"settings":{}}]}"#, "at overrides[0].match.host:", "host name"),
            (r#"{"version":1,"overrides":[{"match":{"host":"*a.example"},"settings":{}}]}"#, "at overrides[0].match.host:", "host name"),
            (
                r#"{"version":1,"overrides":[{"match":{"path_prefix":"lab/"},"settings":{}}]}"#,
                "at overrides[0].match.path_prefix:",
                "slash",
            ),
            (r#"{"version":1,"defaults":{"max_body_bytes":0}}"#, "at defaults.max_body_bytes:", "1 to 16777216"),
            (r#"{"version":1,"defaults":{"responses":{"max_bytes":16777217}}}"#, "at defaults.responses.max_bytes:", "1 to 16777216"),
            (r#"{"version":1,"defaults":{"responses":{"hold":"text"}}}"#, "at defaults.responses.hold:", "`none`, `calls`, `all`"),
            (r#"{"version":1,"defaults":{"responses":{"reed":true}}}"#, "at defaults.responses.reed:", "unknown field"),
            (r#"{"version":1,"defaults":{"max_body_bytes":"1"}}"#, "at defaults.max_body_bytes:", "expected u32"),
            (r#"{"version":1,"defaults":{"reply":{"status":503}}}"#, "at defaults.reply.status:", "400 to 499"),
            (r#"{"version":1,"defaults":{"reply":{"style":"rude"}}}"#, "at defaults.reply.style:", "`error` or `refusal`"),
            (r#"{"version":1,"defaults":{"paths":[{"suffix":"x"}]}}"#, "at defaults.paths[0].suffix:", "slash"),
            (r#"{"version":1,"defaults":{"paths":[{"suffix":"/x","format":"soap"}]}}"#, "at defaults.paths[0].format:", "`openai_chat`"),
            (r#"{"version":1,"defaults":{"policy":{"conversation":{"tau":1.5}}}}"#, "at defaults.policy.conversation.tau:", "0.01 to 1"),
            (r#"{"version":1,"defaults":{"policy":{"conversation":{"tau":0}}}}"#, "at defaults.policy.conversation.tau:", "0.01 to 1"),
            (
                r#"{"version":1,"defaults":{"policy":{"weights":{"rudeness":0.1}}}}"#,
                "at defaults.policy.weights.rudeness:",
                "role_confusion",
            ),
            (
                r#"{"version":1,"defaults":{"policy":{"weights":{"role_confusion":-1}}}}"#,
                "at defaults.policy.weights.role_confusion:",
                "0 to 1",
            ),
            (
                r#"{"version":1,"defaults":{"policy":{"patterns":[{"id":"operator.a","category":"role_confusion","pattern":"a*"}]}}}"#,
                "at defaults.policy.patterns[0].pattern:",
                "no literal",
            ),
            (
                r#"{"version":1,"defaults":{"policy":{"patterns":[{"id":"operator.a","category":"secrets","pattern":"bluebird"}]}}}"#,
                "at defaults.policy.patterns[0].category:",
                "weights.secrets",
            ),
            (
                r#"{"version":1,"defaults":{"policy":{"patterns":[{"id":"operator.a","pattern":"bluebird"}]}}}"#,
                "at defaults.policy.patterns[0]:",
                "missing field `category`",
            ),
            (r#"{"version":1,"overrides":[{"match":{},"settings":{}}]}"#, "at overrides[0].match:", "empty"),
            (r#"{"version":1,"overrides":[{"match":{"host":"a"},"settings":1}]}"#, "at overrides[0].settings:", "object"),
            (r#"{"version":1,"overrides":[{"match":{"host":"a"},"settings":{"x":1}}]}"#, "at overrides[0].settings.x:", "unknown field"),
            (r#"{"version":1,"overrides":[{"match":{"hots":"a"},"settings":{}}]}"#, "at overrides[0].match.hots:", "unknown field"),
            (
                r#"{"version":1,"overrides":[{"match":{"host":"a"},"settings":{"policy":{"conversation":{"rho":2}}}}]}"#,
                "at overrides[0].settings.policy.conversation.rho:",
                "0 to 1",
            ),
            (r#"{"version":1,"defaults":{"action":"hold"}}"#, "at defaults.action:", "`reject`, `redact`, `label`"),
            (
                r#"{"version":1,"defaults":{"policy":{"rules":{"role_confusion.x":"off"}}}}"#,
                "at defaults.policy.rules.role_confusion.x:",
                "did you mean one of role_confusion.",
            ),
            (r#"{"version":1,"defaults":{"policy":{"rules":{"wire":"drop"}}}}"#, "at defaults.policy.rules.wire:", "`off`, `flag`"),
            (
                r#"{"version":1,"overrides":[{"match":{"host":"a"},"settings":{"policy":{"rules":{"wire.syntax":"score"}}}}]}"#,
                "at overrides[0].settings.policy.rules.wire.syntax:",
                "no score",
            ),
        ] {
            let line = refused(text);
            assert!(line.contains(path) && line.contains(word), "{text}\ngave {line}\nwanted {path} and {word}");
            assert!(!line.contains('\n'), "one line only: {line}");
        }
    }

    #[test]
    fn exemptions_are_checked() {
        let with =
            |exemption: &str| format!(r#"{{"version":1,"defaults":{{"exemptions":[{{"reason":"r","rules":["wire"]}},{exemption}]}}}}"#);
        for (exemption, path, word) in [
            (r#"{"rules":["wire"]}"#, ":", "missing field `reason`"),
            (r#"{"reason":" ","rules":["wire"]}"#, ".reason:", "say why"),
            (r#"{"reason":"r"}"#, ":", "exempts everything"),
            (r#"{"reason":"r","channels":["tools"]}"#, ".channels[0]:", "`tool_result`"),
            (r#"{"reason":"r","rules":["role_confusion","wire.sintax"]}"#, ".rules[1]:", "did you mean one of wire."),
            (r#"{"reason":"r","rules":["wire.*"],"channels":["user"]}"#, ".rules[0]:", "no channel"),
            (r#"{"reason":"r","match":{"path_prefix":"x"}}"#, ".match.path_prefix:", "slash"),
            (r#"{"reason":"r","match":{"hots":"x"}}"#, ".match.hots:", "unknown field"),
            (r#"{"reason":"r","header":{"name":"x"}}"#, ".header:", "one of value and blake3"),
            (r#"{"reason":"r","header":{"name":"x","value":""}}"#, ".header:", "not empty"),
            (r#"{"reason":"r","header":{"name":":method","value":"POST"}}"#, ".header.name:", "a header's name"),
            (r#"{"reason":"r","header":{"name":"x","value":"y "}}"#, ".header.value:", "white space"),
            (r#"{"reason":"r","header":{"name":"x","value":"y","blake3":"00"}}"#, ".header:", "one of value and blake3"),
            (r#"{"reason":"r","header":{"name":"x","blake3":"0g"}}"#, ".header.blake3:", "64 hex digits"),
        ] {
            let line = refused(&with(exemption));
            assert!(line.contains(&format!("at defaults.exemptions[1]{path}")) && line.contains(word), "{exemption}\ngave {line}");
        }
        let many = |count| with(&vec![r#"{"reason":"r","rules":["wire"]}"#; count].join(","));
        assert!(parse(many(63).as_bytes()).is_ok());
        assert!(refused(&many(64)).contains("at defaults.exemptions[64]: there are more than 64"));
    }

    #[test]
    fn the_smallest_configuration_monitors() {
        let rules = parse(br#"{"version":1}"#).expect("valid");
        assert!(rules.enabled);
        assert_eq!(rules.defaults.settings, Settings::default());
        assert_eq!(rules.defaults.settings.mode, Mode::Monitor);
    }

    #[test]
    fn an_override_keeps_what_it_does_not_name() {
        let text = br#"{"version":1,"defaults":{"mode":"enforce","policy":{"conversation":{"tau":0.8},"weights":{"role_confusion":0.6}}},
            "overrides":[{"match":{"path_prefix":"/lab"},"settings":{"mode":"monitor","policy":{"conversation":{"rho":0.5}}}}]}"#;
        let rules = parse(text).expect("valid");
        let (matches, lab) = &rules.overrides[0];
        assert_eq!(matches.path_prefix.as_deref(), Some("/lab"));
        assert_eq!(lab.settings.mode, Mode::Monitor);
        assert_eq!(lab.settings.policy.conversation.tau, 0.8);
        assert_eq!(lab.settings.policy.conversation.rho, 0.5);
        assert_eq!(lab.settings.policy.weights["role_confusion"], 0.6);
    }

    /// Envoy hands a fraction in YAML over as a string; tried with 1.40.
    #[test]
    fn a_string_that_spells_a_fraction_is_one() {
        let with = |tau: &str| parse(format!(r#"{{"version":1,"defaults":{{"policy":{{"conversation":{{"tau":{tau}}}}}}}}}"#).as_bytes());
        for tau in ["0.8", "\"0.8\"", "\"8e-1\""] {
            assert_eq!(with(tau).expect("valid").defaults.settings.policy.conversation.tau, 0.8, "{tau}");
        }
        for tau in ["\"high\"", "\"0.8x\"", "\"\"", "\"0,8\"", "\"[0.8]\""] {
            assert!(with(tau).is_err(), "{tau}");
        }
        assert_eq!(with("\"1.5\"").expect_err("too high").path, "defaults.policy.conversation.tau");
    }

    #[test]
    fn responses_have_a_cap_of_their_own_or_that_of_requests() {
        let text = br#"{"version":1,"defaults":{"max_body_bytes":5,"responses":{"hold":"calls"}},
            "overrides":[{"match":{"path_prefix":"/lab"},"settings":{"responses":{"max_bytes":7}}}]}"#;
        let rules = parse(text).expect("valid");
        let (defaults, lab) = (&rules.defaults.settings, &rules.overrides[0].1.settings);
        assert_eq!((defaults.max_response_bytes(), lab.max_response_bytes()), (5, 7));
        assert_eq!((lab.responses.hold, lab.responses.read), (Hold::Calls, true));
    }
}
