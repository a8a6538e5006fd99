//! The independent oracle, through sealed records and through requests.

use std::collections::BTreeMap;

use floodmark_core::lineage::{Channel, Class, Decision, Digest, Gate, Reason, record_hash};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Entry, FACT, INSTRUCTION, JUDGE, RING, Said, ask, request, verify_with};

#[derive(Deserialize)]
struct Oracle {
    gate_table: Vec<Row>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Row {
    authority_class: u8,
    broken: Option<String>,
    instruction_like: bool,
    effect: String,
    in_mandate: bool,
    expect: String,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    approved_sources: Vec<String>,
    entries: Vec<StoreRow>,
    tamper: Vec<Tamper>,
    expect: BTreeMap<String, Expected>,
}

#[derive(Deserialize)]
struct StoreRow {
    id: String,
    channel: Channel,
    author: String,
    parents: Vec<String>,
}

#[derive(Deserialize)]
struct Tamper {
    id: String,
    how: String,
}

#[derive(Deserialize)]
struct Expected {
    authority_class: u8,
    broken: Option<String>,
}

fn oracle() -> Oracle {
    serde_json::from_str(include_str!("../../../testdata/lineage/oracle.json")).expect("the oracle")
}

/// A case's entries as a store would hold them after the tampering. A circle cannot be sealed: its first entry names a record that there will never be.
fn store(case: &Case) -> BTreeMap<&str, Entry> {
    let mut store: BTreeMap<&str, Entry> = BTreeMap::new();
    for row in &case.entries {
        let hash = |parent: &String| store.get(parent.as_str()).map_or(Digest([7; 32]), |entry| record_hash(&entry.sealed));
        let parents: Vec<Digest> = row.parents.iter().map(hash).collect();
        let content = format!("content of {}", row.id);
        let said = Said { entry: &row.id, channel: row.channel, author: &row.author, content: &content, ..Said::default() };
        store.insert(&row.id, said.seal_on(&parents, &RING));
    }
    for Tamper { id, how } in &case.tamper {
        let entry = store.get_mut(id.as_str()).expect("an entry");
        match how.as_str() {
            "content_changed" => entry.content.push('!'),
            // The last byte of the content's digest, before the tag.
            "record_changed" => {
                let at = entry.sealed.len() - 33;
                entry.sealed[at] ^= 1;
            }
            "deleted" => drop(store.remove(id.as_str())),
            other => panic!("the oracle says {other}"),
        }
    }
    store
}

#[test]
fn classes_through_records_and_requests() {
    let (mut entries, mut broken) = (0, 0);
    for case in &oracle().cases {
        let store = store(case);
        let gate = Gate { approved_sources: case.approved_sources.clone(), ..Gate::default() };
        let ancestors: Vec<Entry> = store.values().cloned().collect();
        for (id, entry) in &store {
            let expected = &case.expect[*id];
            let said = Said { entry: id, ..Said::default() };
            let lineage = verify_with(said, entry, &ancestors, None, &gate, &RING);
            let name = format!("{id} of {}", case.name);
            assert_eq!(lineage.class().number(), expected.authority_class, "{name}");
            assert_eq!(lineage.broken().is_some(), expected.broken.is_some(), "{name}");
            assert_eq!(lineage.why(), None, "{name}");
            let answer = serde_json::to_value(ask(&request(said, entry, &ancestors, "read"), &gate, None)).expect("JSON");
            assert_eq!(answer["authority_class"], json!(expected.authority_class), "{name}");
            assert_eq!(answer["broken"].is_null(), expected.broken.is_none(), "{name}");
            entries += 1;
            broken += usize::from(lineage.broken().is_some());
        }
    }
    assert_eq!((entries, broken), (810, 88));
}

/// Every row of the table as a request: the class by a record of that class, what is broken by breaking it, likeness by the text, the mandate by the configuration.
#[test]
fn the_table_through_requests() {
    let table = oracle().gate_table;
    assert_eq!(table.len(), 160);
    let mandates = json!({"approved_sources": ["docs.example"], "mandates": [{"name": "m", "tool": "send", "arguments": {}}]});
    let [inside, outside]: [Gate; 2] =
        [mandates, json!({"approved_sources": ["docs.example"]})].map(|gate| serde_json::from_value(gate).expect("a gate"));
    assert_eq!([FACT, INSTRUCTION].map(|text| JUDGE.instruction_like(text).is_some()), [false, true]);
    for row in table {
        let content = if row.instruction_like { INSTRUCTION } else { FACT };
        let parent = Said { entry: "parent", ..Said::default() }.seal(&[], &RING);
        let channel = [Channel::User, Channel::ApprovedSource, Channel::Agent, Channel::Web][usize::from(row.authority_class) - 1];
        let said = Said { channel, author: "docs.example", content, ..Said::default() };
        let mut entry = said.seal(&[&parent], &RING);
        let mut ancestors = vec![parent];
        match row.broken.as_deref() {
            None => {}
            Some("hash_mismatch") => *entry.sealed.last_mut().expect("a tag") ^= 1,
            Some("missing_parent" | "cycle") => ancestors.clear(),
            Some("broken_parent") => ancestors[0].content.push('!'),
            Some(other) => panic!("the oracle says {other}"),
        }
        let mut request = request(said, &entry, &ancestors, &row.effect);
        request["call"] = json!({"tool": "send"});
        let answer = ask(&request, if row.in_mandate { &inside } else { &outside }, None);
        let expected = match row.expect.as_str() {
            "run" => (Decision::Run, None),
            "allow_with_label" => (Decision::Label, None),
            "ask_user" => (Decision::Ask, None),
            "quarantine_broken_lineage" => (Decision::Quarantine, Some(Reason::BrokenLineage)),
            "quarantine_untrusted" => (Decision::Quarantine, Some(Reason::Untrusted)),
            other => panic!("the oracle says {other}"),
        };
        assert_eq!((answer.decision, answer.reason), expected);
        if row.broken.is_none() {
            assert_eq!(answer.authority_class.number(), row.authority_class);
        }
        assert_eq!(answer.label.is_some(), answer.decision == Decision::Label);
        assert_eq!(answer.mandate.is_some(), answer.authority_class == Class::Derived && row.effect == "side_effect" && row.in_mandate);
        let _: Value = serde_json::to_value(&answer).expect("JSON");
    }
}
