//! A store's head: what is done to rows behind the store's back is noticed when it is opened again.

use floodmark_core::lineage::{Digest, Fault, Head, HeadFault, StoreHead};
use proptest::prelude::*;

use crate::{NOW_MS, RING, ring};

fn rows(count: u8) -> Vec<Digest> {
    (0..count).map(|number| Digest::of(&[number])).collect()
}

fn open(sealed: &[u8], rows: &[Digest], known: Option<u64>) -> Result<StoreHead, HeadFault> {
    StoreHead::open(sealed, ("acme", "notes"), &mut rows.iter().copied(), known, &RING)
}

fn kept(rows: &[Digest]) -> (StoreHead, Vec<u8>) {
    let mut head = StoreHead::new(&RING);
    rows.iter().for_each(|row| head.add(row));
    let sealed = head.seal("acme", "notes", NOW_MS, &RING).expect("in bounds");
    (head, sealed)
}

#[test]
fn rows_behind_its_back() {
    let rows = rows(20);
    let (head, sealed) = kept(&rows);
    assert_eq!((head.count(), head.counter()), (20, 20));
    let mut backwards = rows.clone();
    backwards.reverse();
    for same in [&rows, &backwards] {
        let opened = open(&sealed, same, Some(20)).expect("unchanged");
        assert_eq!((opened.count(), opened.counter()), (20, 20));
    }
    assert_eq!(open(&sealed, &rows[1..], None).unwrap_err(), HeadFault::Count { sealed: 20, found: 19 });
    let more = [&rows[..], &rows[..1]].concat();
    assert_eq!(open(&sealed, &more, None).unwrap_err(), HeadFault::Count { sealed: 20, found: 21 });
    for row in 0..rows.len() {
        let mut other = rows.clone();
        other[row] = Digest([row as u8; 32]);
        assert_eq!(open(&sealed, &other, None).unwrap_err(), HeadFault::Set);
        // One row twice in another's place.
        other[row] = rows[(row + 1) % rows.len()];
        assert_eq!(open(&sealed, &other, None).unwrap_err(), HeadFault::Set);
    }
}

#[test]
fn the_whole_store_put_back() {
    let rows = rows(3);
    let (mut head, old) = kept(&rows[..2]);
    head.add(&rows[2]);
    let new = head.seal("acme", "notes", NOW_MS, &RING).expect("in bounds");
    assert!(open(&new, &rows, Some(3)).is_ok());
    // Rows and head of before fit each other; only who remembers the counter knows.
    assert!(open(&old, &rows[..2], None).is_ok());
    assert_eq!(open(&old, &rows[..2], Some(3)).unwrap_err(), HeadFault::Older { counter: 2, known: 3 });
}

#[test]
fn heads_of_others_and_forged_ones() {
    let rows = rows(2);
    let (head, sealed) = kept(&rows);
    for (tenant, store) in [("acme", "tasks"), ("other", "notes")] {
        let found = StoreHead::open(&sealed, (tenant, store), &mut rows.iter().copied(), None, &RING);
        assert_eq!(found.unwrap_err(), HeadFault::OtherStore);
    }
    for at in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[at] ^= 1;
        assert!(matches!(open(&changed, &rows, None), Err(HeadFault::Head(_))), "{at}");
    }
    let unknown = head.seal("acme", "notes", NOW_MS, &ring(&["k9"])).expect("in bounds");
    assert_eq!(open(&unknown, &rows, None).unwrap_err(), HeadFault::Head(Fault::UnknownKey));
}

/// The head of a retired key is verified with it, and goes on under the new one.
#[test]
fn under_a_new_key() {
    let rows = rows(9);
    let (_, sealed) = kept(&rows);
    let rotated = ring(&["k3", "k1"]);
    let mut opened = StoreHead::open(&sealed, ("acme", "notes"), &mut rows.iter().copied(), Some(9), &rotated).expect("retired");
    opened.remove(&rows[0]);
    let sealed = opened.seal("acme", "notes", NOW_MS, &rotated).expect("in bounds");
    let new = ring(&["k3"]);
    let opened = StoreHead::open(&sealed, ("acme", "notes"), &mut rows[1..].iter().copied(), Some(10), &new).expect("the new key alone");
    assert_eq!((opened.count(), opened.counter()), (8, 10));
}

proptest! {
    /// Any changes, kept one by one, come to what all rows give at once.
    #[test]
    fn changes_come_to_what_a_scan_gives(changes in proptest::collection::vec((0..3u8, any::<u8>(), any::<prop::sample::Index>()), 0..60)) {
        let mut rows: Vec<Digest> = Vec::new();
        let mut head = StoreHead::new(&RING);
        for (change, (what, row, at)) in changes.into_iter().enumerate() {
            let row = Digest::of(&[row]);
            match what {
                1 if !rows.is_empty() => head.remove(&rows.remove(at.index(rows.len()))),
                2 if !rows.is_empty() => {
                    let at = at.index(rows.len());
                    head.replace(&rows[at], &row);
                    rows[at] = row;
                }
                _ => {
                    head.add(&row);
                    rows.push(row);
                }
            }
            prop_assert_eq!((head.count(), head.counter()), (rows.len() as u64, change as u64 + 1));
        }
        let sealed = head.seal("acme", "notes", NOW_MS, &RING).expect("in bounds");
        prop_assert!(open(&sealed, &rows, Some(head.counter())).is_ok());
        let mut fresh = StoreHead::new(&RING);
        rows.iter().for_each(|row| fresh.add(row));
        let fresh = fresh.seal("acme", "notes", NOW_MS, &RING).expect("in bounds");
        prop_assert_eq!(Head::open(&fresh, &RING).expect("a head").set, Head::open(&sealed, &RING).expect("a head").set);
    }
}
