//! The oracle's cases and its gate table, realised by real entries: the store makes a record of each, the test tampers with them, and the gate is asked about each.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::engines::{Engine, FACT, Native, ORDER, Wasm, entry, using};
use crate::support::repository;

fn oracle() -> Value {
    serde_json::from_slice(&std::fs::read(repository("testdata/lineage/oracle.json")).unwrap()).unwrap()
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_else(|| panic!("no {key} in {value}"))
}

/// An entry as it lies in the store.
#[derive(Clone)]
struct Kept {
    content: String,
    record: String,
    hash: String,
}

/// A hash that no record has.
fn nothing(id: &str) -> String {
    blake3::hash(id.as_bytes()).to_hex().to_string()
}

/// The same record with one letter of its body changed: the store's name, which is this test's.
fn changed(record: &str) -> String {
    let store: String = "oracle".bytes().map(|byte| format!("{byte:02x}")).collect();
    let other: String = "oraclf".bytes().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(record.matches(&store).count(), 1);
    record.replace(&store, &other)
}

/// The entries of a case, made in order and then tampered with. A parent that is not there yet, which would make a cycle, is a hash that nothing has: nobody
/// can know a record's hash before it is made.
fn stored(engine: &mut dyn Engine, case: &Value) -> BTreeMap<String, Kept> {
    let mut kept: BTreeMap<String, Kept> = BTreeMap::new();
    for one in case["entries"].as_array().unwrap() {
        let id = text(one, "id");
        let content = one["content"].as_str().map_or_else(|| format!("Note {id} of {}: {FACT}", text(case, "name")), str::to_owned);
        let parents = one["parents"].as_array().unwrap().iter().map(|parent| parent.as_str().unwrap());
        let parents: Vec<String> =
            parents.map(|parent| kept.get(parent).map_or_else(|| nothing(parent), |parent| parent.hash.clone())).collect();
        let parents: Vec<&str> = parents.iter().map(String::as_str).collect();
        let mut request = entry("oracle", &format!("{} {id}", text(case, "name")), text(one, "channel"), &content, &parents);
        request["author"] = one["author"].clone();
        let answer = engine.mint(&request);
        kept.insert(id.to_owned(), Kept { content, record: text(&answer, "record").to_owned(), hash: text(&answer, "hash").to_owned() });
    }
    for tamper in case["tamper"].as_array().unwrap() {
        let id = text(tamper, "id");
        match text(tamper, "how") {
            "content_changed" => kept.get_mut(id).unwrap().content.push('!'),
            "record_changed" => {
                let one = kept.get_mut(id).unwrap();
                one.record = changed(&one.record);
            }
            "deleted" => drop(kept.remove(id)),
            other => panic!("{other}"),
        }
    }
    kept
}

/// Asks about one entry, with all others as its ancestors.
fn asked(case: &Value, kept: &BTreeMap<String, Kept>, id: &str, effect: &str) -> Value {
    let one = &kept[id];
    let mut request = using("oracle", &format!("{} {id}", text(case, "name")), &one.content, &json!(one.record), effect);
    let others = kept.iter().filter(|(other, _)| *other != id);
    request["ancestors"] = others.map(|(_, other)| json!({"record": other.record, "content": other.content})).collect();
    request
}

#[test]
fn the_oracles_cases_natively_and_through_the_endpoints() {
    let (mut native, mut wasm) = (Native::new(&json!({})), Wasm::new());
    let oracle = oracle();
    let cases = oracle["cases"].as_array().unwrap();
    let mut asked_about = 0;
    for case in cases {
        assert_eq!(case["approved_sources"], json!(["docs.example"]), "as configured");
        let kept = stored(&mut native, case);
        let same = stored(&mut wasm, case);
        for (id, expected) in case["expect"].as_object().unwrap() {
            let name = format!("{} {id}", text(case, "name"));
            assert_eq!(kept[id].record, same[id].record, "{name}: the same record");
            let request = asked(case, &kept, id, "read");
            let answer = native.check(&request);
            assert_eq!(answer, wasm.check(&request), "{name}");
            assert_eq!(answer["authority_class"], expected["authority_class"], "{name}: {answer}");
            // The name of the reason may differ.
            assert_eq!(answer["broken"].is_null(), expected["broken"].is_null(), "{name}: {answer}");
            asked_about += 1;
        }
    }
    assert_eq!((cases.len(), asked_about), (141, 810));
    assert_eq!(wasm.0.metric("floodmark_host_errors"), Some(0));
}

/// Entries that have a row's class, are broken in its way, and are like an instruction or not.
fn row_case(row: &Value) -> Value {
    let class = row["authority_class"].as_u64().unwrap();
    let (channel, author) =
        [("user", "x"), ("approved_source", "docs.example"), ("agent", "x"), ("web", "evil.example")][class as usize - 1];
    let mut parents: Vec<&str> = if class == 3 { vec!["parent"] } else { vec![] };
    let (mut tamper, broken) = (vec![], row["broken"].as_str().unwrap_or(""));
    match broken {
        "" => {}
        "hash_mismatch" => tamper.push(json!({"id": "one", "how": "record_changed"})),
        "missing_parent" => parents.push("nowhere"),
        "cycle" => parents.push("one"),
        "broken_parent" => {
            parents = vec!["parent"];
            tamper.push(json!({"id": "parent", "how": "content_changed"}));
        }
        other => panic!("{other}"),
    }
    let like = row["instruction_like"].as_bool().unwrap();
    let name = format!("class {class} {broken} {like} {} {}", text(row, "effect"), row["in_mandate"]);
    json!({"name": name, "tamper": tamper, "entries": [
        {"id": "parent", "channel": "user", "author": "x", "parents": []},
        {"id": "one", "channel": channel, "author": author, "parents": parents, "content": if like { ORDER } else { FACT }},
    ]})
}

#[test]
fn every_row_of_the_gate_table_natively_and_through_the_endpoints() {
    let (mut native, mut wasm) = (Native::new(&json!({})), Wasm::new());
    let oracle = oracle();
    let rows = oracle["gate_table"].as_array().unwrap();
    for row in rows {
        let case = row_case(row);
        let name = text(&case, "name");
        let engines: [&mut dyn Engine; 2] = [&mut native, &mut wasm];
        let answers = engines.map(|engine| {
            let kept = stored(engine, &case);
            let mut request = asked(&case, &kept, "one", text(row, "effect"));
            let amount = if row["in_mandate"] == json!(true) { 900.0 } else { 900.5 };
            request["call"] = json!({"tool": "pay", "arguments": {"to": "Ms Roe", "amount": amount}});
            engine.check(&request)
        });
        let [answer, same] = answers;
        assert_eq!(answer, same, "{name}");
        let (decision, reason) = match text(row, "expect") {
            "run" => ("run", None),
            "allow_with_label" => ("label", None),
            "ask_user" => ("ask", None),
            "quarantine_untrusted" => ("quarantine", Some("untrusted")),
            "quarantine_broken_lineage" => ("quarantine", Some("broken_lineage")),
            other => panic!("{other}"),
        };
        assert_eq!((text(&answer, "decision"), answer["reason"].as_str()), (decision, reason), "{name}: {answer}");
        assert_eq!(answer["instruction_like"], row["instruction_like"], "{name}: {answer}");
        assert_eq!(answer["broken"].is_null(), row["broken"].is_null(), "{name}: {answer}");
        let class = if row["broken"].is_null() { row["authority_class"].clone() } else { json!(4) };
        assert_eq!(answer["authority_class"], class, "{name}: {answer}");
        assert_eq!(answer["label"].is_string(), decision == "label", "{name}: {answer}");
    }
    assert_eq!(rows.len(), 160);
    let counted = ["run", "label", "ask", "quarantine"].map(|decision| wasm.counted(&format!("decision={decision}")));
    assert_eq!(counted, [22, 2, 2, 134]);
}
