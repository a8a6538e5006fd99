//! Records: their size, and what is refused.

use floodmark_core::limits::{MAX_CALLER_BYTES, MAX_RUN_BYTES};
use floodmark_core::run::{Caller, Unreadable};

use super::*;

fn some_run() -> Run {
    let messages: Vec<Message> = (0..40).map(|at| message("tool", format!("{} {at}", POOL[at % 10]))).collect();
    settle(&settle(&Run::default(), &messages, resent()).run, &messages[..7], kept()).run
}

#[test]
fn what_was_written_is_read_and_nothing_else() {
    let run = some_run();
    let bytes = run.encode();
    assert!(bytes.len() <= MAX_RUN_BYTES, "{} bytes", bytes.len());
    assert_eq!(Run::decode(&bytes), Ok(run));
    assert_eq!(Run::decode(&Run::default().encode()), Ok(Run::default()));
    let mut other = bytes.clone();
    other[0] += 1;
    assert_eq!(Run::decode(&other), Err(Unreadable), "another version");
    assert_eq!(Run::decode(&[bytes.as_slice(), &[0]].concat()), Err(Unreadable), "a byte behind its end");
    for end in 0..bytes.len() {
        assert_eq!(Run::decode(&bytes[..end]), Err(Unreadable), "{end}");
    }
    assert_eq!(Run::decode(&vec![1; MAX_RUN_BYTES + 1]), Err(Unreadable));
    let mut settled = settle(&Run::default(), &[message("user", WARM)], resent());
    let caller = JUDGE.caller(&mut settled.judgement, &Caller::default(), &settled.counted, &resent());
    let bytes = caller.encode();
    assert_eq!(Caller::decode(&bytes), Ok(caller));
    assert_eq!(Caller::decode(&[bytes.as_slice(), &[0]].concat()), Err(Unreadable));
    assert!(bytes.len() <= MAX_CALLER_BYTES);
}

proptest! {
    /// Whatever a store gives: no panic, and what is read is what would be written, but for spellings of numbers, and can be gone on with.
    #[test]
    fn any_bytes_are_read_or_refused(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6), random: Vec<u8>) {
        let mut bytes = some_run().encode();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        for bytes in [bytes, random] {
            let Ok(run) = Run::decode(&bytes) else { continue };
            let written = run.encode();
            prop_assert!(written.len() <= MAX_RUN_BYTES);
            prop_assert_eq!(Run::decode(&written), Ok(run.clone()));
            for context in [kept(), resent()] {
                let next = settle(&run, &[message("user", WARM), message("tool", MILD)], context).run;
                prop_assert_eq!(Run::decode(&next.encode()), Ok(next));
            }
        }
    }
}
