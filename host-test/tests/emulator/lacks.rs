//! Gateways that lack a capability. Envoy lacks none of them, so these run in the emulator only.

use floodmark_host::emulator::{Capability, Gateway, Lack, Options, Request, StartError, UpstreamReply};
use floodmark_host::runtime::LoadError;

use crate::wat_plugin::{engines, exchange, plugin};

fn without(capability: Capability, lack: Lack) -> Options {
    Options { without: [(capability, lack)].into(), ..Options::default() }
}

fn run(code: &str, capability: Capability) -> (floodmark_host::emulator::Exchange, Vec<String>) {
    let functions = format!(r#"(func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32) {code} (i32.const 0))"#);
    exchange(&functions, &without(capability, Lack::Unimplemented), &Request::new("GET", "/"), &UpstreamReply::ok())
}

#[test]
fn functions_that_are_there_answer_unimplemented() {
    let code = r#"(call $say (call $define (i32.const 0) @"m" (i32.const 40))) (call $say (call $increment (i32.const 1) (i64.const 1)))
        (call $say (call $set_property @"a" @"b")) (call $say (call $property @"a" (i32.const 16) (i32.const 20)))
        (call $say (call $share @"k" @"v" (i32.const 0)))
        (call $say (call $shared @"k" (i32.const 16) (i32.const 20) (i32.const 24)))
        (call $say (call $tick (i32.const 10)))"#;
    // "<" is 12, unimplemented.
    for (capability, lines) in [
        (Capability::Metrics, "<<00000"),
        (Capability::Properties, "00<<000"),
        (Capability::SharedData, "0000<<0"),
        (Capability::Ticks, "000000<"),
        (Capability::Trailers, "0000000"),
    ] {
        assert_eq!(run(code, capability).1.concat(), lines, "without {capability:?}");
    }
    let logging = r#"(i32.store8 (i32.const 40) (i32.add (i32.const 48) (call $log (i32.const 5) @"x")))
        (drop (call $set_property @"log" (i32.const 40) (i32.const 1)))"#;
    let (exchange, lines) = run(logging, Capability::Logging);
    assert_eq!((lines.len(), exchange.state("log")), (0, Some("<")));
}

#[test]
fn functions_that_are_missing_are_named_when_a_module_imports_them() {
    let wasm = plugin("");
    for (capability, name) in [
        (Capability::Metrics, "proxy_define_metric"),
        (Capability::Properties, "proxy_get_property"),
        (Capability::Logging, "proxy_log"),
        (Capability::SharedData, "proxy_get_shared_data"),
        (Capability::Ticks, "proxy_set_tick_period_milliseconds"),
    ] {
        let error = Gateway::start(&wasm, "", without(capability, Lack::NoImport)).unwrap_err();
        assert_eq!(error, StartError::Load(LoadError::MissingImport { module: "env".to_owned(), name: name.to_owned() }), "{capability:?}");
    }
    let lean = r#"(module (import "env" "proxy_log" (func (param i32 i32 i32) (result i32))) (memory (export "memory") 1)
        (func (export "proxy_abi_version_0_2_1")))"#;
    for engine in engines() {
        let without = [Capability::Metrics, Capability::SharedData, Capability::Ticks].map(|one| (one, Lack::NoImport)).into();
        Gateway::start(&wat::parse_str(lean).unwrap(), "", Options { engine, without, ..Options::default() })
            .expect("it imports none of them");
    }
}

#[test]
fn without_trailers_a_body_ends_in_an_empty_piece_and_they_pass_unseen() {
    let functions = r#"
      (func (export "proxy_on_request_body") (param i32 i32 i32) (result i32) (i32.eqz (local.get 2)))
      (func (export "proxy_on_request_trailers") (param i32 i32) (result i32) unreachable)"#;
    let request = Request::new("POST", "/").chunks(["ab"]).trailers([("x-sum", "7")]);
    let (seen, _) = exchange(functions, &without(Capability::Trailers, Lack::Unimplemented), &request, &UpstreamReply::ok());
    let sizes: Vec<_> = seen.callbacks.iter().map(|call| (call.size, call.end_of_stream)).collect();
    assert_eq!(sizes, [(2, Some(false)), (2, Some(true))]);
    let upstream = seen.upstream.unwrap();
    assert_eq!((upstream.body.as_slice(), upstream.trailers.unwrap().text("x-sum"), upstream.complete), (&b"ab"[..], Some("7"), true));
}
