//! Endpoints over a host in memory: who may do what, in which spelling, and what each mistake is answered with.

mod attacks;
mod bodies;
mod lineage;
mod runs;

use std::rc::Rc;

use serde_json::{Value, json};

use crate::config;
use crate::filter::tests::memory::Memory;
use crate::filter::{Filter, Flow, Shared};
use crate::host::{Header, LogLevel};

const ADMIN: &str = "admin-token-admin-token-admin-token";
const CHECK: &str = "check-token-check-token-check-token";

fn configuration(more: &Value) -> Value {
    let token = |name: &str, token: &str, scope: &str| json!({"name": name, "blake3": blake3::hash(token.as_bytes()).to_hex().as_str(), "scopes": [scope]});
    let mut whole = json!({
        "version": 1,
        "keys": [{"id": "k1", "secret": "0123456789abcdef".repeat(4)}],
        "endpoints": {"tokens": [token("ops", ADMIN, "admin"), token("dashboard", CHECK, "check")]},
        "defaults": {"mode": "enforce"},
    });
    for (key, value) in more.as_object().expect("an object") {
        whole[key] = value.clone();
    }
    whole
}

/// A gateway with endpoints.
struct Gateway {
    host: Memory,
    shared: Rc<Shared>,
}

/// What came of a request.
#[derive(Debug, PartialEq)]
struct Seen {
    status: u32,
    json: Value,
    headers: Vec<(&'static str, String)>,
    details: String,
}

impl Seen {
    fn code(&self) -> &str {
        self.json["error"]["code"].as_str().unwrap_or("")
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }
}

impl Gateway {
    fn new() -> Self {
        Gateway::with(&json!({}))
    }

    fn with(more: &Value) -> Self {
        let host = Memory::default();
        let rules = config::parse(configuration(more).to_string().as_bytes()).expect("a valid configuration");
        let shared = Rc::new(Shared::new(&host, rules, b""));
        Gateway { host, shared }
    }

    /// Sends a request; `None` when it passes on to the upstream.
    fn send(&self, headers: Vec<Header>, pieces: &[&[u8]], trailers: bool) -> Option<Seen> {
        let mut filter = Filter::new(Rc::clone(&self.shared));
        *self.host.headers.borrow_mut() = headers;
        self.host.headers_sent.set(false);
        self.host.replies.borrow_mut().clear();
        let mut flow = filter.request_headers(&self.host, pieces.is_empty() && !trailers);
        let passed = flow == Flow::Continue;
        let mut held = Vec::new();
        for (index, piece) in pieces.iter().enumerate() {
            if !self.host.replies.borrow().is_empty() {
                break;
            }
            held.extend_from_slice(piece);
            *self.host.body.borrow_mut() = held.clone();
            flow = filter.request_body(&self.host, held.len(), !trailers && index + 1 == pieces.len());
        }
        if trailers && self.host.replies.borrow().is_empty() {
            flow = filter.request_trailers(&self.host);
        }
        let replies = self.host.replies.borrow();
        let Some(reply) = replies.first() else {
            assert_eq!(flow, Flow::Continue, "neither answered nor passed on");
            return None;
        };
        // Of a call of an endpoint not even the headers go on.
        let goes_on = passed && reply.details.starts_with("floodmark_endpoint");
        assert_eq!((replies.len(), flow, goes_on), (1, Flow::Pause, false), "answered once, and nothing goes on");
        // The gateway runs the response's callbacks for our own answers.
        assert_eq!(filter.response_headers(&self.host, true), Flow::Continue);
        let json = serde_json::from_slice(&reply.body).expect("JSON");
        Some(Seen { status: reply.status, json, headers: reply.headers.clone(), details: reply.details.clone() })
    }

    fn ask(&self, method: &str, path: &str, token: &str) -> Seen {
        self.send(request(method, path, &[("x-floodmark-token", token)]), &[], false).expect("an answer")
    }

    fn post(&self, body: &[u8], more: &[(&str, &str)]) -> Seen {
        let headers = [&[("x-floodmark-token", ADMIN), ("content-type", "application/json")], more].concat();
        self.send(request("POST", "/floodmark/v1/approvals", &headers), &[body], false).expect("an answer")
    }

    fn lines(&self, of: &str) -> Vec<String> {
        let logs = self.host.logs.borrow();
        logs.iter().filter(|(level, line)| *level == LogLevel::Info && line.starts_with(of)).map(|(_, line)| line.clone()).collect()
    }

    fn counted(&self, status: u32) -> u32 {
        self.host.counted(&format!("floodmark_endpoints_status={status}"))
    }
}

fn request(method: &str, path: &str, more: &[(&str, &str)]) -> Vec<Header> {
    let fixed = [(":method", method), (":path", path), (":authority", "ops.example")];
    fixed.iter().chain(more).map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec())).collect()
}

#[test]
fn health_tells_what_runs_here() {
    let gateway = Gateway::new();
    for token in [ADMIN, CHECK] {
        let seen = gateway.ask("GET", "/floodmark/v1/health", token);
        assert_eq!((seen.status, &seen.json["status"], &seen.json["mode"]), (200, &json!("ok"), &json!("enforce")));
        assert_eq!(seen.json["state"], "available");
        assert_eq!(seen.json["build"]["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(seen.json["build"]["tables"], floodmark_tables::CATEGORIES.fingerprint);
        assert_eq!((seen.header("content-type"), seen.header("cache-control")), (Some("application/json"), Some("no-store")));
        assert_eq!(seen.details, "floodmark_endpoint{health}");
    }
    assert_eq!((gateway.counted(200), gateway.counted(401)), (2, 0));
    gateway.host.alone.set(true);
    assert_eq!(gateway.ask("GET", "/floodmark/v1/health", CHECK).json["state"], "unavailable");
    let off = Gateway::with(&json!({"state": {"enabled": false}}));
    assert_eq!(off.ask("GET", "/floodmark/v1/health", CHECK).json["state"], "off");
    assert_eq!(off.ask("GET", &format!("/floodmark/v1/runs/{}", "0".repeat(32)), CHECK).code(), "state_unavailable");
}

#[test]
fn each_scope_does_what_it_may() {
    let gateway = Gateway::new();
    let headers = |token| request("POST", "/floodmark/v1/approvals", &[("x-floodmark-token", token), ("content-type", "application/json")]);
    let body = br#"{"id":"0","decision":"approve"}"#;
    let seen = gateway.send(headers(CHECK), &[body], false).expect("an answer");
    assert_eq!((seen.status, seen.code(), seen.details.as_str()), (403, "forbidden", "floodmark_endpoint{forbidden}"));
    assert_eq!(seen.json["error"]["message"], "the token lacks the scope `admin`");
    assert_eq!(gateway.send(headers(ADMIN), &[body], false).expect("an answer").status, 400);
    assert_eq!((gateway.counted(403), gateway.counted(400)), (1, 1));
}

#[test]
fn wrong_methods_are_told_the_right_ones() {
    let gateway = Gateway::new();
    for (path, allowed) in [
        ("v1/health", "GET"),
        ("v1/approvals", "POST"),
        ("v1/runs/00", "GET, DELETE"),
        ("v1/lineage/records", "POST"),
        ("v1/lineage/check", "POST"),
        ("v1/lineage/adopt", "POST"),
        ("v1/lineage/grants", "POST"),
        ("v1/quarantine", "POST"),
        ("v1/quarantine/acme", "GET"),
    ] {
        for method in ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "get", "CONNECT", ""] {
            if !allowed.split(", ").any(|known| known == method) {
                let seen = gateway.ask(method, &format!("/floodmark/{path}"), ADMIN);
                assert_eq!((seen.status, seen.code(), seen.header("allow")), (405, "method", Some(allowed)), "{method} {path}");
            }
        }
    }
}

#[test]
fn what_is_no_endpoint_is_not_found() {
    let gateway = Gateway::new();
    for path in [
        "/floodmark/",
        "/floodmark/v1",
        "/floodmark/v1/",
        "/floodmark/v1/health/",
        "/floodmark/v1/health/x",
        "/floodmark/health",
        "/floodmark/v2/health",
        "/floodmark/v1/chat/completions",
    ] {
        let seen = gateway.ask("GET", path, ADMIN);
        assert_eq!((seen.status, seen.code()), (404, "no_endpoint"), "{path}");
    }
    assert_eq!(gateway.ask("GET", "/floodmark", ADMIN).code(), "path_spelling");
}

/// Under the kill switch too: the token must not get to an upstream, and the request that brings it has nothing to do there.
#[test]
fn every_mode_answers_and_the_kill_switch_says_that_it_is_one() {
    for mode in ["off", "monitor", "enforce"] {
        let gateway = Gateway::with(&json!({"defaults": {"mode": mode}}));
        assert_eq!(gateway.ask("GET", "/floodmark/v1/health", CHECK).json["mode"], mode);
        assert_eq!(gateway.ask("GET", "/floodmark/v1/health", "x").status, 401);
    }
    let gateway = Gateway::with(&json!({"enabled": false}));
    for token in [ADMIN, "x"] {
        let seen = gateway.ask("GET", "/floodmark/v1/health", token);
        assert_eq!((seen.status, seen.code()), (503, "disabled"));
    }
    assert_eq!(gateway.counted(503), 2);
}

#[test]
fn the_prefix_is_the_configured_one_and_without_endpoints_there_is_none() {
    let mut endpoints = configuration(&json!({}))["endpoints"].clone();
    endpoints["prefix"] = "/_ops/fm/".into();
    let gateway = Gateway::with(&json!({ "endpoints": endpoints }));
    assert_eq!(gateway.ask("GET", "/_ops/fm/v1/health", CHECK).status, 200);
    assert_eq!(gateway.send(request("GET", "/floodmark/v1/health", &[]), &[], false), None);
    let gateway = Gateway::with(&json!({ "endpoints": null }));
    assert_eq!(gateway.send(request("GET", "/floodmark/v1/health", &[("x-floodmark-token", ADMIN)]), &[], false), None);
    assert!(!gateway.host.headers.borrow().iter().any(|(name, _)| name.starts_with(b"x-floodmark")), "the token stays here all the same");
}

#[test]
fn a_host_that_fails_every_call_gets_no_request_to_the_upstream_by_an_endpoint() {
    let gateway = Gateway::new();
    *gateway.host.headers.borrow_mut() =
        request("POST", "/floodmark/v1/approvals", &[("x-floodmark-token", ADMIN), ("content-type", "application/json")]);
    let mut filter = Filter::new(Rc::clone(&gateway.shared));
    assert_eq!(filter.request_headers(&gateway.host, false), Flow::Pause);
    gateway.host.broken.set(true);
    assert_eq!(filter.request_body(&gateway.host, 10, true), Flow::Pause);
    let replies = gateway.host.replies.borrow();
    assert_eq!((replies.len(), replies[0].status, replies[0].details.as_str()), (1, 503, "floodmark_endpoint{body_unread}"));
}
