//! Hosts: a VM that starts anew, no shared data, clocks that stand or run back, and values that are none of ours.

use floodmark_host::emulator::{Capability, Gateway, Lack, LogLevel, Options, Process};
use serde_json::json;

use crate::support::*;

const HOUR_NS: u64 = 3_600_000_000_000;

/// The positions at which the steps are blocked when each is a request of one conversation.
fn blocked(gateway: &mut Gateway, mut before: impl FnMut(usize, &mut Gateway)) -> Vec<usize> {
    let mut blocked = Vec::new();
    for (at, text) in STEPS.iter().enumerate() {
        before(at, gateway);
        let exchange = gateway.exchange(&conversation(KEY, "c1", text), &response("r", "Done.")).unwrap();
        if verdict(&exchange) == "block" {
            blocked.push(at);
        }
    }
    blocked
}

#[test]
fn a_vm_that_starts_anew_knows_what_was_known() {
    let mut gateway = start(&plain());
    assert_eq!(
        blocked(&mut gateway, |at, gateway| if at % 3 == 1 {
            gateway.reload().unwrap()
        }),
        [11]
    );
}

#[test]
fn another_gateway_process_knows_nothing() {
    let mut gateway = start(&plain());
    let restart = |at, gateway: &mut Gateway| {
        if at == 6 {
            *gateway = start(&plain())
        }
    };
    assert_eq!(blocked(&mut gateway, restart), [0; 0]);
}

#[test]
fn without_shared_data_each_request_is_judged_alone_and_that_is_said_and_counted() {
    let without = [(Capability::SharedData, Lack::Unimplemented)].into();
    let mut gateway = Gateway::start(&plugin(), &plain(), Options { without, ..Options::default() }).unwrap();
    let warnings: Vec<_> = gateway.logs().iter().filter(|line| line.level == LogLevel::Warn).map(|line| line.text.clone()).collect();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("no shared data") && warnings[0].contains("judged alone"), "{warnings:?}");
    assert_eq!(blocked(&mut gateway, |_, _| ()), [0; 0]);
    assert!(gateway.metric("floodmark_state_unavailable").unwrap() >= STEPS.len() as u64);
    let whole: Vec<&str> = STEPS.iter().flat_map(|text| [*text, "Done."]).take(23).collect();
    let exchange = gateway.exchange(&chat(KEY, &whole), &completion("Done.")).unwrap();
    assert_eq!(rule(&exchange), "detector.persistence", "what one body brings counts as ever");
    // Where there is shared data nothing is said.
    assert!(start(&plain()).logs().iter().all(|line| line.level < LogLevel::Warn));
}

#[test]
fn a_clock_that_stands_or_runs_back_forgets_nothing() {
    let start_ns = Options::default().now_ns;
    assert_eq!(blocked(&mut start(&plain()), |_, _| ()), [11]);
    let back = |at: usize, gateway: &mut Gateway| gateway.set_time_ns(start_ns - at as u64 * HOUR_NS);
    assert_eq!(blocked(&mut start(&plain()), back), [11]);
    let nowhere = |at, gateway: &mut Gateway| gateway.set_time_ns(if at % 2 == 0 { 0 } else { start_ns });
    assert_eq!(blocked(&mut start(&plain()), nowhere), [11]);
}

#[test]
fn what_was_counted_fades_with_time() {
    let start_ns = Options::default().now_ns;
    // The same, decayed by hand.
    let levels = floodmark_tables::DETECTOR.levels;
    let (mut sum, mut expected) = (0.0_f64, Vec::new());
    for (at, text) in STEPS.iter().chain(&STEPS).enumerate() {
        sum = (sum * 0.5_f64.powf(0.25) + score(text) - levels.drift).max(0.0);
        if sum >= levels.alarm {
            expected.push(at);
            sum = 0.0;
        }
    }
    let mut gateway = start(&plain());
    let mut found = Vec::new();
    for (at, text) in STEPS.iter().chain(&STEPS).enumerate() {
        gateway.set_time_ns(start_ns + at as u64 * HOUR_NS / 4);
        let exchange = gateway.exchange(&conversation(KEY, "c1", text), &response("r", "Done.")).unwrap();
        let run = report(&exchange)["run"].clone();
        assert!(run["cusum"].is_number(), "{run}");
        if verdict(&exchange) == "block" {
            found.push(at);
        }
    }
    assert_eq!(found, expected);
    assert_eq!(expected, [0; 0], "twelve steps in three hours are no alarm");
    // After the time to live nothing is left.
    let mut gateway = start(&config(json!({"ttl_s": 60}), json!({})));
    assert_eq!(blocked(&mut gateway, |at, gateway| gateway.set_time_ns(start_ns + at as u64 * 61_000_000_000)), [0; 0]);
    assert_eq!(counted(&gateway, "misses", "runs"), 12, "each request begins the run anew");
}

#[test]
fn two_gateways_of_one_process_that_have_other_vm_ids_or_keys_share_nothing() {
    let (process, wasm) = (Process::default(), plugin());
    let other_key = plain().replace("000102", "000103");
    let mut gateways: Vec<Gateway> = [("a", plain()), ("b", plain()), ("a", other_key)]
        .map(|(vm_id, config)| {
            Gateway::start_in(&process, &wasm, &config, Options { vm_id: vm_id.to_owned(), ..Options::default() }).unwrap()
        })
        .into();
    let mut runs = Vec::new();
    for (at, text) in STEPS.iter().cycle().take(30).enumerate() {
        let exchange = gateways[at % 3].exchange(&conversation(KEY, "c1", text), &response("r", "Done.")).unwrap();
        runs.push(run(&exchange).to_owned());
        // Of each third a step or more is left out.
        assert_eq!(report(&exchange)["run"]["events"], at / 3 + 1);
    }
    assert!(runs[0] == runs[1] && runs[0] != runs[2]);
}
