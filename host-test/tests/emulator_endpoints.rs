//! The operator's endpoints of the built plugin in the emulator: what the upstream sees, which is nothing, and what callers get.

mod support;

use std::collections::BTreeMap;

use floodmark_host::emulator::{Capability, Client, Exchange, Gateway, Lack, Options, Process, Request, UpstreamReply};
use serde_json::{Value, json};
use support::{plugin, runtimes};

const ADMIN: &str = "5f0c1f8a2c5b4a61b20f0a86c1f6d1a5-admin";
const TOKEN: &str = "x-floodmark-token";

fn config(more: &Value) -> String {
    let hash = blake3::hash(ADMIN.as_bytes()).to_hex();
    let mut whole = json!({
        "version": 1,
        "keys": [{"id": "k1", "secret": "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"}],
        "endpoints": {"tokens": [{"name": "ops", "blake3": hash.as_str(), "scopes": ["admin"]}]},
        "defaults": {"mode": "enforce"},
    });
    for (key, value) in more.as_object().unwrap() {
        whole[key] = value.clone();
    }
    whole.to_string()
}

fn options() -> Options {
    Options { allow_on_headers_stop_iteration: true, ..Options::default() }
}

fn gateway(more: &Value, options: Options) -> Gateway {
    Gateway::start(&plugin(), &config(more), options).unwrap()
}

/// Status and code of an answer that is not the upstream's, of which the upstream saw nothing.
fn answered(exchange: &Exchange) -> (u16, String) {
    assert_eq!((&exchange.upstream, exchange.replies_ordered), (&None, 1));
    let reply = exchange.reply().unwrap();
    assert!(reply.local);
    let json: Value = serde_json::from_slice(&reply.body).unwrap();
    (reply.status, json["error"]["code"].as_str().unwrap_or("").to_owned())
}

fn send(gateway: &mut Gateway, request: &Request) -> Exchange {
    gateway.exchange(request, &UpstreamReply::ok()).unwrap()
}

#[test]
fn calls_are_answered_in_every_mode_and_nothing_goes_on() {
    let body = br#"{"id":"00000000000000000000000000000000-00000000","decision":"deny"}"#;
    for engine in runtimes() {
        for (more, code) in [
            (json!({"defaults": {"mode": "off"}}), ""),
            (json!({"defaults": {"mode": "monitor"}}), ""),
            (json!({"defaults": {"mode": "enforce", "hold_headers": true}}), ""),
            (json!({"enabled": false}), "disabled"),
        ] {
            let mut gateway = gateway(&more, Options { engine, ..options() });
            let health = Request::new("GET", "/floodmark/v1/health").header(TOKEN, ADMIN);
            let status = if code.is_empty() { 200 } else { 503 };
            assert_eq!(answered(&send(&mut gateway, &health)), (status, code.to_owned()), "{more}");
            let post = Request::post_json("/floodmark/v1/approvals", body.to_vec()).header(TOKEN, ADMIN);
            let cut = Request::new("POST", "/floodmark/v1/approvals").header("content-type", "application/json").header(TOKEN, ADMIN);
            let cut = cut.chunks([&body[..9], &body[9..]]);
            for request in [post, cut.clone(), cut.trailers([("x-sum", "1")])] {
                let expected = if code.is_empty() { (404, "not_found".to_owned()) } else { (503, code.to_owned()) };
                assert_eq!(answered(&send(&mut gateway, &request)), expected, "{more}");
            }
            assert_eq!(gateway.metric("floodmark_host_errors"), Some(0));
        }
    }
}

#[test]
fn a_body_needs_the_gateways_option_and_nothing_else_does() {
    let mut gateway = gateway(&json!({}), Options::default());
    assert_eq!(answered(&send(&mut gateway, &Request::new("GET", "/floodmark/v1/health").header(TOKEN, ADMIN))).0, 200);
    let post = Request::post_json("/floodmark/v1/approvals", "{}");
    assert_eq!(answered(&send(&mut gateway, &post)), (401, "unauthorized".to_owned()), "who has no token is answered at once");
    let hanging = send(&mut gateway, &post.header(TOKEN, ADMIN));
    assert!(matches!(hanging.client, Client::Hangs(_)) && hanging.upstream.is_none(), "{:?}", hanging.client);
}

#[test]
fn bodies_over_the_cap_are_not_kept() {
    let mut gateway = gateway(&json!({}), options());
    let request = Request::new("POST", "/floodmark/v1/approvals").header("content-type", "application/json").header(TOKEN, ADMIN);
    let exchange = send(&mut gateway, &request.clone().chunks(vec![vec![b' '; 1000]; 100]));
    assert_eq!(answered(&exchange), (413, "too_large".to_owned()));
    let pieces = exchange.callbacks.iter().filter(|call| call.name == "proxy_on_request_body").count();
    assert!(pieces <= 66, "answered at the first byte over it, not after {pieces} pieces");
    let announced = request.chunks([vec![b' '; 65_537]]).header("content-length", "65537");
    assert_eq!(answered(&send(&mut gateway, &announced)), (413, "too_large".to_owned()));
}

#[test]
fn tokens_stay_here_whatever_the_mode() {
    for more in [
        json!({"defaults": {"mode": "off"}}),
        json!({"defaults": {"mode": "monitor"}}),
        json!({"enabled": false}),
        json!({"endpoints": null, "defaults": {"mode": "monitor"}}),
    ] {
        let mut gateway = gateway(&more, options());
        let request = Request::post_json("/v1/chat/completions", r#"{"messages":[{"role":"user","content":"hi"}]}"#);
        let request =
            request.header(TOKEN, ADMIN).header("x_floodmark_token", ADMIN).header("X-Floodmark_Token", "x").header("x-other", "1");
        let exchange = send(&mut gateway, &request);
        let upstream = exchange.upstream.unwrap();
        let names: Vec<&str> = upstream.headers.iter().map(|(name, _)| name).collect();
        let kept = [":method", ":path", ":authority", ":scheme", "content-type", "content-length", "x-other"];
        assert_eq!(names, kept, "{more}: every other header is as it was");
        let body = Request::new("POST", "/upload").chunks(["x", "y"]);
        let exchange = send(&mut gateway, &body.trailers([(TOKEN, ADMIN), ("x_floodmark_token", ADMIN), ("x-sum", "1")]));
        let trailers = exchange.upstream.unwrap().trailers.unwrap();
        assert_eq!(trailers.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["x-sum"], "{more}");
        assert_eq!(gateway.metric("floodmark_host_errors"), Some(0));
    }
}

#[test]
fn a_gateway_without_shared_data_says_so() {
    let without: BTreeMap<_, _> = [(Capability::SharedData, Lack::Unimplemented)].into();
    let mut gateway = gateway(&json!({}), Options { without, ..options() });
    let body = r#"{"id":"00000000000000000000000000000000-00000000","decision":"approve"}"#;
    let exchange = send(&mut gateway, &Request::post_json("/floodmark/v1/approvals", body).header(TOKEN, ADMIN));
    assert_eq!(answered(&exchange), (503, "state_unavailable".to_owned()));
}

const PATH: &str = "/v1/chat/completions";

/// A rule that asks, and how a call of a tool meets it.
fn asking() -> Value {
    json!({"defaults": {"mode": "enforce", "policy": {
        "rules": {"operator.wire": "ask", "detector": "off"},
        "patterns": [{"id": "operator.wire", "category": "instruction_seeding", "pattern": "wire transfer of [0-9]+"}],
    }}})
}

fn transfer(session: &str) -> Request {
    let arguments = json!({"note": "wire transfer of 900"});
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "pay", "arguments": arguments}});
    Request::post_json("/mcp", call.to_string()).header("mcp-session-id", session).header("authorization", "Bearer agent")
}

/// The approval that a refused call of a tool waits for; `None` when it passed.
fn waits_for(exchange: &Exchange) -> Option<String> {
    let reply = exchange.reply().unwrap();
    if !reply.local {
        assert!(exchange.upstream.as_ref().unwrap().complete);
        return None;
    }
    let json: Value = serde_json::from_slice(&reply.body).unwrap();
    assert_eq!((reply.status, &json["error"]["data"]["code"]), (200, &json!("floodmark_ask")), "{json}");
    assert!(exchange.upstream.as_ref().is_none_or(|upstream| upstream.body.is_empty()));
    Some(json["error"]["data"]["approval"].as_str().unwrap().to_owned())
}

fn decide(gateway: &mut Gateway, id: &str, decision: &str) -> (u16, String) {
    let body = json!({"id": id, "decision": decision}).to_string();
    answered(&send(gateway, &Request::post_json("/floodmark/v1/approvals", body).header(TOKEN, ADMIN)))
}

/// A gateway has a VM for each worker, and they share what is in shared data. So does a VM that starts anew.
#[test]
fn what_one_worker_asks_another_approves_and_a_third_uses() {
    for engine in runtimes() {
        let process = Process::default();
        let start = || Gateway::start_in(&process, &plugin(), &config(&asking()), Options { engine, ..options() }).unwrap();
        let [mut first, mut second, mut third] = [start(), start(), start()];
        let id = waits_for(&send(&mut first, &transfer("s-1"))).unwrap();
        assert_eq!(waits_for(&send(&mut second, &transfer("s-1"))), Some(id.clone()));
        first.reload().unwrap();
        assert_eq!(decide(&mut second, &id, "approve"), (200, String::new()));
        assert_ne!(waits_for(&send(&mut third, &transfer("s-2"))), None, "another session");
        assert_eq!(waits_for(&send(&mut third, &transfer("s-1"))), None, "it passes");
        let again = waits_for(&send(&mut first, &transfer("s-1"))).unwrap();
        assert_ne!(again, id);
        assert_eq!(decide(&mut first, &id, "approve"), (404, "not_found".to_owned()));
        assert_eq!(decide(&mut first, &again, "deny"), (200, String::new()));
        assert_eq!(waits_for(&send(&mut second, &transfer("s-1"))), Some(again));
        assert_eq!((first.metric("floodmark_approvals_what=used"), first.metric("floodmark_host_errors")), (Some(1), Some(0)));
    }
}

/// Endpoints on a listener of their own are another plugin with the same secret; one with another secret knows nothing of these runs.
#[test]
fn plugins_share_approvals_where_they_share_the_secret() {
    let process = Process::default();
    let mut ai = asking();
    ai["endpoints"] = Value::Null;
    let start = |more: &Value| Gateway::start_in(&process, &plugin(), &config(more), options()).unwrap();
    let mut traffic = start(&ai);
    let mut operators = start(&json!({"defaults": {"mode": "off"}}));
    let mut strangers =
        start(&json!({"keys": [{"id": "k2", "secret": "ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100"}]}));
    let id = waits_for(&send(&mut traffic, &transfer("s-1"))).unwrap();
    assert_eq!(decide(&mut strangers, &id, "approve"), (404, "not_found".to_owned()));
    assert_eq!(decide(&mut operators, &id, "approve"), (200, String::new()));
    assert_eq!(waits_for(&send(&mut traffic, &transfer("s-1"))), None);
}

#[test]
fn an_operator_sees_and_ends_a_run() {
    let mut gateway = gateway(&json!({}), options());
    let body = r#"{"messages":[{"role":"user","content":"hi"}]}"#;
    let exchange = send(&mut gateway, &Request::post_json(PATH, body));
    let run = exchange.state("floodmark.run").unwrap().to_owned();
    let call = |method: &str| Request::new(method, &format!("/floodmark/v1/runs/{run}")).header(TOKEN, ADMIN);
    let told = send(&mut gateway, &call("GET"));
    let json: Value = serde_json::from_slice(&told.reply().unwrap().body).unwrap();
    assert_eq!((answered(&told).0, &json["id"], &json["events"]), (200, &json!(run), &json!(1)), "{json}");
    assert_eq!(answered(&send(&mut gateway, &call("DELETE"))).0, 200);
    for method in ["GET", "DELETE"] {
        assert_eq!(answered(&send(&mut gateway, &call(method))), (404, "not_found".to_owned()));
    }
}
