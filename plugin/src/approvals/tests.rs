//! Approvals over a host in memory: who may use which, when, and how often.

use super::*;
use crate::filter::tests::memory::Memory;
use crate::keys::Secret;
use crate::metrics::Metrics;

const CALLER: CallerTag = [1; 8];
const RUN: Key = [2; 16];
const ASKED: [u8; 16] = [3; 16];
const TTL_S: u32 = 600;
const NOW: u64 = 1_796_036_199_000;
const REQUEST: Request<'static> = Request { caller: &CALLER, run: &RUN, asked: &ASKED, is_proven: true, tenant: NO_TENANT };

fn key(secret: u8) -> SubKey {
    Secret::new("k1".to_owned(), [secret; 32]).derive("approvals")
}

struct Gateway {
    host: Memory,
    metrics: Metrics,
    approvals: Approvals,
}

impl Gateway {
    fn new() -> Self {
        let host = Memory::default();
        let metrics = Metrics::define(&host);
        let table = metrics.state.tables[3].clone();
        Gateway { host, metrics, approvals: Approvals::new(key(7), TTL_S, table) }
    }

    fn ask(&self, request: Request<'_>, now_ms: u64) -> Answer {
        self.approvals.ask(&self.host, &self.metrics.approvals, request, now_ms)
    }

    /// The id of what is pending.
    fn pending(&self, request: Request<'_>, now_ms: u64) -> String {
        match self.ask(request, now_ms) {
            Answer::Pending { id, .. } => id,
            other => panic!("{other:?}"),
        }
    }

    fn decide(&self, id: &str, approve: bool, now_ms: u64) -> Result<(Status, bool), Refused> {
        let decided = self.approvals.decide(&self.host, &self.metrics.approvals, id, approve, ("ops", None), now_ms)?;
        assert_eq!(decided.run, RUN);
        Ok((decided.status, decided.changed))
    }

    fn counted(&self) -> [u32; 5] {
        ["asked", "approved", "denied", "used", "impossible"].map(|what| self.host.counted(&format!("floodmark_approvals_what={what}")))
    }
}

fn granted(answer: &Answer) -> bool {
    matches!(answer, Answer::Granted { by, .. } if by == "ops")
}

#[test]
fn one_approval_lets_one_request_pass() {
    let gateway = Gateway::new();
    let id = gateway.pending(REQUEST, NOW);
    assert_eq!((id.len(), gateway.ask(REQUEST, NOW + 1)), (41, Answer::Pending { id: id.clone(), new: false }));
    assert_eq!(gateway.decide(&id, true, NOW + 2), Ok((Status::Approved, true)));
    assert_eq!(gateway.decide(&id, true, NOW + 2), Ok((Status::Approved, false)), "said twice");
    assert_eq!(gateway.ask(REQUEST, NOW + 3), Answer::Granted { id: id.clone(), by: "ops".to_owned() });
    assert_eq!(gateway.decide(&id, true, NOW + 4), Err(Refused::Used));
    assert_eq!(gateway.decide(&id, false, NOW + 4), Err(Refused::Used));
    let again = gateway.pending(REQUEST, NOW + 5);
    assert_ne!(again, id, "asked anew, under another id");
    assert_eq!(gateway.decide(&id, true, NOW + 6), Err(Refused::Unknown), "the old id approves nothing new");
    assert!(!granted(&gateway.ask(REQUEST, NOW + 7)));
    assert_eq!(gateway.counted(), [2, 1, 0, 1, 0]);
}

#[test]
fn ids_differ_where_the_clock_stands_still() {
    let gateway = Gateway::new();
    let mut ids: Vec<String> = Vec::new();
    for _ in 0..3 {
        let id = gateway.pending(REQUEST, 0);
        assert!(!ids.contains(&id));
        assert!(gateway.decide(&id, true, 0).is_ok() && granted(&gateway.ask(REQUEST, 0)));
        ids.push(id);
    }
}

#[test]
fn it_is_for_one_caller_one_run_and_one_thing() {
    let gateway = Gateway::new();
    let id = gateway.pending(REQUEST, NOW);
    assert!(gateway.decide(&id, true, NOW).is_ok());
    let others = [
        Request { caller: &[9; 8], ..REQUEST },
        Request { run: &[9; 16], ..REQUEST },
        Request { asked: &[9; 16], ..REQUEST },
        // The same bytes in another order.
        Request { run: &ASKED, asked: &RUN, ..REQUEST },
    ];
    for other in others {
        assert!(matches!(gateway.ask(other, NOW), Answer::Pending { new: true, .. }), "{other:?}");
    }
    let elsewhere = Approvals::new(key(8), TTL_S, TableCounters::default()).ask(&gateway.host, &gateway.metrics.approvals, REQUEST, NOW);
    assert!(matches!(elsewhere, Answer::Pending { new: true, .. }), "another secret: {elsewhere:?}");
    assert!(granted(&gateway.ask(REQUEST, NOW)));
}

#[test]
fn what_was_denied_stays_denied_until_it_is_void() {
    let gateway = Gateway::new();
    let id = gateway.pending(REQUEST, NOW);
    assert_eq!(gateway.decide(&id, false, NOW), Ok((Status::Denied, true)));
    assert_eq!(gateway.decide(&id, false, NOW), Ok((Status::Denied, false)));
    assert_eq!(gateway.decide(&id, true, NOW), Err(Refused::Denied));
    assert_eq!(gateway.ask(REQUEST, NOW + 1), Answer::Denied { id: id.clone() });
    let later = NOW + 1000 * u64::from(TTL_S);
    assert!(matches!(gateway.ask(REQUEST, later), Answer::Pending { new: true, .. }));
    assert_eq!(gateway.counted(), [2, 0, 1, 0, 0]);
}

#[test]
fn an_approval_can_be_taken_back_until_it_is_used() {
    let gateway = Gateway::new();
    let id = gateway.pending(REQUEST, NOW);
    assert_eq!(gateway.decide(&id, true, NOW), Ok((Status::Approved, true)));
    assert_eq!(gateway.decide(&id, false, NOW), Ok((Status::Denied, true)));
    assert_eq!(gateway.ask(REQUEST, NOW), Answer::Denied { id });
}

#[test]
fn it_is_void_a_time_after_it_was_asked_for() {
    let gateway = Gateway::new();
    let end = NOW + 1000 * u64::from(TTL_S);
    let id = gateway.pending(REQUEST, NOW);
    assert_eq!(gateway.decide(&id, true, end), Err(Refused::Unknown));
    assert!(gateway.decide(&id, true, end - 1).is_ok());
    assert!(!granted(&gateway.ask(REQUEST, end)));
    let id = gateway.pending(REQUEST, end);
    assert!(gateway.decide(&id, true, end).is_ok() && granted(&gateway.ask(REQUEST, end + 1000 * u64::from(TTL_S) - 1)));
}

#[test]
fn no_other_spelling_of_an_id_is_one() {
    let gateway = Gateway::new();
    let id = gateway.pending(REQUEST, NOW);
    let (binding, tag) = id.split_once('-').expect("a dash");
    for odd in [
        "",
        "-",
        &id[1..],
        &id[..40],
        &format!("{id}0"),
        &format!(" {id}"),
        &id.replace('-', "_"),
        &id.to_uppercase(),
        &id.replacen('0', "é", 1),
    ] {
        if odd != id {
            assert_eq!(gateway.decide(odd, true, NOW), Err(Refused::Malformed), "{odd}");
        }
    }
    let other_tag = format!("{binding}-{:08x}", u32::from_str_radix(tag, 16).expect("hex") ^ 1);
    let other_binding = format!("{}-{tag}", hex(&[5; 16]));
    for unknown in [other_tag, other_binding] {
        assert_eq!(gateway.decide(&unknown, true, NOW), Err(Refused::Unknown), "{unknown}");
    }
    assert!(!granted(&gateway.ask(REQUEST, NOW)));
}

/// Another VM uses the approval between this one's look and its write.
#[test]
fn of_two_that_race_for_one_approval_one_passes() {
    let gateway = Gateway::new();
    let id = gateway.pending(REQUEST, NOW);
    assert!(gateway.decide(&id, true, NOW).is_ok());
    let (shared, approvals) = (std::sync::Arc::clone(&gateway.host.shared), gateway.approvals.clone());
    let mut calls = 0;
    *gateway.host.before_shared.borrow_mut() = Some(Box::new(move || {
        calls += 1;
        // The first call reads, the second writes.
        if calls == 2 {
            let other = Memory { shared: std::sync::Arc::clone(&shared), ..Memory::default() };
            let metrics = Metrics::define(&other);
            assert!(granted(&approvals.ask(&other, &metrics.approvals, REQUEST, NOW)));
        }
    }));
    assert!(matches!(gateway.ask(REQUEST, NOW), Answer::Pending { new: true, .. }));
    assert_eq!(gateway.host.counted("floodmark_state_conflicts_table=approvals"), 1);
}

#[test]
fn threads_that_race_for_approvals_use_each_once() {
    use std::sync::{Arc, Barrier};
    let gateway = Gateway::new();
    for round in 0..50 {
        let id = gateway.pending(REQUEST, NOW + round);
        assert!(gateway.decide(&id, true, NOW + round).is_ok());
        let barrier = Arc::new(Barrier::new(4));
        let racers: Vec<_> = (0..4)
            .map(|_| {
                let (shared, approvals, barrier) = (Arc::clone(&gateway.host.shared), gateway.approvals.clone(), Arc::clone(&barrier));
                std::thread::spawn(move || {
                    let host = Memory { shared, ..Memory::default() };
                    let metrics = Metrics::define(&host);
                    barrier.wait();
                    granted(&approvals.ask(&host, &metrics.approvals, REQUEST, NOW + round))
                })
            })
            .collect();
        let passed = racers.into_iter().map(|racer| racer.join().expect("no racer panics")).filter(|passed| *passed).count();
        assert_eq!(passed, 1, "round {round}");
    }
}

#[test]
fn without_shared_data_nothing_can_be_approved() {
    let gateway = Gateway::new();
    gateway.host.alone.set(true);
    assert_eq!(gateway.ask(REQUEST, NOW), Answer::Impossible);
    let id = format!("{}-00000000", hex(&[5; 16]));
    assert_eq!(gateway.decide(&id, true, NOW), Err(Refused::State));
    assert_eq!(gateway.counted(), [0, 0, 0, 0, 1]);
}

#[test]
fn a_use_that_cannot_be_written_down_lets_nothing_pass() {
    let gateway = Gateway::new();
    let id = gateway.pending(REQUEST, NOW);
    assert!(gateway.decide(&id, true, NOW).is_ok());
    let shared = std::sync::Arc::clone(&gateway.host.shared);
    // Someone writes the same set before every write of ours, as often as we try.
    *gateway.host.before_shared.borrow_mut() = Some(Box::new(move || {
        for (_, version) in shared.lock().expect("no holder panics").values.values_mut() {
            *version += 1;
        }
    }));
    assert_eq!(gateway.ask(REQUEST, NOW), Answer::Impossible);
    *gateway.host.before_shared.borrow_mut() = None;
    assert!(granted(&gateway.ask(REQUEST, NOW)), "and it is not used up");
}

/// Callers without number ask for whatever: what was approved for one of them stays.
#[test]
fn asking_much_pushes_no_given_approval_out() {
    let gateway = Gateway::new();
    let id = gateway.pending(REQUEST, NOW);
    assert!(gateway.decide(&id, true, NOW).is_ok());
    for number in 0..20_000_u64 {
        let caller: CallerTag = number.to_le_bytes();
        gateway.ask(Request { caller: &caller, ..REQUEST }, NOW + number / 40);
    }
    assert!(granted(&gateway.ask(REQUEST, NOW + 600)));
    let entries = u64::from(MAX_APPROVALS) * (43 + MAX_RECORD_BYTES as u64);
    assert!((gateway.host.shared.lock().expect("no holder panics").bytes() as u64) < entries + 64 * u64::from(MAX_APPROVALS / 8));
}

/// What waits for a caller that some upstream knows is not pushed out by what made-up ones ask for, even if it was asked for before the caller was known.
#[test]
fn asking_under_made_up_callers_pushes_nothing_of_a_proven_one_out() {
    for was_proven in [true, false] {
        let gateway = Gateway::new();
        let id = gateway.pending(Request { is_proven: was_proven, ..REQUEST }, NOW);
        assert_eq!(gateway.pending(REQUEST, NOW), id);
        let mut kept = 0;
        for number in 0..20_000_u64 {
            let caller: CallerTag = number.to_le_bytes();
            let answer = gateway.ask(Request { caller: &caller, is_proven: false, ..REQUEST }, NOW + number / 40);
            kept += u32::from(answer != Answer::Impossible);
        }
        assert_eq!(kept, 20_000, "each of them pushed one of its kind out");
        assert_eq!(gateway.decide(&id, true, NOW + 600), Ok((Status::Approved, true)), "{was_proven}");
        assert!(granted(&gateway.ask(REQUEST, NOW + 601)));
    }
}

#[test]
fn hex_digits_come_back() {
    assert_eq!(unhex(&hex(&[0, 1, 0x7f, 0x80, 0xff, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20])).map(|key| key[4]), Some(0xff));
    assert_eq!(hex(&[0, 0xaf]), "00af");
    for odd in ["", "0", &"0".repeat(31), &"0".repeat(33), &"A".repeat(32), &"g".repeat(32), &"é".repeat(16)] {
        assert_eq!(unhex(odd), None, "{odd}");
    }
}
