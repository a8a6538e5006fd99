//! As many records as may be: any shape in linear time, and one more is refused.

use floodmark_core::limits::{MAX_LINEAGE_RECORDS, MAX_PARENTS};
use floodmark_core::lineage::{Ancestor, Channel, Class, Digest, Presented, VerifiedLineage, record_hash};
use serde_json::json;

use crate::{Entry, GATE, JUDGE, NOW_MS, RING, Said, entry, outcome, request};

/// Verifies the last of some entries, which is named after its number, with all before it as ancestors, in any order.
fn last(entries: &[Entry]) -> VerifiedLineage {
    let (presented, ancestors) = entries.split_last().expect("entries");
    let mut ancestors: Vec<Ancestor<'_>> = ancestors.iter().map(|entry| Ancestor { record: &entry.sealed, content: None }).collect();
    // No order helps: neither the one that they were made in nor the other.
    ancestors.sort_by_key(|ancestor| record_hash(ancestor.record));
    let name = format!("e{}", entries.len() - 1);
    let content = Digest::of(presented.content.as_bytes());
    let record = Some(&presented.sealed[..]);
    let presented = Presented { tenant: "acme", principal: "alice", store: "notes", entry: &name, content, record, newest: None };
    VerifiedLineage::verify(&presented, &ancestors, &GATE, &RING).expect("not too many")
}

/// Entries that are each made of those before that `parents` names, on one by the user.
fn made(count: usize, first: Channel, parents: impl Fn(usize) -> std::ops::Range<usize>) -> Vec<Entry> {
    let mut entries = vec![entry(0, first, &[])];
    for number in 1..count {
        let parents: Vec<&Entry> = entries[parents(number)].iter().collect();
        entries.push(entry(number, Channel::Agent, &parents));
    }
    entries
}

#[test]
fn the_deepest_chain() {
    for (first, class) in [(Channel::User, Class::Derived), (Channel::Web, Class::Untrusted)] {
        let entries = made(MAX_LINEAGE_RECORDS, first, |number| number - 1..number);
        assert_eq!(outcome(&last(&entries)), (class, None, None));
    }
}

#[test]
fn as_many_parents_as_may_be() {
    let entries = made(4096, Channel::User, |number| number.saturating_sub(MAX_PARENTS)..number);
    assert_eq!(outcome(&last(&entries)), (Class::Derived, None, None));
}

/// 10,000 ancestors in a tree: each of 64 parents of parents and so on, the worst of them deep down.
#[test]
fn ten_thousand_ancestors() {
    let leaves = |worst: Channel| -> Vec<Entry> {
        (0..9_900).map(|number| entry(number, if number == 4_711 { worst } else { Channel::User }, &[])).collect()
    };
    for (worst, class) in [(Channel::User, Class::Derived), (Channel::Tool, Class::Untrusted)] {
        let mut entries = leaves(worst);
        let mut layer: Vec<Entry> = entries.clone();
        while layer.len() > 1 {
            let next: Vec<Entry> = layer
                .chunks(MAX_PARENTS)
                .enumerate()
                .map(|(number, parents)| entry(entries.len() + number, Channel::Agent, &parents.iter().collect::<Vec<_>>()))
                .collect();
            entries.extend(next.iter().cloned());
            layer = next;
        }
        assert!(entries.len() > 10_000);
        assert_eq!(outcome(&last(&entries)), (class, None, None));
    }
}

#[test]
fn one_too_many() {
    let said = Said::default();
    let one = said.seal(&[], &RING);
    let ancestor = Ancestor { record: &one.sealed, content: None };
    let verify = |ancestors: usize| {
        let content = Digest::of(one.content.as_bytes());
        let presented = Presented {
            tenant: "acme",
            principal: "alice",
            store: "notes",
            entry: "note-1",
            content,
            record: Some(&one.sealed),
            newest: None,
        };
        VerifiedLineage::verify(&presented, &vec![ancestor; ancestors], &GATE, &RING).map(|lineage| lineage.class())
    };
    // The same record as often as may be is one record.
    assert_eq!(verify(MAX_LINEAGE_RECORDS - 1), Ok(Class::User));
    assert!(verify(MAX_LINEAGE_RECORDS).is_err());
    let mut asked = request(said, &one, &[], "read");
    asked["ancestors"] = json!(vec![json!({"record": ""}); MAX_LINEAGE_RECORDS]);
    let asked = serde_json::from_value(asked).expect("a request");
    let error = floodmark_core::lineage::check(&asked, &GATE, &RING, &JUDGE, None, NOW_MS).expect_err("too many");
    assert_eq!((error.path.as_str(), error.problem.as_str()), ("ancestors", "takes at most 16383 records"));
}
