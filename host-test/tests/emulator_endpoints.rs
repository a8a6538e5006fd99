//! The operator's endpoints of the built plugin in the emulator: what the upstream sees, which is nothing, and what callers get.

mod support;

use std::collections::BTreeMap;

use floodmark_host::emulator::{Capability, Client, Exchange, Gateway, Lack, Options, Request, UpstreamReply};
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
