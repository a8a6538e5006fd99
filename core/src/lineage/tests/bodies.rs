//! Bodies byte for byte against the postcard crate, tags against a plain use of blake3, and bodies that are sealed with the right key and yet spelled wrong.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use super::super::{Channel, Fault, Grant, Head, KeyRing, Limit, Record, Release};

/// A body as the postcard crate writes it, which is what docs/lineage-format.md says it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct PlainRecord {
    format: u8,
    key: String,
    tenant: String,
    principal: String,
    store: String,
    entry: String,
    entry_version: u64,
    channel: Channel,
    author: String,
    parents: Vec<[u8; 32]>,
    policy: String,
    created_ms: u64,
    content: [u8; 32],
}

#[derive(Serialize)]
struct PlainRelease(u8, &'static str, String, [u8; 32], String, u64, u64);

#[derive(Serialize)]
enum PlainLimit {
    Any,
    OneOf(Vec<String>),
    Max(f64),
}

#[derive(Serialize)]
struct PlainGrant(u8, &'static str, String, String, Option<String>, String, Vec<(String, PlainLimit)>, String, u64, u64);

#[derive(Serialize)]
struct PlainHead(u8, &'static str, String, String, u64, u64, [u8; 32], u64);

const SECRETS: [(&str, [u8; 32]); 2] = [("k1", [1; 32]), ("k2", [2; 32])];

fn ring() -> KeyRing {
    KeyRing::new(SECRETS.iter().map(|(id, secret)| ((*id).to_owned(), *secret)).collect()).unwrap()
}

/// Sealed bytes of a body, with a secret, made without any code of ours.
fn seal(kind: &str, secret: &[u8; 32], body: &[u8]) -> Vec<u8> {
    let sub_key = blake3::derive_key("floodmark 2026-11-30 lineage", secret);
    let tag = blake3::keyed_hash(&sub_key, &[b"floodmark lineage 1 ", kind.as_bytes(), b"\0", body].concat());
    [body, tag.as_bytes()].concat()
}

fn sealed<T: Serialize>(kind: &str, body: &T) -> Vec<u8> {
    seal(kind, &SECRETS[0].1, &postcard::to_allocvec(body).unwrap())
}

fn plain() -> PlainRecord {
    PlainRecord {
        format: 1,
        key: "k1".into(),
        tenant: "acme".into(),
        principal: "alice".into(),
        store: "notes".into(),
        entry: "note-1".into(),
        entry_version: 300,
        channel: Channel::Agent,
        author: "bot".into(),
        parents: vec![[3; 32], [4; 32]],
        policy: "1".into(),
        created_ms: 1_790_000_000_000,
        content: [9; 32],
    }
}

fn ours(plain: &PlainRecord) -> Record<'_> {
    Record {
        tenant: &plain.tenant,
        principal: &plain.principal,
        store: &plain.store,
        entry: &plain.entry,
        entry_version: plain.entry_version,
        channel: plain.channel,
        author: &plain.author,
        parents: &plain.parents,
        policy: &plain.policy,
        created_ms: plain.created_ms,
        content: plain.content,
    }
}

fn text(least: usize, most: usize) -> impl Strategy<Value = String> {
    proptest::collection::vec("[a-zA-Zé日🙂 '\"]", least..=most / 4).prop_map(|letters| letters.concat())
}

fn arguments() -> impl Strategy<Value = BTreeMap<String, Limit>> {
    let limit = prop_oneof![
        Just(Limit::Any),
        proptest::collection::vec(text(0, 20), 1..5).prop_map(Limit::OneOf),
        prop_oneof![Just(-0.0), Just(f64::MIN_POSITIVE), -1e9..1e9].prop_map(Limit::Max),
    ];
    proptest::collection::btree_map(text(1, 20), limit, 0..6)
}

proptest! {
    #[test]
    fn records_are_postcard(
        texts in (text(1, 128), text(1, 256), text(1, 128), text(1, 512), text(0, 256), text(1, 64)),
        numbers in (any::<u64>(), any::<u64>()),
        channel in 0..10usize,
        parents in proptest::collection::btree_set(any::<[u8; 32]>(), 0..=64),
        content in any::<[u8; 32]>(),
    ) {
        let (tenant, principal, store, entry, author, policy) = texts;
        let plain = PlainRecord {
            format: 1, key: "k1".into(), tenant, principal, store, entry, entry_version: numbers.0, channel: Channel::ALL[channel], author,
            parents: parents.into_iter().collect(), policy, created_ms: numbers.1, content,
        };
        let bytes = sealed("record", &plain);
        prop_assert_eq!(ours(&plain).seal(&ring()), Ok(bytes.clone()));
        prop_assert_eq!(Record::open(&bytes, &ring()), Ok(ours(&plain)));
    }

    #[test]
    fn the_other_kinds_are_postcard(
        tenant in text(1, 128),
        name in text(1, 64),
        principal in proptest::option::of(text(1, 256)),
        arguments in arguments(),
        numbers in (any::<u64>(), 0..u64::MAX, 1..u64::MAX),
        digest in any::<[u8; 32]>(),
    ) {
        let (counter, created_ms, more) = numbers;
        let release = Release { tenant: &tenant, content: digest, granter: &name, created_ms, expires_ms: counter };
        let bytes = sealed("release", &PlainRelease(1, "k1", tenant.clone(), digest, name.clone(), created_ms, counter));
        prop_assert_eq!(release.seal(&ring()), Ok(bytes.clone()));
        prop_assert_eq!(Release::open(&bytes, &ring()), Ok(release));

        let head = Head { tenant: &tenant, store: &name, counter, count: more, set: digest, created_ms };
        let bytes = sealed("head", &PlainHead(1, "k1", tenant.clone(), name.clone(), counter, more, digest, created_ms));
        prop_assert_eq!(head.seal(&ring()), Ok(bytes.clone()));
        prop_assert_eq!(Head::open(&bytes, &ring()), Ok(head));

        let expires_ms = created_ms.saturating_add(more);
        let limit = |limit: &Limit| match limit {
            Limit::Any => PlainLimit::Any,
            Limit::OneOf(texts) => PlainLimit::OneOf(texts.clone()),
            Limit::Max(most) => PlainLimit::Max(*most),
        };
        let plain = arguments.iter().map(|(name, value)| (name.clone(), limit(value))).collect();
        let plain = PlainGrant(1, "k1", name.clone(), tenant.clone(), principal.clone(), "t*".into(), plain, name.clone(), created_ms, expires_ms);
        let grant = Grant { granter: name.clone(), name, tenant, principal, tool: "t*".into(), arguments, created_ms, expires_ms };
        let bytes = sealed("grant", &plain);
        prop_assert_eq!(grant.seal(&ring()), Ok(bytes.clone()));
        prop_assert_eq!(Grant::open(&bytes, &ring()), Ok(grant));
    }

    /// Whatever is sealed with the right key and is not exactly what we write is malformed: nothing is read in two ways.
    #[test]
    fn what_opens_is_what_would_be_sealed(at in any::<prop::sample::Index>(), byte in any::<u8>(), how in 0..3u8) {
        let mut body = postcard::to_allocvec(&plain()).unwrap();
        let at = at.index(body.len());
        match how {
            0 => body[at] = byte,
            1 => body.insert(at, byte),
            _ => { body.remove(at); }
        }
        let bytes = seal("record", &SECRETS[0].1, &body);
        match Record::open(&bytes, &ring()) {
            Ok(record) => prop_assert_eq!(record.seal(&ring()), Ok(bytes)),
            // The name of the key was changed, to one that is not there or to the other.
            Err(Fault::UnknownKey | Fault::HashMismatch) => prop_assert!(at <= 4),
            Err(Fault::Malformed) => {}
        }
    }

    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(Record::open(&bytes, &ring()).is_err() && Grant::open(&bytes, &ring()).is_err());
        prop_assert!(Release::open(&bytes, &ring()).is_err() && Head::open(&bytes, &ring()).is_err());
    }
}

/// Every number in a body in one byte more than it needs: postcard reads it, and we do not.
#[test]
fn long_spellings_of_numbers_are_malformed() {
    let body = postcard::to_allocvec(&plain()).unwrap();
    let mut spelled = 0;
    for at in 0..body.len() {
        // The last byte of a number, made to say that more follows, and nothing following.
        let mut long = body.clone();
        long[at] |= 0x80;
        long.insert(at + 1, 0);
        if !postcard::take_from_bytes::<PlainRecord>(&long).is_ok_and(|(read, rest)| read == plain() && rest.is_empty()) {
            continue;
        }
        spelled += 1;
        assert_eq!(Record::open(&seal("record", &SECRETS[0].1, &long), &ring()), Err(Fault::Malformed), "{at}");
    }
    // The lengths of seven texts and of the list, the version, the time and the channel.
    assert_eq!(spelled, 11);
}

/// Bodies with one field out of bounds, and sealed with the right key.
#[test]
fn bounds_hold_for_readers_and_writers() {
    type Change = (&'static str, fn(&mut PlainRecord));
    let changes: [Change; 22] = [
        ("tenant", |record| record.tenant.clear()),
        ("tenant", |record| record.tenant = "t".repeat(129)),
        ("principal", |record| record.principal.clear()),
        ("principal", |record| record.principal = "p".repeat(257)),
        ("store", |record| record.store.clear()),
        ("store", |record| record.store = "s".repeat(129)),
        ("entry", |record| record.entry.clear()),
        ("entry", |record| record.entry = "e".repeat(513)),
        ("author", |record| record.author = "a".repeat(257)),
        ("policy", |record| record.policy.clear()),
        ("policy", |record| record.policy = "p".repeat(65)),
        ("parents", |record| record.parents = (0..65).map(|number| [number; 32]).collect()),
        ("parents", |record| record.parents.reverse()),
        ("parents", |record| record.parents = vec![[3; 32], [3; 32]]),
        ("tenant", |record| record.tenant = "a\nb".into()),
        ("principal", |record| record.principal = "\u{7f}".into()),
        ("store", |record| record.store = "\u{80}".into()),
        ("entry", |record| record.entry = "a\u{9f}".into()),
        ("author", |record| record.author = "\0".into()),
        ("policy", |record| record.policy = "\u{1f}".into()),
        ("key", |record| record.key.clear()),
        ("key", |record| record.key = "k".repeat(33)),
    ];
    for (field, change) in changes {
        let mut record = plain();
        change(&mut record);
        let bytes = sealed("record", &record);
        assert_eq!(Record::open(&bytes, &ring()), Err(Fault::Malformed), "{field} of {record:?}");
        if field != "key" {
            assert_eq!(ours(&record).seal(&ring()).unwrap_err().field, field);
        }
    }
    // Where bounds end they hold, and so do characters that are no control characters: U+00A0, U+00AD and others that begin with C2 in UTF-8.
    let longest = PlainRecord {
        tenant: "t".repeat(128),
        principal: "p".repeat(256),
        store: "s".repeat(128),
        entry: "\u{a0}\u{ad}".repeat(128),
        author: String::new(),
        parents: (0..64).map(|number| [number; 32]).collect(),
        policy: "p".repeat(64),
        entry_version: u64::MAX,
        created_ms: u64::MAX,
        ..plain()
    };
    assert_eq!(Record::open(&sealed("record", &longest), &ring()), Ok(ours(&longest)));
}

#[test]
fn a_tag_holds_for_one_kind_and_one_key() {
    let body = postcard::to_allocvec(&plain()).unwrap();
    assert!(Record::open(&seal("record", &SECRETS[0].1, &body), &ring()).is_ok());
    for kind in ["grant", "release", "head", "Record", "record\0"] {
        assert_eq!(Record::open(&seal(kind, &SECRETS[0].1, &body), &ring()), Err(Fault::HashMismatch), "{kind}");
    }
    // Another key of the ring, under this one's name.
    assert_eq!(Record::open(&seal("record", &SECRETS[1].1, &body), &ring()), Err(Fault::HashMismatch));
    // A retired key verifies.
    let old = PlainRecord { key: "k2".into(), ..plain() };
    assert_eq!(Record::open(&seal("record", &SECRETS[1].1, &postcard::to_allocvec(&old).unwrap()), &ring()), Ok(ours(&old)));
    let unknown = PlainRecord { key: "k3".into(), ..plain() };
    assert_eq!(Record::open(&sealed("record", &unknown), &ring()), Err(Fault::UnknownKey));
}

#[test]
fn rings_have_names_and_show_nothing_else() {
    use super::super::RingError::{Count, Name, Twice};
    let ring_of = |ids: &[&str]| KeyRing::new(ids.iter().map(|id| ((*id).to_owned(), [0xab; 32])).collect());
    assert_eq!(alloc::format!("{:?}", ring_of(&["k1", "old"]).unwrap()), "[\"k1\", \"old\"]");
    let ids: Vec<String> = (0..9).map(|number| alloc::format!("k{number}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    assert!(ring_of(&ids[..8]).is_ok());
    let long = "k".repeat(33);
    let wrong =
        [(&[][..], Count), (&ids, Count), (&["a", ""], Name(1)), (&[&long], Name(0)), (&["a\n"], Name(0)), (&["a", "b", "a"], Twice(2))];
    for (ids, error) in wrong {
        assert_eq!(ring_of(ids).unwrap_err(), error);
    }
}
