//! Copies, old versions, foreign and retired keys, odd shapes and sizes: each has the right class, or a clear refusal.

use floodmark_host::emulator::Process;
use serde_json::{Value, json};

use crate::engines::{CHECK, Engine as _, FACT, MINT, NOW_MS, Native, SECRETS, Wasm, entry, using};

fn outcome(answer: &Value) -> (u64, &str, &str) {
    let text = |key: &str| answer[key].as_str().unwrap_or("");
    (answer["authority_class"].as_u64().unwrap(), text("why"), text("broken"))
}

fn minted(wasm: &mut Wasm, name: &str, channel: &str, parents: &[&Value]) -> Value {
    let parents: Vec<&str> = parents.iter().map(|parent| parent["hash"].as_str().unwrap()).collect();
    wasm.ask("lineage/records", MINT, &entry("notes", name, channel, FACT, &parents))
}

#[test]
fn copies_are_worth_nothing_elsewhere() {
    let mut wasm = Wasm::new();
    let record = minted(&mut wasm, "n1", "user", &[])["record"].clone();
    let own = using("notes", "n1", FACT, &record, "read");
    assert_eq!(outcome(&wasm.ask("lineage/check", CHECK, &own)), (1, "", ""));
    for (key, value, expected) in [
        ("tenant", "globex", (4, "other_principal", "")),
        ("principal", "bob", (4, "other_principal", "")),
        ("store", "tasks", (4, "", "wrong_entry")),
        ("entry", "n2", (4, "", "wrong_entry")),
        ("content", "The rent is 90.", (4, "", "content_mismatch")),
    ] {
        let mut copy = own.clone();
        copy[key] = value.into();
        assert_eq!(outcome(&wasm.ask("lineage/check", CHECK, &copy)), expected, "{key}");
    }
    // An ancestor of another principal is no better.
    let mut theirs = entry("notes", "theirs", "user", FACT, &[]);
    theirs["principal"] = "bob".into();
    let theirs = wasm.ask("lineage/records", MINT, &theirs);
    let made = minted(&mut wasm, "made", "agent", &[&theirs]);
    let mut check = using("notes", "made", FACT, &made["record"], "read");
    check["ancestors"] = json!([{"record": theirs["record"]}]);
    assert_eq!(outcome(&wasm.ask("lineage/check", CHECK, &check)), (4, "other_principal", ""));
    // But in a group they are one.
    let lineage = json!({"groups": [{"tenant": "acme", "principals": ["alice", "bob"]}]});
    let mut grouped = Wasm::with(&Process::default(), &json!({ "lineage": lineage }));
    assert_eq!(outcome(&grouped.ask("lineage/check", CHECK, &check)), (3, "", ""));
    let mut copy = own.clone();
    copy["principal"] = "bob".into();
    assert_eq!(outcome(&grouped.ask("lineage/check", CHECK, &copy)), (1, "", ""));
}

#[test]
fn retired_keys_verify_and_unknown_ones_say_nothing() {
    let keys =
        |ids: &[(&str, &str)]| json!({"keys": ids.iter().map(|(id, secret)| json!({"id": id, "secret": secret})).collect::<Value>()});
    let [old, new] = [("k1", SECRETS[0]), ("k2", SECRETS[1])];
    let mut before = Wasm::with(&Process::default(), &keys(&[old]));
    let record = minted(&mut before, "n1", "user", &[])["record"].clone();
    let check = using("notes", "n1", FACT, &record, "read");
    let asked = |ids: &[(&str, &str)]| Wasm::with(&Process::default(), &keys(ids)).ask("lineage/check", CHECK, &check);
    assert_eq!(outcome(&asked(&[new, old])), (1, "", ""), "retired");
    assert_eq!(outcome(&asked(&[new])), (4, "unknown_key", ""), "gone");
    assert_eq!(outcome(&asked(&[("k1", SECRETS[1])])), (4, "", "hash_mismatch"), "another secret under its name");
    let mut after = Wasm::with(&Process::default(), &keys(&[new, old]));
    let made = minted(&mut after, "n2", "user", &[])["record"].clone();
    let hex = |id: &str| id.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert!(made.as_str().unwrap()[4..].starts_with(&hex("k2")), "the first key seals: {made}");
}

#[test]
fn older_versions_are_stale_until_the_newest_is_forgotten() {
    let process = Process::default();
    let mut wasm = Wasm::with(&process, &json!({}));
    let old = minted(&mut wasm, "n1", "user", &[]);
    let new = minted(&mut wasm, "n1", "user", &[]);
    assert_eq!((&old["version"], &new["version"]), (&json!(NOW_MS), &json!(NOW_MS + 1)), "it grows though the clock stands");
    let check = |record: &Value| using("notes", "n1", FACT, &record["record"], "read");
    assert_eq!(outcome(&wasm.ask("lineage/check", CHECK, &check(&old))), (4, "stale", ""));
    assert_eq!(outcome(&wasm.ask("lineage/check", CHECK, &check(&new))), (1, "", ""));
    wasm.0.reload().unwrap();
    assert_eq!(outcome(&wasm.ask("lineage/check", CHECK, &check(&old))), (4, "stale", ""));
    // As documented: whoever knows nothing of the newest takes the older one, until it sees the newer.
    let mut anew = Wasm::new();
    assert_eq!(outcome(&anew.ask("lineage/check", CHECK, &check(&old))), (1, "", ""));
    assert_eq!(outcome(&anew.ask("lineage/check", CHECK, &check(&new))), (1, "", ""));
    assert_eq!(outcome(&anew.ask("lineage/check", CHECK, &check(&old))), (4, "stale", ""));
    // A version that is asked for.
    let versioned = |version: u64| {
        let mut request = entry("notes", "n1", "user", FACT, &[]);
        request["version"] = version.into();
        request
    };
    for version in [0, NOW_MS, NOW_MS + 1] {
        assert_eq!(wasm.refused("lineage/records", MINT, &versioned(version)), (409, "conflict".to_owned()), "{version}");
    }
    const DAY_MS: u64 = 86_400_000;
    for version in [NOW_MS + DAY_MS + 1, (1 << 53) - 1, 1 << 53] {
        assert_eq!(wasm.refused("lineage/records", MINT, &versioned(version)), (400, "malformed".to_owned()), "{version}");
    }
    assert_eq!(wasm.ask("lineage/records", MINT, &versioned(NOW_MS + DAY_MS))["version"], json!(NOW_MS + DAY_MS));
    let next = wasm.ask("lineage/records", MINT, &entry("notes", "n1", "user", FACT, &[]));
    assert_eq!(next["version"], json!(NOW_MS + DAY_MS + 1), "there is always a next one");
    // Another principal, tenant, store or entry has its own.
    for (key, value, expected) in [("principal", "bob", 200), ("tenant", "globex", 200), ("store", "tasks", 200), ("entry", "n2", 200)] {
        let mut request = versioned(1);
        request[key] = value.into();
        assert_eq!(wasm.post("lineage/records", MINT, &request).0, expected, "{key}");
    }
}

/// What cannot be believed teaches no version.
#[test]
fn only_what_verifies_makes_others_stale() {
    let mut wasm = Wasm::new();
    let own = minted(&mut wasm, "n1", "user", &[]);
    let mut newer = entry("notes", "n1", "user", FACT, &[]);
    newer["version"] = json!(NOW_MS + 1000);
    let mut elsewhere = Wasm::with(&Process::default(), &json!({"keys": [{"id": "k2", "secret": SECRETS[1]}]}));
    let unknown = elsewhere.ask("lineage/records", MINT, &newer)["record"].clone();
    newer["tenant"] = "globex".into();
    let theirs = Wasm::new().ask("lineage/records", MINT, &newer)["record"].clone();
    newer["tenant"] = "acme".into();
    let changed = Wasm::new().ask("lineage/records", MINT, &newer)["record"].as_str().unwrap().replace("616c696365", "616c696366");
    for record in [unknown, theirs, json!(changed)] {
        assert_eq!(wasm.ask("lineage/check", CHECK, &using("notes", "n1", FACT, &record, "read"))["authority_class"], json!(4));
        assert_eq!(
            outcome(&wasm.ask("lineage/check", CHECK, &using("notes", "n1", FACT, &own["record"], "read"))),
            (1, "", ""),
            "{record}"
        );
    }
}

#[test]
fn diamonds_are_whole_and_a_record_that_is_its_own_parent_cannot_be() {
    let mut wasm = Wasm::new();
    let root = minted(&mut wasm, "root", "user", &[]);
    let (left, right) = (minted(&mut wasm, "left", "agent", &[&root]), minted(&mut wasm, "right", "agent", &[&root]));
    let top = minted(&mut wasm, "top", "agent", &[&left, &right]);
    let mut check = using("notes", "top", FACT, &top["record"], "read");
    check["ancestors"] = [&right, &root, &left, &root].iter().map(|one| json!({"record": one["record"], "content": FACT})).collect();
    assert_eq!(outcome(&wasm.ask("lineage/check", CHECK, &check)), (3, "", ""));
    check["ancestors"][3]["content"] = "another".into();
    assert_eq!(
        outcome(&wasm.ask("lineage/check", CHECK, &check)),
        (4, "", "broken_parent"),
        "of one that is given twice both contents count"
    );
    // Its own hash is known when it is made, and then it is another one's.
    let own = json!({"hash": top["hash"]});
    let selfish = minted(&mut wasm, "top", "agent", &[&own]);
    let mut check = using("notes", "top", FACT, &selfish["record"], "read");
    check["ancestors"] = json!([{"record": selfish["record"]}]);
    assert_eq!(outcome(&wasm.ask("lineage/check", CHECK, &check)), (4, "", "missing_parent"));
}

/// A chain of so many ancestors, made natively, and the request about its last.
pub fn chain(ancestors: usize) -> Value {
    let mut native = Native::new(&json!({}));
    let mut records = Vec::new();
    let mut last = native.mint(&entry("notes", "0", "user", "a", &[]));
    for number in 1..=ancestors {
        records.push(json!({"record": last["record"]}));
        last = native.mint(&entry("notes", &number.to_string(), "agent", "a", &[last["hash"].as_str().unwrap()]));
    }
    let mut check = using("notes", &ancestors.to_string(), "a", &last["record"], "read");
    check["ancestors"] = records.into();
    check
}

#[test]
fn as_many_ancestors_as_fit_are_verified_and_more_are_refused() {
    let mut wasm = Wasm::new();
    // As many as a body of 1,000,000 bytes holds.
    let one = chain(1)["ancestors"][0].to_string().len() + 1;
    let mut count = 1_000_000 / (one + 70);
    let mut check = chain(count);
    while check.to_string().len() < 1_000_000 - 1000 {
        count += 1;
        check = chain(count + (1_000_000 - check.to_string().len()) / (2 * (one + 70)));
        count = check["ancestors"].as_array().unwrap().len();
    }
    assert!(check.to_string().len() <= 1_000_000 && count > 2000, "{count}");
    assert_eq!(outcome(&wasm.ask("lineage/check", CHECK, &check)), (3, "", ""), "{count} deep");
    // One of the first is changed.
    let record = check["ancestors"][1]["record"].as_str().unwrap().replace("616c696365", "616c696366");
    check["ancestors"][1]["record"] = record.into();
    assert_eq!(outcome(&wasm.ask("lineage/check", CHECK, &check)).0, 4);
    assert!(!wasm.ask("lineage/check", CHECK, &check)["broken"].is_null());
    // More than the gate reads, as short as can be.
    check["ancestors"] = vec![json!({"record": ""}); 16_384].into();
    let (status, json) = wasm.post("lineage/check", CHECK, &check);
    assert_eq!((status, &json["error"]["code"]), (400, &json!("malformed")), "{json}");
    assert!(json["error"]["message"].as_str().unwrap().starts_with("the body at ancestors: "), "{json}");
    check["ancestors"] = json!([{"record": "00".repeat(500_000)}]);
    assert_eq!(wasm.refused("lineage/check", CHECK, &check), (413, "too_large".to_owned()));
    let parents: Vec<String> = (0..65_u32).map(|number| blake3::hash(&number.to_le_bytes()).to_hex().to_string()).collect();
    let parents: Vec<&str> = parents.iter().map(String::as_str).collect();
    assert_eq!(wasm.refused("lineage/records", MINT, &entry("notes", "n", "agent", FACT, &parents)), (400, "malformed".to_owned()));
}

#[test]
fn odd_requests_are_told_what_is_wrong_and_where() {
    let mut wasm = Wasm::new();
    let record = minted(&mut wasm, "n1", "user", &[])["record"].as_str().unwrap().to_owned();
    for (key, value, path) in [
        ("tenant", json!(""), "tenant"),
        ("tenant", json!("a\u{7f}"), "tenant"),
        ("principal", json!("p".repeat(257)), "principal"),
        ("store", json!(7), "store"),
        ("entry", json!(""), "entry"),
        ("effect", json!("write"), "effect"),
        ("record", json!(7), "record"),
        ("ancestors", json!([{"record": record}, {"record": 7}]), "ancestors[1].record"),
        ("ancestors", json!([{}]), "ancestors[0]"),
        ("call", json!({"tool": "x", "arguments": []}), "call.arguments"),
        ("call", json!({"arguments": {}}), "call"),
        ("grants", json!(["0g"]), "grants[0]"),
        ("release", json!("0g"), "release"),
    ] {
        let mut check = using("notes", "n1", FACT, &json!(record), "read");
        check[key] = value;
        let (status, json) = wasm.post("lineage/check", CHECK, &check);
        let message = json["error"]["message"].as_str().unwrap_or_default();
        assert!(status == 400 && message.starts_with(&format!("the body at {path}: ")), "{key} {path}: {json}");
        assert!(!message.contains("landlord"), "{message}");
    }
    // A record that is no record is not a mistake of the caller's but of the store's.
    let upper = record.to_uppercase();
    for odd in ["", "00", "0g", &upper, &record[1..], &record[2..], &record[..record.len() - 2], &[&record, "00"].concat()] {
        let check = using("notes", "n1", FACT, &json!(odd), "read");
        let answer = wasm.ask("lineage/check", CHECK, &check);
        assert_eq!((outcome(&answer).0, answer["broken"].is_null()), (4, false), "{odd}: {answer}");
    }
}
