//! The lineage gate as the library has it: records minted and entries checked, with the keys, the gate's configuration and the time from the caller.
use floodmark_core::lineage::{self, CheckAnswer, CheckRequest, Digest, Gate, KeyRing, MintAnswer, MintRequest, RequestError};
use floodmark_core::{Judge, Policy};
use floodmark_tables::TABLES;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// What a gateway has from its configuration, its tables and its clock.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Setup {
    /// The first seals, all verify.
    keys: Vec<Key>,
    #[serde(default)]
    gate: Gate,
    /// Unix time in milliseconds.
    now_ms: u64,
    /// The version to mint, where the request has none.
    #[serde(default)]
    version: u64,
    /// The newest version of the entry that was ever seen.
    newest: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Key {
    id: String,
    /// 64 hex digits in lower case.
    secret: Digest,
}

impl Setup {
    fn read(text: &str) -> Result<(Self, KeyRing), String> {
        let setup: Setup = read("setup", text)?;
        setup.gate.check().map_err(|(path, problem)| format!("setup.gate.{path}: {problem}"))?;
        let ring = KeyRing::new(setup.keys.iter().map(|key| (key.id.clone(), key.secret.0)).collect());
        let ring = ring.map_err(|error| format!("setup.keys: {error:?}; give 1 to 8 keys with ids of 1 to 32 bytes, each once"))?;
        Ok((setup, ring))
    }
}

/// Seals the record of an entry.
pub fn mint(request: &str, setup: &str) -> Result<MintAnswer, String> {
    let (setup, ring) = Setup::read(setup)?;
    let request: MintRequest = read("request", request)?;
    lineage::mint(&request, &setup.gate, &ring, request.version.unwrap_or(setup.version), setup.now_ms).map_err(of_request)
}

/// Says what may become of an entry.
pub fn check(request: &str, setup: &str) -> Result<CheckAnswer, String> {
    let (setup, ring) = Setup::read(setup)?;
    let request: CheckRequest = read("request", request)?;
    let judge = Judge::new(&Policy::default(), &TABLES).map_err(|error| format!("{}: {}", error.key, error.problem))?;
    lineage::check(&request, &setup.gate, &ring, &judge, setup.newest, setup.now_ms).map_err(of_request)
}

fn read<T: DeserializeOwned>(what: &str, text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| format!("{what}: {error}"))
}

fn of_request(error: RequestError) -> String {
    format!("request.{}: {}", error.path, error.problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETUP: &str = r#"{"keys":[{"id":"k","secret":"5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a"}],"now_ms":1}"#;

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let request = r#"{"tenant":"","principal":"p","store":"s","channel":"user","content":"c"}"#;
        for (request, setup, expected) in [
            (request, "{}", "setup: missing field `keys`"),
            (request, r#"{"keys":[],"now_ms":1}"#, "setup.keys: Count"),
            (request, &SETUP.replace("\"now_ms\"", "\"now\""), "setup: unknown field `now`"),
            (request, &SETUP.replace("{\"keys\"", "{\"gate\":{\"policy\":\"\"},\"keys\""), "setup.gate.policy: "),
            ("{\"class\":1}", SETUP, "request: unknown field `class`"),
            (request, SETUP, "request.tenant: "),
        ] {
            let error = mint(request, setup).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
            assert!(!error.contains("5a5a"), "{error}");
        }
    }

    #[test]
    fn a_minted_entry_checks() {
        let entry = r#""tenant":"t","principal":"p","store":"s","content":"c""#;
        let minted = mint(&format!("{{{entry},\"channel\":\"user\"}}"), SETUP).unwrap();
        let answer = check(&format!("{{{entry},\"effect\":\"read\",\"record\":\"{}\"}}", minted.record), SETUP).unwrap();
        assert_eq!((answer.authority_class, answer.broken), (lineage::Class::User, None));
    }
}
