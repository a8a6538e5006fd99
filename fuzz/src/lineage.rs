//! Sealed things of a store that somebody else can write, and entries with hostile ancestors.

use std::sync::LazyLock;

use floodmark_core::lineage::{
    Ancestor, AncestorRequest, Channel, CheckRequest, Class, Decision, Digest, Effect, Fault, Gate, Grant, Head, KeyRing, Presented,
    Record, Release, SealError, VerifiedLineage, check, encode_hex, record_hash,
};

use crate::body::JUDGE;
use crate::{number, pieces};

/// The first secret of testdata/lineage/vectors.json, so that the seeds open.
static SECRET: LazyLock<[u8; 32]> = LazyLock::new(|| std::array::from_fn(|at| at as u8));
static RING: LazyLock<KeyRing> = LazyLock::new(|| KeyRing::new(vec![("k1".to_owned(), *SECRET)]).unwrap());
static GATE: LazyLock<Gate> = LazyLock::new(|| Gate { approved_sources: vec!["docs".to_owned()], ..Gate::default() });
const KINDS: [&str; 4] = ["record", "grant", "release", "head"];
const MAX_RECORDS: usize = 13;

/// Sealed bytes, as they are and with the right tag: what opens is byte for byte what would be sealed. Then an entry whose ancestors they choose, and one of which
/// they change a byte.
pub fn lineage(data: &[u8]) {
    let mut rest = data;
    let kind = number(&mut rest, KINDS.len());
    let as_it_is = opens_as_sealed(kind, rest);
    let body = rest.split_last_chunk::<32>().map_or(rest, |(body, _)| body);
    let sub_key = blake3::derive_key("floodmark 2026-11-30 lineage", &*SECRET);
    let tag = blake3::keyed_hash(&sub_key, &[b"floodmark lineage 1 ", KINDS[kind].as_bytes(), b"\0", body].concat());
    let found = opens_as_sealed(kind, &[body, tag.as_bytes()].concat());
    // With the right tag there is one key in the ring, and it is this one.
    assert!(found != Err(Fault::HashMismatch) && (as_it_is.is_err() || found.is_ok()));
    ancestors(rest);
}

fn opens_as_sealed(kind: usize, sealed: &[u8]) -> Result<(), Fault> {
    let again = |again: Result<Vec<u8>, SealError>| assert_eq!(again.as_deref(), Ok(sealed));
    match kind {
        0 => Record::open(sealed, &RING).map(|record| again(record.seal(&RING))),
        1 => Grant::open(sealed, &RING).map(|grant| again(grant.seal(&RING))),
        2 => Release::open(sealed, &RING).map(|release| again(release.seal(&RING))),
        _ => Head::open(sealed, &RING).map(|head| again(head.seal(&RING))),
    }
}

/// A store of a few records, each of which names some of those before it.
struct Store {
    sealed: Vec<Vec<u8>>,
    /// What the specification says of each, computed as it is made.
    classes: Vec<Class>,
}

fn store(data: &mut &[u8]) -> Store {
    let mut store = Store { sealed: Vec::new(), classes: Vec::new() };
    for entry in 0..=number(data, MAX_RECORDS - 1) {
        let channel = Channel::ALL[number(data, Channel::ALL.len())];
        let flags = number(data, 256);
        let [alices, approved] = [flags & 1 == 0, flags & 2 == 0];
        let mask = number(data, 256) | number(data, 256) << 8;
        let chosen: Vec<usize> = (0..entry).filter(|parent| mask >> parent & 1 == 1).collect();
        let mut parents: Vec<[u8; 32]> = chosen.iter().map(|parent| record_hash(&store.sealed[*parent]).0).collect();
        parents.sort_unstable();
        let own = match channel {
            _ if !alices => Class::Untrusted,
            Channel::User => Class::User,
            Channel::ApprovedSource if approved => Class::Approved,
            Channel::Agent if !chosen.is_empty() => Class::Derived,
            _ => Class::Untrusted,
        };
        store.classes.push(chosen.iter().map(|parent| store.classes[*parent]).fold(own, Class::max));
        let record = Record {
            tenant: "acme",
            principal: if alices { "alice" } else { "bob" },
            store: "notes",
            entry: &entry.to_string(),
            entry_version: flags as u64,
            channel,
            author: if approved { "docs" } else { "evil" },
            parents: &parents,
            policy: "1",
            created_ms: mask as u64,
            content: Digest::of(b"text").0,
        };
        store.sealed.push(record.seal(&RING).unwrap());
    }
    store
}

fn verify(record: &[u8], entry: usize, ancestors: &[&[u8]]) -> VerifiedLineage {
    let ancestors: Vec<Ancestor<'_>> = ancestors.iter().map(|record| Ancestor { record, content: None }).collect();
    let entry = entry.to_string();
    let presented = Presented {
        tenant: "acme",
        principal: "alice",
        store: "notes",
        entry: &entry,
        content: Digest::of(b"text"),
        record: Some(record),
        newest: None,
    };
    VerifiedLineage::verify(&presented, &ancestors, &GATE, &RING).unwrap()
}

fn ancestors(mut data: &[u8]) {
    let Store { sealed, classes } = store(&mut data);
    let last = sealed.len() - 1;
    let honest: Vec<&[u8]> = sealed.iter().map(Vec::as_slice).collect();
    let found = verify(&sealed[last], last, &honest);
    assert_eq!((found.class(), found.broken()), (classes[last], None));
    // Neither their order nor anything beside them changes it.
    let hostile = pieces(&mut data);
    let more: Vec<&[u8]> = hostile.iter().copied().chain(honest.iter().rev().copied()).collect();
    assert_eq!(verify(&sealed[last], last, &more), found);
    // A changed byte of any record makes it no better: the record is broken or nobody's, or it is missed, or it was not among the ancestors.
    let (which, at, bit) = (number(&mut data, sealed.len()), number(&mut data, 256), number(&mut data, 8));
    let mut changed = sealed.clone();
    let length = changed[which].len();
    changed[which][at % length] ^= 1 << bit;
    let records: Vec<&[u8]> = changed.iter().map(Vec::as_slice).collect();
    let harmed = verify(&changed[last], last, &records);
    assert!(harmed.class() >= found.class());
    assert!(which != last || harmed.class() == Class::Untrusted);

    let ancestor = |record: &&[u8]| AncestorRequest { record: encode_hex(record), content: None };
    let text = String::from_utf8_lossy(data).into_owned();
    let request = CheckRequest {
        tenant: "acme".to_owned(),
        principal: "alice".to_owned(),
        store: "notes".to_owned(),
        entry: Some(last.to_string()),
        content: text,
        record: Some(encode_hex(&changed[last])),
        ancestors: hostile.iter().chain(&records).map(ancestor).collect(),
        effect: if bit % 2 == 0 { Effect::Read } else { Effect::SideEffect },
        call: None,
        grants: vec![encode_hex(data)],
        release: Some(encode_hex(data)),
        run: None,
    };
    let answer = check(&request, &GATE, &RING, &JUDGE, None, 1).unwrap();
    assert_eq!(answer, check(&request, &GATE, &RING, &JUDGE, None, 1).unwrap());
    if answer.broken.is_some() && !answer.released {
        assert_eq!(answer.decision, Decision::Quarantine);
    }
    assert!(answer.authority_class < Class::Untrusted || answer.decision != Decision::Run);
}
