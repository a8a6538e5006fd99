//! The table against a slow obvious twin, against races in every order, and under flooding.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex};

use proptest::prelude::*;

use super::*;
use crate::filter::tests::memory::{Memory, SharedMap};

const DAY_MS: u64 = 86_400_000;
const SHAPE: Shape = Shape { name: "runs", entries: 64, payload_bytes: 16, ttl_ms: DAY_MS, half_life_ms: DAY_MS, insists: false };

fn table(shape: Shape, host: &Memory) -> Table {
    Table::new(shape, TableCounters::define(host, shape.name))
}

fn counted(host: &Memory, what: &str) -> u32 {
    host.counted(&format!("floodmark_state_{what}_table=runs"))
}

/// A key of a set: the set comes from the first bytes.
fn key(set: u8, number: u32) -> Key {
    let mut key = [0; KEY_BYTES];
    key[0] = set;
    key[8..12].copy_from_slice(&number.to_le_bytes());
    key
}

const A: CallerTag = [1; CALLER_BYTES];
const B: CallerTag = [2; CALLER_BYTES];

fn store(payload: &[u8], heat: f32) -> Change {
    Change::Store { payload: payload.to_vec(), heat, firm: false }
}

fn put(table: &Table, host: &Memory, key: &Key, caller: &CallerTag, heat: f32, now_ms: u64) -> Outcome {
    table.update(host, key, Some(caller), now_ms, &mut |_| store(b"x", heat)).expect("shared data").outcome
}

fn payload(table: &Table, host: &Memory, key: &Key, caller: &CallerTag, now_ms: u64) -> Option<Vec<u8>> {
    table.get(host, key, Some(caller), now_ms).expect("shared data").map(|entry| entry.payload)
}

#[test]
fn what_is_stored_is_found_changed_and_taken_away() {
    let host = Memory::default();
    let table = table(SHAPE, &host);
    let name = key(3, 7);
    assert_eq!(table.get(&host, &name, None, 5), Ok(None));
    let mut seen = Vec::new();
    let mut count = |now_ms, change: Change| {
        let mut once = |standing: Option<&[u8]>| {
            seen.push(standing.map(<[u8]>::to_vec));
            change.clone()
        };
        table.update(&host, &name, Some(&A), now_ms, &mut once).expect("shared data").outcome
    };
    assert_eq!(count(5, Change::Keep), Outcome::Kept);
    assert_eq!(count(5, Change::Remove), Outcome::Kept);
    assert_eq!(count(5, store(b"one", 0.0)), Outcome::Stored);
    assert_eq!(count(6, store(b"two", 0.0)), Outcome::Stored);
    assert_eq!(count(7, Change::Keep), Outcome::Kept);
    assert_eq!(seen, [None, None, None, Some(b"one".to_vec()), Some(b"two".to_vec())]);
    let entry = Entry { payload: b"two".to_vec(), caller: A, heat: 0.0, firm: false, touched_ms: 6 };
    assert_eq!(table.get(&host, &name, None, 9), Ok(Some(entry.clone())));
    assert_eq!(table.get(&host, &name, Some(&A), 9), Ok(Some(entry)));
    assert_eq!(table.get(&host, &key(3, 8), None, 9), Ok(None), "another key of the same set");
    assert_eq!(table.update(&host, &name, None, 9, &mut |_| Change::Remove).map(|done| done.outcome), Ok(Outcome::Removed));
    assert_eq!(table.get(&host, &name, Some(&A), 9), Ok(None));
    assert_eq!(host.shared.lock().unwrap().values["floodmark/1/runs/3"].0, b"", "an emptied set takes no room");
    assert_eq!(
        table.update(&host, &name, None, 9, &mut |_| store(b"x", 0.0)).map(|done| done.outcome),
        Ok(Outcome::Kept),
        "nobody's is not made"
    );
    assert_eq!([counted(&host, "hits"), counted(&host, "misses"), counted(&host, "lost")], [5, 7, 0]);
    assert_eq!(table.update(&host, &name, Some(&A), 9, &mut |_| store(&[0; 17], 0.0)), Err(StateError::TooLong));
    assert_eq!(counted(&host, "lost"), 1);
}

#[test]
fn another_callers_entry_is_neither_given_nor_changed() {
    let host = Memory::default();
    let table = table(SHAPE, &host);
    let name = key(0, 1);
    put(&table, &host, &name, &A, 0.5, 1);
    assert_eq!(payload(&table, &host, &name, &B, 1), None);
    assert_eq!(counted(&host, "foreign"), 1);
    let mut stood = Vec::new();
    let mut theirs = |standing: Option<&[u8]>| {
        stood.push(standing.is_some());
        store(b"theirs", 0.0)
    };
    assert_eq!(table.update(&host, &name, Some(&B), 1, &mut theirs).map(|done| done.outcome), Ok(Outcome::Stored));
    assert_eq!(stood, [false]);
    assert_eq!(payload(&table, &host, &name, &A, 1).as_deref(), Some(&b"x"[..]));
    assert_eq!(payload(&table, &host, &name, &B, 1).as_deref(), Some(&b"theirs"[..]));
}

#[test]
fn entries_expire() {
    let host = Memory::default();
    let table = table(SHAPE, &host);
    put(&table, &host, &key(0, 1), &A, 9.0, 1000);
    assert!(payload(&table, &host, &key(0, 1), &A, 1000 + DAY_MS - 1).is_some());
    assert_eq!(payload(&table, &host, &key(0, 1), &A, 1000 + DAY_MS), None);
    assert!(payload(&table, &host, &key(0, 1), &A, 0).is_some(), "a clock that ran back");
    // A full set of hot entries that are all over makes room; storing one again makes it young.
    (0..4).for_each(|at| assert_eq!(put(&table, &host, &key(1, at), &A, 9.0, 1000), Outcome::Stored));
    (4..8).for_each(|at| assert_eq!(put(&table, &host, &key(1, at), &B, 9.0, 1000), Outcome::Stored));
    assert_eq!(put(&table, &host, &key(1, 0), &A, 9.0, 2000), Outcome::Stored);
    assert_eq!(put(&table, &host, &key(1, 9), &[3; 8], 0.0, 1999), Outcome::Full);
    assert_eq!(put(&table, &host, &key(1, 9), &[3; 8], 0.0, 1000 + DAY_MS), Outcome::Stored);
    assert!(payload(&table, &host, &key(1, 0), &A, 1000 + DAY_MS).is_some());
    assert_eq!([counted(&host, "evictions"), counted(&host, "lost")], [0, 1]);
}

#[test]
fn a_clock_that_runs_back_makes_nothing_younger_or_older() {
    let host = Memory::default();
    let table = table(SHAPE, &host);
    put(&table, &host, &key(0, 1), &A, 1.0, 5000);
    put(&table, &host, &key(0, 1), &A, 1.0, 3000);
    assert_eq!(table.get(&host, &key(0, 1), None, 3000).unwrap().unwrap().touched_ms, 5000);
}

#[test]
fn without_shared_data_it_says_so() {
    let host = Memory::default();
    host.alone.set(true);
    let table = table(SHAPE, &host);
    assert_eq!(table.get(&host, &key(0, 1), None, 1), Err(StateError::Unavailable));
    assert_eq!(table.update(&host, &key(0, 1), Some(&A), 1, &mut |_| Change::Keep), Err(StateError::Unavailable));
    assert_eq!(counted(&host, "lost"), 1);
}

#[test]
fn bytes_of_others_are_counted_and_give_way() {
    let host = Memory::default();
    let table = table(SHAPE, &host);
    for foreign in [&b"\x00"[..], b"{}", b"fms\x02", b"fms\x01short"] {
        host.shared.lock().unwrap().values.insert("floodmark/1/runs/5".to_owned(), (foreign.to_vec(), 77));
        assert_eq!(payload(&table, &host, &key(5, 1), &A, 1), None, "{foreign:?}");
        let updated = table.update(&host, &key(5, 1), Some(&A), 1, &mut |standing| {
            assert_eq!(standing, None);
            store(b"new", 0.0)
        });
        assert_eq!(updated, Ok(Updated { outcome: Outcome::Stored, was_unreadable: true }), "{foreign:?}");
        assert_eq!(payload(&table, &host, &key(5, 1), &A, 1).as_deref(), Some(&b"new"[..]));
    }
    assert_eq!(counted(&host, "unreadable"), 8);
}

#[test]
fn others_that_never_let_go_end_in_an_error() {
    let host = Memory::default();
    let table = table(SHAPE, &host);
    put(&table, &host, &key(0, 1), &A, 0.0, 1);
    let map = Arc::clone(&host.shared);
    // Somebody else writes before every call.
    *host.before_shared.borrow_mut() = Some(Box::new(move || {
        for (_, version) in map.lock().unwrap().values.values_mut() {
            *version += 1;
        }
    }));
    let mut asked = 0;
    let result = table.update(&host, &key(0, 1), Some(&A), 1, &mut |_| {
        asked += 1;
        store(b"y", 0.0)
    });
    assert_eq!((result, asked), (Err(StateError::Contended), MAX_TRIES));
    assert_eq!([counted(&host, "conflicts"), counted(&host, "lost")], [MAX_TRIES as u32, 1]);
}

/// Whose turn it is: the next call on shared data is that of the worker whom the schedule names.
struct Baton {
    schedule: Vec<u8>,
    state: Mutex<(usize, [bool; 2])>,
    passed: Condvar,
}

impl Baton {
    fn wait(&self, me: u8) {
        let mut state = self.state.lock().unwrap();
        loop {
            let (at, over) = *state;
            let other_is_over = over[usize::from(1 - me)];
            if other_is_over || at >= self.schedule.len() || self.schedule[at] == me {
                state.0 += 1;
                self.passed.notify_all();
                return;
            }
            state = self.passed.wait(state).unwrap();
        }
    }

    fn over(&self, me: u8) {
        self.state.lock().unwrap().1[usize::from(me)] = true;
        self.passed.notify_all();
    }
}

/// Two workers add `times` each to one entry, and make one of their own in the same set; their calls come in the order of `schedule`.
fn race(schedule: Vec<u8>, times: u8) -> (Arc<Mutex<SharedMap>>, u32) {
    let map = Arc::new(Mutex::new(SharedMap::default()));
    let baton = Arc::new(Baton { schedule, state: Mutex::default(), passed: Condvar::new() });
    let workers = [0, 1].map(|me| {
        let (map, baton) = (Arc::clone(&map), Arc::clone(&baton));
        std::thread::spawn(move || {
            let host = Memory { shared: map, ..Memory::default() };
            let turns = Arc::clone(&baton);
            *host.before_shared.borrow_mut() = Some(Box::new(move || turns.wait(me)));
            let table = table(SHAPE, &host);
            for _ in 0..times {
                let added =
                    table.update(&host, &key(0, 1), Some(&A), 1, &mut |standing| store(&[standing.map_or(0, |bytes| bytes[0]) + 1], 0.0));
                assert_eq!(added, Ok(Updated { outcome: Outcome::Stored, was_unreadable: false }));
            }
            put(&table, &host, &key(0, 10 + u32::from(me)), &A, 0.0, 1);
            baton.over(me);
            counted(&host, "conflicts")
        })
    });
    let conflicts = workers.map(|worker| worker.join().expect("no assertion failed")).iter().sum();
    (map, conflicts)
}

#[test]
fn in_no_order_of_two_workers_calls_an_update_is_lost() {
    let mut conflicts = 0;
    // Two changes and one new entry are six calls, and more with conflicts; what a schedule leaves open comes as it comes.
    for order in 0..1 << 12 {
        let (map, met) = race((0..12).map(|at| (order >> at & 1) as u8).collect(), 2);
        let host = Memory { shared: map, ..Memory::default() };
        let table = table(SHAPE, &host);
        assert_eq!(payload(&table, &host, &key(0, 1), &A, 1).as_deref(), Some(&[4][..]), "order {order:b}");
        assert!((10..12).all(|own| payload(&table, &host, &key(0, own), &A, 1).is_some()), "order {order:b}");
        conflicts += met;
    }
    assert!(conflicts > 1000, "the orders make workers meet: {conflicts}");
}

#[test]
fn a_flood_neither_takes_what_is_hot_nor_more_memory_than_was_said() {
    let host = Memory::default();
    let shape = Shape { entries: 512, ..SHAPE };
    let table = table(shape, &host);
    let victim = key(9, 0);
    put(&table, &host, &victim, &A, 1.5, 1000);
    // The attacker's own run, and as many as its share of that set, all warm.
    (1..4).for_each(|number| assert_eq!(put(&table, &host, &key(20, number), &B, 1.0, 1000), Outcome::Stored));
    assert_eq!(put(&table, &host, &key(20, 0), &B, 1.4, 1000), Outcome::Stored);
    let mut state = 0x9e37_79b9_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32
    };
    // Ten times the capacity: of its own caller, of many callers, cold and warm.
    for round in 0..u32::from(10_u8) * shape.entries {
        let caller = if round % 2 == 0 { B } else { random().to_le_bytes().repeat(2).try_into().unwrap() };
        let heat = [0.0, 0.0, 0.2, 0.9][(random() % 4) as usize];
        put(&table, &host, &key((random() % 64) as u8, 1000 + round), &caller, heat, 1001 + u64::from(round));
    }
    assert!(payload(&table, &host, &victim, &A, 9000).is_some(), "another caller's");
    assert!(payload(&table, &host, &key(20, 0), &B, 9000).is_some(), "one's own");
    assert!((1..4).all(|number| payload(&table, &host, &key(20, number), &B, 9000).is_some()));
    let map = host.shared.lock().unwrap();
    assert_eq!(map.values.len(), 64, "as many values as sets");
    let keys: usize = map.values.keys().map(String::len).sum();
    assert!((map.bytes() - keys) as u64 <= table.max_bytes(), "{} of {}", map.bytes() - keys, table.max_bytes());
    assert_eq!(table.max_bytes(), 64 * (4 + 8 * (39 + 16)));
    for (value, _) in map.values.values() {
        let slots = set::decode(value, shape.payload_bytes).expect("ours");
        assert!(slots.iter().filter(|slot| slot.caller == B).count() <= 4, "half a set");
        assert_eq!(slots.len(), 8, "and the others use the rest");
    }
    drop(map);
    assert!(counted(&host, "evictions") > 1000 && counted(&host, "lost") > 100);
    assert_eq!(counted(&host, "conflicts") + counted(&host, "unreadable") + counted(&host, "foreign"), 0);
}

/// A table as one would write it without shared data: all entries in a list, oldest first.
#[derive(Default)]
struct Twin {
    entries: Vec<(Key, CallerTag, Vec<u8>, f32, bool, u64)>,
}

impl Twin {
    fn find(&mut self, key: Key, caller: Option<CallerTag>, now_ms: u64) -> Option<usize> {
        self.entries.iter().position(|(own, whose, .., touched)| {
            *own == key && caller.is_none_or(|caller| caller == *whose) && now_ms.saturating_sub(*touched) < SHAPE.ttl_ms
        })
    }

    fn store(&mut self, key: Key, caller: CallerTag, payload: Vec<u8>, heat: f32, firm: bool, now_ms: u64) -> Outcome {
        if let Some(at) = self.find(key, Some(caller), now_ms) {
            let touched = self.entries[at].5.max(now_ms);
            self.entries[at] = (key, caller, payload, heat, firm, touched);
            return Outcome::Stored;
        }
        self.entries.retain(|entry| entry.0[0] % 8 != key[0] % 8 || now_ms.saturating_sub(entry.5) < SHAPE.ttl_ms);
        let set: Vec<usize> = (0..self.entries.len()).filter(|&at| self.entries[at].0[0] % 8 == key[0] % 8).collect();
        let own: Vec<usize> = set.iter().copied().filter(|&at| self.entries[at].1 == caller).collect();
        let choice = if own.len() >= 4 {
            own
        } else if set.len() >= 8 {
            set
        } else {
            vec![]
        };
        if !choice.is_empty() {
            let may_go = choice.iter().copied().filter(|&at| self.entries[at].3 <= heat && (firm || !self.entries[at].4));
            let first = may_go.min_by(|&a, &b| {
                let rank = |at: usize| (self.entries[at].4, self.entries[at].3, self.entries[at].1 != caller, self.entries[at].5);
                rank(a).partial_cmp(&rank(b)).unwrap()
            });
            let Some(at) = first else { return Outcome::Full };
            self.entries[at] = (key, caller, payload, heat, firm, now_ms);
        } else {
            self.entries.push((key, caller, payload, heat, firm, now_ms));
        }
        Outcome::Stored
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn it_does_as_its_twin(operations in prop::collection::vec((0_u8..4, 0_u8..3, 0_u32..12, 0_u8..6, 0_u8..4, any::<bool>(), 0_u64..DAY_MS / 40), 1..300)) {
        let host = Memory::default();
        // Nothing cools, so that the twin needs no arithmetic of its own.
        let table = table(Shape { half_life_ms: u64::MAX, ..SHAPE }, &host);
        let mut twin = Twin::default();
        let mut now_ms = 1000;
        for (what, set, number, caller, heat, firm, later_ms) in operations {
            now_ms += later_ms;
            let (name, tag, heat) = (key(set, number), [caller; CALLER_BYTES], f32::from(heat) / 4.0);
            let whose = (number % 2 == 0).then_some(tag);
            let expected = twin.find(name, whose, now_ms);
            match what {
                0 => {
                    let found = table.get(&host, &name, whose.as_ref(), now_ms).unwrap();
                    let entry = expected.map(|at| &twin.entries[at]);
                    prop_assert_eq!(found, entry.map(|entry| Entry { payload: entry.2.clone(), caller: entry.1, heat: entry.3, firm: entry.4, touched_ms: entry.5 }));
                }
                1 => {
                    let done = table.update(&host, &name, whose.as_ref(), now_ms, &mut |_| Change::Remove).unwrap();
                    prop_assert_eq!(done.outcome, if expected.is_some() { Outcome::Removed } else { Outcome::Kept });
                    expected.map(|at| twin.entries.remove(at));
                }
                _ => {
                    let payload = now_ms.to_le_bytes().to_vec();
                    let done = table.update(&host, &name, Some(&tag), now_ms, &mut |_| Change::Store { payload: payload.clone(), heat, firm });
                    prop_assert_eq!(done.unwrap().outcome, twin.store(name, tag, payload, heat, firm, now_ms));
                }
            }
        }
        let mut of_sets: BTreeMap<u8, usize> = BTreeMap::new();
        twin.entries.iter().for_each(|entry| *of_sets.entry(entry.0[0]).or_default() += 1);
        prop_assert!(of_sets.values().all(|&entries| entries <= 8));
    }
}
