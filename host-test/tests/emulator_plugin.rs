//! The built plugin in the emulator: what upstream, client, counters and log see, whatever the gateway lacks.

mod support;

use std::collections::BTreeSet;

use floodmark_host::emulator::{Capability, Client, Exchange, Gateway, Lack, LogLevel, Options, Request, StartError, UpstreamReply};
use serde_json::{Value, json};
use support::{plugin, repository};

const MONITOR: &str = r#"{"version":1}"#;
const ENFORCE: &str = r#"{"version":1,"defaults":{"mode":"enforce"}}"#;
const HOLDING: &str = r#"{"version":1,"defaults":{"mode":"enforce","hold_headers":true}}"#;
const OPENAI: &str = "/v1/chat/completions";

/// The demo's conversation of which no single turn reaches tau.
fn slow_burn() -> Vec<u8> {
    let text = std::fs::read_to_string(repository("testdata/demo.jsonl")).unwrap();
    let line: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!((&line["id"], &line["expect"]["verdict"]), (&json!("slow_burn"), &json!("block")));
    line["body"].to_string().into_bytes()
}

fn gateway(config: &str, options: Options) -> Gateway {
    Gateway::start(&plugin(), config, options).unwrap()
}

fn send(gateway: &mut Gateway, request: &Request) -> Exchange {
    gateway.exchange(request, &UpstreamReply::ok()).unwrap()
}

fn report(exchange: &Exchange) -> Value {
    serde_json::from_str(exchange.state("floodmark.report").unwrap()).unwrap()
}

#[test]
fn a_slow_burn_is_refused_in_openais_shape_and_the_upstream_gets_no_body() {
    let mut gateway = gateway(ENFORCE, Options::default());
    let body = slow_burn();
    let (start, rest) = body.split_at(200);
    let request = Request::new("POST", OPENAI).header("x-request-id", "event-1").chunks([start, rest]);
    let exchange = send(&mut gateway, &request);
    let report = report(&exchange);
    assert!(report["turn_scores"].as_array().unwrap().iter().all(|score| score.as_f64().unwrap() < 0.7), "{report}");
    let reply = exchange.reply().unwrap();
    assert_eq!((reply.status, reply.local, exchange.replies_ordered), (403, true, 1));
    for (name, value) in [("content-type", "application/json"), ("x-floodmark-verdict", "block"), ("x-floodmark-event-id", "event-1")] {
        assert_eq!(reply.headers.iter().filter(|(key, _)| *key == name).count(), 1, "{name}");
        assert_eq!(reply.headers.text(name), Some(value), "{name}");
    }
    let refusal: Value = serde_json::from_slice(&reply.body).unwrap();
    let keys: BTreeSet<_> = refusal["error"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["code", "message", "param", "type"].into_iter().collect());
    assert_eq!((&refusal["error"]["type"], &refusal["error"]["code"]), (&json!("invalid_request_error"), &json!("floodmark_blocked")));
    let upstream = exchange.upstream.as_ref().unwrap();
    assert_eq!((upstream.body.len(), upstream.complete, upstream.reset), (0, false, true));
    let state = |name: &str| exchange.state(&format!("floodmark.{name}"));
    assert_eq!((state("verdict"), state("event_id"), state("rule")), (Some("block"), Some("event-1"), report["rule"].as_str()));
    assert_eq!(gateway.metric("floodmark_judged_verdict=block_mode=enforce"), Some(1));
    assert_eq!((gateway.metric("floodmark_rejected"), gateway.metric("floodmark_would_block")), (Some(1), Some(0)));
    assert_eq!(gateway.metric("floodmark_host_errors"), Some(0));
}

#[test]
fn monitor_mode_lets_the_same_pass_byte_for_byte_and_counts_it() {
    let mut gateway = gateway(MONITOR, Options::default());
    let body = slow_burn();
    let (start, rest) = body.split_at(333);
    let request = Request::new("POST", OPENAI).header("x-floodmark-verdict", "allow").chunks([start, rest]).trailers([("x-sum", "1")]);
    let upstream_reply = UpstreamReply::json(200, r#"{"choices":[]}"#).header("x-floodmark-verdict", "theirs").header("x-other", "1");
    let exchange = gateway.exchange(&request, &upstream_reply).unwrap();
    let upstream = exchange.upstream.as_ref().unwrap();
    assert_eq!((&upstream.headers, &upstream.body, upstream.complete), (&request.headers, &body, true));
    let reply = exchange.reply().unwrap();
    assert_eq!((&reply.headers, reply.body.as_slice(), reply.local), (&upstream_reply.headers, &br#"{"choices":[]}"#[..], false));
    assert!(exchange.callbacks.iter().all(|call| call.action == floodmark_host::emulator::Action::Continue), "never pauses");
    assert_eq!((exchange.state("floodmark.verdict"), gateway.metric("floodmark_would_block")), (Some("block"), Some(1)));
    let line = gateway.logs().last().unwrap();
    assert_eq!(line.level, LogLevel::Warn);
    assert!(line.text.contains("verdict=block action=continue mode=monitor rule="), "{}", line.text);
    assert!(!line.text.contains("museum"), "no text of the conversation: {}", line.text);
}

#[test]
fn held_headers_keep_the_upstream_untouched() {
    let options = Options { allow_on_headers_stop_iteration: true, ..Options::default() };
    let mut holding = gateway(HOLDING, options);
    let refused = send(&mut holding, &Request::post_json(OPENAI, slow_burn()));
    assert_eq!((refused.reply().unwrap().status, &refused.upstream), (403, &None));
    let calm = send(&mut holding, &Request::post_json(OPENAI, r#"{"messages":[{"role":"user","content":"hi"}]}"#));
    assert_eq!((calm.reply().unwrap().status, calm.reply().unwrap().headers.text("x-floodmark-verdict")), (200, Some("allow")));
    // The documented trap: the plugin's key without the gateway's option.
    let mut trap = gateway(HOLDING, Options::default());
    let hanging = send(&mut trap, &Request::post_json(OPENAI, slow_burn()));
    assert!(matches!(hanging.client, Client::Hangs(_)), "{:?}", hanging.client);
}

#[test]
fn enforce_mode_strips_and_replaces_headers_that_only_we_may_set() {
    let mut gateway = gateway(ENFORCE, Options::default());
    let request = Request::post_json(OPENAI, r#"{"messages":[{"role":"user","content":"hi"}]}"#)
        .header("X-Floodmark-Verdict", "allow")
        .header("x-floodmark-x", "1");
    let exchange = gateway.exchange(&request, &UpstreamReply::ok().header("x-floodmark-verdict", "block")).unwrap();
    let ours = |headers: &floodmark_host::emulator::Headers| {
        headers.iter().filter(|(name, _)| name.starts_with("x-floodmark")).map(|(_, value)| value.to_vec()).collect::<Vec<_>>()
    };
    assert_eq!(ours(&exchange.upstream.as_ref().unwrap().headers), [[0; 0]; 0]);
    assert_eq!(ours(&exchange.reply().unwrap().headers), [b"allow"]);
}

#[test]
fn a_body_that_ends_in_trailers_is_judged_and_refused() {
    let mut gateway = gateway(ENFORCE, Options::default());
    let request = Request::new("POST", OPENAI).chunks([slow_burn()]).trailers([("x-sum", "1")]);
    let exchange = send(&mut gateway, &request);
    assert_eq!((exchange.reply().unwrap().status, exchange.upstream.unwrap().body.len()), (403, 0));
}

#[test]
fn uploads_upgrades_and_requests_without_a_body_pass_untouched() {
    let mut gateway = gateway(ENFORCE, Options::default());
    let upload = Request::new("POST", "/upload").header("content-type", "application/octet-stream").chunks(vec![vec![7; 100_000]; 30]);
    let websocket = Request::new("GET", "/chat").header("upgrade", "websocket").header("connection", "upgrade").chunks(["frame", "frame"]);
    for request in [upload, websocket, Request::new("GET", OPENAI)] {
        let exchange = send(&mut gateway, &request);
        assert_eq!(exchange.reply().unwrap().status, 200);
        assert_eq!(exchange.upstream.as_ref().unwrap().body, request.chunks.concat());
        assert!(exchange.callbacks.iter().all(|call| call.action == floodmark_host::emulator::Action::Continue));
        assert_eq!(exchange.state("floodmark.verdict"), None);
    }
    for why in ["not_ai", "upgrade", "no_body"] {
        assert_eq!(gateway.metric(&format!("floodmark_passed_why={why}")), Some(1), "{why}");
    }
}

#[test]
fn bodies_over_the_plugins_cap_are_refused_by_the_plugin_and_over_the_gateways_by_the_gateway() {
    let config = r#"{"version":1,"defaults":{"mode":"enforce","max_body_bytes":100}}"#;
    let long = format!(r#"{{"messages":[{{"role":"user","content":"{}"}}]}}"#, "a".repeat(100));
    let mut ours = gateway(config, Options::default());
    for request in [Request::post_json(OPENAI, long.clone()), Request::new("POST", OPENAI).chunks([&long[..60], &long[60..]])] {
        let exchange = send(&mut ours, &request);
        assert_eq!((exchange.reply().unwrap().status, exchange.state("floodmark.rule")), (403, Some("wire.oversize")));
    }
    let small = Options { buffer_limit_bytes: 50, ..Options::default() };
    let theirs = send(&mut gateway(config, small), &Request::new("POST", OPENAI).chunks([&long[..40], &long[40..]]));
    assert_eq!((theirs.reply().unwrap().status, theirs.local_reply.unwrap().by_gateway, theirs.filter_state.len()), (413, true, 0));
}

#[test]
fn a_gateway_that_lacks_a_capability_still_refuses() {
    let all =
        [Capability::Metrics, Capability::Properties, Capability::Logging, Capability::SharedData, Capability::Ticks, Capability::Trailers];
    for capability in all {
        let mut gateway = gateway(ENFORCE, Options { without: [(capability, Lack::Unimplemented)].into(), ..Options::default() });
        let request = Request::new("POST", OPENAI).chunks([slow_burn()]).trailers([("x-sum", "1")]);
        let exchange = send(&mut gateway, &request);
        assert_eq!(exchange.reply().unwrap().status, 403, "without {capability:?}");
        assert_eq!(exchange.state("floodmark.verdict").is_none(), capability == Capability::Properties);
        assert_eq!(gateway.metrics().is_empty(), capability == Capability::Metrics);
        assert_eq!(gateway.logs().is_empty(), capability == Capability::Logging);
    }
}

#[test]
fn the_route_name_chooses_an_override() {
    let config = r#"{"version":1,"defaults":{"mode":"enforce"},"overrides":[{"match":{"route":"lab"},"settings":{"mode":"off"}}]}"#;
    let on_route = |route: &str| {
        let properties = [("xds.route_name".to_owned(), route.as_bytes().to_vec())].into_iter().collect();
        send(&mut gateway(config, Options { properties, ..Options::default() }), &Request::post_json(OPENAI, slow_burn()))
    };
    assert_eq!(on_route("lab").reply().unwrap().status, 200);
    assert_eq!(on_route("chat").reply().unwrap().status, 403);
}

#[test]
fn a_bad_configuration_is_refused_with_the_keys_path_in_one_line() {
    let config = r#"{"version":1,"defaults":{"reply":{"status":99}}}"#;
    let error = Gateway::start(&plugin(), config, Options::default()).unwrap_err();
    let StartError::ConfigRefused { logs } = &error else { panic!("{error:?}") };
    let errors: Vec<_> = logs.iter().filter(|line| line.level >= LogLevel::Error).collect();
    assert!(errors.len() == 1 && errors[0].text.contains("configuration refused at defaults.reply.status: 99"), "{logs:?}");
}

#[test]
fn the_start_logs_version_and_tables() {
    let gateway = gateway(MONITOR, Options::default());
    let banner = &gateway.logs()[0].text;
    let tables = format!(" tables {} detector {}", floodmark_tables::CATEGORIES.fingerprint, floodmark_tables::DETECTOR.version);
    assert!(banner.starts_with(&format!("floodmark {} ", env!("CARGO_PKG_VERSION"))) && banner.ends_with(&tables), "{banner}");
}

#[test]
fn memory_stays_in_its_budget_with_a_thousand_open_streams_and_is_given_back() {
    let mut gateway = gateway(ENFORCE, Options::default());
    assert!(gateway.memory_bytes() <= 8 << 20, "{} bytes after start", gateway.memory_bytes());
    let request = Request::new("POST", OPENAI).chunks(["x"]);
    let mut round = || {
        let open: Vec<_> = (0..1_000)
            .map(|_| {
                let id = gateway.open(&request).unwrap();
                gateway.send_chunk(id, &[b'x'; 4_096], false).unwrap();
                id
            })
            .collect();
        open.into_iter().for_each(|id| drop(gateway.finish(id).unwrap()));
        gateway.memory_bytes()
    };
    let first = round();
    assert!(first <= 32 << 20, "{first} bytes with 1,000 open streams");
    // The first round starts on a heap that no stream has cut up yet, so the second may need a page more.
    const PAGE: usize = 64 << 10;
    let settled = round();
    assert!(settled <= first + PAGE, "{settled} bytes after {first}");
    // What is cut up by chance may take one page once, in whichever round. Four bytes a stream that were not given back would take two in as many.
    let last = (0..40).map(|_| round()).last().unwrap();
    assert!(last <= settled + PAGE, "what a finished stream held is used again: {last} bytes after {settled}");
}

#[test]
fn work_is_counted_and_the_same_every_time() {
    let request = Request::post_json(OPENAI, slow_burn()).header("x-request-id", "1");
    // From one request to the next the heap is another, so it is whole runs that are alike.
    let run = || {
        let mut gateway = gateway(ENFORCE, Options::default());
        [(); 4].map(|()| send(&mut gateway, &request).fuel)
    };
    let first = run();
    assert_eq!(first, run());
    assert!(first.iter().all(|&fuel| fuel > 0));
}
