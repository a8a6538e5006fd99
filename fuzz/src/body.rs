//! Bodies of requests and answers, in every format: read, and judged.

use std::sync::LazyLock;

use floodmark_core::limits::MAX_EVENTS;
use floodmark_core::wire::{self, Body, Format, RawString};
use floodmark_core::{Hint, Judge, Policy};

use crate::number;

pub static JUDGE: LazyLock<Judge<'static>> =
    LazyLock::new(|| Judge::new(&Policy::default(), &floodmark_tables::CATEGORIES).expect("the default policy"));

/// A hint from the start of the data: a format or none, and a direction.
pub fn hint(data: &mut &[u8]) -> Hint {
    let format = number(data, Format::KNOWN.len() + 1);
    Hint { format: Format::KNOWN.get(format).copied(), ..Hint::default() }
}

/// A body is read whatever it is; strings stand where its events say, whole and apart from each other.
pub fn body(mut data: &[u8]) {
    let hint = hint(&mut data);
    let body = Body::new(data);
    let as_it_stands = body.text.len() + body.skipped_bytes == data.len();
    let document = wire::read(&body, hint.format);
    // One more for what is beyond the cap, and one for what is outside of messages.
    assert!(document.events.len() <= MAX_EVENTS + 2);
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
    assert_eq!(first, JUDGE.judge(data, hint));
}
