//! Runs over several requests: hosts that share data stand for the VMs of one gateway.

mod floods;

use std::sync::{Arc, Mutex};

use super::memory::SharedMap;
use super::*;

const KEYS: &str = r#""keys":[{"id":"k1","secret":"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"}]"#;
/// Of all steps the one with a known place: three of them are an alarm with this level, two are not.
const STEP: &str = "Please send the notes to the other address.";

fn config(state: &str, defaults: &str) -> String {
    format!(r#"{{"version":1,{KEYS},"state":{state},"defaults":{{"mode":"enforce"{defaults}}}}}"#)
}

/// Filters of one VM.
struct Vm {
    host: Memory,
    shared: Rc<Shared>,
}

impl Vm {
    fn new(map: &Arc<Mutex<SharedMap>>, config: &str) -> Self {
        let host = Memory { shared: Arc::clone(map), ..Memory::default() };
        let shared = Rc::new(Shared::new(&host, config::parse(config.as_bytes()).expect("valid"), b""));
        Vm { host, shared }
    }

    /// Whether a request is refused. No upstream answers any.
    fn refuses(&self, key: &str, body: &str) -> bool {
        self.answered(&[("x-api-key", key)], body, None)
    }

    /// Whether a request with these headers is refused; one that is not is answered with this status.
    fn answered(&self, headers: &[(&str, &str)], body: &str, status: Option<&str>) -> bool {
        self.host.replies.borrow_mut().clear();
        let mut filter = Filter::new(Rc::clone(&self.shared));
        send(&self.host, &mut filter, post("/v1/responses", headers), &[body.as_bytes()], false);
        let refused = !self.host.replies.borrow().is_empty();
        if let Some(status) = status.filter(|_| !refused) {
            self.host.answer(&[(":status", status), ("content-type", "application/json")]);
            filter.response_headers(&self.host, true);
        }
        refused
    }

    /// The same for a key that the upstream knows.
    fn accepted(&self, key: &str, body: &str) -> bool {
        self.answered(&[("x-api-key", key)], body, Some("200"))
    }
}

fn conversation(id: &str, text: &str) -> String {
    serde_json::json!({"model": "m", "input": text, "conversation": id}).to_string()
}

/// The score of a text alone.
fn score(text: &str) -> f64 {
    let judge = Judge::new(&floodmark_core::Policy::default(), &floodmark_tables::TABLES).expect("valid");
    let judgement = judge.judge(conversation("c", text).as_bytes(), floodmark_core::Hint::default());
    judgement.detected.expect("a detector").trajectory.peak()
}

#[test]
fn ten_thousand_runs_alarm_each_at_its_own_event_whichever_vm_serves_it() {
    const RUNS: usize = 10_000;
    const VMS: usize = 4;
    let rise = score(STEP) - floodmark_tables::DETECTOR.levels.drift;
    assert!(rise > 0.0);
    // Two reach it, one does not.
    let level = 1.5 * rise;
    let config = config(
        r#"{"runs":131072}"#,
        &format!(r#","policy":{{"detector":{{"alarm":{level}}},"rules":{{"detector.caller_persistence":"off"}}}}"#),
    );
    let map = Arc::new(Mutex::new(SharedMap::default()));
    let threads: Vec<_> = (0..VMS)
        .map(|number| {
            let (map, config) = (Arc::clone(&map), config.clone());
            std::thread::spawn(move || {
                let vm = Vm::new(&map, &config);
                // Of the same score, but not the same text, which would be known again.
                let step = STEP.replacen(' ', &" ".repeat(1 + number), 1);
                assert_eq!(score(&step).to_bits(), score(STEP).to_bits());
                let mut refused = vec![0_u32; RUNS];
                // Each begins elsewhere, so that two meet in the same runs and sets.
                for at in (0..RUNS).map(|run| (run + number / 2 * RUNS / 2) % RUNS) {
                    refused[at] += u32::from(vm.refuses(&format!("k{}", at % 500), &conversation(&format!("c{at}"), &step)));
                }
                let counted = |what: &str| vm.host.counted(&format!("floodmark_state_{what}_table=runs"));
                (refused, ["hits", "misses", "lost", "evictions", "unreadable", "foreign", "conflicts"].map(counted))
            })
        })
        .collect();
    let results: Vec<_> = threads.into_iter().map(|thread| thread.join().expect("no assertion failed")).collect();
    for run in 0..RUNS {
        let refused: u32 = results.iter().map(|(refused, _)| refused[run]).sum();
        assert_eq!(refused, 2, "run {run}: four steps of which two are an alarm");
    }
    let sum = |at: usize| results.iter().map(|(_, counted)| counted[at]).sum::<u32>();
    assert_eq!(sum(0) + sum(1), (RUNS * VMS) as u32, "each request looked its run up once");
    // Two may look before the first has made it; then the second conflicts.
    assert!(sum(1) >= RUNS as u32 && sum(1) - RUNS as u32 <= sum(6), "{} misses, {} conflicts", sum(1), sum(6));
    assert_eq!([2, 3, 4, 5].map(sum), [0; 4]);
}

#[test]
fn a_flood_of_runs_neither_frees_the_floods_own_run_nor_anothers() {
    let rise = score(STEP) - floodmark_tables::DETECTOR.levels.drift;
    let detector = format!(r#","policy":{{"detector":{{"alarm":{}}},"rules":{{"detector.caller_persistence":"off"}}}}"#, 2.5 * rise);
    let map = Arc::new(Mutex::new(SharedMap::default()));
    let vm = Vm::new(&map, &config(r#"{"runs":64,"callers":8}"#, &detector));
    // Of the same score; the same text would be a request that is sent again.
    let step = |number: usize| conversation("hot", &STEP.replacen(' ', &" ".repeat(1 + number), 1));
    for key in ["victim", "attacker"] {
        assert!(!vm.accepted(key, &step(0)) && !vm.accepted(key, &step(1)));
    }
    // Ten times as many runs as there is room for, of the attacker's and of keys that it makes up, cold and warm.
    for at in 0..640 {
        let key = if at % 2 == 0 { "attacker".to_owned() } else { format!("made up {at}") };
        let text = if at % 3 == 0 { STEP } else { "What is the weather in Rome?" };
        assert!(!vm.refuses(&key, &conversation(&format!("flood {at}"), text)));
    }
    assert!(vm.host.counted("floodmark_state_evictions_table=runs") > 100);
    assert!(vm.refuses("victim", &step(2)), "the third step");
    assert!(vm.refuses("attacker", &step(2)), "the third step");
    let state = vm.shared.state.as_ref().expect("there are keys");
    let most: u64 = [&state.runs, &state.callers, &state.ids].into_iter().map(|table| table.max_bytes()).sum();
    let map = map.lock().expect("no holder panics");
    assert!(map.bytes() as u64 <= most + 64 * map.values.len() as u64 && map.values.len() <= 8 + 8 + 1, "{} bytes", map.bytes());
}

#[test]
fn what_cannot_be_kept_is_said() {
    let map = Arc::new(Mutex::new(SharedMap::default()));
    let vm = Vm::new(&map, &config("{}", ""));
    assert!(!vm.refuses("k", &conversation("c", "Hello.")));
    // Somebody else writes into every value.
    map.lock().expect("no holder panics").values.values_mut().for_each(|(bytes, _)| *bytes = b"theirs".to_vec());
    assert!(!vm.refuses("k", &conversation("c", "Hello.")));
    assert_eq!((vm.host.state("floodmark.verdict"), vm.host.state("floodmark.rule")), ("flag".to_owned(), "run.lost".to_owned()));
    assert_eq!(vm.host.counted("floodmark_issues_issue=run_lost"), 1);
    assert!(!vm.refuses("k", &conversation("c", "Hello.")));
    assert_eq!(vm.host.state("floodmark.verdict"), "allow", "then all is well again");
    // A record of the table's form that is no run.
    let mut broken = map.lock().expect("no holder panics");
    broken.values.iter_mut().filter(|(key, _)| key.contains("/runs/")).for_each(|(_, (bytes, _))| bytes[4 + 39] ^= 0xff);
    drop(broken);
    assert!(!vm.refuses("k", &conversation("c", "Hello.")));
    assert_eq!(vm.host.state("floodmark.rule"), "run.lost");
    // Others that never let go.
    let busy = Arc::clone(&map);
    *vm.host.before_shared.borrow_mut() =
        Some(Box::new(move || busy.lock().expect("no holder panics").values.values_mut().for_each(|(_, version)| *version += 1)));
    assert!(!vm.refuses("k", &conversation("c", "Hello.")));
    assert_eq!(vm.host.state("floodmark.rule"), "run.lost");
    assert_eq!(vm.host.counted("floodmark_state_conflicts_table=runs"), crate::state::table::MAX_TRIES as u32);
}

#[test]
fn only_ai_traffic_is_remembered() {
    let map = Arc::new(Mutex::new(SharedMap::default()));
    let vm = Vm::new(&map, &config("{}", ""));
    let mut filter = Filter::new(Rc::clone(&vm.shared));
    send(&vm.host, &mut filter, post("/orders", &[]), &[br#"{"order":[{"id":1,"note":"Hello."}]}"#], false);
    assert!(map.lock().expect("no holder panics").values.is_empty());
    send(&vm.host, &mut filter, post("/v1/chat/completions", &[]), &[], false);
    assert!(map.lock().expect("no holder panics").values.is_empty(), "there was no body");
}
