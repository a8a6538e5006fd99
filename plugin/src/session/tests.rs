//! Callers and runs: what names them, who may use a name, and what responses teach.

use floodmark_core::{Hint, Judge, Policy};

use super::*;
use crate::config::{Rules, parse};
use crate::filter::Shared;
use crate::filter::tests::memory::Memory;

const START: &str = r#"{"version":1,"keys":[{"id":"k1","secret":"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"}]"#;

fn rules(session: &str) -> Rules {
    parse(format!(r#"{START},"defaults":{{"session":{session}}}}}"#).as_bytes()).expect("valid")
}

/// Settings and tables over one host.
struct Gateway {
    host: Memory,
    shared: Shared,
}

impl Gateway {
    fn new(session: &str) -> Self {
        let host = Memory::default();
        Gateway { shared: Shared::new(&host, rules(session), b""), host }
    }

    fn state(&self) -> &State {
        self.shared.state.as_ref().expect("there are keys")
    }

    fn identity(&self, headers: &[(&str, &str)]) -> Identity {
        let fields = headers.iter().map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()));
        Identity::of(self.state(), &self.shared.rules.defaults.settings.session, &Fields::new(fields.collect()), &self.host)
    }

    fn named(&self, headers: &[(&str, &str)], body: &str) -> Option<Named> {
        let judge = Judge::new(&Policy::default(), &floodmark_tables::TABLES).expect("valid");
        let hint = Hint { ai_path: true, ..Hint::default() };
        let body = hint.body(body.as_bytes());
        let opened = judge.open(&body, hint);
        self.identity(headers).named(self.state(), &self.shared.rules.defaults.settings.session, &opened, &body, &self.host, 1000)
    }

    fn teach(&self, caller: (&str, &str), from: RunFrom, id: &[u8], run: Option<Key>, heat: f32) {
        self.identity(&[caller]).teach(self.state(), &self.host, &Taught { from, id, run, heat: Some(heat) }, 1000);
    }

    fn counted(&self, name: &str) -> u32 {
        self.host.counted(name)
    }
}

const KEY: (&str, &str) = ("x-api-key", "secret-1");
const OTHER: (&str, &str) = ("x-api-key", "secret-2");
const CHAT: &str = r#"{"messages":[{"role":"system","content":"S"},{"role":"user","content":"Hello."}]}"#;

#[test]
fn the_first_source_that_a_request_has_says_who_it_is_from() {
    let gateway = Gateway::new("{}");
    let caller = |headers: &[(&str, &str)]| gateway.identity(headers).caller;
    let [bearer, key] = [("authorization", "Bearer T"), KEY].map(|header| caller(&[header]));
    assert!(bearer != key && bearer.is_known && !bearer.is_ambiguous);
    assert_eq!(caller(&[KEY, ("authorization", "Bearer T")]), bearer);
    assert_eq!(caller(&[("x-api-key", "T")]).key()[..8], caller(&[("X-API-Key", " T ")]).tag());
    for same in ["bearer T", "BEARER   T", " Bearer\tT "] {
        assert_eq!(caller(&[("authorization", same)]), bearer, "{same:?} is the same credential");
    }
    assert_ne!(caller(&[("authorization", "Bearer t")]), bearer);
    assert_ne!(caller(&[("api-key", "secret-1")]), key, "another header");
    let nobody = caller(&[("x-api-key", " ")]);
    assert!(!nobody.is_known && nobody == caller(&[]));
    let twice = caller(&[KEY, ("X-Api-Key", "secret-2")]);
    assert!(twice.is_ambiguous && twice != key && twice != caller(&[OTHER]));
    // A certificate comes first.
    gateway.host.properties.borrow_mut().insert("connection.subject_peer_certificate".to_owned(), b"CN=a".to_vec());
    let subject = caller(&[KEY]);
    gateway.host.properties.borrow_mut().insert("connection.uri_san_peer_certificate".to_owned(), b"spiffe://a".to_vec());
    assert!(subject != key && caller(&[KEY]) != subject);
}

#[test]
fn an_address_is_one_whatever_the_port() {
    let gateway = Gateway::new(r#"{"caller":[{"from":"address"}]}"#);
    let caller = |address: &str| {
        gateway.host.properties.borrow_mut().insert("source.address".to_owned(), address.as_bytes().to_vec());
        gateway.identity(&[]).caller
    };
    assert_eq!(caller("192.0.2.1:4711"), caller("192.0.2.1:80"));
    assert_eq!(caller("[2001:db8::1]:4711"), caller("[2001:db8::1]:80"));
    assert_ne!(caller("192.0.2.1:80"), caller("192.0.2.2:80"));
}

#[test]
fn a_run_has_the_name_of_the_first_source_and_hangs_on_its_caller() {
    let session = r#"{"sources":[{"from":"header","name":"x-run"},{"from":"mcp_session"},{"from":"conversation"},{"from":"metadata","name":"session"},
        {"from":"metadata","name":"user"},{"from":"a2a_context"}]}"#;
    let gateway = Gateway::new(session);
    let source = |headers: &[(&str, &str)], body: &str| gateway.named(headers, body).map(|named| named.source);
    let responses = r#"{"model":"m","input":"Hello.","conversation":{"id":"c1"},"metadata":{"session":"s1"}}"#;
    assert_eq!(source(&[KEY, ("x-run", "r1"), ("mcp-session-id", "m1")], responses), Some("header"));
    assert_eq!(source(&[KEY, ("mcp-session-id", "m1")], responses), Some("mcp_session"));
    assert_eq!(source(&[KEY], responses), Some("conversation"));
    assert_eq!(source(&[KEY], &responses.replace(r#""conversation":{"id":"c1"},"#, "")), Some("metadata"));
    assert_eq!(source(&[KEY], r#"{"messages":[{"role":"user","content":"Hello."}],"user":"u"}"#), Some("metadata"));
    let a2a = r#"{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"role":"user","contextId":"x","parts":[{"kind":"text","text":"Hi"}]}}}"#;
    assert_eq!(source(&[KEY], a2a), Some("a2a_context"));
    assert_eq!(source(&[KEY], CHAT), Some("fallback"));
    assert_eq!(source(&[KEY], r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#), None, "nothing names it");
    // The same value means another run elsewhere, and for another caller.
    let id = |headers: &[(&str, &str)], body: &str| gateway.named(headers, body).expect("named").id;
    let ids = [
        id(&[KEY, ("x-run", "c1")], CHAT),
        id(&[OTHER, ("x-run", "c1")], CHAT),
        id(&[("x-run", "c1")], CHAT),
        id(&[KEY, ("mcp-session-id", "c1")], CHAT),
        id(&[KEY], responses),
        id(&[OTHER], responses),
        id(&[KEY], CHAT),
        id(&[OTHER], CHAT),
        id(&[KEY], &CHAT.replace("Hello.", "Hello!")),
    ];
    for (at, id) in ids.iter().enumerate() {
        assert!(!ids[..at].contains(id), "{at}");
    }
    assert_eq!(id(&[KEY], CHAT), id(&[KEY], &CHAT.replace("\"S\"", "\"T\"").replace("]}", r#",{"role":"user","content":"More."}]}"#)));
    assert_eq!(gateway.named(&[KEY], CHAT).expect("named").hex().len(), 32);
    let other_key = Gateway {
        shared: Shared::new(&Memory::default(), parse(format!("{}}}", START.replace("0001", "0002")).as_bytes()).expect("valid"), b""),
        host: Memory::default(),
    };
    assert_ne!(other_key.named(&[KEY], CHAT).expect("named").id, id(&[KEY], CHAT), "a name cannot be told without the secret");
}

#[test]
fn what_a_response_teaches_names_its_run_for_its_caller_only() {
    let gateway = Gateway::new("{}");
    let next = r#"{"model":"m","input":"Go on.","previous_response_id":"resp_1"}"#;
    let first = gateway.named(&[KEY], CHAT).expect("named");
    let own = gateway.named(&[KEY], next).expect("named");
    assert!(own.id != first.id && own.source == "previous_response");
    gateway.teach(KEY, RunFrom::PreviousResponse, b"resp_1", Some(first.id), 0.5);
    assert_eq!(gateway.named(&[KEY], next), Some(Named { id: first.id, source: "previous_response" }));
    assert_eq!(gateway.counted("floodmark_state_foreign_table=ids"), 0);
    let others = gateway.named(&[OTHER], next).expect("named");
    assert!(others.id != first.id && others.id != own.id);
    assert_eq!(gateway.counted("floodmark_state_foreign_table=ids"), 1);
    // Both may have one of that name.
    gateway.teach(OTHER, RunFrom::PreviousResponse, b"resp_1", None, 0.0);
    assert_eq!(gateway.named(&[OTHER], next), Some(others));
    assert_eq!(gateway.named(&[KEY], next).map(|named| named.id), Some(first.id));
    // A session that a server names.
    gateway.teach(KEY, RunFrom::McpSession, b"m1", Some(first.id), 0.0);
    assert_eq!(gateway.named(&[KEY, ("mcp-session-id", "m1")], CHAT), Some(Named { id: first.id, source: "mcp_session" }));
    assert_eq!(
        gateway.identity(&[KEY, ("mcp-session-id", "m1")]).named_by_headers(gateway.state(), &gateway.host, 1000).map(|named| named.id),
        Some(first.id)
    );
    assert_eq!(gateway.identity(&[KEY]).named_by_headers(gateway.state(), &gateway.host, 1000), None);
}

#[test]
fn what_is_in_use_does_not_expire() {
    let gateway = Gateway::new("{}");
    let (identity, state) = (gateway.identity(&[KEY, ("mcp-session-id", "m1")]), gateway.state());
    let run = [7; 16];
    let taught = Taught { from: RunFrom::McpSession, id: b"m1", run: Some(run), heat: Some(0.5) };
    identity.teach(state, &gateway.host, &taught, 0);
    let named = |now_ms| identity.named_by_headers(state, &gateway.host, now_ms).map(|named| named.id);
    for half_days in 1..10 {
        assert_eq!(named(half_days * state.ttl_ms * 6 / 10), Some(run), "{half_days}");
    }
    assert_ne!(named(20 * state.ttl_ms), Some(run));
}
