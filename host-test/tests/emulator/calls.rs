//! Properties, metrics, log, clock, and several streams at once.

use std::collections::BTreeMap;

use floodmark_host::emulator::{LogLevel, Metric, Options, Request, UpstreamReply};

use crate::wat_plugin::{engines, exchange, start, texts};

fn on_headers(code: &str) -> String {
    format!(r#"(func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32) {code} (i32.const 0))"#)
}

fn run(code: &str, options: &Options) -> (floodmark_host::emulator::Exchange, Vec<String>) {
    let request = Request::new("GET", "/a/b?c=d").header("user-agent", "test/1").header("x-request-id", "id-1");
    exchange(&on_headers(code), options, &request, &UpstreamReply::ok())
}

fn property(path: &str) -> String {
    format!(r#"(call $say (call $property @"{path}" (i32.const 16) (i32.const 20))) (call $show)"#)
}

#[test]
fn properties_come_from_the_stream_and_from_the_test() {
    let options = Options { properties: [("xds.route_name".to_owned(), b"chat".to_vec())].into_iter().collect(), ..Options::default() };
    let paths = [
        "request\\00path",
        "request\\00url_path",
        "request\\00query",
        "request\\00host",
        "request\\00method",
        "request\\00id",
        "request\\00headers\\00user-agent",
        "xds\\00route_name",
    ];
    let (_, lines) = run(&paths.map(property).concat(), &options);
    let values: Vec<_> = lines
        .chunks(2)
        .map(|pair| {
            assert_eq!(pair[0], "0");
            pair[1].as_str()
        })
        .collect();
    assert_eq!(values, ["/a/b?c=d", "/a/b", "c=d", "gateway.test", "GET", "id-1", "test/1", "chat"]);
    let unknown = ["xds\\00cluster_name", "request\\00time", "nothing", "response\\00code"]
        .map(|path| format!(r#"(call $say (call $property @"{path}" (i32.const 16) (i32.const 20)))"#));
    assert_eq!(run(&unknown.concat(), &options).1, ["1"; 4]);
}

#[test]
fn a_property_of_one_part_is_filter_state_and_can_be_read_back() {
    let code = format!(
        r#"(call $say (call $set_property @"floodmark.verdict" @"block"))
           (call $say (call $set_property @"two\00parts" @"lost")) {} (call $say (call $property @"two\00parts" (i32.const 16) (i32.const 20)))"#,
        property("floodmark.verdict")
    );
    let (exchange, lines) = run(&code, &Options::default());
    assert_eq!(lines, ["0", "0", "0", "block", "1"]);
    assert_eq!(exchange.state("floodmark.verdict"), Some("block"));
    let expected: BTreeMap<_, _> = [("wasm.floodmark.verdict", b"block".to_vec()), ("wasm.two\0parts", b"lost".to_vec())]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
    assert_eq!(exchange.filter_state, expected);
}

const METRICS: &str = r#"
  (func (export "proxy_on_configure") (param i32 i32) (result i32)
    (call $say (call $define (i32.const 0) @"requests" (i32.const 40)))
    (call $say (call $define (i32.const 1) @"open" (i32.const 44)))
    (call $say (call $define (i32.const 2) @"size" (i32.const 48)))
    (call $say (call $define (i32.const 9) @"none" (i32.const 52)))
    (i32.const 1))
  (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
    (call $say (call $increment (i32.load (i32.const 40)) (i64.const 2)))
    (call $say (call $increment (i32.load (i32.const 40)) (i64.const 0)))
    (call $say (call $increment (i32.load (i32.const 40)) (i64.const -1)))
    (call $say (call $increment (i32.load (i32.const 44)) (i64.const -1)))
    (call $say (call $record (i32.load (i32.const 44)) (i64.const 5)))
    (call $say (call $increment (i32.load (i32.const 44)) (i64.const -1)))
    (call $say (call $record (i32.load (i32.const 48)) (i64.const 9)))
    (call $say (call $increment (i32.load (i32.const 48)) (i64.const 1)))
    (call $say (call $increment (i32.const 77) (i64.const 1)))
    (call $say (call $metric (i32.load (i32.const 40)) (i32.const 56)))
    (call $say (i64.eq (i64.load (i32.const 56)) (i64.const 2)))
    (i32.const 0))"#;

#[test]
fn metrics_move_as_in_envoy() {
    for engine in engines() {
        let mut gateway = start(METRICS, &Options { engine, ..Options::default() }).unwrap();
        gateway.exchange(&Request::new("GET", "/"), &UpstreamReply::ok()).unwrap();
        assert_eq!(texts(&gateway).concat(), "0002".to_owned() + "02200002101");
        assert_eq!((gateway.metric("requests"), gateway.metric("open"), gateway.metric("none")), (Some(2), Some(4), None));
        assert_eq!(gateway.metrics()["size"], Metric::Histogram(vec![9]));
    }
}

#[test]
fn lines_below_the_level_are_dropped() {
    let code = r#"(drop (call $log (i32.const 1) @"debug")) (drop (call $log (i32.const 2) @"info"))
        (drop (call $log (i32.const 4) @"error")) (call $say (call $log (i32.const 9) @"no level"))"#;
    assert_eq!(run(code, &Options::default()).1, ["info", "error", "2"]);
    assert_eq!(run(code, &Options { log_level: LogLevel::Error, ..Options::default() }).1, ["error"]);
    assert_eq!(run(code, &Options { log_level: LogLevel::Trace, ..Options::default() }).1[0], "debug");
}

#[test]
fn the_clock_stands_where_the_test_puts_it() {
    let code = r#"(drop (call $time (i32.const 40))) (drop (call $set_property @"t" (i32.const 40) (i32.const 8)))"#;
    let mut gateway = start(&on_headers(code), &Options { now_ns: 5, ..Options::default() }).unwrap();
    let mut now = || gateway.exchange(&Request::new("GET", "/"), &UpstreamReply::ok()).unwrap().filter_state["wasm.t"].clone();
    assert_eq!((now(), now()), (5_u64.to_le_bytes().to_vec(), 5_u64.to_le_bytes().to_vec()));
    gateway.set_time_ns(u64::MAX);
    let exchange = gateway.exchange(&Request::new("GET", "/"), &UpstreamReply::ok()).unwrap();
    assert_eq!(exchange.filter_state["wasm.t"], u64::MAX.to_le_bytes());
}

#[test]
fn streams_open_at_once_keep_apart_and_ids_are_checked() {
    let functions = r#"
      (func (export "proxy_on_request_body") (param i32 i32 i32) (result i32)
        (drop (call $buffer (i32.const 0) (i32.const 0) (local.get 1) (i32.const 16) (i32.const 20)))
        (drop (call $set_property @"body" (i32.load (i32.const 16)) (i32.load (i32.const 20))))
        (call $say (call $effective (i32.const 99)))
        (i32.eqz (local.get 2)))"#;
    for engine in engines() {
        let mut gateway = start(functions, &Options { engine, ..Options::default() }).unwrap();
        let request = Request::new("POST", "/").chunks(["a", "b"]);
        let (first, second) = (gateway.open(&request).unwrap(), gateway.open(&request).unwrap());
        gateway.send_chunk(first, b"one", false).unwrap();
        gateway.send_chunk(second, b"two", false).unwrap();
        gateway.send_chunk(first, b" more", true).unwrap();
        gateway.send_chunk(second, b"", true).unwrap();
        for (id, body) in [(second, "two"), (first, "one more")] {
            gateway.respond(id, &UpstreamReply::ok()).unwrap();
            let exchange = gateway.finish(id).unwrap();
            assert_eq!((exchange.state("body"), exchange.upstream.as_ref().unwrap().body.as_slice()), (Some(body), body.as_bytes()));
        }
        assert_eq!(texts(&gateway), ["2"; 4]);
    }
}

#[test]
fn a_plugin_can_act_for_another_stream() {
    let functions = r#"
      (func (export "proxy_on_request_body") (param i32 i32 i32) (result i32)
        (call $say (call $effective (i32.const 2)))
        (drop (call $set_property @"from" @"other"))
        (i32.const 0))"#;
    let mut gateway = start(functions, &Options::default()).unwrap();
    let first = gateway.open(&Request::new("GET", "/")).unwrap();
    let second = gateway.exchange(&Request::new("POST", "/").chunks(["x"]), &UpstreamReply::ok()).unwrap();
    assert_eq!((second.state("from"), gateway.finish(first).unwrap().state("from")), (None, Some("other")));
}

#[test]
fn streams_end_in_log_done_delete() {
    let say = |name: &str| format!(r#"(func (export "{name}") (param i32) (drop (call $log (i32.const 2) @"{name}")))"#);
    let functions = [
        say("proxy_on_log"),
        say("proxy_on_delete"),
        say("proxy_on_done").replace("(param i32)", "(param i32) (result i32)").replace("))", ")) (i32.const 1)"),
    ]
    .concat();
    let (_, lines) = exchange(&functions, &Options::default(), &Request::new("GET", "/"), &UpstreamReply::ok());
    assert_eq!(lines, ["proxy_on_log", "proxy_on_done", "proxy_on_delete"]);
}

#[test]
fn pointers_outside_the_memory_are_refused_not_followed() {
    let code = r#"(call $say (call $log (i32.const 2) (i32.const -8) (i32.const 9)))
        (call $say (call $set_property (i32.const 262140) (i32.const 8) @"x"))
        (call $say (call $property @"request\00path" (i32.const -4) (i32.const 20)))
        (call $say (call $time (i32.const 262139)))"#;
    assert_eq!(run(code, &Options::default()).1, ["6"; 4]);
}

#[test]
fn fuel_is_the_same_number_for_the_same_work() {
    let functions = r#"(func (export "proxy_on_request_body") (param i32 i32 i32) (result i32)
        (loop $spin (local.set 1 (i32.sub (local.get 1) (i32.const 1))) (br_if $spin (local.get 1))) (i32.const 0))"#;
    let mut gateway = start(functions, &Options::default()).unwrap();
    let mut fuel = |len: usize| {
        let request = Request::new("POST", "/").chunks([vec![b'x'; len]]);
        gateway.exchange(&request, &UpstreamReply::ok()).unwrap().fuel
    };
    let (ten, again, twenty, thirty) = (fuel(10), fuel(10), fuel(20), fuel(30));
    assert_eq!((ten, thirty - twenty), (again, twenty - ten));
    assert!(twenty > ten);
}
