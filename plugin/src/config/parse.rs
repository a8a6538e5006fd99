//! From the configuration's bytes to checked rules, or to an error that names the key.

use core::fmt;
use std::rc::Rc;

use floodmark_core::wire::json::Reader;
use floodmark_core::wire::{IssueKind, Issues};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::protobuf;
use super::routes::{Rules, Ruleset};
use super::{CONFIG_VERSION, Config, MAX_BODY_BYTES_LIMIT, Match, Mode, OtherPaths, Override, Settings};

/// Why a configuration was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// Path of the key, for example `overrides[0].settings.mode`; empty for the whole.
    pub path: String,
    /// What is wrong and what would be right.
    pub problem: String,
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
    let config: Config = match protobuf::read(bytes) {
        Some(object) => retyped(&object, "")?,
        None => {
            refuse_doubled_keys(bytes)?;
            typed(bytes, "").map_err(|(path, problem)| error(path, problem))?
        }
    };
    if config.version != CONFIG_VERSION {
        return Err(error("version", format!("{} is not known; this plugin reads version {CONFIG_VERSION}", config.version)));
    }
    let overrides = config.overrides.iter().enumerate();
    Ok(Rules {
        enabled: config.enabled,
        defaults: ruleset(config.defaults.clone(), "defaults")?,
        overrides: overrides
            .map(|(index, one)| overridden(one, &config.defaults, &format!("overrides[{index}]")))
            .collect::<Result<_, _>>()?,
    })
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

fn overridden(one: &Override, defaults: &Settings, path: &str) -> Result<(Match, Rc<Ruleset>), ConfigError> {
    if one.matches == Match::default() {
        return Err(error(format!("{path}.match"), "it is empty and would match every request; name a host, path_prefix or route"));
    }
    check_match(&one.matches, &format!("{path}.match"))?;
    let path = format!("{path}.settings");
    if !one.settings.is_object() {
        return Err(error(path, "must be an object with keys of `defaults`"));
    }
    let mut merged = serde_json::to_value(defaults).map_err(|problem| error(path.as_str(), problem))?;
    merge(&mut merged, &one.settings);
    let settings = retyped(&merged, &path)?;
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
    if !(1..=MAX_BODY_BYTES_LIMIT).contains(&settings.max_body_bytes) {
        let problem = format!("{} is out of range; give 1 to {MAX_BODY_BYTES_LIMIT}", settings.max_body_bytes);
        return Err(error(format!("{path}.max_body_bytes"), problem));
    }
    if !(400..=499).contains(&settings.reply.status) {
        let problem = format!("{} is out of range; give 400 to 499, since clients retry a server's errors", settings.reply.status);
        return Err(error(format!("{path}.reply.status"), problem));
    }
    for (index, ai_path) in settings.paths.iter().enumerate() {
        if ai_path.suffix.len() < 2 || crate::path::normalize(ai_path.suffix.as_bytes()) != ai_path.suffix {
            let problem = format!("{:?} must be a slash and a name at least, and hold no query, dots or escapes", ai_path.suffix);
            return Err(error(format!("{path}.paths[{index}].suffix"), problem));
        }
    }
    if settings.mode != Mode::Off && settings.paths.is_empty() && settings.other_paths == OtherPaths::Ignore {
        return Err(error(
            format!("{path}.paths"),
            "is empty while other_paths is `ignore`: nothing would be judged; use mode `off` to mean that",
        ));
    }
    for (number, exemption) in settings.exemptions.iter().enumerate() {
        check_match(&exemption.matches, &format!("{path}.exemptions[{number}].match"))?;
    }
    Ruleset::new(settings).map(Rc::new).map_err(|refused| error(format!("{path}.{}", refused.key), refused.problem))
}

/// A value of type `T` from JSON that does not stand in the configuration's own text. It is written out and read like the whole, so that the
/// module holds one reader of these types, not two; places in that text mean nothing to a person and are left out of the problem.
fn retyped<T: DeserializeOwned>(value: &Value, path: &str) -> Result<T, ConfigError> {
    let text = serde_json::to_vec(value).map_err(|problem| error(path, problem))?;
    typed(&text, path).map_err(|(path, problem)| {
        let problem = problem.to_string();
        error(path, problem.split(" at line ").next().unwrap_or_default())
    })
}

/// A value of type `T`, or the key's path, which begins with `path`, and the problem.
fn typed<T: DeserializeOwned>(text: &[u8], path: &str) -> Result<T, (String, serde_json::Error)> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|problem| {
        let inside = problem.path().to_string();
        // A question mark stands where the text broke off and no key was known yet.
        let path = match (path, inside.trim_end_matches('?').trim_end_matches('.')) {
            (path, "") => path.to_owned(),
            ("", inside) => inside.to_owned(),
            (path, inside) => format!("{path}.{inside}"),
        };
        (path, problem.into_inner())
    })?;
    reader.end().map_err(|problem| (path.to_owned(), problem))?;
    Ok(value)
}

fn error(path: impl Into<String>, problem: impl ToString) -> ConfigError {
    ConfigError { path: path.into(), problem: problem.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Mode;

    fn refused(text: &str) -> String {
        parse(text.as_bytes()).expect_err(text).to_string()
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
            (r#"{"version":1,"defaults":{"paths":[],"other_paths":"ignore"}}"#, "at defaults.paths:", "nothing would be judged"),
            (r#"{"version":1,"defaults":{"policy":{"conversation":{"tau":1e-10}}}}"#, "at defaults.policy.conversation.tau:", "0.01 to 1"),
            (
                r#"{"version":1,"defaults":{"policy":{"conversation":{"min_user_turns":5000}}}}"#,
                "conversation.min_user_turns:",
                "0 to 1000",
            ),
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
            (r#"{"version":1,"defaults":{"max_body_bytes":"1"}}"#, "at defaults.max_body_bytes:", "expected u32"),
            (r#"{"version":1,"defaults":{"reply":{"status":503}}}"#, "at defaults.reply.status:", "400 to 499"),
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
            (r#"{"version":1,"overrides":[{"match":{},"settings":{}}]}"#, "at overrides[0].match:", "empty"),
            (r#"{"version":1,"overrides":[{"match":{"host":"a"},"settings":1}]}"#, "at overrides[0].settings:", "object"),
            (r#"{"version":1,"overrides":[{"match":{"host":"a"},"settings":{"x":1}}]}"#, "at overrides[0].settings.x:", "unknown field"),
            (r#"{"version":1,"overrides":[{"match":{"hots":"a"},"settings":{}}]}"#, "at overrides[0].match.hots:", "unknown field"),
            (
                r#"{"version":1,"overrides":[{"match":{"host":"a"},"settings":{"policy":{"conversation":{"rho":2}}}}]}"#,
                "at overrides[0].settings.policy.conversation.rho:",
                "0 to 1",
            ),
        ] {
            let line = refused(text);
            assert!(line.contains(path) && line.contains(word), "{text}\ngave {line}\nwanted {path} and {word}");
            assert!(!line.contains('\n'), "one line only: {line}");
        }
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
}
