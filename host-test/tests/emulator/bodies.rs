//! Chunks, pauses, trailers, limits.

use floodmark_host::emulator::{Action, Client, Exchange, Options, Request, UpstreamReply};

use crate::wat_plugin::exchange;

/// Pauses until the end of the body, or until the trailers.
const WAITING: &str = r#"
  (func (export "proxy_on_request_body") (param i32 i32 i32) (result i32) (i32.eqz (local.get 2)))
  (func (export "proxy_on_request_trailers") (param i32 i32) (result i32) (i32.const 0))"#;

const PASSING: &str = r#"(func (export "proxy_on_request_body") (param i32 i32 i32) (result i32) (i32.const 0))"#;

const BODY: &str = "proxy_on_request_body";

fn sizes_and_ends(exchange: &Exchange, name: &str) -> Vec<(u32, Option<bool>)> {
    exchange.callbacks.iter().filter(|call| call.name == name).map(|call| (call.size, call.end_of_stream)).collect()
}

fn run(functions: &str, request: &Request) -> Exchange {
    exchange(functions, &Options::default(), request, &UpstreamReply::ok()).0
}

#[test]
fn size_is_everything_held_while_paused_and_the_chunk_otherwise() {
    let request = Request::new("POST", "/").chunks(["ab", "c", "def"]);
    let waiting = run(WAITING, &request);
    assert_eq!(sizes_and_ends(&waiting, BODY), [(2, Some(false)), (3, Some(false)), (6, Some(true))]);
    assert_eq!((waiting.pauses(BODY), waiting.upstream.unwrap().body.as_slice()), (2, &b"abcdef"[..]));
    let passing = run(PASSING, &request);
    assert_eq!(sizes_and_ends(&passing, BODY), [(2, Some(false)), (1, Some(false)), (3, Some(true))]);
    assert_eq!((passing.pauses(BODY), passing.upstream.unwrap().body.as_slice()), (0, &b"abcdef"[..]));
}

#[test]
fn a_plugin_that_stops_pausing_gets_chunks_again() {
    // Pauses until it holds 3 bytes, then lets go.
    let functions = r#"(func (export "proxy_on_request_body") (param i32 i32 i32) (result i32)
        (i32.and (i32.eqz (local.get 2)) (i32.lt_u (local.get 1) (i32.const 3))))"#;
    let exchange = run(functions, &Request::new("POST", "/").chunks(["ab", "cd", "e", "f", ""]));
    let sizes: Vec<_> = sizes_and_ends(&exchange, BODY).into_iter().map(|(size, _)| size).collect();
    assert_eq!(sizes, [2, 4, 1, 2, 2], "`e` is held with `f`, and let go at the empty end");
    assert_eq!(exchange.upstream.unwrap().body, b"abcdef");
}

#[test]
fn without_a_body_the_headers_end_the_stream_and_no_body_callback_comes() {
    let functions = format!(r#"{WAITING} (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32) (i32.const 0))"#);
    let exchange = run(&functions, &Request::new("GET", "/"));
    let names: Vec<_> = exchange.callbacks.iter().map(|call| (call.name, call.end_of_stream)).collect();
    assert_eq!(names, [("proxy_on_request_headers", Some(true))]);
    assert!(exchange.upstream.unwrap().complete);
}

#[test]
fn a_body_that_ends_in_trailers_never_says_end_of_stream() {
    let request = Request::new("POST", "/").chunks(["ab", "c"]).trailers([("x-sum", "1")]);
    let exchange = run(WAITING, &request);
    assert_eq!(sizes_and_ends(&exchange, BODY), [(2, Some(false)), (3, Some(false))]);
    assert_eq!(sizes_and_ends(&exchange, "proxy_on_request_trailers"), [(1, None)]);
    let upstream = exchange.upstream.unwrap();
    assert_eq!((upstream.body.as_slice(), upstream.trailers.unwrap().text("x-sum")), (&b"abc"[..], Some("1")));
    assert!(upstream.complete && !upstream.reset);
}

#[test]
fn a_plugin_that_ignores_trailers_lets_an_unread_body_through() {
    // The bypass that both trailers callbacks exist for: the gateway passes on at the trailers what the plugin held.
    let only_body = WAITING.lines().take(2).collect::<Vec<_>>().join("\n");
    let exchange = run(&only_body, &Request::new("POST", "/").chunks(["ab"]).trailers([("x", "1")]));
    assert_eq!(exchange.upstream.unwrap().body, b"ab");
}

#[test]
fn held_bytes_are_readable_at_the_trailers() {
    let functions = r#"
      (func (export "proxy_on_request_body") (param i32 i32 i32) (result i32) (i32.const 1))
      (func (export "proxy_on_request_trailers") (param i32 i32) (result i32)
        (drop (call $buffer (i32.const 0) (i32.const 0) (i32.const 99) (i32.const 16) (i32.const 20)))
        (call $show)
        (drop (call $value (i32.const 1) @"x-sum" (i32.const 16) (i32.const 20)))
        (call $show)
        (i32.const 0))"#;
    let request = Request::new("POST", "/").chunks(["ab", "", "c"]).trailers([("x-sum", "7")]);
    let (_, lines) = exchange(functions, &Options::default(), &request, &UpstreamReply::ok());
    assert_eq!(lines, ["abc", "7"]);
}

#[test]
fn reads_are_clamped_and_writes_in_the_middle_refused() {
    let functions = r#"
      (func $read (param $start i32) (param $max i32)
        (call $say (call $buffer (i32.const 0) (local.get $start) (local.get $max) (i32.const 16) (i32.const 20)))
        (call $show))
      (func (export "proxy_on_request_body") (param i32 i32 i32) (result i32)
        (call $read (i32.const 1) (i32.const 2))
        (call $read (i32.const 2) (i32.const 99))
        (call $read (i32.const 99) (i32.const 1))
        (call $say (call $buffer (i32.const 0) (i32.const 1) (i32.const -1) (i32.const 16) (i32.const 20)))
        (call $say (call $buffer (i32.const 4) (i32.const 0) (i32.const 1) (i32.const 16) (i32.const 20)))
        (call $say (call $set_buffer (i32.const 0) (i32.const 1) (i32.const 1) @"X"))
        (call $say (call $set_buffer (i32.const 0) (i32.const 4) (i32.const 0) @"END"))
        (call $say (call $set_buffer (i32.const 0) (i32.const 0) (i32.const 2) @"<"))
        (i32.const 0))"#;
    let (exchange, lines) = exchange(functions, &Options::default(), &Request::new("POST", "/").chunks(["abcd"]), &UpstreamReply::ok());
    assert_eq!(lines, ["0", "bc", "0", "cd", "0", "", "0", "1", "2", "0", "0"]);
    assert_eq!(exchange.upstream.unwrap().body, b"<cdEND");
}

#[test]
fn a_body_held_at_its_end_hangs_and_one_resumed_does_not() {
    let holding = r#"(func (export "proxy_on_request_body") (param i32 i32 i32) (result i32) (i32.const 1))"#;
    let request = Request::new("POST", "/").chunks(["ab"]);
    let held = run(holding, &request);
    assert!(matches!(held.client, Client::Hangs(reason) if reason.contains("holds the request")), "{:?}", held.client);
    let resuming = holding.replace("(i32.const 1)", "(drop (call $resume (i32.const 0))) (i32.const 1)");
    let resumed = run(&resuming, &request);
    assert_eq!(resumed.callbacks[0].action, Action::Pause);
    assert_eq!((resumed.reply().unwrap().status, resumed.upstream.unwrap().body.as_slice()), (200, &b"ab"[..]));
}

#[test]
fn a_body_at_the_limit_passes_and_one_byte_more_is_413_by_the_gateway() {
    let options = Options { buffer_limit_bytes: 4, ..Options::default() };
    let at_limit = Request::new("POST", "/").chunks(["abc", "d"]);
    assert_eq!(exchange(WAITING, &options, &at_limit, &UpstreamReply::ok()).0.reply().unwrap().status, 200);
    for chunks in [&["abc", "de"][..], &["abcde", ""]] {
        let request = Request::new("POST", "/").chunks(chunks.iter().copied());
        let (over, _) = exchange(WAITING, &options, &request, &UpstreamReply::ok());
        let reply = over.local_reply.as_ref().unwrap();
        assert_eq!((reply.status, reply.details.as_str(), reply.by_gateway), (413, "request_payload_too_large", true));
        assert_eq!((over.reply().unwrap().status, over.reply().unwrap().body.as_slice()), (413, &b"Payload Too Large"[..]));
        let upstream = over.upstream.unwrap();
        assert_eq!((upstream.body.len(), upstream.complete, upstream.reset), (0, false, true));
    }
    let passing = exchange(PASSING, &options, &Request::new("POST", "/").chunks(["abcdefgh"]), &UpstreamReply::ok());
    assert_eq!(passing.0.upstream.unwrap().body, b"abcdefgh", "what is not held has no limit");
}

#[test]
fn response_bodies_follow_the_same_rules() {
    let functions = r#"
      (func (export "proxy_on_response_body") (param i32 i32 i32) (result i32) (i32.eqz (local.get 2)))
      (func (export "proxy_on_response_trailers") (param i32 i32) (result i32) (i32.const 0))"#;
    let reply = UpstreamReply::ok().chunks(["ab", "c"]).trailers([("x-sum", "1")]);
    let (seen, _) = exchange(functions, &Options::default(), &Request::new("GET", "/"), &reply);
    assert_eq!(sizes_and_ends(&seen, "proxy_on_response_body"), [(2, Some(false)), (3, Some(false))]);
    let client = seen.reply().unwrap();
    assert_eq!((client.body.as_slice(), client.trailers.as_ref().unwrap().text("x-sum")), (&b"abc"[..], Some("1")));
    let small = Options { buffer_limit_bytes: 2, ..Options::default() };
    let (over, _) = exchange(functions, &small, &Request::new("GET", "/"), &reply);
    assert!(matches!(over.client, Client::Reset(_)), "headers were out already: {:?}", over.client);
    let held = Options { allow_on_headers_stop_iteration: true, ..small };
    let holding = format!(r#"{functions} (func (export "proxy_on_response_headers") (param i32 i32 i32) (result i32) (i32.const 1))"#);
    let (replaced, _) = exchange(&holding, &held, &Request::new("GET", "/"), &reply);
    let client = replaced.reply().unwrap();
    assert_eq!((client.status, client.body.as_slice(), client.local), (500, &b"Internal Server Error"[..], true));
    assert_eq!(replaced.local_reply.as_ref().unwrap().details, "response_payload_too_large");
}

#[test]
fn a_length_that_no_longer_fits_is_sent_on_and_read_by() {
    let set =
        |code: &str| format!(r#"(func (export "proxy_on_request_body") (param i32 i32 i32) (result i32) (drop {code}) (i32.const 0))"#);
    let request = Request::post_json("/", "abcd");
    let longer = run(&set(r#"(call $set_buffer (i32.const 0) (i32.const 4) (i32.const 0) @"ef")"#), &request);
    assert_eq!((longer.upstream.as_ref().unwrap().body.as_slice(), longer.reply().map(|reply| reply.status)), (&b"abcd"[..], Some(200)));
    let shorter = run(&set(r#"(call $set_buffer (i32.const 0) (i32.const 0) (i32.const 1) @"")"#), &request);
    let upstream = shorter.upstream.as_ref().unwrap();
    assert_eq!((upstream.body.as_slice(), upstream.complete), (&b"bcd"[..], false));
    assert!(matches!(shorter.client, Client::Hangs(reason) if reason.contains("content-length")), "{:?}", shorter.client);
}

#[test]
fn the_reply_to_head_announces_a_body_that_does_not_come() {
    let mut reply = UpstreamReply::json(200, "four");
    reply.chunks.clear();
    assert_eq!(run("", &Request::new("HEAD", "/")).reply().unwrap().status, 200);
    let seen = exchange("", &Options::default(), &Request::new("HEAD", "/"), &reply).0;
    assert_eq!(seen.reply().map(|reply| (reply.status, reply.body.len())), Some((200, 0)));
    let seen = exchange("", &Options::default(), &Request::new("GET", "/"), &reply).0;
    assert!(matches!(seen.client, Client::Hangs(_)), "{:?}", seen.client);
}

#[test]
fn what_passes_can_be_taken_while_the_stream_goes_on() {
    let mut gateway = crate::wat_plugin::start(WAITING, &Options::default()).unwrap();
    let id = gateway.open(&Request::new("POST", "/").chunks(["x"])).unwrap();
    let look = gateway.look(id).unwrap();
    assert_eq!((look.request.headers.unwrap().text(":method"), look.request.body.len()), (Some("POST"), 0));
    gateway.send_chunk(id, b"ab", false).unwrap();
    assert_eq!(gateway.look(id).unwrap().request, Default::default(), "held, and the headers were taken");
    gateway.send_chunk(id, b"c", true).unwrap();
    let request = gateway.look(id).unwrap().request;
    assert_eq!((request.body.as_slice(), request.complete), (&b"abc"[..], true));
    let reply = UpstreamReply::ok();
    gateway.respond_headers(id, reply.headers.clone(), false).unwrap();
    gateway.respond_chunk(id, b"data", false).unwrap();
    let look = gateway.look(id).unwrap();
    assert_eq!((look.response.headers, look.response.body.as_slice(), look.response.complete), (Some(reply.headers), &b"data"[..], false));
    gateway.respond_trailers(id, &[("x", "1")].into_iter().collect()).unwrap();
    let response = gateway.look(id).unwrap().response;
    assert_eq!((response.body.len(), response.trailers.unwrap().text("x"), response.complete, look.local), (0, Some("1"), true, false));
}
