//! The memory store against somebody who can write its file: another process, without the keys, runs SQL on it.

mod common;

use common::{Place, tamper};
use floodmark_core::lineage::{Broken, Channel, Class, Decision, Why};
use floodmark_examples::store::{New, Store, Use};

const STORE: &str = "memories";

/// Alice's seat, in two versions; a page from the web; a summary of the seat; Bob's seat; a seat in another tenant's store.
fn filled(place: &Place) {
    let mut store = Store::create(place.options("acme", STORE)).unwrap();
    let new = |entry, content, channel, parents| New { entry, content, channel, author: "", parents };
    store.remember("alice", &new("seat", "Alice wants an aisle seat.", Channel::User, &[])).unwrap();
    store.remember("alice", &new("seat", "Alice wants a window seat.", Channel::User, &[])).unwrap();
    store.remember("alice", &new("page", "The lounge opens at six.", Channel::Web, &[])).unwrap();
    store.remember("alice", &new("trip", "Alice flies at the window.", Channel::Agent, &["seat"])).unwrap();
    store.remember("alice", &new("plan", "Alice is in the lounge at six, then at the window.", Channel::Agent, &["seat", "page"])).unwrap();
    store.remember("bob", &new("seat", "Bob does not mind.", Channel::User, &[])).unwrap();
    let mut other = Store::create(place.options("globex", STORE)).unwrap();
    other.remember("alice", &new("seat", "Another Alice wants no seat.", Channel::User, &[])).unwrap();
}

/// Decision, class and what is wrong with an entry, whatever the head says.
fn seen(place: &Place, principal: &str, entry: &str) -> (Decision, Class, Option<Broken>, Option<Why>) {
    let (_, answer) = Store::inspect(place.options("acme", STORE)).unwrap().recall(principal, entry, Use::default()).unwrap();
    (answer.decision, answer.authority_class, answer.broken, answer.why)
}

fn head_problem(place: &Place) -> Option<String> {
    Store::open(place.options("acme", STORE)).err().map(|error| error.to_string())
}

#[test]
fn entries_come_back_with_their_class() {
    let place = Place::new();
    filled(&place);
    assert_eq!(head_problem(&place), None);
    let store = Store::open(place.options("acme", STORE)).unwrap();
    let (content, answer) = store.recall("alice", "seat", Use::default()).unwrap();
    assert_eq!((content.as_str(), answer.decision, answer.version), ("Alice wants a window seat.", Decision::Run, Some(2)));
    assert_eq!(seen(&place, "alice", "trip"), (Decision::Run, Class::Derived, None, None));
    assert_eq!(seen(&place, "alice", "page"), (Decision::Label, Class::Untrusted, None, None));
    assert_eq!(seen(&place, "alice", "plan"), (Decision::Label, Class::Untrusted, None, None));
    assert!(store.recall("bob", "trip", Use::default()).is_err());
}

#[test]
fn what_another_process_does_to_a_row_shows() {
    let broken = |broken| (Decision::Quarantine, Class::Untrusted, Some(broken), None);
    let why = |why| (Decision::Label, Class::Untrusted, None, Some(why));
    let copy = "INSERT OR REPLACE INTO entries SELECT";
    let seat = "FROM entries WHERE tenant = 'acme' AND principal = 'alice' AND entry = 'seat' AND version = 2";
    let alice = "tenant = 'acme' AND principal = 'alice' AND entry = 'seat'";
    for (what, sql, (principal, entry), row, head) in [
        (
            "content",
            format!("UPDATE entries SET content = 'Alice wants two seats.' WHERE {alice}"),
            ("alice", "seat"),
            broken(Broken::ContentMismatch),
            None,
        ),
        (
            "a parent's content",
            format!("UPDATE entries SET content = 'Alice wants two seats.' WHERE {alice}"),
            ("alice", "trip"),
            broken(Broken::BrokenParent),
            None,
        ),
        (
            "another entry's record",
            "UPDATE entries SET record = (SELECT record FROM entries WHERE entry = 'trip') WHERE entry = 'page'".into(),
            ("alice", "page"),
            broken(Broken::ContentMismatch),
            Some("but they are others"),
        ),
        (
            "record's last byte",
            "UPDATE entries SET record = CAST(substr(record, 1, length(record) - 1) || x'00' AS BLOB) WHERE entry = 'page'".into(),
            ("alice", "page"),
            broken(Broken::HashMismatch),
            Some("but they are others"),
        ),
        (
            "record taken away",
            "UPDATE entries SET record = NULL WHERE entry = 'trip'".into(),
            ("alice", "trip"),
            why(Why::NoRecord),
            Some("but they are others"),
        ),
        (
            "a row deleted",
            format!("DELETE FROM entries WHERE {alice}"),
            ("alice", "trip"),
            broken(Broken::MissingParent),
            Some("the head says 6 rows, there are 4"),
        ),
        (
            "copied to another key",
            format!("{copy} tenant, store, principal, 'meal', 1, content, record, hash {seat}"),
            ("alice", "meal"),
            broken(Broken::WrongEntry),
            Some("the head says 6 rows, there are 7"),
        ),
        (
            "copied to another principal",
            format!("{copy} tenant, store, 'bob', entry, version, content, record, hash {seat}"),
            ("bob", "seat"),
            why(Why::OtherPrincipal),
            Some("the head says 6 rows, there are 7"),
        ),
        (
            "copied from another tenant",
            format!("{copy} 'acme', store, principal, entry, 3, content, record, hash FROM entries WHERE tenant = 'globex'"),
            ("alice", "seat"),
            why(Why::OtherPrincipal),
            Some("the head says 6 rows, there are 7"),
        ),
        (
            "an older version over the newer",
            format!("{copy} tenant, store, principal, entry, 2, content, record, hash FROM entries WHERE {alice} AND version = 1"),
            ("alice", "seat"),
            why(Why::Stale),
            Some("but they are others"),
        ),
        (
            "the newer version deleted",
            format!("DELETE FROM entries WHERE {alice} AND version = 2"),
            ("alice", "seat"),
            // The row itself is as it was sealed: only the head knows that there was a newer one.
            (Decision::Run, Class::User, None, None),
            Some("the head says 6 rows, there are 5"),
        ),
        (
            "a row added",
            "INSERT INTO entries VALUES ('acme', 'memories', 'alice', 'iban', 1, 'The account is new.', NULL, NULL)".into(),
            ("alice", "iban"),
            why(Why::NoRecord),
            Some("the head says 6 rows, there are 7"),
        ),
        (
            "a row added with made-up bytes",
            "INSERT INTO entries VALUES ('acme', 'memories', 'alice', 'iban', 1, 'The account is new.', x'01026b31', NULL)".into(),
            ("alice", "iban"),
            broken(Broken::Malformed),
            Some("the head says 6 rows, there are 7"),
        ),
        (
            "another tenant's head",
            "UPDATE heads SET head = (SELECT head FROM heads WHERE tenant = 'globex') WHERE tenant = 'acme'".into(),
            ("alice", "seat"),
            (Decision::Run, Class::User, None, None),
            Some("the head is another store's"),
        ),
        (
            "the head deleted",
            "DELETE FROM heads".into(),
            ("alice", "seat"),
            (Decision::Run, Class::User, None, None),
            Some("the store has no head"),
        ),
    ] {
        let place = Place::new();
        filled(&place);
        let before = seen(&place, "alice", "trip");
        tamper(&place.db(), &sql);
        assert_eq!(seen(&place, principal, entry), row, "{what}");
        match (head_problem(&place), head) {
            (found, None) => assert_eq!(found, None, "{what}: no row's record changed, so the rows show it and the head does not"),
            (found, Some(expected)) => assert!(found.as_ref().is_some_and(|found| found.contains(expected)), "{what}: {found:?}"),
        }
        assert_eq!(before, (Decision::Run, Class::Derived, None, None));
    }
}

#[test]
fn a_file_put_back_with_its_head_is_seen_only_by_a_counter_kept_elsewhere() {
    let place = Place::new();
    filled(&place);
    let saved = std::fs::read(place.db()).unwrap();
    let newer = New { entry: "seat", content: "Alice stays at home.", channel: Channel::User, author: "", parents: &[] };
    Store::open(place.options("acme", STORE)).unwrap().remember("alice", &newer).unwrap();
    std::fs::write(place.db(), saved).unwrap();
    // Rows and head belong together, each is as it was sealed: nothing in the file says that there was more.
    assert_eq!(head_problem(&place), None);
    assert_eq!(seen(&place, "alice", "seat"), (Decision::Run, Class::User, None, None));

    let place = Place::new().with_counter();
    let mut store = Store::create(place.options("acme", STORE)).unwrap();
    store.remember("alice", &newer).unwrap();
    let saved = std::fs::read(place.db()).unwrap();
    store.remember("alice", &newer).unwrap();
    drop(store);
    assert_eq!(head_problem(&place), None);
    std::fs::write(place.db(), saved).unwrap();
    let problem = head_problem(&place).unwrap();
    assert!(problem.contains("its head says change 1, the counter file 2"), "{problem}");
    // Nor does an empty file look like a new store.
    std::fs::remove_file(place.db()).unwrap();
    let error = Store::create(place.options("acme", STORE)).err().unwrap().to_string();
    assert!(error.contains("were taken away"), "{error}");
}

#[test]
fn a_store_that_was_written_by_others_takes_nothing_until_somebody_looked() {
    let place = Place::new().with_counter();
    filled(&Place { counter: None, ..place.again() });
    let mut store = Store::reseal(place.options("acme", STORE)).unwrap();
    tamper(&place.db(), "UPDATE entries SET record = NULL WHERE entry = 'trip'");
    tamper(&place.db(), "UPDATE heads SET head = x'00' WHERE tenant = 'acme'");
    let new = New { entry: "late", content: "Late.", channel: Channel::User, author: "", parents: &[] };
    assert!(store.remember("alice", &new).unwrap_err().to_string().contains("somebody else changed the store"));
    assert!(head_problem(&place).unwrap().contains("the head itself is not ours"));
    Store::reseal(place.options("acme", STORE)).unwrap().remember("alice", &new).unwrap();
    assert_eq!(head_problem(&place), None);
    // Looking at it made nothing better.
    assert_eq!(seen(&place, "alice", "trip").3, Some(Why::NoRecord));
}

#[test]
fn forgetting_leaves_a_head_that_is_right() {
    let place = Place::new();
    filled(&place);
    let mut store = Store::open(place.options("acme", STORE)).unwrap();
    store.forget("alice", "seat").unwrap();
    assert!(store.recall("alice", "seat", Use::default()).is_err());
    assert!(store.forget("alice", "seat").is_err());
    assert_eq!(head_problem(&place), None);
    assert_eq!(seen(&place, "alice", "trip").2, Some(Broken::MissingParent));
}

#[test]
fn a_retired_key_verifies_and_a_lost_one_does_not() {
    let place = Place::new();
    filled(&place);
    let rotated = Place { keys: vec!["new", "k"], ..place.again() };
    let mut store = Store::open(rotated.options("acme", STORE)).unwrap();
    store.remember("alice", &New { entry: "meal", content: "Alice eats fish.", channel: Channel::User, author: "", parents: &[] }).unwrap();
    assert_eq!(head_problem(&rotated), None);
    assert_eq!(seen(&rotated, "alice", "seat"), (Decision::Run, Class::User, None, None));
    let lost = Place { keys: vec!["new"], ..place.again() };
    assert_eq!(seen(&lost, "alice", "seat"), (Decision::Label, Class::Untrusted, None, Some(Why::UnknownKey)));
    assert_eq!(seen(&lost, "alice", "meal"), (Decision::Run, Class::User, None, None));
}
