//! Whose run a request is: identifiers that responses give out, whole and streamed, and who may use them.

use floodmark_host::emulator::{Exchange, Gateway, UpstreamReply};
use serde_json::{Value, json};

use crate::support::*;

fn events(exchange: &Exchange) -> u64 {
    report(exchange)["run"]["events"].as_u64().unwrap()
}

/// A Responses answer as a stream.
fn stream(id: &str, text: &str, more: Option<(&str, &str)>) -> UpstreamReply {
    let event = |kind: &str, mut data: Value| {
        data["type"] = kind.into();
        format!("event: {kind}\ndata: {data}\n\n")
    };
    let mut response = json!({"id": id, "object": "response", "status": "in_progress", "model": "m", "output": []});
    if let Some((key, value)) = more {
        response[key] = json!({"id": value});
    }
    let message = json!({"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": text}]});
    let frames = [
        event("response.created", json!({"response": response})),
        event("response.output_text.delta", json!({"item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": text})),
        event("response.output_text.done", json!({"item_id": "msg_1", "output_index": 0, "content_index": 0, "text": text})),
        event("response.output_item.done", json!({"output_index": 0, "item": message})),
    ];
    // The stream's end is not told with its last event.
    let chunks = frames.into_iter().map(String::into_bytes).chain([Vec::new()]);
    UpstreamReply::json(200, "").header("x-kind", "stream").chunks(chunks).with_content_type("text/event-stream")
}

trait WithContentType {
    fn with_content_type(self, kind: &str) -> Self;
}

impl WithContentType for UpstreamReply {
    fn with_content_type(mut self, kind: &str) -> Self {
        self.headers.set("content-type", kind);
        self
    }
}

#[test]
fn a_response_names_its_run_for_the_caller_who_got_it() {
    for streamed in [false, true] {
        let answer = |id: &str| if streamed { stream(id, "Done.", None) } else { response(id, "Done.") };
        let mut gateway = start(&plain());
        let first = gateway.exchange(&responses(KEY, "Hello.", None), &answer("resp_1")).unwrap();
        let second = gateway.exchange(&responses(KEY, "Go on.", Some("resp_1")), &answer("resp_2")).unwrap();
        let third = gateway.exchange(&responses(KEY, "And on.", Some("resp_2")), &answer("resp_3")).unwrap();
        assert_eq!((run(&second), run(&third)), (run(&first), run(&first)), "streamed: {streamed}");
        assert_eq!([&first, &second, &third].map(events), [1, 2, 3]);
        // A branch from an older response is of the same run.
        let branch = gateway.exchange(&responses(KEY, "Otherwise.", Some("resp_1")), &answer("resp_4")).unwrap();
        assert_eq!((run(&branch), events(&branch)), (run(&first), 4));
        assert_eq!(counted(&gateway, "foreign", "ids"), 0);
        let foreign = gateway.exchange(&responses("sk-2", "Go on.", Some("resp_1")), &answer("resp_9")).unwrap();
        assert!(run(&foreign) != run(&first) && events(&foreign) == 1);
        assert_eq!(counted(&gateway, "foreign", "ids"), 1);
        // What nobody gave out names a run all the same, and only its caller's.
        let made_up = gateway.exchange(&responses(KEY, "Go on.", Some("resp_x")), &answer("resp_5")).unwrap();
        assert_eq!((run(&made_up) != run(&first), events(&made_up)), (true, 1));
    }
}

#[test]
fn an_identifier_is_learned_before_the_stream_ends() {
    let mut gateway = start(&plain());
    let request = responses(KEY, "Hello.", None);
    let open = gateway.open(&request).unwrap();
    gateway.send_chunk(open, &request.chunks[0], true).unwrap();
    let answer = stream("resp_1", "Done.", None);
    gateway.respond_headers(open, answer.headers.clone(), false).unwrap();
    gateway.respond_chunk(open, &answer.chunks[0], false).unwrap();
    // The client goes on while the first stream is open.
    let next = gateway.exchange(&responses(KEY, "Go on.", Some("resp_1")), &response("resp_2", "Done.")).unwrap();
    assert_eq!(events(&next), 2);
    let first = gateway.finish(open).unwrap();
    assert_eq!(run(&first), run(&next));
}

#[test]
fn a_conversation_that_the_provider_began_is_the_run_that_asked_for_it() {
    let mut gateway = start(&plain());
    let first = gateway.exchange(&responses(KEY, "Hello.", None), &stream("resp_1", "Done.", Some(("conversation", "conv_1")))).unwrap();
    let second = gateway.exchange(&conversation(KEY, "conv_1", "Go on."), &response("resp_2", "Done.")).unwrap();
    assert_eq!((run(&second), events(&second)), (run(&first), 2));
}

fn initialize(gateway: &mut Gateway, key: &str, session: &str) -> Exchange {
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"}}});
    let result = json!({"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}});
    let reply = UpstreamReply::json(200, result.to_string()).header("mcp-session-id", session);
    gateway.exchange(&post("/mcp", key, &body), &reply).unwrap()
}

#[test]
fn an_mcp_session_is_its_callers_own() {
    let mut gateway = start(&plain());
    let begun = initialize(&mut gateway, KEY, "s1");
    assert_eq!(run(&begun), "-", "nothing names a run yet");
    assert_eq!(gateway.metric("floodmark_runs_source=none"), Some(1));
    let call = |gateway: &mut Gateway, key: &str, session, city| {
        gateway.exchange(&tool_call(key, Some(session), city), &tool_result("Sunny.")).unwrap()
    };
    let calls = [("s1", "Rome"), ("s1", "Oslo"), ("s2", "Rome")];
    let [first, second, other] = calls.map(|(session, city)| call(&mut gateway, KEY, session, city));
    assert_eq!((run(&first), run(&first) == run(&other)), (run(&second), false));
    // The call and its result are each an event.
    assert_eq!([&first, &second, &other].map(events), [1, 3, 1]);
    let foreign = call(&mut gateway, "sk-2", "s1", "Rome");
    assert!(run(&foreign) != run(&first) && events(&foreign) == 1);
    assert_eq!(counted(&gateway, "foreign", "ids"), 1, "another caller's session was used");
    let line = gateway.logs().iter().rev().find(|line| line.text.starts_with("floodmark response")).unwrap();
    assert!(line.text.ends_with(&format!(" run={} run_source=mcp_session", run(&foreign))), "{}", line.text);
}

#[test]
fn two_callers_with_one_identifier_never_meet() {
    let mut gateway =
        start(&config(json!({}), json!({"session": {"sources": [{"from": "header", "name": "x-run"}, {"from": "conversation"}]}})));
    // One of them is all but at the alarm; what the other does counts for itself.
    let mut runs = Vec::new();
    for text in &STEPS[..11] {
        let exchange = gateway.exchange(&conversation(KEY, "c1", text), &response("r", "Done.")).unwrap();
        assert_eq!(verdict(&exchange), "allow");
        runs.push(run(&exchange).to_owned());
    }
    for (at, text) in STEPS.iter().enumerate() {
        let exchange = gateway.exchange(&conversation("sk-2", "c1", text), &response("r", "Done.")).unwrap();
        assert_eq!((verdict(&exchange) == "block", events(&exchange)), (at == 11, at as u64 + 1));
        assert!(!runs.contains(&run(&exchange).to_owned()));
    }
    let last = gateway.exchange(&conversation(KEY, "c1", STEPS[11]), &response("r", "Done.")).unwrap();
    assert_eq!((rule(&last), run(&last)), ("detector.persistence", runs[0].as_str()));
    // A header that comes twice is somebody else's, and said.
    let twice = conversation(KEY, "c1", "Hello.").header("authorization", "Bearer sk-2");
    let exchange = gateway.exchange(&twice, &response("r", "Done.")).unwrap();
    assert_eq!((verdict(&exchange), rule(&exchange), events(&exchange)), ("flag", "run.ambiguous_caller", 1));
    // Nobody's requests are in runs, too, but nothing is summed up over them.
    let nobody = floodmark_host::emulator::Request::post_json(
        "/v1/responses",
        json!({"model": "m", "input": "Hi.", "conversation": "c1"}).to_string(),
    );
    let exchange = gateway.exchange(&nobody, &response("r", "Done.")).unwrap();
    assert_eq!((events(&exchange), gateway.metric("floodmark_caller_unknown")), (1, Some(1)));
    assert!(report(&exchange)["run"]["caller_cusum"].is_null());
}
