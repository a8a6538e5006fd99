//! The lineage gate as configured, and the keys that seal and verify for it.

use std::collections::BTreeMap;

use floodmark_core::limits::MAX_KEY_BYTES;
use floodmark_core::lineage::{Gate, Group, KeyRing, Limit, Mandate, NoRecord, RingError};
use serde_json::Value;

use super::fields::{Fields, not, object, text};
use super::parse::{ConfigError, error};
use crate::endpoints::Lineage;
use crate::keys::Secret;

/// The gate that `value` spells, ready for use. `is_kept` when anything is remembered.
pub(super) fn lineage(value: &Value, keys: &[Secret], is_kept: bool) -> Result<Lineage, ConfigError> {
    if !is_kept {
        return Err(error("lineage", "needs `keys`, and `state.enabled`: records are sealed, and newest versions kept with the state"));
    }
    let gate = gate(value).map_err(|misfit| misfit.inside("lineage"))?;
    gate.check().map_err(|(key, problem)| error(["lineage.", &key].concat(), problem))?;
    let secrets = keys.iter().map(|key| (key.id.clone(), *key.bytes())).collect();
    match KeyRing::new(secrets) {
        Ok(ring) => Ok(Lineage { gate, ring }),
        Err(RingError::Name(number)) => Err(error(
            format!("keys[{number}].id"),
            format!("has more than {MAX_KEY_BYTES} letters; records hold it where there is `lineage`"),
        )),
        Err(RingError::Count | RingError::Twice(_)) => Err(error("keys", "cannot seal records")),
    }
}

fn gate(value: &Value) -> Result<Gate, ConfigError> {
    let mut fields = Fields::new(value, &["approved_sources", "groups", "mandates", "no_record", "policy"]);
    let mut gate = Gate {
        approved_sources: fields.list("approved_sources", text),
        groups: fields.list("groups", group),
        mandates: fields.list("mandates", mandate),
        ..Gate::default()
    };
    if fields.maybe("no_record").is_some() && fields.word("no_record", &["enforce", "label"]) == 1 {
        gate.no_record = NoRecord::Label;
    }
    if let Some(policy) = fields.maybe_text("policy") {
        gate.policy = policy;
    }
    fields.end(gate)
}

fn group(value: &Value) -> Result<Group, ConfigError> {
    let mut fields = Fields::new(value, &["tenant", "principals"]);
    fields.need("principals");
    let group = Group { tenant: fields.text("tenant"), principals: fields.list("principals", text) };
    fields.end(group)
}

fn mandate(value: &Value) -> Result<Mandate, ConfigError> {
    let mut fields = Fields::new(value, &["name", "tenant", "principal", "tool", "arguments"]);
    let mandate = Mandate {
        name: fields.text("name"),
        tenant: fields.maybe_text("tenant"),
        principal: fields.maybe_text("principal"),
        tool: fields.text("tool"),
        arguments: limits(&mut fields),
    };
    fields.end(mandate)
}

/// What each argument of a mandate may be. By hand too: a derived reader of one enum whose variants hold values makes those of all enums twice as large.
pub(crate) fn limits(fields: &mut Fields<'_>) -> BTreeMap<String, Limit> {
    fields.read("arguments", all_limits).unwrap_or_default()
}

fn all_limits(value: &Value) -> Result<BTreeMap<String, Limit>, ConfigError> {
    let mut limits = BTreeMap::new();
    for (name, value) in object(value)? {
        limits.insert(name.clone(), limit(value).map_err(|misfit| misfit.inside(name))?);
    }
    Ok(limits)
}

fn limit(value: &Value) -> Result<Limit, ConfigError> {
    if value.as_str() == Some("any") {
        return Ok(Limit::Any);
    }
    let mut fields = Fields::new(value, &["one_of", "max"]);
    let limit = match (fields.maybe("one_of").is_some(), fields.read("max", number)) {
        (true, None) => Limit::OneOf(fields.list("one_of", text)),
        (false, Some(most)) => Limit::Max(most),
        _ => return fields.end(Limit::Any).and(Err(error("", "must be \"any\", or an object with one of `one_of` and `max`"))),
    };
    fields.end(limit)
}

fn number(value: &Value) -> Result<f64, ConfigError> {
    // Envoy makes of a fraction in YAML a string.
    let number = value.as_str().and_then(|text| serde_json::from_slice(text.as_bytes()).ok());
    let number: &Value = number.as_ref().unwrap_or(value);
    number.as_f64().ok_or_else(|| not("a number", value))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::gate;
    use crate::config::{Rules, parse};
    use floodmark_core::lineage::Gate;

    fn with(lineage: &Value, more: &Value) -> Result<Rules, String> {
        let mut whole = json!({"version": 1, "keys": [{"id": "k1", "secret": "0123456789abcdef".repeat(4)}], "lineage": lineage});
        for (key, value) in more.as_object().expect("an object") {
            whole[key] = value.clone();
        }
        parse(whole.to_string().as_bytes()).map_err(|refused| refused.to_string())
    }

    /// The derived reader of core, which the library's users have, reads the same.
    #[test]
    fn it_is_read_as_core_reads_it() {
        let mandate = json!({"name": "rent", "tenant": "acme", "principal": "a", "tool": "pay*", "arguments": {"to": {"one_of": ["x"]}, "sum": {"max": 9.5}, "note": "any"}});
        for value in [
            json!({}),
            json!({"approved_sources": ["a", "b"], "policy": "7", "no_record": "label"}),
            json!({"no_record": "enforce", "groups": [{"tenant": "acme", "principals": ["a", "b"]}]}),
            json!({"mandates": [mandate, {"name": "n", "tool": "t"}, {"name": "n", "tool": "t", "tenant": null, "arguments": {}}]}),
        ] {
            assert_eq!(gate(&value), Ok(serde_json::from_value::<Gate>(value.clone()).expect("valid")), "{value}");
            assert!(with(&value, &json!({})).is_ok_and(|rules| rules.lineage.is_some_and(|lineage| Ok(lineage.gate) == gate(&value))));
        }
        for value in [
            json!({"approved_sources": "a"}),
            json!({"groups": [{"tenant": "acme"}]}),
            json!({"groups": [{"principals": []}]}),
            json!({"groups": [{"tenant": "acme", "principals": [], "x": 1}]}),
            json!({"mandates": [{"tool": "t"}]}),
            json!({"mandates": [{"name": "n", "tool": "t", "arguments": {"a": "all"}}]}),
            json!({"mandates": [{"name": "n", "tool": "t", "arguments": {"a": {"max": "b"}}}]}),
            json!({"mandates": [{"name": "n", "tool": "t", "arguments": {"a": {"most": 1}}}]}),
            json!({"no_record": "allow"}),
            json!({"policy": 1}),
            json!({"sources": []}),
        ] {
            assert!(gate(&value).is_err() && serde_json::from_value::<Gate>(value.clone()).is_err(), "{value}");
        }
    }

    #[test]
    fn what_cannot_work_is_refused_with_its_key() {
        let argument = |limit: Value| json!({"mandates": [{"name": "n", "tool": "t", "arguments": {"a": limit}}]});
        for (lineage, path, word) in [
            (json!(1), "lineage", "expected an object"),
            (json!({"x": 1}), "lineage.x", "unknown field `x`"),
            (json!({"approved_sources": [1]}), "lineage.approved_sources[0]", "expected a string"),
            (json!({"approved_sources": ["a", ""]}), "lineage.approved_sources[1]", "takes 1 to 256 bytes"),
            (json!({"no_record": "allow"}), "lineage.no_record", "`enforce`, `label`"),
            (json!({"policy": ""}), "lineage.policy", "takes 1 to 64 bytes"),
            (json!({"groups": [{"tenant": "a"}]}), "lineage.groups[0]", "missing field `principals`"),
            (argument(json!("all")), "lineage.mandates[0].arguments.a", "invalid type: a string, expected an object"),
            (argument(json!({"max": "much"})), "lineage.mandates[0].arguments.a.max", "expected a number"),
            (argument(json!({"max": 1, "one_of": []})), "lineage.mandates[0].arguments.a", "one of `one_of` and `max`"),
            (argument(json!({"most": 1})), "lineage.mandates[0].arguments.a.most", "unknown field `most`"),
            (argument(json!({})), "lineage.mandates[0].arguments.a", "one of `one_of` and `max`"),
            (argument(json!({"one_of": []})), "lineage.mandates[0].arguments.a", "lists nothing"),
        ] {
            let line = with(&lineage, &json!({})).expect_err("refused");
            assert!(line.contains(&format!("at {path}: ")) && line.contains(word), "{lineage}\ngave {line}");
        }
        let line = |more: Value| with(&json!({}), &more).expect_err("refused");
        assert!(line(json!({"keys": []})).contains("at lineage: needs `keys`"));
        assert!(line(json!({"state": {"enabled": false}})).contains("at lineage: needs `keys`, and `state.enabled`"));
        let long = json!({"keys": [{"id": "k1", "secret": "0123456789abcdef".repeat(4)}, {"id": "k".repeat(33), "secret": "fedcba9876543210".repeat(4)}]});
        assert!(line(long.clone()).contains("at keys[1].id: has more than 32 letters"));
        assert!(with(&Value::Null, &long).is_ok(), "only records hold it");
        // Envoy makes of a fraction a string.
        let rules = with(&argument(json!({"max": "9.5"})), &json!({})).expect("valid");
        assert_eq!(rules.lineage.map(|lineage| lineage.gate), gate(&argument(json!({"max": 9.5}))).ok());
    }
}
