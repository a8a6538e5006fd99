//! Requests of the gate's endpoints, read by hand: core's derived readers of the same would be 20 KB of code more. A test holds that both read the same.

use floodmark_core::lineage::{
    AncestorRequest, Arguments, CallRequest, Channel, CheckRequest, Digest, Effect, GrantRequest, MintRequest, ReleaseRequest,
};
use serde_json::Value;

use crate::config::ConfigError;
use crate::config::endpoints::channel;
use crate::config::fields::{Fields, object, text};
use crate::config::lineage::limits;
use crate::config::read;

/// Entries that were there before the gate.
pub struct Adoption {
    pub tenant: String,
    pub principal: String,
    pub store: String,
    pub entries: Vec<Adopted>,
}

/// One of them.
pub struct Adopted {
    pub entry: Option<String>,
    pub content: String,
    pub channel: Channel,
    /// `None` for whoever adopts.
    pub author: Option<String>,
}

pub fn mint(body: &Value) -> Result<MintRequest, ConfigError> {
    let mut fields = Fields::new(body, &["tenant", "principal", "store", "entry", "version", "channel", "author", "content", "parents"]);
    fields.need("channel");
    let request = MintRequest {
        tenant: fields.text("tenant"),
        principal: fields.text("principal"),
        store: fields.text("store"),
        entry: fields.maybe_text("entry"),
        version: fields.maybe_number("version"),
        channel: fields.read("channel", channel).unwrap_or(Channel::Unknown),
        author: fields.maybe_text("author").unwrap_or_default(),
        content: fields.text("content"),
        parents: fields.list("parents", digest),
    };
    fields.end(request)
}

pub fn adopt(body: &Value) -> Result<Adoption, ConfigError> {
    let mut fields = Fields::new(body, &["tenant", "principal", "store", "entries"]);
    fields.need("entries");
    let adoption = Adoption {
        tenant: fields.text("tenant"),
        principal: fields.text("principal"),
        store: fields.text("store"),
        entries: fields.list("entries", adopted),
    };
    fields.end(adoption)
}

fn adopted(value: &Value) -> Result<Adopted, ConfigError> {
    let mut fields = Fields::new(value, &["entry", "content", "channel", "author"]);
    fields.need("channel");
    let adopted = Adopted {
        entry: fields.maybe_text("entry"),
        content: fields.text("content"),
        channel: fields.read("channel", channel).unwrap_or(Channel::Unknown),
        author: fields.maybe_text("author"),
    };
    fields.end(adopted)
}

pub fn check(body: &Value) -> Result<CheckRequest, ConfigError> {
    let keys = ["tenant", "principal", "store", "entry", "content", "record", "ancestors", "effect", "call", "grants", "release", "run"];
    let mut fields = Fields::new(body, &keys);
    let request = CheckRequest {
        tenant: fields.text("tenant"),
        principal: fields.text("principal"),
        store: fields.text("store"),
        entry: fields.maybe_text("entry"),
        content: fields.text("content"),
        record: fields.maybe_text("record"),
        ancestors: fields.list("ancestors", ancestor),
        effect: if fields.word("effect", &["read", "side_effect"]) == 0 { Effect::Read } else { Effect::SideEffect },
        call: fields.read("call", call),
        grants: fields.list("grants", text),
        release: fields.maybe_text("release"),
        run: fields.maybe_text("run"),
    };
    fields.end(request)
}

fn ancestor(value: &Value) -> Result<AncestorRequest, ConfigError> {
    let mut fields = Fields::new(value, &["record", "content"]);
    let ancestor = AncestorRequest { record: fields.text("record"), content: fields.maybe_text("content") };
    fields.end(ancestor)
}

fn call(value: &Value) -> Result<CallRequest, ConfigError> {
    let mut fields = Fields::new(value, &["tool", "arguments"]);
    let call = CallRequest { tool: fields.text("tool"), arguments: fields.read("arguments", arguments).unwrap_or_default() };
    fields.end(call)
}

fn arguments(value: &Value) -> Result<Arguments, ConfigError> {
    object(value)?;
    read(value)
}

pub fn grant(body: &Value) -> Result<GrantRequest, ConfigError> {
    let mut fields = Fields::new(body, &["name", "tenant", "principal", "tool", "arguments", "expires_s"]);
    fields.need("expires_s");
    let request = GrantRequest {
        name: fields.text("name"),
        tenant: fields.text("tenant"),
        principal: fields.maybe_text("principal"),
        tool: fields.text("tool"),
        arguments: limits(&mut fields),
        expires_s: fields.maybe_number("expires_s").unwrap_or_default(),
    };
    fields.end(request)
}

pub fn release(body: &Value) -> Result<ReleaseRequest, ConfigError> {
    let mut fields = Fields::new(body, &["tenant", "content_digest", "expires_s"]);
    fields.need("content_digest");
    let request = ReleaseRequest {
        tenant: fields.text("tenant"),
        content_digest: fields.read("content_digest", digest).unwrap_or(Digest([0; 32])),
        expires_s: fields.maybe_number("expires_s"),
    };
    fields.end(request)
}

fn digest(value: &Value) -> Result<Digest, ConfigError> {
    let problem = || ConfigError { path: String::new(), problem: "must be 64 lower-case hex digits".to_owned() };
    Digest::parse(&text(value)?).ok_or_else(problem)
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;
    use serde_json::json;

    use super::*;

    /// Whole requests, each with every key; then each key is left out, made null, and of another type, and one is added.
    fn read_alike<T: DeserializeOwned + core::fmt::Debug>(by_hand: fn(&Value) -> Result<T, ConfigError>, whole: &Value) {
        let alike = |value: &Value| {
            let derived = serde_json::from_value::<T>(value.clone());
            match (by_hand(value), derived) {
                (Ok(by_hand), Ok(derived)) => assert_eq!(format!("{by_hand:?}"), format!("{derived:?}"), "{value}"),
                // serde_json takes the values of an object in a list too, without their keys.
                (Err(misfit), Ok(_)) => assert!(misfit.problem.ends_with("a list, expected an object"), "{value}\n{misfit:?}"),
                (by_hand, derived) => assert!(by_hand.is_err() && derived.is_err(), "{value}\n{by_hand:?}\n{derived:?}"),
            }
        };
        alike(whole);
        assert!(by_hand(whole).is_ok());
        let members = whole.as_object().expect("an object");
        for key in members.keys() {
            let mut less = members.clone();
            less.remove(key);
            alike(&Value::Object(less));
            for other in [json!(true), json!(-1), json!(1.5), json!("x"), json!([]), json!(["x"]), json!([7]), json!({}), json!({"x": 1})] {
                let mut odd = members.clone();
                odd.insert(key.clone(), other);
                alike(&Value::Object(odd));
            }
        }
        let mut more = members.clone();
        more.insert("authority_class".to_owned(), json!(1));
        alike(&Value::Object(more));
        for odd in [json!(null), json!("x"), json!({})] {
            alike(&odd);
        }
    }

    #[test]
    fn requests_are_read_as_core_reads_them() {
        let hash = "0a".repeat(32);
        for channel in Channel::ALL {
            read_alike(
                mint,
                &json!({"tenant": "t", "principal": "p", "store": "s", "entry": "e", "version": u64::MAX, "channel": channel.name(), "author": "a",
                    "content": "c", "parents": [hash, hash]}),
            );
        }
        for effect in ["read", "side_effect"] {
            let arguments = json!({"a": "x", "b": 7, "c": 1.5, "d": [{}], "e": {"f": null}, "g": true, "h": null, "i": -3});
            read_alike(
                check,
                &json!({"tenant": "t", "principal": "p", "store": "s", "entry": "e", "content": "c", "record": "0a",
                    "ancestors": [{"record": "0b", "content": "d"}, {"record": "zz"}], "effect": effect, "call": {"tool": "x", "arguments": arguments},
                    "grants": ["0c", "0d"], "release": "0e", "run": "r"}),
            );
        }
        for call in [
            json!({"tool": "x"}),
            json!({"tool": "x", "arguments": {}}),
            json!({"arguments": {}}),
            json!({"tool": "x", "mandate": "y"}),
            json!([]),
        ] {
            read_alike_of(&json!({"tenant": "t", "principal": "p", "store": "s", "content": "c", "effect": "read", "call": call}));
        }
        let limits = json!({"a": "any", "b": {"one_of": ["x", ""]}, "c": {"max": -1.5}});
        read_alike(grant, &json!({"name": "n", "tenant": "t", "principal": "p", "tool": "x", "arguments": limits, "expires_s": 1}));
        read_alike(release, &json!({"tenant": "t", "content_digest": hash, "expires_s": 1}));
        for odd in ["0A".repeat(32), "0a".repeat(31), "0a".repeat(33), "0g".repeat(32)] {
            assert!(release(&json!({"tenant": "t", "content_digest": odd})).is_err());
        }
    }

    fn read_alike_of(value: &Value) {
        let derived = serde_json::from_value::<CheckRequest>(value.clone());
        assert_eq!(check(value).map(|read| format!("{read:?}")).ok(), derived.map(|read| format!("{read:?}")).ok(), "{value}");
    }
}
