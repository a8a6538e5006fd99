//! Attacks in steps of which none is much alone: they are blocked where the sum of the detector's scores says so, whatever names the run.

use floodmark_host::emulator::UpstreamReply;
use serde_json::json;

use crate::support::*;

fn scores(texts: &[&str]) -> Vec<f64> {
    texts.iter().map(|text| score(text)).collect()
}

#[test]
fn twelve_requests_that_go_on_from_one_another_are_blocked_at_the_last() {
    let expected = alarms(&scores(&STEPS), level());
    assert_eq!(expected, [11], "the steps are what they should be");
    let mut gateway = start(&plain());
    let (mut previous, mut run_id) = (None, None);
    for (at, text) in STEPS.iter().enumerate() {
        let id = format!("resp_{at}");
        let exchange = gateway.exchange(&responses(KEY, text, previous.as_deref()), &response(&id, "Done.")).unwrap();
        let blocked = expected.contains(&at);
        assert_eq!(verdict(&exchange), if blocked { "block" } else { "allow" }, "{at}: {}", report(&exchange));
        assert_eq!(rule(&exchange), if blocked { "detector.persistence" } else { "-" });
        assert_eq!(exchange.reply().unwrap().status, if blocked { 403 } else { 200 });
        // All are of the run that the first began.
        let run_id: &mut String = run_id.get_or_insert_with(|| run(&exchange).to_owned());
        assert_eq!((run(&exchange), run_id.len()), (run_id.as_str(), 32));
        let request_line = gateway.logs().iter().rev().find(|line| line.text.starts_with("floodmark verdict=")).unwrap();
        let source = if at == 0 { "fallback" } else { "previous_response" };
        assert!(request_line.text.ends_with(&format!(" run={run_id} run_source={source}")), "{}", request_line.text);
        previous = Some(id);
    }
    // Without keys nothing is known of the others.
    let mut forgetful = start(r#"{"version":1,"defaults":{"mode":"enforce"}}"#);
    for text in STEPS {
        let exchange = forgetful.exchange(&responses(KEY, text, Some("resp")), &UpstreamReply::ok()).unwrap();
        assert_eq!(verdict(&exchange), "allow");
    }
}

#[test]
fn a_new_session_for_each_step_is_caught_by_the_callers_sum() {
    let level = floodmark_tables::DETECTOR.levels.caller_alarm;
    let texts: Vec<&str> = STEPS.iter().cycle().take(48).copied().collect();
    let first = *alarms(&scores(&texts), level).first().expect("the sum gets there");
    let mut gateway = start(&config(json!({}), json!({"session": {"sources": [{"from": "header", "name": "x-run"}]}})));
    let mut runs = std::collections::BTreeSet::new();
    for (at, text) in texts.iter().enumerate() {
        let request = chat(KEY, &[text]).header("x-run", &at.to_string());
        let exchange = gateway.exchange(&request, &completion("Done.")).unwrap();
        let blocked = at == first;
        assert_eq!(verdict(&exchange), if blocked { "block" } else { "allow" }, "{at}: {}", report(&exchange));
        assert_eq!(rule(&exchange), if blocked { "detector.caller_persistence" } else { "-" });
        assert!(runs.insert(run(&exchange).to_owned()), "each is a run of its own");
        if blocked {
            return;
        }
    }
    panic!("it was never blocked");
}
