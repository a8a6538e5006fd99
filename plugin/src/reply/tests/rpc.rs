//! Answers of JSON-RPC: whose id they bear, and which methods can say no in a result.

use super::*;

/// JSON-RPC 2.0: each request is answered under its own id as it was spelled, an array by an array, notifications not at all.
#[test]
fn ids_are_echoed() {
    let spelled = ["\"a \\\"quoted\\\" \\u0024m id\"", "12345678901234567890", "-1.5e3", "null"];
    for format in [Format::Mcp, Format::A2a] {
        for id in spelled {
            let case = Case { rpc: rpc(&[(id, "GetTask")]), ..Case::new(format, Style::Refusal, Asked::Whole) };
            assert_eq!(case.json(), rpc_error(serde_json::from_str(id).expect("JSON"), format, TOLD_CALLER));
            let body = String::from_utf8(case.refusal().body).expect("UTF-8");
            assert!(body.contains(&format!("\"id\":{id},")), "{body}");
        }
        let batch = Rpc { batch: true, ..rpc(&spelled.map(|id| (id, "resources/read"))) };
        let case = Case { rpc: batch, direction: Direction::Response, ..Case::new(format, Style::Error, Asked::Whole) };
        let expected: Vec<Value> = spelled.iter().map(|id| rpc_error(serde_json::from_str(id).expect("JSON"), format, RESPONSE)).collect();
        assert_eq!(case.body(), json!(expected));
        assert_eq!(case.end(), expected.into_iter().map(|answer| (None, answer)).collect::<Vec<_>>());
        for batch in [true, false] {
            let case = Case { rpc: Rpc { batch, ..rpc(&[]) }, ..Case::new(format, Style::Refusal, Asked::Whole) };
            let reply = case.refusal();
            assert_eq!((reply.status, reply.body.len(), header(&reply, "content-type")), (202, 0, None));
            assert_eq!(header(&reply, VERDICT_HEADER), Some("block"));
        }
    }
}

/// Of a body that cannot be read nobody knows whom to answer, and a client must not take it for accepted.
#[test]
fn an_unread_request_of_json_rpc_is_no_notification() {
    for style in [Style::Error, Style::Refusal] {
        let case = Case { rpc: Rpc::default(), rule: "wire.truncated", status: 400, ..Case::new(Format::Mcp, style, Asked::Whole) };
        let reply = case.refusal();
        assert_eq!((reply.status, &case.json()["id"]), (400, &Value::Null));
        assert!(case.json()["error"]["message"].as_str().expect("a message").contains("The body ends inside a value."));
    }
}

/// Results have the shape of their method, so only calls whose result can say no get one.
#[test]
fn refusing_results_are_those_of_the_method() {
    let of = |format, requests: &[(&str, &str)], batch| Case {
        rpc: Rpc { batch, ..rpc(requests) },
        ..Case::new(format, Style::Refusal, Asked::Whole)
    };
    let mixed = of(Format::Mcp, &[("7", "tools/call"), ("8", "tools/list")], true).json();
    assert_eq!(mixed, json!([completion(Format::Mcp, TOLD_CALLER), rpc_error(json!(8), Format::Mcp, TOLD_CALLER)]));
    let old = json!({"kind": "message", "messageId": EVENT, "role": "agent", "parts": [{"kind": "text", "text": TOLD_CALLER}]});
    assert_eq!(of(Format::A2a, &[("7", "message/send")], false).json(), json!({"jsonrpc": "2.0", "id": 7, "result": old}));
    // Methods that stream are answered by a stream, with an error too: A2A's JavaScript client reads nothing else.
    for (method, style) in
        [("SendStreamingMessage", Style::Error), ("SendStreamingMessage", Style::Refusal), ("message/stream", Style::Refusal)]
    {
        let case = Case { style, ..of(Format::A2a, &[("7", method)], false) };
        assert_eq!((case.refusal().status, header(&case.refusal(), "content-type")), (200, Some("text/event-stream")));
        let expected = match (style, method) {
            (Style::Error, _) => rpc_error(json!(7), Format::A2a, TOLD_CALLER),
            (_, "message/stream") => json!({"jsonrpc": "2.0", "id": 7, "result": old}),
            _ => completion(Format::A2a, TOLD_CALLER),
        };
        assert_eq!(frames(Framing::Sse, &case.refusal().body), [(None, expected)]);
    }
}
