//! Memory: what all exchanges of a VM copy together is bounded.

use super::*;
use floodmark_core::limits::MAX_COPIED_BYTES;

/// How many pieces of `bytes` find room: each while it is no more than half of what the others left.
fn fit(bytes: usize) -> usize {
    (0..).take_while(|others| 2 * bytes + others * bytes <= MAX_COPIED_BYTES).count()
}

#[test]
fn half_sent_bodies_take_no_more_than_the_budget() {
    let host = Memory::default();
    let shared = shared(&host, &monitor(""));
    let piece = vec![b' '; 900_000];
    let mut open = Vec::new();
    for _ in 0..100 {
        let mut filter = Filter::new(Rc::clone(&shared));
        *host.headers.borrow_mut() = post(OPENAI, &[]);
        filter.request_headers(&host, false);
        *host.body.borrow_mut() = piece.clone();
        assert_eq!(filter.request_body(&host, piece.len(), false), Flow::Continue);
        open.push(filter);
    }
    let kept = fit(piece.len());
    assert_eq!(shared.budget.taken_bytes(), kept * piece.len());
    assert_eq!(host.counted("floodmark_issues_issue=memory_budget"), 100 - kept as u32);
    assert_eq!((host.counted("floodmark_passed_why=unread"), host.counted("floodmark_would_block")), (100 - kept as u32, 0));
    drop(open);
    assert_eq!(shared.budget.taken_bytes(), 0);
}

#[test]
fn copied_responses_count_too_and_held_ones_do_not() {
    let piece = vec![b' '; 900_000];
    for (settings, kept) in [(monitor(""), fit(piece.len())), (enforce(""), 40)] {
        let host = Memory::default();
        let shared = shared(&host, &settings);
        let mut open = Vec::new();
        for _ in 0..40 {
            let mut filter = Filter::new(Rc::clone(&shared));
            send(&host, &mut filter, post(OPENAI, &[]), &[QUESTION], false);
            host.answer(&JSON[..2]);
            filter.response_headers(&host, false);
            *host.response_body.borrow_mut() = piece.clone();
            filter.response_body(&host, piece.len(), false);
            open.push(filter);
        }
        assert_eq!(counted(&host, "issues_issue=memory_budget"), 40 - kept as u32, "{settings}");
        assert_eq!(counted(&host, "passed_why=unread"), 40 - kept as u32);
        drop(open);
        assert_eq!(shared.budget.taken_bytes(), 0);
    }
}
