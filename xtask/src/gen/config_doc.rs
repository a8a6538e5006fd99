//! docs/config.md, written from the configuration's types: every key, its default and its meaning, the issues and the counters.

use std::cell::RefCell;
use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use floodmark_core::lineage::Gate;
use floodmark_core::score::CategorySet;
use floodmark_core::wire::{Effect, IssueKind};
use floodmark_plugin::config::{ApprovalsConfig, Config, PREFIX, Settings, State};
use floodmark_plugin::host::{Header, Host, HostError, LocalReply, LogLevel};
use floodmark_plugin::metrics::Metrics;
use serde_json::{Map, Value};

/// The page's text.
///
/// # Errors
/// The types' schema has a form that this does not know.
pub fn page(set: &CategorySet<'_>) -> Result<String> {
    let schema = serde_json::to_value(schemars::schema_for!(Config)).context("the configuration's schema")?;
    let defaults = serde_json::json!({
        "enabled": true,
        "state": serde_json::to_value(State::default())?,
        "lineage": serde_json::to_value(Gate::default())?,
        "endpoints": {"prefix": PREFIX},
        "approvals": serde_json::to_value(ApprovalsConfig::default())?,
        "defaults": serde_json::to_value(Settings::default())?,
    });
    let mut page = String::from(HEAD);
    let keys = Keys { schema: &schema, defaults: &defaults };
    keys.table(&mut page, &schema, "")?;
    page.push_str(STATE);
    page.push_str("\n## Categories and rules\n\n| category | weight by default | rules |\n|---|---|---|\n");
    for category in set.categories {
        let ids = set.patterns.iter().map(|pattern| pattern.id);
        let rules = ids.filter_map(|id| Some(format!("`{}`", id.strip_prefix(category.name)?.strip_prefix('.')?)));
        writeln!(page, "| `{}` | {} | {} |", category.name, category.weight, rules.collect::<Vec<_>>().join(", "))?;
    }
    page.push_str(RULES);
    page.push_str(OWN_PATTERNS);
    page.push_str(REST);
    page.push_str("| issue | effect | meaning |\n|---|---|---|\n");
    for issue in IssueKind::ALL {
        let effect = match issue.effect() {
            Effect::Note => "counted",
            Effect::Flag => "`flag`",
            Effect::Refuse => "`block` on AI traffic",
        };
        writeln!(page, "| `{}` | {effect} | {} |", issue.name(), one_line(issue.describe()))?;
    }
    page.push_str(COUNTERS);
    for name in counters() {
        writeln!(page, "- `{name}`")?;
    }
    Ok(page)
}

const HEAD: &str = "\
<!-- Written by `cargo xtask gen` from plugin/src/config and core; do not edit. Licence: Apache-2.0. -->
# Configuration

The plugin takes one JSON object, as `StringValue` or `Struct` in Envoy's plugin configuration. The smallest is `{\"version\": 1}`: it
watches and counts, and changes nothing. Unknown keys and values out of range are refused with the key's path in one log line, and the
gateway keeps its old configuration (or does not start).

```json
{
  \"version\": 1,
  \"defaults\": {\"mode\": \"enforce\", \"policy\": {\"conversation\": {\"tau\": 0.7}}},
  \"overrides\": [{\"match\": {\"path_prefix\": \"/lab/\"}, \"settings\": {\"mode\": \"monitor\"}}]
}
```

Keys of `overrides[].settings` are those of `defaults`.

| key | type | default | meaning |
|---|---|---|---|
";

/// What is remembered across requests.
const STATE: &str = "
## Runs and callers

With `keys` the plugin remembers runs and callers across requests; [tuning.md](tuning.md) says what to choose and what to watch.

```json
{
  \"version\": 1,
  \"keys\": [{\"id\": \"k1\", \"secret\": \"<64 hex digits of your own>\"}],
  \"state\": {\"runs\": 32768, \"half_life_s\": 3600},
  \"defaults\": {
    \"session\": {
      \"caller\": [{\"from\": \"header\", \"name\": \"x-api-key\"}],
      \"sources\": [{\"from\": \"header\", \"name\": \"x-agent-run\"}, {\"from\": \"metadata\", \"name\": \"session_id\"}, {\"from\": \"mcp_session\"}]
    }
  }
}
```
";

/// After the table of categories.
const RULES: &str = "
A rule's id is `category.rule`, `wire.issue` (see the issues below), `conversation.resampling` or that of a pattern of your own, whose group is `operator`
whatever its category. What a hit of it means can be set, and hits can be exempt:

```json
{
  \"version\": 1,
  \"defaults\": {
    \"mode\": \"enforce\",
    \"action\": \"redact\",
    \"policy\": {\"rules\": {\"role_confusion\": \"block\", \"escalation_probing.*\": \"flag\", \"wire.lone_surrogate\": \"off\"}},
    \"exemptions\": [
      {\"reason\": \"our own prompts quote attacks\", \"channels\": [\"system\"]},
      {\"reason\": \"the red team's client\", \"match\": {\"host\": \"lab.example.com\"}, \"header\": {\"name\": \"x-floodmark-test\", \"value\": \"...\"}}
    ]
  }
}
```

A hit that is exempt counts for nothing. The report lists it with `\"counts_as\": \"exempt\"`, and `floodmark_exempted` counts the request.
";

const OWN_PATTERNS: &str = "
## Patterns of your own

A code name that must not reach a model, in a category of its own, and a phrase that counts for a built-in one:

```json
{
  \"version\": 1,
  \"defaults\": {
    \"policy\": {
      \"weights\": {\"secrets\": 0.6},
      \"patterns\": [
        {\"id\": \"operator.code_names\", \"category\": \"secrets\", \"pattern\": \"project blue(bird|whale)\"},
        {\"id\": \"operator.old_trick\", \"category\": \"role_confusion\", \"pattern\": \"grandma mode\"}
      ]
    }
  }
}
```

A pattern is run only near its literal (`project`, `grandma`), so choose one with a rare word outside its groups. Letters are looked at as they are
after folding: `project` is found in capitals, in full width, with accents and invisible characters between its letters, and in text that was encoded; it is not found when
its letters are set apart or its words run together, which the built-in patterns see through. The expressions may be run on 32 KiB of a
body, all together; when that does not do, the issue `operator_patterns` flags.
";

const REST: &str = "
## Verdicts and actions

| verdict | meaning | action in `monitor` | action in `enforce` |
|---|---|---|---|
| `allow` | nothing to say | `continue` | `continue` |
| `flag` | worth a log line: a pattern's or the detector's hit outside the scored turns, resampling, or a rule or issue that flags | `continue` | `continue` |
| `label` | a rule labels | `continue`, counted as `floodmark_would_label` | `label` |
| `ask` | a rule asks for an operator's approval, which there is none of | `continue`, counted as `floodmark_would_block` | `reject`, with an approval id: [endpoints.md](endpoints.md) |
| `block` | the score reached `tau`, the detector reached one of its levels, a rule blocks alone, or the body cannot be judged | `continue`, counted as `floodmark_would_block`, `floodmark_would_redact` or `floodmark_would_label` | as `action` says: `reject`, `redact` or `label` |

- **reject** answers in the provider's own error shape: OpenAI `invalid_request_error` with code `floodmark_blocked`, Anthropic
  `permission_error`. It names the rule and the messages' indices. `%RESPONSE_CODE_DETAILS%` is `floodmark_blocked{rule}`, for example
  `floodmark_blocked{wire.oversize}` (`floodmark_ask{rule}` of one that can be approved); of a request that passed it is what the upstream or another filter made of it.
- **redact** puts `[removed by the gateway's policy]` (or `[removed]`, or `-`, where there is less room) in the place of the text of the turns that hit, in
  the messages without which the request would not be blocked, with white space behind it, so that the body keeps its length. Everything else stays byte for
  byte: roles, identifiers, keys, images. The new body is judged again and passes only if nothing blocks it. Where this cannot be done the request is rejected and
  counted as `floodmark_not_redacted`: the body is odd or was not read as it stands, the text stands outside the turns, or more than 8 messages would have to go.
- **label** lets the request pass and says so: in filter state, in the response headers, and in request headers where the headers are still there
  (`hold_headers`, or a decision by headers alone).

Verdicts on responses are the same; what they lead to is in [request-life.md](request-life.md). Where `action` is `reject` or `redact`, a response whose verdict is
`block` is replaced or cut in mode enforce (`floodmark_response_blocked`; `floodmark_response_not_blocked` where all of it had passed); with `label` it passes and is
counted.

## What others can read

| where | name | holds |
|---|---|---|
| filter state | `wasm.floodmark.verdict` | the verdict |
| filter state | `wasm.floodmark.action` | what was done: `continue`, `label`, `redact` or `reject`; in monitor mode `continue` |
| filter state | `wasm.floodmark.score` | the conversation's score, 0 to 1 |
| filter state | `wasm.floodmark.event_peak` | the detector's highest score of an event, 0 to 1; missing where the detector is off |
| filter state | `wasm.floodmark.persistence` | the highest value of the running sum of its scores; missing likewise |
| filter state | `wasm.floodmark.rule` | the rule that decided; missing for `allow` |
| filter state | `wasm.floodmark.event_id` | `x-request-id` where it is fit, else an id of the plugin's |
| filter state | `wasm.floodmark.run` | the run's id, 32 hex digits; missing where nothing is remembered or nothing names the run |
| filter state | `wasm.floodmark.approval` | the id of the approval that the request waits for, or passed with; missing where it needs none |
| filter state | `wasm.floodmark.report` | the whole report as JSON: scores, reasons with spans, issues; no message text |
| filter state | `wasm.floodmark.response_verdict` | the verdict on the response; missing where it was not judged |
| filter state | `wasm.floodmark.response_rule` | the rule that decided it; missing for `allow` |
| response header, enforce mode only | `x-floodmark-verdict` | the verdict on the request |
| response header, enforce mode only | `x-floodmark-action` | `label` or `redact`; missing otherwise |
| response header, refusals only | `x-floodmark-event-id` | the event id |
| response header, refusals of what can be approved | `x-floodmark-approval-id` | the approval's id |
| request header to the upstream, of labelled and redacted requests whose headers are held | `x-floodmark-verdict`, `x-floodmark-action`, `x-floodmark-score`, `x-floodmark-rule`, `x-floodmark-event-id` | the same as in filter state |

In an access log: `%FILTER_STATE(wasm.floodmark.verdict:PLAIN)%`; `envoy-config/enforce.yaml` has a whole format. In enforce mode `x-floodmark-*` headers that clients send are taken
away, and those that upstreams send are replaced. `x-floodmark-token`, which only the plugin's own endpoints read, is taken away in every mode. `accept-encoding` becomes `identity` there in requests on listed paths whose responses are read.

## Issues

What can be odd about a body. An issue that blocks does so on the listed paths and on bodies recognised as AI traffic; set
`policy.unparsed` or `policy.oversize` to `flag` to let such traffic pass, or `policy.rules` for a single issue.

";

const COUNTERS: &str = "
## Counters

Envoy shows them as `wasmcustom.NAME`; the examples under `envoy-config/` turn the `_key=value` parts into tags. `floodmark_detector_rule=...` counts
the bodies in which a rule of the detector was met where it is not exempt, whatever the verdict came to. Of what is remembered across requests,
`floodmark_state_*_table=...` count what happens in a table (`hits` and `misses` of look-ups, `evictions` of an entry by one that is as hot or hotter, `conflicts` with
another worker that were tried again, changes `lost` to conflicts, to hotter entries or to missing shared data, entries of a `foreign` caller that were asked for, values that were `unreadable`);
`floodmark_runs_source=...` counts requests by what named their run, `floodmark_run_restarts` those that began another conversation of the same caller and
opening, `floodmark_caller_unknown` those that say nothing of their caller, and `floodmark_state_unavailable` those that were judged alone because there is no shared data.
`floodmark_endpoints_status=...` counts the answers of the operator's endpoints, `floodmark_approvals_what=...` what happens with approvals, `floodmark_lineage_decision=...` what
the lineage gate decides, and `floodmark_lineage_what=...` the records, grants and releases that were given ([endpoints.md](endpoints.md)).

";

/// The schema and the defaults beside it.
struct Keys<'a> {
    schema: &'a Value,
    defaults: &'a Value,
}

impl Keys<'_> {
    /// Rows for the members of `object`, whose path is `path`.
    fn table(&self, page: &mut String, object: &Value, path: &str) -> Result<()> {
        let members = object["properties"].as_object().with_context(|| format!("{path:?} has no properties"))?;
        for (name, member) in members {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            self.row(page, member, &path)?;
        }
        Ok(())
    }

    fn row(&self, page: &mut String, member: &Value, path: &str) -> Result<()> {
        let target = self.resolve(member);
        let meaning = member["description"].as_str().or(target["description"].as_str()).with_context(|| format!("{path} has no doc"))?;
        let default = self.default(path).map_or(String::new(), |value| format!("`{value}`"));
        writeln!(page, "| `{path}` | {} | {default} | {} |", self.kind(member)?, one_line(meaning))?;
        if target["properties"].is_object() {
            self.table(page, target, path)?;
        }
        let items = self.resolve(&member["items"]);
        if items["properties"].is_object() {
            self.table(page, items, &format!("{path}[]"))?;
        }
        Ok(())
    }

    /// What may stand there: a type's name, or the words it may be.
    fn kind(&self, member: &Value) -> Result<String> {
        let target = self.resolve(member);
        if let Some(variants) = target["oneOf"].as_array() {
            let words = variants.iter().map(|variant| Ok(format!("`{}`", variant["const"].as_str().context("a variant without a word")?)));
            return Ok(words.collect::<Result<Vec<_>>>()?.join(" or "));
        }
        Ok(match target["type"].as_str().or(target["type"][0].as_str()) {
            Some("array") => match self.kind(&member["items"])? {
                words if words.ends_with('`') => format!("list of {words}"),
                plain => format!("list of {plain}s"),
            },
            Some("integer") => "whole number".to_owned(),
            Some(plain) => plain.to_owned(),
            None => anyhow::bail!("a type that this page cannot name: {target}"),
        })
    }

    /// Follows references, and takes the one type of an optional value.
    fn resolve<'a>(&'a self, member: &'a Value) -> &'a Value {
        if let Some(inner) = member["anyOf"].as_array().and_then(|any| any.iter().find(|inner| inner["type"] != "null")) {
            return self.resolve(inner);
        }
        match member["$ref"].as_str().and_then(|reference| reference.strip_prefix('#')) {
            Some(pointer) => self.schema.pointer(pointer).unwrap_or(member),
            None => member,
        }
    }

    /// The default of a single value; objects show theirs key by key.
    fn default(&self, path: &str) -> Option<&Value> {
        let pointer = format!("/{}", path.replace('.', "/"));
        self.defaults.pointer(&pointer).filter(|value| value.as_object().is_none_or(Map::is_empty) || value.is_array())
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

/// The names that the plugin defines, by asking it.
fn counters() -> Vec<String> {
    let recorder = Recorder::default();
    Metrics::define(&recorder);
    recorder.0.into_inner()
}

/// A host that notes the counters and has nothing else.
#[derive(Default)]
struct Recorder(RefCell<Vec<String>>);

impl Host for Recorder {
    fn request_headers(&self) -> Result<Vec<Header>, HostError> {
        Err(UNIMPLEMENTED)
    }
    fn remove_request_header(&self, _: &str) -> Result<(), HostError> {
        Err(UNIMPLEMENTED)
    }
    fn remove_request_trailer(&self, _: &str) -> Result<(), HostError> {
        Err(UNIMPLEMENTED)
    }
    fn request_body(&self, _: usize, _: usize) -> Result<Vec<u8>, HostError> {
        Err(UNIMPLEMENTED)
    }
    fn set_request_header(&self, _: &str, _: &str) -> Result<(), HostError> {
        Err(UNIMPLEMENTED)
    }
    fn replace_request_body(&self, _: usize, _: &[u8]) -> Result<(), HostError> {
        Err(UNIMPLEMENTED)
    }
    fn response_headers(&self) -> Result<Vec<Header>, HostError> {
        Err(UNIMPLEMENTED)
    }
    fn response_body(&self, _: usize, _: usize) -> Result<Vec<u8>, HostError> {
        Err(UNIMPLEMENTED)
    }
    fn replace_response_body(&self, _: usize, _: &[u8]) -> Result<(), HostError> {
        Err(UNIMPLEMENTED)
    }
    fn set_response_header(&self, _: &str, _: Option<&str>) -> Result<(), HostError> {
        Err(UNIMPLEMENTED)
    }
    fn property(&self, _: &[&str]) -> Result<Vec<u8>, HostError> {
        Err(UNIMPLEMENTED)
    }
    fn set_filter_state(&self, _: &str, _: &str) -> Result<(), HostError> {
        Err(UNIMPLEMENTED)
    }
    fn reply(&self, _: &LocalReply) -> Result<(), HostError> {
        Err(UNIMPLEMENTED)
    }
    fn shared_data(&self, _: &str) -> Result<Option<(Vec<u8>, u32)>, HostError> {
        Err(UNIMPLEMENTED)
    }
    fn set_shared_data(&self, _: &str, _: &[u8], _: u32) -> Result<bool, HostError> {
        Err(UNIMPLEMENTED)
    }
    fn define_counter(&self, name: &str) -> Result<u32, HostError> {
        self.0.borrow_mut().push(name.to_owned());
        Ok(0)
    }
    fn count(&self, _: u32) -> Result<(), HostError> {
        Err(UNIMPLEMENTED)
    }
    fn log(&self, _: LogLevel, _: &str) {}
    fn now_ns(&self) -> u64 {
        0
    }
}

/// `PROXY_STATUS_UNIMPLEMENTED`.
const UNIMPLEMENTED: HostError = HostError(12);

#[cfg(test)]
mod tests {
    use super::{HEAD, OWN_PATTERNS, RULES, STATE};
    use floodmark_plugin::config::{Rules, parse};

    fn accepted(page: &str) -> Rules {
        let example = page.split("```json").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
        parse(example.as_bytes()).unwrap_or_else(|refused| panic!("{refused}"))
    }

    #[test]
    fn the_examples_are_accepted() {
        assert_eq!(accepted(HEAD).overrides.len(), 1);
        let secret = "0123456789abcdef".repeat(4);
        assert!(accepted(&STATE.replace("<64 hex digits of your own>", &secret)).state.is_some());
        assert_eq!(accepted(RULES).defaults.settings.exemptions.len(), 2);
        assert_eq!(accepted(OWN_PATTERNS).defaults.settings.policy.patterns.len(), 2);
    }
}
