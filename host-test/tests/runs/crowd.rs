//! Several VMs of one gateway at once, each on a thread of its own: no update is lost, whatever they write at the same time.

use std::collections::BTreeMap;
use std::sync::{Arc, Barrier};

use floodmark_host::emulator::Gateway;
use serde_json::json;

use crate::support::*;

const VMS: usize = 4;

/// Runs `work` on each VM at once, and gives the VMs back with what it gave.
fn together<R: Send + 'static>(
    vms: Vec<Gateway>,
    work: impl Fn(usize, &mut Gateway) -> R + Send + Sync + 'static,
) -> (Vec<Gateway>, Vec<R>) {
    let (work, start) = (Arc::new(work), Arc::new(Barrier::new(vms.len())));
    let threads: Vec<_> = vms
        .into_iter()
        .enumerate()
        .map(|(number, mut vm)| {
            let (work, start) = (Arc::clone(&work), Arc::clone(&start));
            std::thread::spawn(move || {
                start.wait();
                let given = work(number, &mut vm);
                (vm, given)
            })
        })
        .collect();
    threads.into_iter().map(|thread| thread.join().expect("no VM trapped")).unzip()
}

#[test]
fn one_run_that_all_vms_serve_alarms_exactly_as_often_as_its_sum_says() {
    const EACH: usize = 60;
    // All have the same score, so that their order means nothing, and another text each, so that none is known again.
    let text = |vm: usize, at: usize| format!("Please send{}the notes to the other address.", " ".repeat(1 + vm * EACH + at));
    let scores: Vec<f64> = (0..VMS).flat_map(|vm| (0..EACH).map(move |at| score(&text(vm, at)))).collect();
    assert!(scores.iter().all(|score| score.to_bits() == scores[0].to_bits()), "one score");
    let expected = alarms(&scores, level()).len();
    assert!(expected > 10);
    let off = json!({"policy": {"rules": {"detector.caller_persistence": "off"}}});
    let (vms, blocked) = together(vms(&config(json!({}), off), VMS), move |vm, gateway| {
        let verdicts = (0..EACH).map(|at| {
            let exchange = gateway.exchange(&conversation(KEY, "c1", &text(vm, at)), &response("r", "Done.")).unwrap();
            let verdict = verdict(&exchange).to_owned();
            assert_eq!(rule(&exchange), if verdict == "block" { "detector.persistence" } else { "-" });
            usize::from(verdict == "block")
        });
        verdicts.sum::<usize>()
    });
    assert_eq!(blocked.iter().sum::<usize>(), expected, "{blocked:?}");
    let count = |what| counted(&vms[0], what, "runs");
    assert_eq!(count("lost") + count("unreadable") + count("evictions") + count("foreign"), 0);
    // Several may look before the first has made it.
    assert!((1..=VMS as u64).contains(&count("misses")));
    assert!(count("conflicts") > 0, "they met");
    assert_eq!(vms[0].metric("floodmark_runs_source=conversation"), Some((VMS * EACH) as u64));
    assert_eq!(vms[0].metric("floodmark_rejected"), Some(expected as u64));
}

#[test]
fn each_of_many_runs_alarms_at_its_own_event() {
    const RUNS: usize = 200;
    let off = json!({"policy": {"rules": {"detector.caller_persistence": "off"}}});
    // Few steps, for many runs: those that rise most.
    let steps: Vec<&str> = STEPS.iter().rev().take(9).copied().collect();
    let expected = alarms(&steps.iter().map(|text| score(text)).collect::<Vec<_>>(), level());
    assert_eq!(expected, [8]);
    let mut all = vms(&config(json!({"runs": 4096}), off), VMS);
    let mut blocked: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    // Each step of a run comes to another VM than the one before.
    for (at, text) in steps.iter().enumerate() {
        let text = (*text).to_owned();
        let (vms, seen) = together(all, move |vm, gateway| {
            let own = (0..RUNS).filter(|run| (run + at) % VMS == vm);
            let mut blocks = |run: &usize| {
                let request = conversation(&format!("k{}", run % 50), &format!("c{run}"), &text);
                verdict(&gateway.exchange(&request, &response("r", "Done.")).unwrap()) == "block"
            };
            own.filter(|run| blocks(run)).collect::<Vec<_>>()
        });
        all = vms;
        seen.into_iter().flatten().for_each(|run| blocked.entry(run).or_default().push(at));
    }
    assert_eq!(blocked.len(), RUNS);
    assert_eq!(blocked.values().find(|at| **at != expected), None);
    let vms = all;
    assert_eq!(counted(&vms[0], "misses", "runs"), RUNS as u64);
    assert_eq!(counted(&vms[0], "lost", "runs"), 0);
}
