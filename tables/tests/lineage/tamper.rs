//! The tamper matrix: whatever bytes of a record or of an entry are changed on disk, without the key nothing stays what it was.

use floodmark_core::lineage::{Broken, Channel, Class, Why, encode_hex};
use serde_json::json;

use crate::{Entry, Said, ask, entry, outcome, request, verify};

/// An agent's entry of two parents, of the best class that it may have, and what it is presented as.
fn trusted() -> (Said<'static>, Entry, Vec<Entry>) {
    let parents = vec![entry(1, Channel::User, &[]), entry(2, Channel::User, &[])];
    let said =
        Said { entry: "summary", channel: Channel::Agent, author: "docs.example", content: "Both facts, in short.", ..Said::default() };
    (said, said.seal(&parents.iter().collect::<Vec<_>>(), &crate::RING), parents)
}

/// A changed record is broken, except that the key's name, which is 2 bytes from the third on, may be one that nobody knows.
fn assert_caught(said: Said<'_>, changed: &Entry, ancestors: &[Entry], at: usize, what: &str) {
    match outcome(&verify(said, changed, ancestors)) {
        (Class::Untrusted, _, Some(Broken::Malformed | Broken::HashMismatch)) => {}
        (Class::Untrusted, Some(Why::UnknownKey), None) if (2..4).contains(&at) => {}
        other => panic!("{what} at {at}: {other:?}"),
    }
}

#[test]
fn every_bit_of_a_record() {
    let (said, summary, ancestors) = trusted();
    assert_eq!(outcome(&verify(said, &summary, &ancestors)), (Class::Derived, None, None));
    for at in 0..summary.sealed.len() {
        for bit in 0..8 {
            let mut changed = summary.clone();
            changed.sealed[at] ^= 1 << bit;
            assert_caught(said, &changed, &ancestors, at, "a bit");
        }
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut changed = summary.clone();
            if changed.sealed[at] != value {
                changed.sealed[at] = value;
                assert_caught(said, &changed, &ancestors, at, "a value");
            }
        }
    }
}

#[test]
fn every_bit_of_an_ancestor() {
    let (said, summary, ancestors) = trusted();
    for parent in 0..ancestors.len() {
        for at in 0..ancestors[parent].sealed.len() {
            for bit in 0..8 {
                let mut changed = ancestors.clone();
                changed[parent].sealed[at] ^= 1 << bit;
                // Another record has another hash, so the one that was named is not there.
                assert_eq!(
                    outcome(&verify(said, &summary, &changed)),
                    (Class::Untrusted, None, Some(Broken::MissingParent)),
                    "{parent} {at}"
                );
            }
        }
    }
}

#[test]
fn every_bit_of_a_content() {
    let (said, summary, ancestors) = trusted();
    let bits = |content: &str| -> Vec<String> {
        let flipped = |place: usize| {
            let mut bytes = content.as_bytes().to_vec();
            bytes[place / 8] ^= 1 << (place % 8);
            String::from_utf8(bytes).ok()
        };
        (0..content.len() * 8)
            .filter_map(flipped)
            .chain([String::new(), content[1..].to_owned(), format!("{content} "), format!("\u{feff}{content}")])
            .collect()
    };
    for content in bits(&summary.content) {
        let changed = Entry { content, sealed: summary.sealed.clone() };
        assert_eq!(outcome(&verify(said, &changed, &ancestors)), (Class::Untrusted, None, Some(Broken::ContentMismatch)));
    }
    for content in bits(&ancestors[0].content) {
        let changed = [Entry { content, sealed: ancestors[0].sealed.clone() }, ancestors[1].clone()];
        assert_eq!(outcome(&verify(said, &summary, &changed)), (Class::Untrusted, None, Some(Broken::BrokenParent)));
        // Beside the true one too: a record that stands twice must have the sealed content in both places.
        let twice = [&ancestors[..], &changed[..1]].concat();
        assert_eq!(outcome(&verify(said, &summary, &twice)), (Class::Untrusted, None, Some(Broken::BrokenParent)));
    }
}

#[test]
fn every_length() {
    let (said, summary, ancestors) = trusted();
    let shorter = (0..summary.sealed.len()).map(|length| summary.sealed[..length].to_vec());
    let from_behind = (1..summary.sealed.len()).map(|start| summary.sealed[start..].to_vec());
    let longer = (0..=255).map(|byte| [&summary.sealed[..], &[byte]].concat());
    let twice = [[&summary.sealed[..], &summary.sealed].concat()].into_iter();
    let inserted = (0..summary.sealed.len()).map(|at| [&summary.sealed[..at], &[0], &summary.sealed[at..]].concat());
    for sealed in shorter.chain(from_behind).chain(longer).chain(twice).chain(inserted) {
        let changed = Entry { sealed, content: summary.content.clone() };
        match outcome(&verify(said, &changed, &ancestors)) {
            (Class::Untrusted, _, Some(Broken::Malformed | Broken::HashMismatch)) => {}
            // A zero among the letters of the key's name leaves a name that is malformed; a longer name is none that is known.
            other => panic!("{} bytes: {other:?}", changed.sealed.len()),
        }
    }
}

/// Fields and parents in another order, and numbers spelled longer, all under the true tag: what a writer without the key can do.
#[test]
fn other_orders_and_spellings() {
    let (said, summary, ancestors) = trusted();
    let body = summary.sealed.len() - 32;
    // Where fields begin: format, key, tenant, principal, store, entry, version, channel, author, parents, policy, created, content.
    let lengths = [1, 3, 5, 6, 6, 8, 1, 1, 13, 65, 2, 6, 32];
    assert_eq!(lengths.iter().sum::<usize>(), body);
    let place = |number: usize| lengths[..number].iter().sum::<usize>()..lengths[..=number].iter().sum();
    let fields: Vec<&[u8]> = (0..lengths.len()).map(|number| &summary.sealed[place(number)]).collect();
    let assert_broken = |fields: &[&[u8]], what: &str| {
        let sealed = [&fields.concat(), &summary.sealed[body..]].concat();
        assert_ne!(sealed, summary.sealed, "{what}");
        let changed = Entry { sealed, content: summary.content.clone() };
        let (class, why, broken) = outcome(&verify(said, &changed, &ancestors));
        let caught =
            broken.is_some_and(|broken| matches!(broken, Broken::Malformed | Broken::HashMismatch)) || why == Some(Why::UnknownKey);
        assert!(class == Class::Untrusted && caught, "{what}");
    };
    for one in 0..fields.len() {
        for other in one + 1..fields.len() {
            let mut swapped = fields.clone();
            swapped.swap(one, other);
            if swapped.concat() != fields.concat() {
                assert_broken(&swapped, &format!("fields {one} and {other}"));
            }
        }
        let without: Vec<&[u8]> = fields.iter().enumerate().filter(|(number, _)| *number != one).map(|(_, field)| *field).collect();
        assert_broken(&without, &format!("without field {one}"));
    }
    let parents = [&fields[9][..1], &fields[9][33..], &fields[9][1..33]].concat();
    let mut reordered = fields.clone();
    reordered[9] = &parents;
    assert_broken(&reordered, "parents");
    // The first byte of each of these fields is a number of one byte.
    for long in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] {
        let spelled = [&[fields[long][0] | 0x80, 0], &fields[long][1..]].concat();
        let mut longer = fields.clone();
        longer[long] = &spelled;
        let sealed = [&longer.concat(), &summary.sealed[body..]].concat();
        let changed = Entry { sealed, content: summary.content.clone() };
        assert_eq!(outcome(&verify(said, &changed, &ancestors)).2, Some(Broken::Malformed), "field {long}");
    }
}

/// A record and the ancestors that go with another are not mixed.
#[test]
fn parts_of_two_records() {
    let (said, summary, ancestors) = trusted();
    let other = Said { author: "nobody", ..said }.seal(&ancestors.iter().collect::<Vec<_>>(), &crate::RING);
    for cut in 1..summary.sealed.len().min(other.sealed.len()) {
        let sealed = [&summary.sealed[..cut], &other.sealed[cut..]].concat();
        if sealed == summary.sealed || sealed == other.sealed {
            continue;
        }
        let mixed = Entry { sealed, content: summary.content.clone() };
        assert_caught(said, &mixed, &ancestors, cut + 1000, "a cut");
    }
}

/// In requests a record has one spelling, and any other is a malformed record and not an error: who can write a store does not choose what is answered.
#[test]
fn records_that_are_no_hex() {
    let (said, summary, ancestors) = trusted();
    let hex = encode_hex(&summary.sealed);
    let wrong = [
        hex.to_uppercase(),
        format!("{hex}0"),
        format!("0x{hex}"),
        format!(" {hex}"),
        hex.replace('0', "g"),
        String::new(),
        "not hex".to_owned(),
    ];
    for record in wrong {
        let mut request = request(said, &summary, &ancestors, "read");
        request["record"] = json!(record);
        assert_eq!(ask(&request, &crate::GATE, None).broken, Some(Broken::Malformed), "{record}");
    }
    let mut request = request(said, &summary, &ancestors, "read");
    request["ancestors"][0]["record"] = json!("not hex");
    assert_eq!(ask(&request, &crate::GATE, None).broken, Some(Broken::MissingParent));
}
