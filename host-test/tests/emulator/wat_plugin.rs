//! Plugins for tests in WebAssembly text, on a common base of imports and helpers.

use clap::ValueEnum as _;
use floodmark_host::emulator::{Exchange, Gateway, Options, Request, StartError, UpstreamReply};
use floodmark_host::runtime::Engine;

/// What every test plugin has: memory, an allocator, and `$say` to log a host function's answer.
const BASE: &str = r#"
  (import "env" "proxy_log" (func $log (param i32 i32 i32) (result i32)))
  (import "env" "proxy_get_current_time_nanoseconds" (func $time (param i32) (result i32)))
  (import "env" "proxy_set_effective_context" (func $effective (param i32) (result i32)))
  (import "env" "proxy_get_buffer_bytes" (func $buffer (param i32 i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_set_buffer_bytes" (func $set_buffer (param i32 i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_get_header_map_value" (func $value (param i32 i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_add_header_map_value" (func $add (param i32 i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_replace_header_map_value" (func $replace (param i32 i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_get_header_map_pairs" (func $pairs (param i32 i32 i32) (result i32)))
  (import "env" "proxy_get_property" (func $property (param i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_set_property" (func $set_property (param i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_continue_stream" (func $resume (param i32) (result i32)))
  (import "env" "proxy_close_stream" (func $close (param i32) (result i32)))
  (import "env" "proxy_send_local_response" (func $reply (param i32 i32 i32 i32 i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_define_metric" (func $define (param i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_increment_metric" (func $increment (param i32 i64) (result i32)))
  (import "env" "proxy_record_metric" (func $record (param i32 i64) (result i32)))
  (import "env" "proxy_get_metric" (func $metric (param i32 i32) (result i32)))
  (import "env" "proxy_remove_header_map_value" (func $remove (param i32 i32 i32) (result i32)))
  (import "env" "proxy_get_shared_data" (func $shared (param i32 i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_set_shared_data" (func $share (param i32 i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_set_tick_period_milliseconds" (func $tick (param i32) (result i32)))
  (memory (export "memory") 4)
  (global $free (mut i32) (i32.const 65536))
  (func (export "proxy_abi_version_0_2_1"))
  (func (export "malloc") (param $len i32) (result i32)
    (global.get $free)
    (global.set $free (i32.add (global.get $free) (local.get $len))))
  ;; Logs a status as one letter: 0 is "0", 12 is "<".
  (func $say (param $status i32)
    (i32.store8 (i32.const 32) (i32.add (local.get $status) (i32.const 48)))
    (drop (call $log (i32.const 2) (i32.const 32) (i32.const 1))))
  ;; Logs the value whose address and length lie at 16 and 20.
  (func $show (drop (call $log (i32.const 2) (i32.load (i32.const 16)) (i32.load (i32.const 20)))))
"#;

/// Assembles a plugin. `@"text"` stands for the text's address and length; a byte may be written `\hh`.
pub fn plugin(functions: &str) -> Vec<u8> {
    let (mut code, mut data, mut at) = (String::new(), String::new(), 1024);
    let mut parts = functions.split("@\"");
    code.push_str(parts.next().unwrap());
    for part in parts {
        let (text, rest) = part.split_once('"').unwrap();
        let len = text.len() - 2 * text.matches('\\').count();
        data.push_str(&format!("  (data (i32.const {at}) \"{text}\")\n"));
        code.push_str(&format!("(i32.const {at}) (i32.const {len}){rest}"));
        at += len;
    }
    wat::parse_str(format!("(module{BASE}{code}\n{data})")).unwrap()
}

/// Runs the same test on every engine that is compiled in.
pub fn engines() -> impl Iterator<Item = Engine> {
    Engine::value_variants().iter().copied()
}

pub fn start(functions: &str, options: &Options) -> Result<Gateway, StartError> {
    Gateway::start(&plugin(functions), "{}", options.clone())
}

/// One exchange on every engine, the log lines beside it; they must agree in everything but fuel.
pub fn exchange(functions: &str, options: &Options, request: &Request, reply: &UpstreamReply) -> (Exchange, Vec<String>) {
    let mut seen: Option<(Exchange, Vec<String>)> = None;
    for engine in engines() {
        let mut gateway = start(functions, &Options { engine, ..options.clone() }).unwrap();
        let exchange = gateway.exchange(request, reply).unwrap();
        let lines = texts(&gateway);
        if let Some((first, first_lines)) = &seen {
            assert_eq!((&Exchange { fuel: first.fuel, ..exchange }, &lines), (first, first_lines), "{engine:?}");
        } else {
            seen = Some((exchange, lines));
        }
    }
    seen.unwrap()
}

pub fn texts(gateway: &Gateway) -> Vec<String> {
    gateway.logs().iter().map(|line| line.text.clone()).collect()
}
