//! The list of host functions of proxy-wasm 0.2.1: each name, its parameter types and what it does, once for all engines.

mod buffers;
mod call;
mod flow;
mod general;
mod maps;
mod metrics;
mod properties;
mod shared;

use super::abi::Status;
use super::host::Host;
use crate::runtime::{HostFunction, Param::*};
use call::{Call, Fail, run};

/// Everything a plugin may import from `env`.
pub(super) static FUNCTIONS: &[HostFunction<Host>] = &[
    function("proxy_log", &[I32, I32, I32], |guest, args| run(guest, args, general::log)),
    function("proxy_get_log_level", &[I32], |guest, args| run(guest, args, general::log_level)),
    function("proxy_get_current_time_nanoseconds", &[I32], |guest, args| run(guest, args, general::time)),
    function("proxy_set_effective_context", &[I32], |guest, args| run(guest, args, general::effective_context)),
    function("proxy_done", &[], |guest, args| run(guest, args, general::done)),
    function("proxy_get_buffer_bytes", &[I32; 5], |guest, args| run(guest, args, buffers::get)),
    function("proxy_get_buffer_status", &[I32; 3], |guest, args| run(guest, args, buffers::status)),
    function("proxy_set_buffer_bytes", &[I32; 5], |guest, args| run(guest, args, buffers::set)),
    function("proxy_get_header_map_value", &[I32; 5], |guest, args| run(guest, args, maps::value)),
    function("proxy_add_header_map_value", &[I32; 5], |guest, args| run(guest, args, maps::add)),
    function("proxy_replace_header_map_value", &[I32; 5], |guest, args| run(guest, args, maps::replace)),
    function("proxy_remove_header_map_value", &[I32; 3], |guest, args| run(guest, args, maps::remove)),
    function("proxy_get_header_map_pairs", &[I32; 3], |guest, args| run(guest, args, maps::pairs)),
    function("proxy_set_header_map_pairs", &[I32; 3], |guest, args| run(guest, args, maps::set_pairs)),
    function("proxy_get_header_map_size", &[I32; 2], |guest, args| run(guest, args, maps::size)),
    function("proxy_get_property", &[I32; 4], |guest, args| run(guest, args, properties::get)),
    function("proxy_set_property", &[I32; 4], |guest, args| run(guest, args, properties::set)),
    function("proxy_continue_stream", &[I32], |guest, args| run(guest, args, flow::resume)),
    function("proxy_close_stream", &[I32], |guest, args| run(guest, args, flow::close)),
    function("proxy_send_local_response", &[I32; 8], |guest, args| run(guest, args, flow::local_response)),
    function("proxy_define_metric", &[I32; 4], |guest, args| run(guest, args, metrics::define)),
    function("proxy_increment_metric", &[I32, I64], |guest, args| run(guest, args, metrics::increment)),
    function("proxy_record_metric", &[I32, I64], |guest, args| run(guest, args, metrics::record)),
    function("proxy_get_metric", &[I32; 2], |guest, args| run(guest, args, metrics::get)),
    function("proxy_get_shared_data", &[I32; 5], |guest, args| run(guest, args, shared::get)),
    function("proxy_set_shared_data", &[I32; 5], |guest, args| run(guest, args, shared::set)),
    function("proxy_set_tick_period_milliseconds", &[I32], |guest, args| run(guest, args, general::tick_period)),
    // Not on the request path. A plugin built with an SDK imports them unused; Envoy has them, this host says it has not.
    function("proxy_register_shared_queue", &[I32; 3], |_, _| UNIMPLEMENTED),
    function("proxy_resolve_shared_queue", &[I32; 5], |_, _| UNIMPLEMENTED),
    function("proxy_dequeue_shared_queue", &[I32; 3], |_, _| UNIMPLEMENTED),
    function("proxy_enqueue_shared_queue", &[I32; 3], |_, _| UNIMPLEMENTED),
    function("proxy_http_call", &[I32; 10], |_, _| UNIMPLEMENTED),
    function("proxy_grpc_call", &[I32; 12], |_, _| UNIMPLEMENTED),
    function("proxy_grpc_stream", &[I32; 9], |_, _| UNIMPLEMENTED),
    function("proxy_grpc_send", &[I32; 4], |_, _| UNIMPLEMENTED),
    function("proxy_grpc_cancel", &[I32], |_, _| UNIMPLEMENTED),
    function("proxy_grpc_close", &[I32], |_, _| UNIMPLEMENTED),
    function("proxy_get_status", &[I32; 3], |_, _| UNIMPLEMENTED),
    function("proxy_call_foreign_function", &[I32; 6], |_, _| UNIMPLEMENTED),
];

const UNIMPLEMENTED: Result<u32, crate::runtime::Trap> = Ok(Status::Unimplemented as u32);

const fn function(name: &'static str, params: &'static [crate::runtime::Param], run: call::Run) -> HostFunction<Host> {
    HostFunction { name, params, run }
}
