//! The record of a run as a store may give it back, and bodies judged within it.

use floodmark_core::limits::{MAX_CALLER_BYTES, MAX_RUN_BYTES};
use floodmark_core::run::{Caller, Context, History, Run, RunKey};

use crate::body::{JUDGE, hint};
use crate::number;

/// Any bytes are a run and a caller, or are refused; a body is judged within them, twice the same; what was written is read, and a retry adds nothing.
pub fn run(mut data: &[u8]) {
    let key = RunKey::new([1; 16]);
    let hint = hint(&mut data);
    let history = [History::Resent, History::Kept][number(&mut data, 2)];
    let flags = number(&mut data, 8);
    let context = Context {
        key: &key,
        history,
        fallback: flags & 1 == 1,
        unseen_assistant: flags & 2 == 2,
        refuses: flags & 4 == 4,
        half_life_ms: 1000 * number(&mut data, 256) as u64,
        now_ms: 1000 * number(&mut data, 256) as u64,
        approved: None,
    };
    // One byte has no room for the longest record; two of them have.
    let length = number(&mut data, 256) + number(&mut data, 256);
    let (record, body) = data.split_at(length.min(data.len()));
    let run = Run::decode(record).unwrap_or_default();
    let caller = Caller::decode(record).unwrap_or_default();
    let bytes = body;
    let body = hint.body(bytes);
    let mut opened = JUDGE.open(&body, hint);
    let settled = opened.settle(&run, &context);
    let written = settled.run.encode();
    assert!(written.len() <= MAX_RUN_BYTES);
    assert_eq!(Run::decode(&written), Ok(settled.run.clone()));
    assert!(settled.run.heat().is_finite() && settled.run.events() >= run.events());
    let mut judgement = settled.judgement.clone();
    let after = JUDGE.caller(&mut judgement, &caller, &settled.counted, &context);
    assert!(judgement.verdict >= settled.judgement.verdict);
    let written = after.encode();
    assert!(written.len() <= MAX_CALLER_BYTES);
    assert_eq!(Caller::decode(&written), Ok(after));
    let again = opened.settle(&run, &context);
    assert_eq!((&again.judgement, &again.run), (&settled.judgement, &settled.run));
    if history == History::Resent && opened.document().events.iter().any(|event| event.message.is_some()) {
        let retried = opened.settle(&settled.run, &context);
        assert_eq!(retried.run.events(), settled.run.events(), "a retry counts nothing");
        assert!(retried.judgement.verdict >= settled.judgement.verdict, "a retry is judged no milder");
    }
    assert_eq!(opened.alone(), JUDGE.judge(bytes, hint));
}
