//! Loading, starting and configuring.

use floodmark_host::emulator::{Gateway, Options, Request, StartError, Trapped, UpstreamReply};
use floodmark_host::runtime::LoadError;

use crate::wat_plugin::{engines, plugin, start, texts};

const STEPS: &str = r#"
  (func (export "_initialize") (drop (call $log (i32.const 2) @"_initialize")))
  (func (export "main") (param i32 i32) (result i32) (drop (call $log (i32.const 2) @"main")) (i32.const 0))
  (func (export "_start") (drop (call $log (i32.const 2) @"_start")))
  (func (export "proxy_on_context_create") (param i32 i32)
    (call $say (local.get 0)) (call $say (local.get 1)))
  (func (export "proxy_on_vm_start") (param i32 i32) (result i32)
    (drop (call $log (i32.const 2) @"vm_start")) (i32.const 1))
  (func (export "proxy_on_configure") (param i32 i32) (result i32)
    (drop (call $buffer (i32.const 7) (i32.const 0) (local.get 1) (i32.const 16) (i32.const 20)))
    (call $show) (i32.const 1))
  (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
    (call $say (call $buffer (i32.const 7) (i32.const 0) (i32.const 9) (i32.const 16) (i32.const 20)))
    (i32.const 0))"#;

#[test]
fn steps_come_in_envoys_order_and_the_configuration_only_then() {
    for engine in engines() {
        let options = Options { engine, ..Options::default() };
        let mut gateway = Gateway::start(&plugin(STEPS), r#"{"version":1}"#, options).unwrap();
        gateway.exchange(&Request::new("GET", "/"), &UpstreamReply::ok()).unwrap();
        let expected = ["_initialize", "main", "1", "0", "vm_start", r#"{"version":1}"#, "2", "1", "1"];
        assert_eq!(texts(&gateway), expected, "the last 1 is `not found` for the configuration outside on_configure");
    }
}

#[test]
fn start_is_called_only_without_initialize() {
    let gateway = start(&STEPS.replace("\"_initialize\"\n", "").replace("(export \"_initialize\")", ""), &Options::default()).unwrap();
    assert_eq!(texts(&gateway)[0], "_start");
}

#[test]
fn a_refused_configuration_gives_the_log_lines() {
    let refusing = r#"(func (export "proxy_on_configure") (param i32 i32) (result i32)
      (drop (call $log (i32.const 5) @"mode: unknown")) (i32.const 0))"#;
    for engine in engines() {
        let error = start(refusing, &Options { engine, ..Options::default() }).unwrap_err();
        assert!(matches!(error, StartError::ConfigRefused { .. }), "{error:?}");
        assert_eq!(error.to_string(), "the plugin refused its configuration: mode: unknown");
    }
}

#[test]
fn a_refused_start_is_told_from_a_refused_configuration() {
    let refusing = r#"(func (export "proxy_on_vm_start") (param i32 i32) (result i32) (i32.const 0))"#;
    let error = start(refusing, &Options::default()).unwrap_err();
    assert_eq!(error.to_string(), "the plugin refused to start and logged nothing");
}

#[test]
fn a_trap_while_configuring_names_the_callback() {
    for engine in engines() {
        let trapping = r#"(func (export "proxy_on_configure") (param i32 i32) (result i32) unreachable)"#;
        let error = start(trapping, &Options { engine, ..Options::default() }).unwrap_err();
        let StartError::Trapped(Trapped { callback, cause }) = error else { panic!("{error:?}") };
        assert_eq!(callback, "proxy_on_configure");
        assert!(cause.contains("unreachable"), "{cause}");
    }
}

fn load_error(wat: &str) -> StartError {
    Gateway::start(&wat::parse_str(wat).unwrap(), "", Options::default()).unwrap_err()
}

#[test]
fn an_unknown_import_is_named() {
    let error =
        load_error(r#"(module (import "env" "proxy_log" (func (param i32 i32 i32) (result i32))) (import "env" "proxy_magic" (func)))"#);
    assert_eq!(error, StartError::Load(LoadError::MissingImport { module: "env".to_owned(), name: "proxy_magic".to_owned() }));
    assert_eq!(error.to_string(), "the module imports `env.proxy_magic`, which this host does not have");
    let wasi = load_error(r#"(module (import "wasi_snapshot_preview1" "fd_write" (func (param i32 i32 i32 i32) (result i32))))"#);
    assert_eq!(wasi.to_string(), "the module imports `wasi_snapshot_preview1.fd_write`, which this host does not have");
}

#[test]
fn an_import_of_another_type_is_named_with_both_types() {
    let error = load_error(r#"(module (import "env" "proxy_log" (func (param i32 i64) (result i32))))"#);
    assert_eq!(
        error.to_string(),
        "the module imports `proxy_log` as (i32, i64) -> (i32), but this host has it as (i32, i32, i32) -> (i32)"
    );
    let memory = load_error(r#"(module (import "env" "proxy_log" (memory 1)))"#);
    assert!(matches!(memory, StartError::Load(LoadError::MissingImport { .. })), "{memory:?}");
}

#[test]
fn what_is_no_plugin_is_told() {
    let abi = load_error("(module)");
    assert_eq!(abi, StartError::OtherAbi);
    let text = Gateway::start(b"<html>", "", Options::default()).unwrap_err();
    assert!(matches!(text, StartError::Load(LoadError::Malformed(_))), "{text:?}");
    let component = Gateway::start(b"\0asm\x0d\0\x01\0", "", Options::default()).unwrap_err();
    assert_eq!(component.to_string(), "not a wasm module that this host can read: a component, not a core module");
}

#[test]
fn a_guest_without_an_allocator_traps_when_it_needs_one() {
    let wat = r#"(module
      (import "env" "proxy_get_buffer_bytes" (func $buffer (param i32 i32 i32 i32 i32) (result i32)))
      (memory (export "memory") 1)
      (func (export "proxy_abi_version_0_2_1"))
      (func (export "proxy_on_configure") (param i32 i32) (result i32)
        (call $buffer (i32.const 7) (i32.const 0) (i32.const 2) (i32.const 16) (i32.const 20))))"#;
    for engine in engines() {
        let error = Gateway::start(&wat::parse_str(wat).unwrap(), "{}", Options { engine, ..Options::default() }).unwrap_err();
        assert!(error.to_string().contains("the guest exports no allocator (proxy_on_memory_allocate or malloc)"), "{error}");
    }
}
