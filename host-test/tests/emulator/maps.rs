//! When header maps can be seen and changed.

use floodmark_host::emulator::{Client, Options, Request, UpstreamReply};

use crate::wat_plugin::exchange;

/// Reads `:path` and the number of pairs' bytes in the callbacks named.
fn reading(callbacks: &str) -> String {
    format!(
        r#"(func $look
             (call $say (call $value (i32.const 0) @":path" (i32.const 16) (i32.const 20)))
             (call $say (call $pairs (i32.const 0) (i32.const 16) (i32.const 20)))
             (call $say (i32.ne (i32.load (i32.const 20)) (i32.const 0)))
             (call $say (call $property @"request\00path" (i32.const 16) (i32.const 20)))
             (call $say (call $add (i32.const 0) @"x-late" @"1")))
           {callbacks}"#
    )
}

const PAUSING: &str = r#"
  (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32) (i32.const 1))
  (func (export "proxy_on_request_body") (param i32 i32 i32) (result i32)
    (call $look) (i32.eqz (local.get 2)))"#;

#[test]
fn request_headers_are_gone_once_continued_and_back_for_the_log() {
    let functions = reading(
        r#"(func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32) (call $look) (i32.const 0))
           (func (export "proxy_on_request_body") (param i32 i32 i32) (result i32) (call $look) (i32.const 0))
           (func (export "proxy_on_log") (param i32) (call $look))"#,
    );
    let request = Request::post_json("/v1/x", "{}");
    let (exchange, lines) = exchange(&functions, &Options::default(), &request, &UpstreamReply::ok());
    // Value, pairs, were there pairs, property, add. 2 is BadArgument, 1 is NotFound.
    assert_eq!(lines[..5], ["0", "0", "1", "0", "0"], "headers callback");
    assert_eq!(lines[5..10], ["2", "0", "0", "1", "2"], "body callback");
    assert_eq!(lines[10..], ["0", "0", "1", "0", "2"], "log callback");
    assert_eq!(exchange.upstream.unwrap().headers.text("x-late"), Some("1"));
}

#[test]
fn held_headers_can_be_read_and_changed_in_the_body_phase() {
    let options = Options { allow_on_headers_stop_iteration: true, ..Options::default() };
    let request = Request::new("POST", "/").chunks(["a", "b"]);
    let (exchange, lines) = exchange(&reading(PAUSING), &options, &request, &UpstreamReply::ok());
    assert_eq!(lines[..5], ["0", "0", "1", "0", "0"]);
    let upstream = exchange.upstream.unwrap();
    assert_eq!((upstream.headers.text("x-late"), upstream.body.as_slice(), upstream.complete), (Some("1"), &b"ab"[..], true));
}

#[test]
fn a_pause_in_the_headers_callback_hangs_by_default() {
    let request = Request::new("POST", "/").chunks(["a", "b"]);
    let (exchange, lines) = exchange(&reading(PAUSING), &Options::default(), &request, &UpstreamReply::ok());
    assert_eq!(lines, [""; 0], "the body never reaches the plugin");
    assert_eq!(exchange.upstream, None);
    let Client::Hangs(reason) = exchange.client else { panic!("{:?}", exchange.client) };
    assert!(reason.contains("headers callback"), "{reason}");
}

#[test]
fn a_pause_in_the_headers_callback_that_nobody_ends_hangs_with_the_option_too() {
    let options = Options { allow_on_headers_stop_iteration: true, ..Options::default() };
    let (exchange, _) = exchange(&reading(PAUSING), &options, &Request::new("GET", "/"), &UpstreamReply::ok());
    assert!(matches!(exchange.client, Client::Hangs(_)), "{:?}", exchange.client);
}

#[test]
fn response_headers_follow_the_same_rule() {
    let functions = r#"
      (func $look (call $say (call $value (i32.const 2) @":status" (i32.const 16) (i32.const 20))))
      (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32) (call $look) (i32.const 0))
      (func (export "proxy_on_response_headers") (param i32 i32 i32) (result i32)
        (call $look) (call $show)
        (drop (call $replace (i32.const 2) @"x-upstream" @"ours"))
        (i32.const 0))
      (func (export "proxy_on_response_body") (param i32 i32 i32) (result i32) (call $look) (i32.const 0))
      (func (export "proxy_on_log") (param i32) (call $look))"#;
    let reply = UpstreamReply::json(201, "{}").header("x-upstream", "1").header("x-upstream", "2");
    let (exchange, lines) = exchange(functions, &Options::default(), &Request::new("GET", "/"), &reply);
    assert_eq!(lines, ["2", "0", "201", "2", "0"]);
    let seen = exchange.reply().unwrap();
    let ours: Vec<_> = seen.headers.iter().filter(|(name, _)| *name == "x-upstream").collect();
    assert_eq!((seen.status, seen.local, ours), (201, false, vec![("x-upstream", &b"ours"[..])]));
}

#[test]
fn names_are_matched_in_any_case_and_values_may_be_any_bytes() {
    let functions = r#"
      (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
        (drop (call $value (i32.const 0) @"X-Raw" (i32.const 16) (i32.const 20)))
        (drop (call $set_property @"raw" (i32.load (i32.const 16)) (i32.load (i32.const 20))))
        (call $say (call $value (i32.const 0) @"x-none" (i32.const 16) (i32.const 20)))
        (call $say (call $value (i32.const 99) @"x-none" (i32.const 16) (i32.const 20)))
        (i32.const 0))"#;
    let mut request = Request::new("GET", "/");
    request.headers.add("x-RAW", vec![0xff, 0x80]);
    request.headers.add("x-raw", "second");
    let (exchange, lines) = exchange(functions, &Options::default(), &request, &UpstreamReply::ok());
    assert_eq!(exchange.filter_state["wasm.raw"], [0xff, 0x80], "the first of two");
    assert_eq!(lines, ["1", "2"]);
}
