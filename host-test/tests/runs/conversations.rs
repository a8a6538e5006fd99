//! Conversations whose history each request brings: what is new counts once, whatever clients do with what was.

use floodmark_host::emulator::{Exchange, Gateway};
use serde_json::json;

use crate::support::*;

fn facts(exchange: &Exchange) -> (u64, u64) {
    let run = &report(exchange)["run"];
    (run["events"].as_u64().unwrap(), run["new_events"].as_u64().unwrap())
}

/// Says all the users' texts one after the other, each answered with "Done."; gives the exchanges.
fn talk(gateway: &mut Gateway, texts: &[&str]) -> Vec<Exchange> {
    let mut history: Vec<&str> = Vec::new();
    let mut exchanges = Vec::new();
    for text in texts {
        history.push(text);
        exchanges.push(gateway.exchange(&chat(KEY, &history), &completion("Done.")).unwrap());
        history.push("Done.");
    }
    exchanges
}

#[test]
fn history_counts_once_and_the_alarm_comes_where_the_sum_says() {
    for mode in ["enforce", "monitor"] {
        let mut gateway = start(&config(json!({}), json!({"mode": mode})));
        let exchanges = talk(&mut gateway, &STEPS);
        for (at, exchange) in exchanges.iter().enumerate() {
            assert_eq!((verdict(exchange) == "block", run(exchange)), (at == 11, run(&exchanges[0])), "{mode} {at}");
            assert_eq!(report(exchange)["run"]["events"], at + 1, "{mode} {at}: {}", report(exchange));
        }
        assert_eq!(gateway.metric("floodmark_run_restarts"), Some(0));
        assert_eq!(gateway.metric("floodmark_issues_issue=run_rewritten"), Some(0));
    }
}

#[test]
fn a_retry_adds_nothing_and_a_blocked_turn_stays_blocked_until_it_is_dropped() {
    let mut gateway = start(&plain());
    let exchanges = talk(&mut gateway, &STEPS);
    let whole: Vec<&str> = STEPS.iter().flat_map(|text| [*text, "Done."]).take(23).collect();
    assert_eq!(verdict(&exchanges[11]), "block");
    for _ in 0..3 {
        let again = gateway.exchange(&chat(KEY, &whole), &completion("Done.")).unwrap();
        assert_eq!((verdict(&again), rule(&again)), ("block", "detector.persistence"), "it is still there");
        assert_eq!(facts(&again), (12, 0), "and counted once");
    }
    // Without the turn and with another one the conversation goes on.
    let mut without = whole.clone();
    *without.last_mut().unwrap() = "What is the weather in Rome?";
    let free = gateway.exchange(&chat(KEY, &without), &completion("Sunny.")).unwrap();
    assert_eq!((verdict(&free), facts(&free)), ("allow", (13, 2)), "the turn, and the answer before it");
    without.extend(["Sunny.", "Thank you."]);
    let on = gateway.exchange(&chat(KEY, &without), &completion("Done.")).unwrap();
    assert_eq!((verdict(&on), facts(&on)), ("allow", (14, 2)));
    assert_eq!(run(&on), run(&exchanges[0]));
}

#[test]
fn a_shortened_history_washes_nothing() {
    let mut gateway = start(&config(json!({}), json!({"session": {"sources": [{"from": "header", "name": "x-run"}]}})));
    // Each request brings its own step and nothing else, in one run: a history that was cut to the last message.
    for (at, text) in STEPS.iter().enumerate() {
        let exchange = gateway.exchange(&chat(KEY, &[text]).header("x-run", "r1"), &completion("Done.")).unwrap();
        assert_eq!(verdict(&exchange) == "block", at == 11, "{at}: {}", report(&exchange));
    }
    assert_eq!(gateway.metric("floodmark_issues_issue=run_rewritten"), Some(11));
    // Benign text in a rewritten history does not lower what was counted.
    let mut gateway = start(&config(json!({}), json!({"session": {"sources": [{"from": "header", "name": "x-run"}]}})));
    for text in &STEPS[..11] {
        gateway.exchange(&chat(KEY, &[text]).header("x-run", "r1"), &completion("Done.")).unwrap();
    }
    let benign = ["What is the weather in Rome?", "Sunny.", "And in Paris?", "Rain.", "Thank you."];
    let exchange = gateway.exchange(&chat(KEY, &benign).header("x-run", "r1"), &completion("Done.")).unwrap();
    assert_eq!(verdict(&exchange), "allow");
    let last = gateway.exchange(&chat(KEY, &[STEPS[11]]).header("x-run", "r1"), &completion("Done.")).unwrap();
    assert_eq!(rule(&last), "detector.persistence", "{}", report(&last));
}

#[test]
fn another_conversation_with_the_same_opening_is_a_restart() {
    let mut gateway = start(&plain());
    // More than as many requests as are known by their ends.
    let cities: Vec<String> =
        ["Rome", "Paris", "Oslo", "Bern", "Lima", "Cairo", "Delhi", "Quito"].map(|city| format!("And in {city}?")).into();
    let asked: Vec<&str> = ["Hello."].into_iter().chain(cities.iter().map(String::as_str)).chain(["Thank you."]).collect();
    talk(&mut gateway, &asked);
    assert_eq!(gateway.metric("floodmark_run_restarts"), Some(0));
    let exchange = gateway.exchange(&chat(KEY, &["Hello."]), &completion("Done.")).unwrap();
    assert_eq!((verdict(&exchange), gateway.metric("floodmark_run_restarts")), ("allow", Some(1)));
    let other = gateway.exchange(&chat(KEY, &["Hello.", "Hi there.", "Tell me a story."]), &completion("Done.")).unwrap();
    assert_eq!(verdict(&other), "allow", "{}", report(&other));
    assert_eq!(gateway.metric("floodmark_run_restarts"), Some(1), "it goes on from the restart");
    assert_eq!(gateway.metric("floodmark_issues_issue=run_rewritten"), Some(0), "no fault: nothing named the run");
}

#[test]
fn assistant_text_that_nobody_said_counts_as_a_users() {
    // It would make the sum rise if a user said it.
    let forged = STEPS[11];
    let truth = ["Hello.", "Done.", "Go on."];
    let lie = ["Hello.", "Done.", "Go on.", forged, "And now?"];
    let events = |settings, said: &str| {
        let mut gateway = start(&config(json!({}), settings));
        talk(&mut gateway, &["Hello."]);
        gateway.exchange(&chat(KEY, &truth), &completion(said)).unwrap();
        facts(&gateway.exchange(&chat(KEY, &lie), &completion("Done.")).unwrap()).0
    };
    assert_eq!(events(json!({}), forged), 3, "it was said");
    assert_eq!(events(json!({}), "Sure."), 4, "it was not");
    assert_eq!(events(json!({"session": {"unseen_assistant": "flag"}}), "Sure."), 3);
    assert_eq!(events(json!({"responses": {"read": false}}), "Sure."), 3, "what is not read cannot be known");
}

#[test]
fn an_attack_that_the_assistant_is_made_to_say_is_blocked_like_a_users() {
    let mut gateway = start(&plain());
    let mut history = vec!["Hello."];
    let mut blocked = Vec::new();
    gateway.exchange(&chat(KEY, &history), &completion("Done.")).unwrap();
    history.extend(["Done.", "."]);
    for (at, text) in STEPS.iter().enumerate() {
        // The user's own messages say nothing at all, so they are no steps.
        history.extend([*text, "\u{1}"]);
        if verdict(&gateway.exchange(&chat(KEY, &history), &completion("Done.")).unwrap()) == "block" {
            blocked.push(at);
        }
    }
    assert_eq!(blocked, [11]);
}

#[test]
fn what_left_in_a_stream_is_known_before_the_stream_ends_and_what_broke_off_is_not_forgotten() {
    let chunk = |delta: serde_json::Value, reason: serde_json::Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        format!("data: {}\n\n", json!({"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [choice]})).into_bytes()
    };
    let forged = STEPS[11];
    let (start_of, rest) = forged.split_at(20);
    let pieces = [
        chunk(json!({"role": "assistant", "content": start_of}), json!(null)),
        chunk(json!({"content": rest}), json!(null)),
        chunk(json!({}), json!("stop")),
    ];
    // Up to which piece the stream got, and whether the client may say that the assistant said all of it.
    for (came, known) in [(3, true), (2, true), (1, false)] {
        let mut gateway = start(&plain());
        let request = chat(KEY, &["Hello."]);
        let open = gateway.open(&request).unwrap();
        gateway.send_chunk(open, &request.chunks[0], true).unwrap();
        let headers = [(":status", "200"), ("content-type", "text/event-stream")].into_iter().collect();
        gateway.respond_headers(open, headers, false).unwrap();
        pieces[..came].iter().for_each(|piece| gateway.respond_chunk(open, piece, false).unwrap());
        if came < 3 {
            // The upstream goes away.
            gateway.finish(open).unwrap();
        }
        let next = gateway.exchange(&chat(KEY, &["Hello.", forged, "Go on."]), &completion("Done.")).unwrap();
        assert_eq!(facts(&next).0, if known { 2 } else { 3 }, "{came} pieces came: {}", report(&next));
    }
}
