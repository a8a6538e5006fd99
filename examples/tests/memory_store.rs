//! The memory store against somebody who can write its file: another process, without the keys, runs SQL on it.

mod common;

use common::{Place, tamper, verify};
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

/// Decision, class and what is wrong with an entry.
type Seen = (Decision, Class, Option<Broken>, Option<Why>);

/// What is seen of an entry, whatever the head says.
fn look(place: &Place, principal: &str, entry: &str) -> Result<Seen, String> {
    let answer = Store::inspect(place.options("acme", STORE)).and_then(|mut store| store.recall(principal, entry, Use::default()));
    let (_, answer) = answer.map_err(|error| format!("{error:#}"))?;
    Ok((answer.decision, answer.authority_class, answer.broken, answer.why))
}

fn seen(place: &Place, principal: &str, entry: &str) -> Seen {
    look(place, principal, entry).unwrap()
}

fn head_problem(place: &Place) -> Option<String> {
    Store::open(place.options("acme", STORE)).err().map(|error| format!("{error:#}"))
}

#[test]
fn entries_come_back_with_their_class() {
    let place = Place::new();
    filled(&place);
    assert_eq!(head_problem(&place), None);
    assert!(verify(&place).0, "{}", verify(&place).1);
    let mut store = Store::open(place.options("acme", STORE)).unwrap();
    let (content, answer) = store.recall("alice", "seat", Use::default()).unwrap();
    assert_eq!((content.as_str(), answer.decision, answer.version), ("Alice wants a window seat.", Decision::Run, Some(2)));
    assert_eq!(seen(&place, "alice", "trip"), (Decision::Run, Class::Derived, None, None));
    assert_eq!(seen(&place, "alice", "page"), (Decision::Label, Class::Untrusted, None, None));
    assert_eq!(seen(&place, "alice", "plan"), (Decision::Label, Class::Untrusted, None, None));
    assert!(store.recall("bob", "trip", Use::default()).is_err());
}

/// What passes once there is a new head over it, because what is gone left no trace in other rows: why `reseal` is for an administrator who has looked.
const RESEALED: [&str; 6] = [
    "a row deleted that nothing was made of",
    "the same row twice",
    "another tenant's head",
    "the head deleted",
    "the head without a value",
    "the head of another type",
];

#[test]
fn what_another_process_does_to_the_file_shows() {
    let broken = |broken| Ok((Decision::Quarantine, Class::Untrusted, Some(broken), None));
    let why = |why| Ok((Decision::Label, Class::Untrusted, None, Some(why)));
    // The row itself is as it was sealed: only the head knows.
    let run = Ok((Decision::Run, Class::User, None, None));
    let (moved, no_text, tables) = (Err("somebody moved it"), Err("is no text"), "not as `init` makes them");
    let others = Some("but they are others");
    let (fewer, more) = (Some("the head says 6 rows, there are 5"), Some("the head says 6 rows, there are 7"));
    let copy = "INSERT INTO entries SELECT NULL,";
    let alice = "tenant = 'acme' AND principal = 'alice' AND entry = 'seat'";
    let older = &format!("{alice} AND content LIKE '%aisle%'");
    let newer = &format!("{alice} AND content LIKE '%window%'");
    let set = |columns: &str| format!("UPDATE entries SET {columns} WHERE {newer}");
    let made = |columns: &str| format!("INSERT INTO entries VALUES (NULL, 'acme', 'memories', {columns})");
    let head = |value: &str| format!("UPDATE heads SET head = {value} WHERE tenant = 'acme'");
    let retabled = |with: &str| {
        format!(
            "CREATE TABLE other ({with}, tenant TEXT, store TEXT, principal TEXT, entry TEXT, content TEXT, record BLOB); \
             INSERT INTO other SELECT * FROM entries; DROP TABLE entries; ALTER TABLE other RENAME TO entries"
        )
    };
    let (seat, trip, page, iban) = (("alice", "seat"), ("alice", "trip"), ("alice", "page"), ("alice", "iban"));
    for (what, sql, (principal, entry), row, head) in [
        // The text and the record.
        ("content", set("content = 'Alice wants two seats.'"), seat, broken(Broken::ContentMismatch), None),
        ("a parent's content", set("content = 'Alice wants two seats.'"), trip, broken(Broken::BrokenParent), None),
        ("an older version's content", format!("UPDATE entries SET content = '' WHERE {older}"), seat, run, None),
        (
            "another entry's record",
            "UPDATE entries SET record = (SELECT record FROM entries WHERE entry = 'trip') WHERE entry = 'page'".into(),
            page,
            Err("has no entry"),
            others,
        ),
        (
            "record's last byte",
            "UPDATE entries SET record = CAST(substr(record, 1, length(record) - 1) || x'00' AS BLOB) WHERE entry = 'page'".into(),
            page,
            broken(Broken::HashMismatch),
            others,
        ),
        ("record taken away", "UPDATE entries SET record = NULL WHERE entry = 'trip'".into(), trip, why(Why::NoRecord), others),
        // Rows that come and go.
        ("a row deleted", format!("DELETE FROM entries WHERE {alice}"), trip, broken(Broken::MissingParent), Some("there are 4")),
        ("a row deleted that nothing was made of", "DELETE FROM entries WHERE principal = 'bob'".into(), seat, run, fewer),
        ("the newer version deleted", format!("DELETE FROM entries WHERE {newer}"), seat, run, fewer),
        (
            "the newer version deleted in WAL mode",
            format!("PRAGMA journal_mode = WAL; DELETE FROM entries WHERE {newer}"),
            seat,
            run,
            fewer,
        ),
        (
            "an older version over the newer",
            format!("UPDATE entries SET (content, record) = (SELECT content, record FROM entries WHERE {older}) WHERE {newer}"),
            seat,
            run,
            others,
        ),
        (
            "the same row twice",
            format!("{copy} tenant, store, principal, entry, content, record FROM entries WHERE {newer}"),
            seat,
            run,
            more,
        ),
        (
            "copied to another key",
            format!("{copy} tenant, store, principal, 'meal', content, record FROM entries WHERE {newer}"),
            ("alice", "meal"),
            Err("has no entry"),
            more,
        ),
        (
            "copied to another principal",
            format!("{copy} tenant, store, 'carol', entry, content, record FROM entries WHERE {newer}"),
            ("carol", "seat"),
            Err("has no entry"),
            more,
        ),
        (
            "copied from another tenant",
            format!("{copy} 'acme', store, principal, 'meal', content, record FROM entries WHERE tenant = 'globex'"),
            ("alice", "meal"),
            broken(Broken::WrongEntry),
            more,
        ),
        (
            "copied from another tenant, over one",
            format!("{copy} 'acme', store, principal, entry, content, record FROM entries WHERE tenant = 'globex'"),
            seat,
            run,
            more,
        ),
        ("a row added", made("'alice', 'iban', 'The account is new.', NULL"), iban, why(Why::NoRecord), more),
        ("a row added over one", made("'alice', 'seat', 'Alice wants two seats.', NULL"), seat, run, more),
        ("a row added with made-up bytes", made("'alice', 'iban', 'New.', x'01026b31'"), iban, broken(Broken::Malformed), more),
        ("a row of nothing", made("NULL, NULL, NULL, NULL"), iban, Err("has no entry"), more),
        // Each column alone: what a row is called is not sealed, what its record calls it is.
        ("tenant alone", set("tenant = 'initech'"), seat, run, fewer),
        ("store alone", set("store = 'others'"), seat, run, fewer),
        ("principal alone", set("principal = 'nobody'"), seat, moved, None),
        ("principal alone, to one that there is", set("principal = 'bob'"), ("bob", "seat"), run, None),
        ("entry alone", set("entry = 'zzz'"), seat, moved, None),
        ("entry alone, to one that there is", set("entry = 'page'"), page, Ok((Decision::Label, Class::Untrusted, None, None)), None),
        ("an older version's entry", format!("UPDATE entries SET entry = 'zzz' WHERE {older}"), seat, run, None),
        // Types that SQLite does not hold anybody to.
        ("content as bytes", set("content = CAST(content AS BLOB)"), seat, no_text, None),
        ("content as a number", set("content = 5"), seat, broken(Broken::ContentMismatch), None),
        ("content that is not UTF-8", set("content = CAST(x'ff' AS TEXT)"), seat, no_text, None),
        ("no content", set("content = NULL"), seat, no_text, None),
        ("a parent without content", set("content = NULL"), trip, broken(Broken::MissingParent), None),
        ("record as text", set("record = CAST(record AS TEXT)"), trip, broken(Broken::MissingParent), others),
        ("record as a number", "UPDATE entries SET record = 1 WHERE entry = 'page'".into(), page, why(Why::NoRecord), others),
        ("no principal", set("principal = NULL"), seat, moved, None),
        ("entry as bytes", set("entry = CAST(entry AS BLOB)"), seat, moved, None),
        ("tenant of another type", set("tenant = CAST(tenant AS BLOB)"), seat, run, fewer),
        // The head.
        ("another tenant's head", head("(SELECT head FROM heads WHERE tenant = 'globex')"), seat, run, Some("the head is another store's")),
        ("the head deleted", "DELETE FROM heads".into(), seat, run, Some("the store has no head")),
        ("the head without a value", head("NULL"), seat, run, Some("the head itself is not ours")),
        ("the head of another type", head("'head'"), seat, run, Some("the head itself is not ours")),
        // What would run, or do something else, when the store is written.
        (
            "a trigger",
            format!("CREATE TRIGGER t AFTER INSERT ON entries BEGIN DELETE FROM entries WHERE {newer}; END"),
            seat,
            Err(tables),
            Some(tables),
        ),
        (
            "a view",
            "ALTER TABLE entries RENAME TO other; CREATE VIEW entries AS SELECT * FROM other".into(),
            seat,
            Err(tables),
            Some(tables),
        ),
        ("a table that drops rows", retabled("id INTEGER PRIMARY KEY ON CONFLICT IGNORE"), seat, Err(tables), Some(tables)),
        ("a table that computes", retabled("id INTEGER PRIMARY KEY CHECK (abs(id) > 0)"), seat, Err(tables), Some(tables)),
        ("an index", "CREATE INDEX i ON entries (abs(id))".into(), seat, Err(tables), Some(tables)),
    ] {
        let place = Place::new();
        filled(&place);
        assert_eq!(seen(&place, "alice", "trip"), (Decision::Run, Class::Derived, None, None));
        tamper(&place.db(), &sql);
        match (look(&place, principal, entry), row) {
            (Err(found), Err(expected)) => assert!(found.contains(expected), "{what}: {found}"),
            (found, expected) => assert_eq!(found, expected.map_err(str::to_owned), "{what}"),
        }
        match (head_problem(&place), head) {
            (found, None) => assert_eq!(found, None, "{what}: no row's record changed, so the rows show it and the head does not"),
            (found, Some(expected)) => assert!(found.as_ref().is_some_and(|found| found.contains(expected)), "{what}: {found:?}"),
        }
        let (passes, said) = verify(&place);
        assert!(!passes, "{what}: {said}");
        let resealed = Store::reseal(place.options("acme", STORE)).is_ok() && verify(&place).0;
        assert_eq!(resealed, RESEALED.contains(&what), "{what}: {}", verify(&place).1);
    }
}

#[test]
fn numbers_of_rows_mean_nothing() {
    for sql in ["UPDATE entries SET id = -id", "UPDATE entries SET id = 99 WHERE content LIKE '%aisle%'", "VACUUM; REINDEX"] {
        let place = Place::new();
        filled(&place);
        tamper(&place.db(), sql);
        let (content, answer) = Store::open(place.options("acme", STORE)).unwrap().recall("alice", "seat", Use::default()).unwrap();
        assert_eq!((content.as_str(), answer.decision), ("Alice wants a window seat.", Decision::Run), "{sql}");
        assert!(verify(&place).0, "{sql}: {}", verify(&place).1);
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
    assert!(problem.contains("its head says change 1, there was change 2"), "{problem}");
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
    assert!(store.remember("alice", &new).unwrap_err().to_string().contains("the head itself is not ours"));
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
