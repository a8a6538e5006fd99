//! A streamed answer, judged while it comes: any pieces give the same.

use floodmark_core::Streamed;
use floodmark_core::wire::Framing;

use crate::body::{JUDGE, hint};
use crate::{number, pieces};

/// The outcome, what may pass and where it must end do not depend on how the stream came.
pub fn streamed(mut data: &[u8]) {
    const FRAMINGS: [Framing; 3] = [Framing::Sse, Framing::JsonLines, Framing::AwsEventStream];
    let framing = FRAMINGS[number(&mut data, FRAMINGS.len())];
    let hint = hint(&mut data);
    let pieces = pieces(&mut data);
    let judge = |pieces: &[&[u8]]| {
        let mut streamed = Streamed::new(framing, hint);
        let mut pushed = 0;
        for piece in pieces {
            let settled = streamed.settled_bytes();
            streamed.push(&JUDGE, piece);
            pushed += piece.len() as u64;
            assert!(settled <= streamed.settled_bytes() && streamed.settled_bytes() <= streamed.whole_bytes());
            assert!(streamed.whole_bytes() <= pushed);
        }
        streamed.end(&JUDGE);
        (streamed.outcome().clone(), streamed.whole_bytes(), streamed.settled_bytes(), streamed.blocked_at())
    };
    assert_eq!(judge(&pieces), judge(&[data]));
}
