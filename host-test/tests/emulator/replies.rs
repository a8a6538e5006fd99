//! Local replies, resets and traps.

use floodmark_host::emulator::{Client, Options, Request, UpstreamReply};

use crate::wat_plugin::{engines, exchange, start};

/// A 403 with a header of its own; the pairs are laid out by hand: one field `a: b`.
const REPLY: &str = r#"(call $say (call $reply (i32.const 403) @"policy hit" @"no"
    @"\01\00\00\00\01\00\00\00\01\00\00\00a\00b\00" (i32.const -1)))"#;

fn replying(callbacks: &str) -> String {
    callbacks.replace("REPLY", REPLY)
}

const BODY: &str = r#"(func (export "proxy_on_request_body") (param i32 i32 i32) (result i32)
    (if (local.get 2) (then REPLY)) (i32.const 1))"#;

const SEEN: &str = r#"
  (func (export "proxy_on_response_headers") (param i32 i32 i32) (result i32)
    (drop (call $value (i32.const 2) @":status" (i32.const 16) (i32.const 20))) (call $show)
    (drop (call $replace (i32.const 2) @"x-ours" @"1"))
    (i32.const 0))
  (func (export "proxy_on_response_body") (param i32 i32 i32) (result i32)
    (drop (call $buffer (i32.const 1) (i32.const 0) (local.get 1) (i32.const 16) (i32.const 20))) (call $show)
    (i32.const 0))"#;

#[test]
fn a_local_reply_passes_our_own_response_callbacks_and_resets_the_upstream() {
    let request = Request::new("POST", "/").chunks(["secret", "!"]);
    let (exchange, lines) = exchange(&replying(&format!("{BODY}{SEEN}")), &Options::default(), &request, &UpstreamReply::ok());
    assert_eq!(lines, ["0", "403", "no"]);
    let reply = exchange.reply().unwrap();
    assert_eq!((reply.status, reply.body.as_slice(), reply.local), (403, &b"no"[..], true));
    let field = |name| reply.headers.text(name);
    assert_eq!(
        (field("a"), field("x-ours"), field("content-length"), field("content-type")),
        (Some("b"), Some("1"), Some("2"), Some("text/plain"))
    );
    assert_eq!(exchange.local_reply.as_ref().unwrap().details, "policy_hit", "Envoy takes no spaces in the details");
    let upstream = exchange.upstream.as_ref().unwrap();
    assert_eq!((upstream.body.as_slice(), upstream.complete, upstream.reset), (&b""[..], false, true), "headers were already sent");
}

#[test]
fn a_reply_from_held_headers_leaves_the_upstream_untouched() {
    let functions = format!(r#"(func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32) (i32.const 1)) {BODY}"#);
    let options = Options { allow_on_headers_stop_iteration: true, ..Options::default() };
    let request = Request::new("POST", "/").chunks(["secret"]);
    let (exchange, _) = exchange(&replying(&functions), &options, &request, &UpstreamReply::ok());
    assert_eq!((exchange.reply().unwrap().status, exchange.upstream.is_none()), (403, true));
}

#[test]
fn a_reply_is_sent_though_the_callback_says_continue() {
    let functions = replying(r#"(func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32) REPLY (i32.const 0))"#);
    let (exchange, _) = exchange(&functions, &Options::default(), &Request::new("POST", "/").chunks(["x"]), &UpstreamReply::ok());
    assert_eq!((exchange.reply().unwrap().status, exchange.upstream.is_none()), (403, true));
}

/// What Envoy 1.40 does with a second reply depends on how far the first has got.
#[test]
fn a_second_local_reply_is_dropped_replaces_the_first_or_breaks_the_stream() {
    let second = REPLY.replace("403", "404");
    let later = |callback: &str| {
        format!(r#"{BODY} (func (export "proxy_on_response_{callback}") (param i32 i32 i32) (result i32) {second} (i32.const 0))"#)
    };
    for (functions, status) in
        [(BODY.replace("REPLY", &format!("REPLY {second}")), Some(403)), (later("headers"), Some(404)), (later("body"), None)]
    {
        let request = Request::new("POST", "/").chunks(["x"]);
        let (exchange, _) = exchange(&replying(&functions), &Options::default(), &request, &UpstreamReply::ok());
        assert_eq!(exchange.replies_ordered, 2);
        match status {
            Some(status) => assert_eq!(exchange.reply().unwrap().status, status),
            None => assert!(matches!(exchange.client, Client::Reset(_)), "{:?}", exchange.client),
        }
    }
}

#[test]
fn a_reply_in_the_log_callback_is_an_error() {
    let functions = replying(r#"(func (export "proxy_on_log") (param i32) REPLY)"#);
    let mut gateway = start(&functions, &Options::default()).unwrap();
    let error = gateway.exchange(&Request::new("GET", "/"), &UpstreamReply::ok()).unwrap_err();
    assert_eq!(error.callback, "proxy_on_log");
}

#[test]
fn a_reply_at_the_response_headers_goes_past_the_plugin() {
    let functions = format!(
        r#"(func (export "proxy_on_response_headers") (param i32 i32 i32) (result i32) REPLY (i32.const 0))
           {}"#,
        SEEN.split_once("(func (export \"proxy_on_response_body\")")
            .map(|(_, rest)| format!("(func (export \"proxy_on_response_body\"){rest}"))
            .unwrap()
    );
    let (exchange, lines) = exchange(&replying(&functions), &Options::default(), &Request::new("GET", "/"), &UpstreamReply::ok());
    assert_eq!(lines, ["0"], "neither the reply's body nor the upstream's reaches the plugin");
    let reply = exchange.reply().unwrap();
    assert_eq!((reply.status, reply.body.as_slice(), reply.local), (403, &b"no"[..], true));
    assert!(exchange.upstream.unwrap().complete);
}

#[test]
fn a_reply_at_the_response_body_is_a_reset() {
    let functions = replying(r#"(func (export "proxy_on_response_body") (param i32 i32 i32) (result i32) REPLY (i32.const 1))"#);
    let (exchange, _) = exchange(&functions, &Options::default(), &Request::new("GET", "/"), &UpstreamReply::ok());
    assert!(matches!(exchange.client, Client::Reset(_)), "{:?}", exchange.client);
}

#[test]
fn a_closed_stream_is_a_reset() {
    let functions = r#"(func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
        (drop (call $close (i32.const 0))) (i32.const 0))"#;
    let (exchange, _) = exchange(functions, &Options::default(), &Request::new("GET", "/"), &UpstreamReply::ok());
    assert_eq!((exchange.client, exchange.upstream), (Client::Reset("wasm_close_stream"), None));
}

#[test]
fn a_trap_names_its_callback_and_ends_the_gateway() {
    let functions = r#"(func (export "proxy_on_request_body") (param i32 i32 i32) (result i32)
        (i32.div_u (i32.const 1) (i32.const 0)))"#;
    for engine in engines() {
        let mut gateway = start(functions, &Options { engine, ..Options::default() }).unwrap();
        gateway.exchange(&Request::new("GET", "/"), &UpstreamReply::ok()).expect("nothing traps without a body");
        let trapped = gateway.exchange(&Request::new("POST", "/").chunks(["x"]), &UpstreamReply::ok()).unwrap_err();
        assert_eq!(trapped.callback, "proxy_on_request_body");
        assert!(trapped.cause.contains("divide by zero"), "{trapped}");
        let later = gateway.exchange(&Request::new("GET", "/"), &UpstreamReply::ok()).unwrap_err();
        assert_eq!(later, trapped, "a dead VM serves nothing");
    }
}

#[test]
fn an_answer_that_is_no_action_is_an_error() {
    let functions = r#"(func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32) (i32.const 7))"#;
    let mut gateway = start(functions, &Options::default()).unwrap();
    let error = gateway.exchange(&Request::new("GET", "/"), &UpstreamReply::ok()).unwrap_err();
    assert!(error.to_string().contains("proxy_on_request_headers: it answered 7"), "{error}");
}
