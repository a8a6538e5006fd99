//! What Floodmark never does, but a plugin may: other paths, held and changed answers, broken streams, and holding for ever.

use floodmark_host::client::{Answer, Call};
use floodmark_host::upstream::Upstream;

use crate::process::{Serve, serve_with};

const BASE: &str = r#"
  (import "env" "proxy_replace_header_map_value" (func $replace (param i32 i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_remove_header_map_value" (func $remove (param i32 i32 i32) (result i32)))
  (import "env" "proxy_set_buffer_bytes" (func $set (param i32 i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_close_stream" (func $close (param i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) ":path/other?x=1")
  (data (i32.const 32) "content-length")
  (data (i32.const 64) "BODY")
  (func (export "proxy_on_memory_allocate") (param i32) (result i32) (i32.const 1024))
  (func (export "proxy_abi_version_0_2_1"))"#;

fn on(callback: &str, code: &str) -> String {
    format!(r#"(func (export "proxy_on_{callback}") (param i32 i32 i32) (result i32) {code})"#)
}

/// Sends one request through a plugin.
async fn send(functions: &str) -> (anyhow::Result<Answer>, Upstream, Serve) {
    let folder = tempfile::tempdir().unwrap();
    let wasm = folder.path().join("plugin.wasm");
    std::fs::write(&wasm, wat::parse_str(format!("(module {BASE} {functions})")).unwrap()).unwrap();
    let upstream = Upstream::start().await.unwrap();
    let gateway = serve_with(upstream.address(), &["--wasm", wasm.to_str().unwrap()]);
    let answer = Call::post("/one", "{}").id("it").send(gateway.address).await;
    (answer, upstream, gateway)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_path_and_a_changed_answer_are_honoured() {
    let path = on("request_headers", "(i32.const 0) (i32.const 0) (i32.const 5) (i32.const 5) (i32.const 10) (call $replace)");
    // Holds the answer's headers until its body is there, then puts another in its place; once with the old length left as it is.
    for length in ["(i32.const 2) (i32.const 32) (i32.const 14) (call $remove) (drop)", ""] {
        let headers = on("response_headers", &format!("{length} (i32.const 1)"));
        let set = "(if (local.get 2) (then (drop (call $set (i32.const 1) (i32.const 0) (local.get 1) (i32.const 64) (i32.const 4)))))";
        let body = on("response_body", &format!("{set} (i32.eqz (local.get 2))"));
        let (answer, upstream, _gateway) = send(&[path.clone(), headers, body].concat()).await;
        let answer = answer.unwrap();
        assert_eq!((answer.status, answer.text().as_str()), (200, "BODY"));
        assert_eq!(upstream.journal().received("it")[0].path, "/other?x=1");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_request_has_the_length_that_it_has() {
    let set = "(if (local.get 2) (then (drop (call $set (i32.const 0) (i32.const 0) (local.get 1) (i32.const 64) (i32.const 4)))))";
    let (answer, upstream, _gateway) = send(&on("request_body", &format!("{set} (i32.eqz (local.get 2))"))).await;
    assert_eq!(answer.unwrap().status, 200);
    assert_eq!(upstream.journal().received("it")[0].body, b"BODY");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_the_plugin_breaks_is_broken() {
    let (answer, upstream, gateway) = send(&on("request_headers", "(call $close (i32.const 0))")).await;
    assert!(answer.is_err(), "{answer:?}");
    assert!(upstream.journal().received("it").is_empty());
    let line = gateway.line("it");
    assert_eq!((&line["status"], &line["details"]), (&0.into(), &"wasm_close_stream".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_held_for_ever_is_500() {
    let pause = |callback: &str| on(callback, "(i32.const 1)");
    for (functions, told) in [
        (pause("request_body"), true),
        (pause("response_headers") + &pause("response_body"), true),
        // Here the headers are out already.
        (pause("response_body"), false),
    ] {
        let (answer, _upstream, gateway) = send(&functions).await;
        assert_eq!(answer.as_ref().ok().map(|answer| answer.status), told.then_some(500), "{functions}: {answer:?}");
        assert_eq!(gateway.line("it")["details"], "plugin_holds_forever", "{functions}");
    }
}
