//! The vectors of testdata/lineage, which an independent program made: every byte of what it sealed, and what it refuses.

use std::collections::BTreeMap;

use floodmark_core::lineage::{
    Ancestor, Channel, Digest, Fault, Gate, Grant, Head, KeyRing, Limit, Record, Release, StoreHead, decode_hex, encode_hex, record_hash,
};
use serde::Deserialize;
use serde_json::Value;

use crate::{Entry, NOW_MS, Said, verify_records};

#[derive(Deserialize)]
struct Vectors {
    secrets: Vec<Secret>,
    valid: Vec<Valid>,
    invalid: Vec<Invalid>,
    sets: Vec<Set>,
    chains: Chains,
}

#[derive(Deserialize)]
struct Secret {
    id: String,
    secret: Digest,
    sub_key: Digest,
}

#[derive(Deserialize)]
struct Valid {
    kind: String,
    fields: Fields,
    sealed: String,
    hash: Option<Digest>,
    content: Option<String>,
}

/// The fields of all kinds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    format: u8,
    key: String,
    tenant: String,
    created_ms: u64,
    principal: Option<String>,
    store: Option<String>,
    entry: Option<String>,
    entry_version: Option<u64>,
    channel: Option<Channel>,
    author: Option<String>,
    parents: Option<Vec<Digest>>,
    policy: Option<String>,
    content: Option<Digest>,
    granter: Option<String>,
    expires_ms: Option<u64>,
    name: Option<String>,
    tool: Option<String>,
    arguments: Option<Vec<Argument>>,
    counter: Option<u64>,
    count: Option<u64>,
    set: Option<Digest>,
}

#[derive(Deserialize)]
struct Argument {
    name: String,
    limit: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct Invalid {
    kind: String,
    expect: String,
    what: String,
    sealed: String,
}

#[derive(Deserialize)]
struct Set {
    key: String,
    hashes: Vec<Digest>,
    set: Digest,
}

#[derive(Deserialize)]
struct Chains {
    approved_sources: Vec<String>,
    tenant: String,
    principal: String,
    store: String,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    record: String,
    entry: String,
    content: String,
    ancestors: Vec<String>,
    authority_class: u8,
    broken: bool,
}

fn vectors() -> Vectors {
    serde_json::from_str(include_str!("../../../testdata/lineage/vectors.json")).expect("the vectors")
}

impl Vectors {
    /// A ring of all secrets whose first is the one of this name.
    fn ring(&self, first: &str) -> KeyRing {
        let mut secrets: Vec<(String, [u8; 32])> = self.secrets.iter().map(|secret| (secret.id.clone(), secret.secret.0)).collect();
        secrets.sort_by_key(|(id, _)| id != first);
        KeyRing::new(secrets).expect("a ring")
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    assert!(decode_hex(hex, &mut bytes), "{hex}");
    bytes
}

fn limit(limit: &BTreeMap<String, Value>) -> Limit {
    match limit.first_key_value().map(|(kind, value)| (kind.as_str(), value)) {
        Some(("any", _)) => Limit::Any,
        Some(("max", most)) => Limit::Max(most.as_f64().expect("a number")),
        Some(("one_of", texts)) => Limit::OneOf(serde_json::from_value(texts.clone()).expect("texts")),
        other => panic!("{other:?}"),
    }
}

/// Seals the fields of a vector, and opens what the vector has sealed.
fn rebuilt(kind: &str, fields: &Fields, sealed: &[u8], ring: &KeyRing) -> Vec<u8> {
    let text = |text: &Option<String>| text.clone().expect("a text");
    let [store, granter] = [&fields.store, &fields.granter].map(|text| text.clone().unwrap_or_default());
    let (tenant, created_ms, expires_ms) = (fields.tenant.as_str(), fields.created_ms, fields.expires_ms.unwrap_or_default());
    let content = fields.content.map_or([0; 32], |digest| digest.0);
    let bytes = match kind {
        "record" => {
            let [principal, entry, author, policy] = [&fields.principal, &fields.entry, &fields.author, &fields.policy].map(text);
            let parents: Vec<[u8; 32]> = fields.parents.as_ref().expect("parents").iter().map(|parent| parent.0).collect();
            let record = Record {
                tenant,
                principal: &principal,
                store: &store,
                entry: &entry,
                entry_version: fields.entry_version.expect("a version"),
                channel: fields.channel.expect("a channel"),
                author: &author,
                parents: &parents,
                policy: &policy,
                created_ms,
                content,
            };
            assert_eq!(Record::open(sealed, ring), Ok(record));
            record.seal(ring)
        }
        "release" => {
            let release = Release { tenant, content, granter: &granter, created_ms, expires_ms };
            assert_eq!(Release::open(sealed, ring), Ok(release));
            release.seal(ring)
        }
        "grant" => {
            let arguments = fields.arguments.as_ref().expect("arguments").iter();
            let grant = Grant {
                name: text(&fields.name),
                tenant: tenant.to_owned(),
                principal: fields.principal.clone(),
                tool: text(&fields.tool),
                arguments: arguments.map(|argument| (argument.name.clone(), limit(&argument.limit))).collect(),
                granter,
                created_ms,
                expires_ms,
            };
            assert_eq!(Grant::open(sealed, ring), Ok(grant.clone()));
            grant.seal(ring)
        }
        "head" => {
            let [counter, count] = [fields.counter, fields.count].map(|number| number.expect("a number"));
            let head = Head { tenant, store: &store, counter, count, set: fields.set.expect("a set").0, created_ms };
            assert_eq!(Head::open(sealed, ring), Ok(head));
            head.seal(ring)
        }
        other => panic!("{other}"),
    };
    bytes.expect("in bounds")
}

#[test]
fn every_byte_of_the_valid_ones() {
    let vectors = vectors();
    assert!(vectors.valid.len() >= 22);
    for secret in &vectors.secrets {
        assert_eq!(floodmark_core::keys::derive("lineage", &secret.secret.0), secret.sub_key.0);
    }
    for Valid { kind, fields, sealed, hash, content } in &vectors.valid {
        assert_eq!(fields.format, 1);
        let rebuilt = rebuilt(kind, fields, &bytes(sealed), &vectors.ring(&fields.key));
        assert_eq!(encode_hex(&rebuilt), *sealed);
        if let Some(hash) = hash {
            assert_eq!(record_hash(&rebuilt), *hash);
        }
        if let (Some(content), "record") = (content, kind.as_str()) {
            assert_eq!(Some(Digest::of(content.as_bytes())), fields.content);
        }
    }
    let hashed = vectors.valid.iter().filter(|valid| valid.kind == "record" && valid.hash.is_some()).count();
    assert_eq!(hashed, vectors.valid.iter().filter(|valid| valid.kind == "record").count());
}

#[test]
fn what_must_be_refused() {
    let vectors = vectors();
    let ring = vectors.ring("k1");
    assert!(vectors.invalid.len() >= 33);
    for Invalid { kind, expect, what, sealed } in &vectors.invalid {
        let sealed = bytes(sealed);
        let found = match kind.as_str() {
            "record" => Record::open(&sealed, &ring).map(|_| ()),
            "grant" => Grant::open(&sealed, &ring).map(|_| ()),
            "release" => Release::open(&sealed, &ring).map(|_| ()),
            "head" => Head::open(&sealed, &ring).map(|_| ()),
            other => panic!("{other}"),
        };
        let expected = match expect.as_str() {
            "malformed" => Fault::Malformed,
            "unknown_key" => Fault::UnknownKey,
            "hash_mismatch" => Fault::HashMismatch,
            other => panic!("{other}"),
        };
        assert_eq!(found, Err(expected), "{kind}: {what}");
    }
}

#[test]
fn sets_of_rows() {
    let vectors = vectors();
    for Set { key, hashes, set } in &vectors.sets {
        let ring = vectors.ring(key);
        let mut head = StoreHead::new(&ring);
        hashes.iter().for_each(|hash| head.add(hash));
        let sealed = head.seal("acme", "notes", NOW_MS, &ring).expect("in bounds");
        assert_eq!(Head::open(&sealed, &ring).expect("a head").set, set.0, "{} rows", hashes.len());
    }
}

#[test]
fn chains_and_their_classes() {
    let vectors = vectors();
    let ring = vectors.ring("k1");
    let Chains { approved_sources, tenant, principal, store, cases } = &vectors.chains;
    let gate = Gate { approved_sources: approved_sources.clone(), ..Gate::default() };
    for (number, case) in cases.iter().enumerate() {
        let said = Said { tenant, principal, store, entry: &case.entry, ..Said::default() };
        let presented = Entry { content: case.content.clone(), sealed: bytes(&case.record) };
        let ancestors: Vec<Vec<u8>> = case.ancestors.iter().map(|hex| bytes(hex)).collect();
        let ancestors: Vec<Ancestor<'_>> = ancestors.iter().map(|record| Ancestor { record, content: None }).collect();
        let lineage = verify_records(said, &presented, &ancestors, None, &gate, &ring);
        assert_eq!((lineage.class().number(), lineage.broken().is_some()), (case.authority_class, case.broken), "{number}");
    }
}
