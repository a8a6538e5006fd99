//! Bodies of requests and answers, in every format: read, and judged.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use floodmark_core::limits::MAX_EVENTS;
use floodmark_core::wire::{self, Body, Direction, Document, Format, RawString};
use floodmark_core::{Hint, Judge, Policy, RuleUse};

use crate::number;

/// Some rules decide alone, so that there is more to decide.
pub static JUDGE: LazyLock<Judge<'static>> = LazyLock::new(|| {
    let uses = [("instruction_seeding", RuleUse::Block), ("role_confusion", RuleUse::Label)];
    let rules: BTreeMap<_, _> = uses.map(|(rule, rule_use)| (rule.to_owned(), rule_use)).into();
    Judge::new(&Policy { rules, ..Policy::default() }, &floodmark_tables::TABLES).expect("a valid policy")
});

/// A hint from the start of the data: a format or none, and a direction.
pub fn hint(data: &mut &[u8]) -> Hint {
    let format = number(data, Format::KNOWN.len() + 1);
    let direction = [Direction::Request, Direction::Response][number(data, 2)];
    Hint { format: Format::KNOWN.get(format).copied(), direction, ..Hint::default() }
}

/// A body is read whatever it is, also as a message of a stream; strings stand where its events say, whole and apart from each other.
pub fn body(mut data: &[u8]) {
    let hint = hint(&mut data);
    let body = Body::new(data);
    check(data, &body, &wire::read(&body, hint.format, hint.direction));
    for name in [None, Some("contentBlockDelta"), Some("throttlingException")] {
        check(data, &body, &wire::read_frame(&body, hint.format, name));
    }
}

fn check(data: &[u8], body: &Body<'_>, document: &Document<'_>) {
    let as_it_stands = body.text.len() + body.skipped_bytes == data.len();
    // One more for what is beyond the cap, and one for what is outside of messages.
    assert!(document.events.len() <= MAX_EVENTS + 2, "{} events", document.events.len());
    let mut places: Vec<RawString> = Vec::new();
    for event in &document.events {
        assert!(event.text.is_char_boundary(event.records_at), "{event:?}");
        places.extend(&event.strings);
    }
    if as_it_stands {
        places.sort_unstable();
        assert!(places.windows(2).all(|pair| pair[0].end <= pair[1].start), "{places:?}");
        for place in places {
            let raw = &data[place.start as usize..place.end as usize];
            assert!(raw.len() >= 2 && raw.starts_with(b"\"") && raw.ends_with(b"\""), "{raw:?}");
        }
    }
    for issue in document.issues.as_slice() {
        assert!(issue.at <= body.text.len() + body.skipped_bytes, "{issue:?}");
    }
}

/// A body is judged, twice the same.
pub fn judge(mut data: &[u8]) {
    let hint = Hint { ai_path: number(&mut data, 2) == 1, ..hint(&mut data) };
    let first = JUDGE.judge(data, hint);
    assert!((0.0..=1.0).contains(&first.score.score), "{:?}", first.score);
    let detected = first.detected.as_ref().expect("the detector is on");
    assert!(detected.scores.iter().all(|score| (0.0..=1.0).contains(score)), "{detected:?}");
    let (events, persistence) = (f64::from(detected.trajectory.events()), detected.trajectory.persistence());
    assert!((0.0..=events).contains(&persistence), "{detected:?}");
    assert_eq!(first, JUDGE.judge(data, hint));
}
