//! The events of a data folder, each text once a unit; and of them those to train on, which stand in no other part.

use std::collections::{BTreeMap, BTreeSet};

use super::{Event, Label, injected::plain};
use crate::data::Split;

/// Events of a data folder, in the order of files, records and positions. Of those with the same text, label, kind, channel, part and unit the first stands for all.
#[derive(Debug, Default)]
pub struct Corpus {
    /// All of them.
    pub events: Vec<Event>,
    /// Number of the first event with this identity.
    known: BTreeMap<Key, usize>,
    /// Events before what is the same was put together.
    read: u64,
}

type Key = (String, Split, bool, String, &'static str, Label, String, String);

/// How many texts that could be trained on are left out, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Texts to train on.
    pub kept: u64,
    /// The same text again, in another unit.
    pub repeated: u64,
    /// It stands in dev or test too, by set.
    pub held_out: BTreeMap<String, u64>,
    /// It stands as an attack here, as an honest text there.
    pub contradictory: u64,
}

impl Corpus {
    /// Takes more events.
    pub fn extend(&mut self, events: impl IntoIterator<Item = Event>) {
        for event in events {
            self.read += u64::from(event.count);
            let (set, unit, kind, text) = (event.set.clone(), event.unit.clone(), event.kind.clone(), event.text.clone());
            let key = (set, event.split, event.strict, unit, event.channel.name(), event.label, kind, text);
            match self.known.get(&key).and_then(|&at| self.events.get_mut(at)) {
                Some(first) => first.count += event.count,
                None => {
                    self.known.insert(key, self.events.len());
                    self.events.push(event);
                }
            }
        }
    }

    /// Number of events that were read.
    pub fn read_events(&self) -> u64 {
        self.read
    }

    /// The events to train on, each text once whatever its unit: in no text that dev or test hold too, be it with other white space or letters in another case, and in
    /// none that is labelled both ways.
    pub fn training(&self) -> (Vec<&Event>, Left) {
        let mut held_out: BTreeSet<String> = BTreeSet::new();
        let mut labels: BTreeMap<String, Label> = BTreeMap::new();
        let mut both: BTreeSet<String> = BTreeSet::new();
        for event in &self.events {
            if event.split != Split::Train {
                held_out.insert(plain(&event.text));
            } else if event.trainable() {
                let text = plain(&event.text);
                if labels.get(&text).is_some_and(|label| *label != event.label) {
                    both.insert(text);
                } else {
                    labels.insert(text, event.label);
                }
            }
        }
        let mut left = Left::default();
        let mut taken: BTreeSet<String> = BTreeSet::new();
        let mut chosen = Vec::new();
        for event in self.events.iter().filter(|event| event.trainable()) {
            let text = plain(&event.text);
            if held_out.contains(&text) {
                *left.held_out.entry(event.set.clone()).or_default() += 1;
            } else if both.contains(&text) {
                left.contradictory += 1;
            } else if taken.insert(text) {
                left.kept += 1;
                chosen.push(event);
            } else {
                left.repeated += 1;
            }
        }
        (chosen, left)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{of_record, tests::record};
    use super::*;

    fn corpus(records: &[(&str, &str)]) -> Corpus {
        let mut corpus = Corpus::default();
        for (set, keys) in records {
            let record = record(&format!(r#""channel":"tool",{keys}"#));
            corpus.extend(of_record(set, &record).unwrap());
        }
        corpus
    }

    #[test]
    fn a_text_stands_once_a_unit_with_its_count() {
        let same = r#""label":"benign","split":"train","unit":"u","text":"a b""#;
        let other = r#""label":"benign","split":"train","unit":"v","text":"a b""#;
        let found = corpus(&[("x", same), ("x", other), ("x", same), ("x", r#""label":"benign","split":"train","unit":"u","text":"  ""#)]);
        assert_eq!(found.events.iter().map(|event| (event.unit.as_str(), event.count)).collect::<Vec<_>>(), [("u", 2), ("v", 1)]);
        assert_eq!(found.read_events(), 3, "what is blank is no event");
        let (chosen, left) = found.training();
        assert_eq!((chosen.len(), left.kept, left.repeated), (1, 1, 1));
    }

    #[test]
    fn no_text_of_dev_or_test_is_trained_on() {
        let found = corpus(&[
            ("x", r#""label":"benign","split":"train","unit":"u","text":"Hello  world""#),
            ("x", r#""label":"benign","split":"train","unit":"u","text":"mine""#),
            ("bipia", r#""label":"benign","split":"test","unit":"w","text":"hello\nWORLD""#),
        ]);
        let (chosen, left) = found.training();
        assert_eq!(chosen.iter().map(|event| event.text.as_str()).collect::<Vec<_>>(), ["mine"]);
        assert_eq!(left, Left { kept: 1, held_out: [("x".to_owned(), 1)].into(), ..Left::default() });
    }

    #[test]
    fn a_text_that_is_labelled_both_ways_is_not_trained_on() {
        let found = corpus(&[
            ("x", r#""label":"benign","split":"train","unit":"u","text":"do it""#),
            ("y", r#""label":"attack","split":"train","unit":"u","text":"Do it""#),
            ("y", r#""label":"attack","split":"train","unit":"u","text":"do that""#),
        ]);
        let (chosen, left) = found.training();
        assert_eq!((chosen.len(), left.contradictory), (1, 2));
        assert_eq!(chosen[0].text, "do that");
    }
}
