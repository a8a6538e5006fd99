//! The operator's endpoints as configured, and how long an approval lives.

use floodmark_core::limits::{MAX_APPROVAL_TTL_S, MAX_TOKEN_NAME_BYTES, MAX_TOKEN_NAMES, MAX_TOKENS};
use floodmark_core::lineage::Channel;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fields::{Fields, text, word};
use super::parse::{ConfigError, error};
use crate::endpoints::{Endpoints, Token};

/// Where the endpoints are unless the configuration says otherwise.
pub const PREFIX: &str = "/floodmark/";

/// HTTP endpoints that the plugin answers itself, for whoever runs it: docs/endpoints.md. Off without this key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EndpointsConfig {
    /// Where they are: the start of a path, with a slash at both ends. No request under it, however spelled, goes on to the upstream.
    pub prefix: String,
    /// Who may use them, 1 to 32.
    pub tokens: Vec<TokenConfig>,
}

/// A token of the endpoints. Callers send it in the header `x-floodmark-token`, which the plugin takes away from every other request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TokenConfig {
    /// Who holds it, for log lines and approvals: 1 to 32 letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// The BLAKE3 hash of the token in 64 hex digits (`printf %s TOKEN | b3sum`), so that this configuration, which gateways show, does not hold it. A
    /// token has 32 to 256 bytes; `openssl rand -hex 32` makes one.
    pub blake3: String,
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// For which tenants' entries it may use the endpoints of the lineage gate, at most 64; `["*"]` for all. Needed with scope `mint`; for other scopes all is the default.
    pub tenants: Option<Vec<String>>,
    /// Over which channels the entries came of which it may make records. Needed with scope `mint`, and for nothing else.
    pub channels: Vec<Channel>,
    /// Which authors it may name in records of channel `approved_source`, at most 64. Needed with that channel, and for nothing else.
    pub sources: Vec<String>,
}

/// What a token may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename_all = "snake_case"))]
pub enum Scope {
    /// Look: health and runs, what is in quarantine, and whether entries may be used.
    Check,
    /// Make records of new entries, within the token's `tenants`, `channels` and `sources`.
    Mint,
    /// Everything but making records of new entries.
    Admin,
}

/// Approvals of what rules with the use `ask` hold back. Needs `keys`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ApprovalsConfig {
    /// How long after it was asked for an approval can be given and used, in seconds, 1 to 604800.
    pub ttl_s: u32,
}

impl Default for ApprovalsConfig {
    fn default() -> Self {
        ApprovalsConfig { ttl_s: 600 }
    }
}

impl ApprovalsConfig {
    /// Checks what the types cannot say.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if (1..=MAX_APPROVAL_TTL_S).contains(&self.ttl_s) {
            return Ok(());
        }
        Err(error("approvals.ttl_s", format!("{} is out of range; give 1 to {MAX_APPROVAL_TTL_S}", self.ttl_s)))
    }
}

impl EndpointsConfig {
    /// Checks what the types cannot say.
    pub(super) fn ready(&self) -> Result<Endpoints, ConfigError> {
        let prefix = &self.prefix;
        let named = prefix.len() > 2 && prefix.starts_with('/') && prefix.ends_with('/');
        if !named || !prefix.is_ascii() || crate::path::normalize(prefix.as_bytes()) != *prefix {
            let problem = format!("{prefix:?} must be a slash, at least one name and a slash, and hold no query, dots or escapes");
            return Err(error("endpoints.prefix", problem));
        }
        if !(1..=MAX_TOKENS).contains(&self.tokens.len()) {
            let problem = format!("there are {}; give 1 to {MAX_TOKENS}, since nobody could use endpoints without one", self.tokens.len());
            return Err(error("endpoints.tokens", problem));
        }
        let mut tokens: Vec<Token> = Vec::new();
        for (number, token) in self.tokens.iter().enumerate() {
            let ready = token.ready(&tokens).map_err(|(key, problem)| error(format!("endpoints.tokens[{number}].{key}"), problem))?;
            tokens.push(ready);
        }
        Ok(Endpoints { prefix: prefix.clone(), tokens })
    }
}

impl TokenConfig {
    fn ready(&self, others: &[Token]) -> Result<Token, (&'static str, String)> {
        let fit = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if !(1..=MAX_TOKEN_NAME_BYTES).contains(&self.name.len()) || !self.name.bytes().all(fit) {
            return Err(("name", format!("{:?} must be 1 to {MAX_TOKEN_NAME_BYTES} letters, digits, `-`, `_` and `.`", self.name)));
        }
        if others.iter().any(|other| other.name == self.name) {
            return Err(("name", format!("{:?} stands twice; log lines could not tell who it was", self.name)));
        }
        let Ok(hash) = blake3::Hash::from_hex(&self.blake3) else {
            return Err(("blake3", "must be 64 hex digits: the output of `printf %s TOKEN | b3sum`".to_owned()));
        };
        if let Some(other) = others.iter().find(|other| other.hash == hash) {
            return Err(("blake3", format!("is the hash of token {:?} too; each needs one of its own", other.name)));
        }
        if self.scopes.is_empty() {
            return Err(("scopes", "is empty: the token could do nothing; give `check`, `mint` or `admin`".to_owned()));
        }
        let tenants = self.limits()?;
        let TokenConfig { name, scopes, channels, sources, .. } = self.clone();
        Ok(Token { name, hash, scopes, tenants, channels, sources })
    }
}

impl TokenConfig {
    /// Checks what limits the token, and gives its tenants; `None` for all.
    fn limits(&self) -> Result<Option<Vec<String>>, (&'static str, String)> {
        let mints = self.scopes.contains(&Scope::Mint);
        let from_sources = self.channels.contains(&Channel::ApprovedSource);
        let names = |key, names: &[String]| match names.iter().find(|name| name.is_empty()) {
            _ if !(1..=MAX_TOKEN_NAMES).contains(&names.len()) => {
                Err((key, format!("has {} entries; give 1 to {MAX_TOKEN_NAMES}", names.len())))
            }
            Some(_) => Err((key, "has an empty name".to_owned())),
            None => Ok(()),
        };
        match (mints, self.channels.is_empty()) {
            (true, true) => return Err(("channels", "is needed with scope `mint`: the channels over which its entries came".to_owned())),
            (false, false) => return Err(("channels", "belongs to scope `mint` only; leave it out".to_owned())),
            _ => {}
        }
        match (from_sources, self.sources.is_empty()) {
            (true, _) => names("sources", &self.sources)?,
            (false, false) => return Err(("sources", "belongs to channel `approved_source` only; leave it out".to_owned())),
            (false, true) => {}
        }
        let Some(tenants) = &self.tenants else {
            let problem = "is needed with scope `mint`: names of tenants, or [\"*\"] for all";
            return if mints { Err(("tenants", problem.to_owned())) } else { Ok(None) };
        };
        names("tenants", tenants)?;
        match tenants.iter().any(|tenant| tenant == "*") {
            true if tenants.len() > 1 => {
                Err(("tenants", "has \"*\", which is all of them, beside others; give one or the other".to_owned()))
            }
            true => Ok(None),
            false => Ok(Some(tenants.clone())),
        }
    }
}

impl EndpointsConfig {
    /// What `value` spells.
    pub(super) fn read(value: &Value) -> Result<Self, ConfigError> {
        let mut fields = Fields::new(value, &["prefix", "tokens"]);
        fields.need("tokens");
        let prefix = fields.maybe_text("prefix").unwrap_or_else(|| PREFIX.to_owned());
        let tokens = fields.list("tokens", TokenConfig::read);
        fields.end(EndpointsConfig { prefix, tokens }).map_err(|misfit| misfit.inside("endpoints"))
    }
}

impl TokenConfig {
    fn read(value: &Value) -> Result<Self, ConfigError> {
        let mut fields = Fields::new(value, &["name", "blake3", "scopes", "tenants", "channels", "sources"]);
        fields.need("scopes");
        let token = TokenConfig {
            name: fields.text("name"),
            blake3: fields.text("blake3"),
            scopes: fields.list("scopes", scope),
            tenants: fields.maybe("tenants").is_some().then(|| fields.list("tenants", text)),
            channels: fields.list("channels", channel),
            sources: fields.list("sources", text),
        };
        fields.end(token)
    }
}

fn scope(value: &Value) -> Result<Scope, ConfigError> {
    const ALL: [Scope; 3] = [Scope::Check, Scope::Mint, Scope::Admin];
    let number = word(value, &ALL.map(Scope::name))?;
    Ok(ALL.get(number).copied().unwrap_or(Scope::Check))
}

/// A channel of the lineage gate's records.
pub(crate) fn channel(value: &Value) -> Result<Channel, ConfigError> {
    let number = word(value, &Channel::ALL.map(Channel::name))?;
    Ok(Channel::ALL.get(number).copied().unwrap_or(Channel::Unknown))
}

#[cfg(test)]
mod tests {
    use floodmark_core::lineage::Channel;

    use crate::config::{Scope, parse};

    const HASH: &str = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";

    fn keys() -> String {
        format!(r#"[{{"id":"k1","secret":"{}"}}]"#, "0123456789abcdef".repeat(4))
    }

    fn with(endpoints: &str) -> Result<crate::config::Rules, String> {
        parse(format!(r#"{{"version":1,"keys":{},"endpoints":{endpoints}}}"#, keys()).as_bytes()).map_err(|refused| refused.to_string())
    }

    fn token(name: &str, hash: &str, scopes: &str) -> String {
        format!(r#"{{"name":"{name}","blake3":"{hash}","scopes":{scopes}}}"#)
    }

    #[test]
    fn what_cannot_work_is_refused_with_its_key() {
        let good = token("ops", HASH, r#"["admin"]"#);
        let tokens = |token: &str| format!(r#"{{"tokens":[{good},{token}]}}"#);
        for (endpoints, path, word) in [
            ("{}".to_owned(), "at endpoints:", "missing field `tokens`"),
            (r#"{"tokens":[]}"#.to_owned(), "at endpoints.tokens:", "there are 0; give 1 to 32"),
            (format!(r#"{{"tokens":[{}]}}"#, vec![good.as_str(); 33].join(",")), "at endpoints.tokens:", "there are 33"),
            (format!(r#"{{"tokens":[{good}],"prefx":"/a/"}}"#), "at endpoints.prefx:", "unknown field"),
            (tokens(&token("ops", &HASH.replace('a', "b"), r#"["check"]"#)), "at endpoints.tokens[1].name:", "stands twice"),
            (tokens(&token("", HASH, r#"["check"]"#)), "at endpoints.tokens[1].name:", "1 to 32 letters"),
            (tokens(&token("a b", HASH, r#"["check"]"#)), "at endpoints.tokens[1].name:", "1 to 32 letters"),
            (tokens(&token(&"a".repeat(33), HASH, r#"["check"]"#)), "at endpoints.tokens[1].name:", "1 to 32 letters"),
            (tokens(&token("dev", &HASH.to_uppercase(), r#"["check"]"#)), "at endpoints.tokens[1].blake3:", "token \"ops\" too"),
            (tokens(&token("dev", "secret", r#"["check"]"#)), "at endpoints.tokens[1].blake3:", "64 hex digits"),
            (tokens(&token("dev", &HASH[1..], r#"["check"]"#)), "at endpoints.tokens[1].blake3:", "64 hex digits"),
            (tokens(&token("dev", &HASH.replace('a', "b"), "[]")), "at endpoints.tokens[1].scopes:", "is empty"),
            (tokens(&token("dev", HASH, r#"["root"]"#)), "at endpoints.tokens[1].scopes[0]:", "`check`, `mint`, `admin`"),
            (tokens(r#"{"name":"dev","token":"x","scopes":["check"]}"#), "at endpoints.tokens[1].token:", "unknown field"),
        ] {
            let line = with(&endpoints).expect_err(&endpoints);
            assert!(line.contains(path) && line.contains(word), "{endpoints}\ngave {line}\nwanted {path} and {word}");
        }
        for prefix in [
            "/",
            "",
            "floodmark/",
            "/floodmark",
            "//",
            "/a//b/",
            "/a/../b/",
            "/a%20/",
            "/a?/",
            "/a#/",
            "/a;b/",
            "/ä/",
            "http://a/b/",
            "\\\\a\\\\",
        ] {
            let line = with(&format!(r#"{{"prefix":"{prefix}","tokens":[{good}]}}"#)).expect_err(prefix);
            assert!(line.contains("at endpoints.prefix:") && line.contains("a slash, at least one name"), "{prefix} gave {line}");
        }
    }

    #[test]
    fn who_makes_records_is_limited() {
        let mint = |scopes: &str, more: &str| {
            with(&format!(r#"{{"tokens":[{{"name":"store","blake3":"{HASH}","scopes":{scopes}{more}}}]}}"#))
                .map(|rules| rules.endpoints.expect("endpoints"))
        };
        let many = format!(r#","tenants":[{}]"#, vec![r#""a""#; 65].join(","));
        for (scopes, more, path, says) in [
            (r#"["mint"]"#, r#","tenants":["a"]"#, "channels", "needed with scope `mint`"),
            (r#"["mint"]"#, r#","tenants":["a"],"channels":[]"#, "channels", "needed with scope `mint`"),
            (r#"["mint"]"#, r#","channels":["user"]"#, "tenants", "needed with scope `mint`"),
            (r#"["mint"]"#, r#","channels":["user"],"tenants":[]"#, "tenants", "has 0 entries; give 1 to 64"),
            (r#"["check"]"#, many.as_str(), "tenants", "has 65 entries"),
            (r#"["check"]"#, r#","tenants":["a",""]"#, "tenants", "an empty name"),
            (r#"["check"]"#, r#","tenants":["a","*"]"#, "tenants", "beside others"),
            (r#"["check","admin"]"#, r#","channels":["user"]"#, "channels", "belongs to scope `mint` only"),
            (r#"["mint"]"#, r#","channels":["approved_source"],"tenants":["*"]"#, "sources", "has 0 entries"),
            (r#"["mint"]"#, r#","channels":["user"],"tenants":["*"],"sources":["a"]"#, "sources", "belongs to channel"),
            (r#"["mint"]"#, r#","channels":["usr"],"tenants":["*"]"#, "channels[0]", "unknown variant `usr`"),
            (r#"["mint"]"#, r#","channels":["user"],"tenants":"*""#, "tenants", "expected a list"),
        ] {
            let line = mint(scopes, more).expect_err(more);
            assert!(line.contains(&format!("at endpoints.tokens[0].{path}: ")) && line.contains(says), "{more}\ngave {line}");
        }
        let token = |scopes, more| mint(scopes, more).expect("valid").tokens.remove(0);
        let store = token(r#"["mint"]"#, r#","channels":["user","approved_source"],"tenants":["a","b"],"sources":["docs"]"#);
        assert_eq!((&store.channels[..], &store.sources[..]), (&[Channel::User, Channel::ApprovedSource][..], &["docs".to_owned()][..]));
        assert_eq!(store.tenants.as_deref(), Some(&["a".to_owned(), "b".to_owned()][..]));
        assert_eq!([Scope::Mint, Scope::Check, Scope::Admin].map(|scope| store.may(scope)), [true, false, false]);
        assert_eq!(token(r#"["mint"]"#, r#","channels":["user"],"tenants":["*"]"#).tenants, None);
        let admin = token(r#"["admin"]"#, r#","tenants":["a"]"#);
        assert_eq!([Scope::Mint, Scope::Check, Scope::Admin].map(|scope| admin.may(scope)), [false, true, true]);
        assert_eq!(admin.tenants.as_deref(), Some(&["a".to_owned()][..]));
    }

    #[test]
    fn they_are_off_unless_configured_and_have_a_prefix_of_their_own() {
        assert!(parse(br#"{"version":1}"#).expect("valid").endpoints.is_none());
        let rules = with(&format!(r#"{{"tokens":[{}]}}"#, token("ops", HASH, r#"["check","admin"]"#))).expect("valid");
        let endpoints = rules.endpoints.expect("endpoints");
        assert_eq!((endpoints.prefix.as_str(), endpoints.tokens.len()), ("/floodmark/", 1));
        assert_eq!(endpoints.tokens[0].scopes, [Scope::Check, Scope::Admin]);
        let rules = with(&format!(r#"{{"prefix":"/_ops/fm/","tokens":[{}]}}"#, token("ops", HASH, r#"["check"]"#))).expect("valid");
        assert_eq!(rules.endpoints.expect("endpoints").prefix, "/_ops/fm/");
    }

    #[test]
    fn an_approval_lives_a_second_to_a_week() {
        for (ttl, good) in [("0", false), ("1", true), ("604800", true), ("604801", false), ("\"600\"", false)] {
            let text = format!(r#"{{"version":1,"keys":{},"approvals":{{"ttl_s":{ttl}}}}}"#, keys());
            let parsed = parse(text.as_bytes());
            assert_eq!(parsed.is_ok(), good, "{ttl}");
            assert!(parsed.is_ok_and(|rules| rules.approvals.ttl_s.to_string() == ttl) || !good);
        }
        assert_eq!(parse(br#"{"version":1}"#).expect("valid").approvals.ttl_s, 600);
    }

    #[test]
    fn what_needs_keys_says_so() {
        let asking =
            |mode: &str| format!(r#"{{"mode":"{mode}","policy":{{"rules":{{"role_confusion":"flag","detector.linear":"ask"}}}}}}"#);
        let tokens = format!(r#"[{}]"#, token("ops", HASH, r#"["admin"]"#));
        for (rest, path) in [
            (format!(r#""endpoints":{{"tokens":{tokens}}}"#), "at endpoints: needs `keys`"),
            (r#""approvals":{}"#.to_owned(), "at approvals: needs `keys`"),
            (format!(r#""defaults":{}"#, asking("enforce")), "at defaults.policy.rules.detector.linear: `ask` needs `keys`"),
            (
                format!(r#""overrides":[{{"match":{{"host":"a"}},"settings":{}}}]"#, asking("enforce")),
                "at overrides[0].settings.policy.rules.detector.linear: `ask` needs",
            ),
        ] {
            let line = parse(format!(r#"{{"version":1,{rest}}}"#).as_bytes()).expect_err(&rest).to_string();
            assert!(line.contains(path), "{rest}\ngave {line}");
            let with_keys = format!(r#"{{"version":1,"keys":{},{rest}}}"#, keys());
            assert!(parse(with_keys.as_bytes()).is_ok(), "{rest}");
        }
        assert!(parse(format!(r#"{{"version":1,"defaults":{}}}"#, asking("monitor")).as_bytes()).is_ok(), "monitor only counts");
    }

    /// They are met when approvals were looked for already, so what they hold back would stay so for ever.
    #[test]
    fn nothing_asks_that_nobody_can_approve() {
        let with = |rules: &str| {
            let text = format!(r#"{{"version":1,"keys":{},"defaults":{{"policy":{{"rules":{{{rules}}}}}}}}}"#, keys());
            parse(text.as_bytes()).map(|_| ()).map_err(|refused| refused.to_string())
        };
        for (rules, path, says) in [
            (r#""detector.caller_persistence":"ask""#, "detector.caller_persistence", "nobody can approve"),
            (r#""run.lost":"ask""#, "run.lost", "give off, flag, label or block"),
            (r#""run.*":"flag","run.ambiguous_caller":"ask""#, "run.ambiguous_caller", "nobody can approve"),
            (r#""detector":"ask""#, "detector", "`detector.caller_persistence` too"),
            (r#""detector.*":"ask""#, "detector.*", "give `detector.caller_persistence` another use"),
            (r#""run":"ask","run.lost":"flag""#, "run", "`run.ambiguous_caller` too"),
            (r#""run.*":"ask","run.ambiguous_caller":"block""#, "run.*", "`run.lost` too"),
        ] {
            let line = with(rules).expect_err(rules);
            assert!(line.contains(&format!("at defaults.policy.rules.{path}: ")) && line.contains(says), "{rules}\ngave {line}");
        }
        for rules in [
            r#""run.rewritten":"ask","detector.persistence":"ask","detector.linear":"ask""#,
            r#""run":"ask","run.lost":"flag","run.ambiguous_caller":"block","detector":"ask","detector.caller_persistence":"block""#,
        ] {
            assert_eq!(with(rules), Ok(()), "{rules}");
        }
    }
}
