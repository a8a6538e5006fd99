//! The emulator against real Envoy: the same small plugin gets the same request in both, and client and log must agree.

#[path = "emulator/wat_plugin.rs"]
#[allow(dead_code, reason = "the emulator's own tests use the rest")]
mod wat_plugin;

use std::time::{Duration, Instant};

use floodmark_host::client::{Call, Protocol};
use floodmark_host::emulator::{Client, Exchange, Gateway, Options, Process, Request, UpstreamReply};
use floodmark_host::envoy::{self, Config, Envoy};
use floodmark_host::upstream::{Ending, ID_HEADER, Upstream};

/// Longest wait for a reply where one is expected, and for Envoy to write its log.
const PATIENCE: Duration = Duration::from_secs(20);
/// Wait for a reply that must never come.
const SILENCE: Duration = Duration::from_secs(2);
/// Envoy with one worker configures the plugin in three VMs: to see whether it starts, on the main thread, and on the worker.
const VMS: usize = 3;
const UPSTREAM_REPLY: &str = r#"{"received_bytes":2}"#;

/// What a client got: status and body of a whole reply, a broken stream, or nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Reply(u16, String),
    Broken,
    Nothing,
}

/// All that is compared.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    outcome: Outcome,
    /// What the plugin logged.
    lines: Vec<String>,
    /// The body of a request that reached the upstream whole.
    upstream: Option<String>,
}

/// One comparison.
struct Case {
    plugin: String,
    options: Options,
    request: Request,
    call: Call,
}

/// A body as HTTP/1.1 brings it to a filter: the bytes, then an empty end.
fn post(plugin: impl Into<String>) -> Case {
    let request = Request::new("POST", "/a/b?c=d").chunks(["xy", ""]);
    let call = Call::post("/a/b?c=d", "xy").header(ID_HEADER, "case");
    Case { plugin: plugin.into(), options: Options::default(), request, call }
}

impl Case {
    fn holding_headers(mut self) -> Self {
        self.options.allow_on_headers_stop_iteration = true;
        self
    }

    fn limit(mut self, bytes: usize) -> Self {
        self.options.buffer_limit_bytes = bytes;
        self
    }

    /// With the length announced, in the emulator too.
    fn sized(mut self) -> Self {
        self.request = self.request.header("content-length", "2");
        self
    }

    fn trailer(mut self) -> Self {
        self.request = Request::new("POST", "/a/b?c=d").chunks(["xy"]).trailers([("x-sum", "7")]);
        self.call = self.call.trailer("x-sum", "7").over(Protocol::Http2);
        self
    }

    /// Runs the case in both and compares; gives what both saw.
    fn check(self) -> Seen {
        let wasm = wat_plugin::plugin(&self.plugin);
        let emulated = self.in_emulator(&wasm);
        let seen = tokio::runtime::Runtime::new().unwrap().block_on(self.in_envoy(&wasm, &emulated));
        assert_eq!(seen, emulated, "left is Envoy, right the emulator, for {}", self.plugin);
        seen
    }

    fn in_emulator(&self, wasm: &[u8]) -> Seen {
        // The upstream answers with the number of bytes it got, which a first run tells.
        let (exchange, _) = self.exchange(wasm, UPSTREAM_REPLY);
        let received = exchange.upstream.map_or(0, |request| request.body.len());
        let (exchange, lines) = self.exchange(wasm, &format!(r#"{{"received_bytes":{received}}}"#));
        let outcome = match exchange.client {
            Client::Reply(reply) => Outcome::Reply(reply.status, String::from_utf8(reply.body).unwrap()),
            Client::Reset(_) => Outcome::Broken,
            Client::Hangs(_) => Outcome::Nothing,
        };
        let whole = exchange.upstream.filter(|request| request.complete);
        Seen { outcome, lines, upstream: whole.map(|request| String::from_utf8(request.body).unwrap()) }
    }

    fn exchange(&self, wasm: &[u8], reply: &str) -> (Exchange, Vec<String>) {
        let process = Process::default();
        let mut vms: Vec<_> = (0..VMS).map(|_| Gateway::start_in(&process, wasm, "{}", self.options.clone()).unwrap()).collect();
        let exchange = vms.last_mut().unwrap().exchange(&self.request, &UpstreamReply::json(200, reply)).unwrap();
        (exchange, vms.iter().flat_map(wat_plugin::texts).collect())
    }

    async fn in_envoy(&self, wasm: &[u8], expected: &Seen) -> Seen {
        let folder = tempfile::tempdir().unwrap();
        let module = folder.path().join("plugin.wasm");
        std::fs::write(&module, wasm).unwrap();
        let upstream = Upstream::start().await.unwrap();
        // The route's own limit only raises the connection's, which is the one that the emulator has.
        let limit = format!("per_connection_buffer_limit_bytes: {}", self.options.buffer_limit_bytes);
        let hold = format!("allow_on_headers_stop_iteration: {}", self.options.allow_on_headers_stop_iteration);
        let config = Config::shipped("monitor", &module, upstream.address())
            .and_then(|config| config.replace("request_body_buffer_limit: 4194304", "include_request_attempt_count: false"))
            .and_then(|config| config.replace("per_connection_buffer_limit_bytes: 1048576", &limit))
            .and_then(|config| config.replace("allow_on_headers_stop_iteration: false", &hold))
            .unwrap();
        let options = envoy::Options { binary: envoy::binary(None).unwrap(), concurrency: 1 };
        let envoy = Envoy::start(&options, &config).await.unwrap();
        let timeout = if expected.outcome == Outcome::Nothing { SILENCE } else { PATIENCE };
        let started = Instant::now();
        let outcome = match self.call.clone().timeout(timeout).send(envoy.address()).await {
            Ok(answer) => Outcome::Reply(answer.status, answer.text()),
            Err(_) if started.elapsed() >= timeout => Outcome::Nothing,
            Err(_) => Outcome::Broken,
        };
        let waiting = Instant::now();
        let mut lines = plugin_lines(&envoy.log().unwrap());
        while lines.len() < expected.lines.len() && waiting.elapsed() < PATIENCE {
            tokio::time::sleep(Duration::from_millis(20)).await;
            lines = plugin_lines(&envoy.log().unwrap());
        }
        let received = upstream.journal().received("case");
        let whole = received.iter().find(|request| request.ending == Ending::Clean);
        Seen { outcome, lines, upstream: whole.map(|request| String::from_utf8(request.body.clone()).unwrap()) }
    }
}

/// What the plugin logged, out of Envoy's log: each line says `wasm log`, some names, a colon, and the text.
fn plugin_lines(log: &str) -> Vec<String> {
    let texts = log.lines().filter_map(|line| line.split_once("wasm log")?.1.split_once(": "));
    texts.map(|(_, text)| text.trim().to_owned()).collect()
}

fn on(callback: &str, code: &str) -> String {
    let result = if callback == "log" { ("(param i32)", "") } else { ("(param i32 i32 i32) (result i32)", "(i32.const 0)") };
    format!(r#"(func (export "proxy_on_{callback}") {} {code} {})"#, result.0, result.1)
}

/// Runs `code` at the end of the body, which is held until then.
fn at_end(code: &str) -> String {
    format!(
        r#"(func (export "proxy_on_request_body") (param i32 i32 i32) (result i32)
             (if (local.get 2) (then {code})) (i32.eqz (local.get 2)))"#
    )
}

fn local_reply(status: u16, body: &str) -> String {
    format!(
        r#"(call $say (call $reply (i32.const {status}) @"policy hit" @"{body}"
             @"\01\00\00\00\01\00\00\00\01\00\00\00a\00b\00" (i32.const -1)))"#
    )
}

/// Shows status and body of what passes to the client.
fn seeing() -> String {
    let status = r#"(drop (call $value (i32.const 2) @":status" (i32.const 16) (i32.const 20))) (call $show)"#;
    let body = r#"(if (local.get 1) (then
        (drop (call $buffer (i32.const 1) (i32.const 0) (local.get 1) (i32.const 16) (i32.const 20))) (call $show)))"#;
    on("response_headers", status) + &on("response_body", body)
}

const LOOK: &str = r#"(func $look
  (call $say (call $value (i32.const 0) @":path" (i32.const 16) (i32.const 20)))
  (call $say (call $pairs (i32.const 0) (i32.const 16) (i32.const 20)))
  (call $say (i32.ne (i32.load (i32.const 20)) (i32.const 0)))
  (call $say (call $property @"request\00path" (i32.const 16) (i32.const 20)))
  (call $say (call $add (i32.const 0) @"x-late" @"1")))"#;

#[test]
fn header_maps_come_and_go_alike() {
    let plugin = [LOOK, &on("request_headers", "(call $look)"), &at_end("(call $look)"), &on("log", "(call $look)")].concat();
    let Seen { lines, .. } = post(plugin).check();
    assert_eq!(lines.concat(), "00100".to_owned() + "20012" + "00102");
}

#[test]
fn held_headers_stay_alike() {
    let hold = r#"(func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32) (i32.const 1))"#;
    let plugin = [LOOK, hold, &at_end("(call $look)")].concat();
    let Seen { outcome, lines, .. } = post(plugin.clone()).holding_headers().check();
    assert_eq!((outcome, lines.concat().as_str()), (Outcome::Reply(200, UPSTREAM_REPLY.to_owned()), "00100"));
    let Seen { outcome, lines, .. } = post(plugin).check();
    assert_eq!((outcome, lines.len()), (Outcome::Nothing, 0));
}

#[test]
fn bodies_are_read_and_changed_alike() {
    let read = |start: u32, max: i32| {
        format!("(call $say (call $buffer (i32.const 0) (i32.const {start}) (i32.const {max}) (i32.const 16) (i32.const 20))) (call $show)")
    };
    let set = |start: u32, len: u32, text: &str| {
        format!(r#"(call $say (call $set_buffer (i32.const 0) (i32.const {start}) (i32.const {len}) @"{text}"))"#)
    };
    let code =
        [read(0, 1), read(1, 99), read(9, 1), read(1, -1), set(1, 1, "no"), set(2, 0, "z"), set(0, 2, ""), read(0, 9), set(0, 0, "w")]
            .concat();
    let Seen { lines, .. } = post(at_end(&code)).check();
    assert_eq!(lines, ["0", "x", "0", "y", "0", "", "0", "y", "2", "0", "0", "0", "z", "0"]);
}

#[test]
fn trailers_end_a_body_alike() {
    let plugin = r#"
      (func (export "proxy_on_request_body") (param i32 i32 i32) (result i32) (call $say (local.get 2)) (i32.const 1))
      (func (export "proxy_on_request_trailers") (param i32 i32) (result i32)
        (drop (call $buffer (i32.const 0) (i32.const 0) (i32.const 9) (i32.const 16) (i32.const 20))) (call $show)
        (drop (call $value (i32.const 1) @"x-sum" (i32.const 16) (i32.const 20))) (call $show)
        (i32.const 0))"#;
    let Seen { lines, .. } = post(plugin).trailer().check();
    assert_eq!(lines, ["0", "xy", "7"]);
}

#[test]
fn local_replies_pass_our_own_callbacks_alike() {
    let Seen { outcome, lines, .. } = post(at_end(&local_reply(403, "no")) + &seeing()).check();
    assert_eq!((outcome, lines), (Outcome::Reply(403, "no".to_owned()), ["0", "403", "no"].map(str::to_owned).to_vec()));
    let Seen { outcome, .. } = post(on("request_headers", &local_reply(403, "")) + &seeing()).check();
    assert_eq!(outcome, Outcome::Reply(403, String::new()));
}

#[test]
fn second_local_replies_end_alike() {
    let (first, second) = (local_reply(403, "one"), local_reply(404, "second"));
    for (plugin, expected) in [
        (at_end(&format!("{first}{second}")), Outcome::Reply(403, "one".to_owned())),
        (at_end(&first) + &on("response_headers", &second), Outcome::Reply(404, "second".to_owned())),
        (at_end(&first) + &on("response_body", &second), Outcome::Broken),
    ] {
        assert_eq!(post(plugin).check().outcome, expected);
    }
}

#[test]
fn replies_in_the_upstreams_place_end_alike() {
    let at_headers = on("response_headers", &local_reply(403, "no"));
    assert_eq!(post(at_headers).check().outcome, Outcome::Reply(403, "no".to_owned()));
    let at_body = r#"(func (export "proxy_on_response_body") (param i32 i32 i32) (result i32) REPLY (i32.const 1))"#;
    assert_eq!(post(at_body.replace("REPLY", &local_reply(403, "no"))).check().outcome, Outcome::Broken);
}

#[test]
fn buffer_limits_are_alike() {
    let plugin = at_end("") + &seeing();
    let Seen { outcome: at, lines, .. } = post(plugin.clone()).limit(2).check();
    assert_eq!((at, lines[0].as_str()), (Outcome::Reply(200, UPSTREAM_REPLY.to_owned()), "200"));
    let Seen { outcome: over, lines, .. } = post(plugin).limit(1).check();
    assert_eq!(
        (over, lines),
        (Outcome::Reply(413, "Payload Too Large".to_owned()), ["413", "Payload Too Large"].map(str::to_owned).to_vec())
    );
}

#[test]
fn streams_are_resumed_and_closed_alike() {
    let resuming = r#"(func (export "proxy_on_request_body") (param i32 i32 i32) (result i32)
        (if (local.get 2) (then (call $say (call $resume (i32.const 0))))) (i32.const 1))"#;
    assert_eq!(post(resuming).check().outcome, Outcome::Reply(200, UPSTREAM_REPLY.to_owned()));
    let holding = r#"(func (export "proxy_on_request_body") (param i32 i32 i32) (result i32) (i32.const 1))"#;
    assert_eq!(post(holding).check().outcome, Outcome::Nothing);
    let closing = on("request_headers", "(call $say (call $close (i32.const 0)))");
    assert_eq!(post(closing).check().outcome, Outcome::Broken);
}

#[test]
fn properties_and_metrics_answer_alike() {
    let property = |path: &str| format!(r#"(call $say (call $property @"{path}" (i32.const 16) (i32.const 20)))"#);
    let define = |kind: u32, name: &str, at: u32| format!(r#"(call $say (call $define (i32.const {kind}) @"{name}" (i32.const {at})))"#);
    let increment = |at: u32, by: i32| format!("(call $say (call $increment (i32.load (i32.const {at})) (i64.const {by})))");
    let code = [
        r#"(call $say (call $set_property @"one" @"v")) (call $say (call $set_property @"two\00parts" @"v"))"#.to_owned(),
        property("one") + "(call $show)",
        property("two\\00parts"),
        property("request\\00url_path") + "(call $show)",
        property("request\\00query") + "(call $show)",
        property("request\\00method") + "(call $show)",
        property("nothing"),
        property("response\\00code"),
        define(0, "c", 40) + &define(1, "g", 44) + &define(2, "h", 48) + &define(9, "x", 52),
        increment(40, 1) + &increment(40, 0) + &increment(40, -1) + &increment(44, 3) + &increment(44, -1) + &increment(48, 1),
        "(call $say (call $increment (i32.const 7700) (i64.const 1)))".to_owned(),
        "(call $say (call $record (i32.load (i32.const 48)) (i64.const 5)))".to_owned(),
        "(call $say (call $record (i32.load (i32.const 40)) (i64.const 5)))".to_owned(),
        "(call $say (call $metric (i32.load (i32.const 40)) (i32.const 56))) (call $say (i32.load (i32.const 56)))".to_owned(),
        "(call $say (call $metric (i32.load (i32.const 48)) (i32.const 56)))".to_owned(),
        "(call $say (call $effective (i32.const 99)))".to_owned(),
        "(call $say (call $buffer (i32.const 7) (i32.const 0) (i32.const 2) (i32.const 16) (i32.const 20)))".to_owned(),
    ];
    let Seen { lines, .. } = post(on("request_headers", &code.concat())).check();
    let expected =
        ["0", "0", "0", "v", "1", "0", "/a/b", "0", "c=d", "0", "POST", "1", "1", "0", "0", "0", "2", "0", "2", "2", "0", "0", "2"];
    assert_eq!(lines[..expected.len()], expected);
}

#[test]
fn changed_bodies_are_read_by_their_length_alike() {
    let set = |start: u32, len: u32, text: &str| {
        format!(r#"(call $say (call $set_buffer (i32.const 0) (i32.const {start}) (i32.const {len}) @"{text}"))"#)
    };
    let unsized_by_plugin =
        |code: &str| on("request_headers", r#"(call $say (call $remove (i32.const 0) @"content-length"))"#) + &at_end(code);
    for (what, code, upstream) in [
        ("longer", set(2, 0, "more"), Some("xy")),
        ("longer from the start", set(0, 0, "more"), Some("mo")),
        ("shorter", set(0, 1, ""), None),
        ("as long", set(0, 2, "ab"), Some("ab")),
    ] {
        assert_eq!(post(at_end(&code)).sized().check().upstream.as_deref(), upstream, "{what}");
    }
    for (code, upstream) in [(set(2, 0, "more"), "xymore"), (set(0, 0, "more"), "morexy"), (set(0, 1, ""), "y"), (set(0, 9, ""), "")] {
        assert_eq!(post(unsized_by_plugin(&code)).sized().check().upstream.as_deref(), Some(upstream));
    }
}

#[test]
fn changed_replies_are_read_by_their_length_alike() {
    let set = |start: u32, len: u32, text: &str| {
        let code = format!(r#"(call $say (call $set_buffer (i32.const 1) (i32.const {start}) (i32.const {len}) @"{text}"))"#);
        format!(
            r#"(func (export "proxy_on_response_body") (param i32 i32 i32) (result i32)
            (if (local.get 1) (then {code})) (i32.const 0))"#
        )
    };
    let longer = post(set(0, 0, "more")).check();
    assert_eq!(longer.outcome, Outcome::Reply(200, format!("more{}", &UPSTREAM_REPLY[..UPSTREAM_REPLY.len() - 4])));
    assert_eq!(post(set(0, 1, "")).check().outcome, Outcome::Nothing);
}

#[test]
fn shared_data_answers_alike() {
    let get = |key: &str| format!(r#"(call $say (call $shared @"{key}" (i32.const 16) (i32.const 20) (i32.const 24)))"#);
    let set = |key: &str, value: &str, cas: &str| format!(r#"(call $say (call $share @"{key}" @"{value}" {cas}))"#);
    let version = "(i32.load (i32.const 24))";
    let code = [
        get("a"),
        // No create-if-absent: any cas will do for a key that is not there.
        set("a", "one", "(i32.const 77)"),
        get("a") + "(call $show)",
        set("a", "two", &format!("(i32.add {version} (i32.const 1))")),
        set("a", "three", version),
        // The version is used up.
        set("a", "four", version),
        get("a") + "(call $show)",
        // 0 always overwrites.
        set("a", "five", "(i32.const 0)"),
        get("a") + "(call $show)",
        // There is no way to take a key away: an emptied one has a version still.
        set("a", "", "(i32.const 0)"),
        get("a") + "(call $show)",
        set("a", "six", &format!("(i32.add {version} (i32.const 1))")),
        // The version that no gateway gives creates a key, and overwrites none.
        set("b", "first", "(i32.const -1)"),
        set("b", "second", "(i32.const -1)"),
        get("b") + "(call $show)",
    ];
    let Seen { lines, .. } = post(on("request_headers", &code.concat())).check();
    assert_eq!(lines, ["1", "0", "0", "one", "8", "0", "8", "0", "three", "0", "0", "five", "0", "0", "", "8", "0", "8", "0", "first"]);
}

#[test]
fn vms_of_one_process_share_data_alike() {
    // Each VM that is configured adds one to a number; the VM that serves sees the sum.
    let plugin = r#"
      (func (export "proxy_on_configure") (param i32 i32) (result i32)
        (i32.store8 (i32.const 40) (i32.const 48))
        (if (i32.eqz (call $shared @"vms" (i32.const 16) (i32.const 20) (i32.const 24)))
          (then (i32.store8 (i32.const 40) (i32.load8_u (i32.load (i32.const 16))))))
        (i32.store8 (i32.const 40) (i32.add (i32.load8_u (i32.const 40)) (i32.const 1)))
        (drop (call $share @"vms" (i32.const 40) (i32.const 1) (i32.const 0)))
        (i32.const 1))"#;
    let show = on("request_headers", r#"(drop (call $shared @"vms" (i32.const 16) (i32.const 20) (i32.const 24))) (call $show)"#);
    assert_eq!(post(plugin.to_owned() + &show).check().lines, [VMS.to_string()]);
}

#[test]
fn ticks_come_alike() {
    let wasm = wat_plugin::plugin(
        r#"(func (export "proxy_on_configure") (param i32 i32) (result i32) (call $say (call $tick (i32.const 20))) (i32.const 1))
           (func (export "proxy_on_tick") (param i32) (drop (call $log (i32.const 2) @"tick")) (drop (call $tick (i32.const 0))))"#,
    );
    let mut gateway = Gateway::start(&wasm, "{}", Options::default()).unwrap();
    assert_eq!((gateway.tick(), gateway.tick()), (Ok(true), Ok(false)), "the plugin stops them in the first");
    assert_eq!(wat_plugin::texts(&gateway), ["0", "tick"]);
    let expected = Seen { outcome: Outcome::Reply(200, UPSTREAM_REPLY.to_owned()), lines: vec![String::new(); VMS + 2], upstream: None };
    let Seen { mut lines, .. } = tokio::runtime::Runtime::new().unwrap().block_on(post("").in_envoy(&wasm, &expected));
    lines.sort();
    // The VM that only shows whether the plugin starts may be gone before its first tick.
    assert!(lines.starts_with(&["0".to_owned(), "0".to_owned(), "0".to_owned(), "tick".to_owned(), "tick".to_owned()]), "{lines:?}");
    assert!(lines.len() <= 2 * VMS, "each VM once: {lines:?}");
}
