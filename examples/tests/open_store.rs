//! A store that a process keeps open while others write its file: processes of ours, and somebody without a key. And the counter file, which is kept elsewhere.

mod common;

use common::{Place, tamper, verify};
use floodmark_core::lineage::Channel;
use floodmark_examples::store::{New, Store, Use};

const STORE: &str = "memories";

fn new<'a>(entry: &'a str, content: &'a str, parents: &'a [&'a str]) -> New<'a> {
    New { entry, content, channel: if parents.is_empty() { Channel::User } else { Channel::Agent }, author: "", parents }
}

/// A seat in two versions, and a trip made of the newer.
fn filled(place: &Place) -> Store {
    let mut store = Store::create(place.options("acme", STORE)).unwrap();
    store.remember("alice", &new("seat", "old", &[])).unwrap();
    store.remember("alice", &new("seat", "new", &[])).unwrap();
    store.remember("alice", &new("trip", "with the seat", &["seat"])).unwrap();
    store
}

fn open(place: &Place) -> anyhow::Result<Store> {
    Store::open(place.options("acme", STORE))
}

/// The text of the seat, or why there is none.
fn seat(store: &mut Store) -> Result<String, String> {
    store.recall("alice", "seat", Use::default()).map(|(text, _)| text).map_err(|error| error.to_string())
}

#[test]
fn what_others_write_is_noticed_by_a_store_that_is_open() {
    let copy = "INSERT INTO entries SELECT NULL, tenant, store, principal, entry, content, record FROM entries WHERE";
    for (sql, expected) in [
        ("DELETE FROM entries WHERE content = 'new'".into(), "the head says 3 rows, there are 2"),
        ("UPDATE entries SET principal = 'nobody' WHERE content = 'new'".into(), "somebody moved it"),
        ("UPDATE entries SET entry = 'zzz' WHERE content = 'new'".into(), "somebody moved it"),
        ("UPDATE entries SET tenant = 'globex' WHERE content = 'new'".into(), "the head says 3 rows, there are 2"),
        ("UPDATE entries SET content = x'00' WHERE content = 'new'".into(), "is no text"),
        (format!("{copy} content = 'old'"), "the head says 3 rows, there are 4"),
        ("UPDATE entries SET record = (SELECT record FROM entries WHERE content = 'old') WHERE content = 'new'".into(), "they are others"),
        ("CREATE TRIGGER t AFTER INSERT ON entries BEGIN DELETE FROM entries; END".into(), "not as `init` makes them"),
        ("UPDATE heads SET head = x'00'".into(), "the head itself is not ours"),
        ("DELETE FROM heads".into(), "the store has no head"),
        ("DELETE FROM heads; DELETE FROM entries".into(), "the store has no head"),
    ] {
        let place = Place::new();
        let mut store = filled(&place);
        tamper(&place.db(), &sql);
        // Again and again, not only the first time.
        for _ in 0..2 {
            let found = seat(&mut store).unwrap_err();
            assert!(found.contains(expected), "{sql}: {found}");
        }
        // Nothing is made of what is not there, and no version comes twice.
        let trip = store.remember("alice", &new("trip", "with the seat", &["seat"]));
        assert!(trip.is_err(), "{sql}");
        if let Ok(again) = store.remember("alice", &new("seat", "newest", &[])) {
            assert!(expected.contains("somebody moved") || expected.contains("no text"), "{sql}: written");
            assert_eq!(again.version, 4);
        }
    }
}

#[test]
fn a_file_that_is_put_back_under_an_open_store_is_noticed() {
    let place = Place::new();
    let mut store = Store::create(place.options("acme", STORE)).unwrap();
    store.remember("alice", &new("seat", "old", &[])).unwrap();
    let saved = std::fs::read(place.db()).unwrap();
    store.remember("alice", &new("seat", "new", &[])).unwrap();
    let now = std::fs::read(place.db()).unwrap();
    // As it was, and with SQLite's own marks of a change (header, bytes 24 to 28 and 92 to 96) as they are now, so that SQLite notices nothing.
    let mut unmarked = saved.clone();
    [24..28, 92..96].into_iter().for_each(|mark| unmarked[mark.clone()].copy_from_slice(&now[mark]));
    for older in [saved, unmarked] {
        std::fs::write(place.db(), &older).unwrap();
        assert_ne!(seat(&mut store).as_deref(), Ok("old"));
        let written = store.remember("alice", &new("seat", "newest", &[]));
        assert_ne!(seat(&mut store).as_deref(), Ok("old"), "{written:?}");
        std::fs::write(place.db(), &now).unwrap();
    }
}

#[test]
fn a_row_that_changes_without_sqlite_knowing_is_noticed() {
    let place = Place::new();
    let mut store = filled(&place);
    // More than SQLite keeps in memory, so that it must read the seat from the file again.
    for number in 0..60 {
        store.remember("alice", &new(&format!("long {number}"), &"long ".repeat(20_000), &[])).unwrap();
    }
    let before = std::fs::read(place.db()).unwrap();
    let (old, new) =
        ("(SELECT content, record FROM before WHERE content = 'old')", "(SELECT content, record FROM before WHERE content = 'new')");
    tamper(
        &place.db(),
        &format!(
            "CREATE TEMP TABLE before AS SELECT content, record FROM entries WHERE entry = 'seat'; \
             UPDATE entries SET (content, record) = (CASE content WHEN 'old' THEN 'x' ELSE 'y' END, NULL) WHERE entry = 'seat'; \
             UPDATE entries SET (content, record) = {new} WHERE content = 'x'; UPDATE entries SET (content, record) = {old} WHERE content = 'y'"
        ),
    );
    let mut swapped = std::fs::read(place.db()).unwrap();
    [24..28, 92..96].into_iter().for_each(|mark| swapped[mark.clone()].copy_from_slice(&before[mark]));
    std::fs::write(place.db(), swapped).unwrap();
    assert!(seat(&mut store).unwrap_err().contains("was changed or taken away while the store was open"));
    assert!(store.forget("alice", "seat").unwrap_err().to_string().contains("was changed or taken away"));
    // The same rows under other numbers: for whoever opens it now, all is right.
    assert_eq!(seat(&mut open(&place).unwrap()).as_deref(), Ok("new"));
}

#[test]
fn another_process_of_ours_may_write_too() {
    let place = Place::new().with_counter();
    let mut store = filled(&place);
    let mut other = open(&place).unwrap();
    other.remember("alice", &new("seat", "newest", &[])).unwrap();
    assert_eq!(seat(&mut store).as_deref(), Ok("newest"));
    store.remember("alice", &new("meal", "fish", &[])).unwrap();
    other.forget("alice", "meal").unwrap();
    assert_eq!(store.remember("alice", &new("meal", "none", &[])).unwrap().version, 7, "no version comes twice");
    // A copy of before is not the other process's newer one.
    let saved = std::fs::read(place.db()).unwrap();
    let elsewhere = place.counter.as_ref().unwrap();
    let counted = std::fs::read(elsewhere).unwrap();
    store.remember("alice", &new("seat", "in the front", &[])).unwrap();
    std::fs::write(place.db(), saved).unwrap();
    std::fs::write(elsewhere, counted).unwrap();
    let mut forked = open(&place).unwrap();
    forked.remember("alice", &new("seat", "in the back", &[])).unwrap();
    // SQLite itself takes the two for one state of the file, until something else is written.
    assert_ne!(seat(&mut store).as_deref(), Ok("in the back"));
    tamper(&place.db(), "VACUUM");
    assert!(seat(&mut store).unwrap_err().contains("the file is an older one"));
}

#[test]
fn many_at_once_leave_a_store_that_is_right() {
    let place = Place::new().with_counter();
    drop(Store::create(place.options("acme", STORE)).unwrap());
    let written: u64 = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let options = place.options("acme", STORE);
                scope.spawn(move || {
                    let (mut store, name) = (Store::open(options).unwrap(), format!("entry {writer}"));
                    let mut written = 0;
                    while written < 10 {
                        match store.remember("alice", &new(&name, "text", &[])) {
                            Ok(_) => written += 1,
                            Err(error) => assert!(error.to_string().contains("try again"), "{error:#}"),
                        }
                    }
                    written
                })
            })
            .collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).sum()
    });
    assert_eq!(written, 40);
    let (passes, said) = verify(&place);
    assert!(passes && said.ends_with("the head is right\n"), "{said}");
    assert_eq!(std::fs::read_to_string(place.counter.as_ref().unwrap()).unwrap(), r#"{"tenant":"acme","store":"memories","changes":40}"#);
}

#[test]
fn a_counter_file_is_one_stores() {
    let place = Place::new().with_counter();
    drop(filled(&place));
    let error = |place: &Place, tenant, store| format!("{:#}", Store::create(place.options(tenant, store)).err().unwrap());
    let taken = r#"is the counter file of store "memories" of "acme": give store"#;
    assert!(error(&place, "globex", STORE).contains(taken));
    assert!(error(&place, "acme", "tasks").contains(taken));
    assert!(error(&place, "acme", STORE).contains("the store is there already"));
    Store::create(Place { counter: None, ..place.again() }.options("globex", STORE)).unwrap();
    assert!(format!("{:#}", Store::open(place.options("globex", STORE)).err().unwrap()).contains(taken));
    // A name that is wrong does not open the store without a counter.
    let file = place.counter.as_ref().unwrap();
    std::fs::remove_file(file).unwrap();
    assert!(open(&place).err().unwrap().to_string().contains("there is no counter file"));
    assert!(!verify(&place).0);
    Store::reseal(place.options("acme", STORE)).unwrap();
    assert!(verify(&place).0);
    for text in ["", "5", r#"{"tenant":"acme","store":"memories","changes":-1}"#] {
        std::fs::write(file, text).unwrap();
        assert!(open(&place).err().unwrap().to_string().contains("is no counter file"), "{text}");
    }
}

#[test]
fn a_new_head_by_an_administrator_goes_on_counting() {
    let place = Place::new();
    let mut store = filled(&place);
    for _ in 0..5 {
        store.remember("alice", &new("trip", "again", &[])).unwrap();
    }
    store.forget("alice", "trip").unwrap();
    tamper(&place.db(), "DELETE FROM entries WHERE content = 'new'");
    assert!(seat(&mut store).is_err());
    let mut resealed = Store::reseal(place.options("acme", STORE)).unwrap();
    // What is gone is gone, and a process that was there before takes the administrator's word; but the version of what was taken away does not come again.
    assert_eq!(seat(&mut resealed).as_deref(), Ok("old"));
    assert_eq!(seat(&mut store).as_deref(), Ok("old"));
    assert!(store.remember("alice", &new("seat", "newest", &[])).unwrap().version > 9);
}

#[test]
fn a_database_that_is_not_there_is_not_made() {
    let place = Place::new();
    for made in [open(&place), Store::inspect(place.options("acme", STORE)), Store::reseal(place.options("acme", STORE))] {
        assert!(made.err().unwrap().to_string().contains("make a new one with `init`"));
        assert!(!place.db().exists());
    }
    // Nor is what is no database, or one without a store, taken for one.
    std::fs::write(place.db(), "").unwrap();
    assert!(open(&place).err().unwrap().to_string().contains("the file has no store: make a new one with `init`"));
    std::fs::write(place.db(), "no database, but long enough for its header to be one".repeat(9)).unwrap();
    assert!(open(&place).err().unwrap().to_string().contains("no SQLite database"));
}
