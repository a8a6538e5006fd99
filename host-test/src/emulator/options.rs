//! What a gateway may be like: engine, limits, clock, missing capabilities and known properties.

use std::collections::BTreeMap;

use super::abi::LogLevel;
use crate::runtime::Engine;

/// Envoy's default for `per_connection_buffer_limit_bytes`.
pub const DEFAULT_BUFFER_LIMIT_BYTES: usize = 1 << 20;

/// 2026-01-01T00:00:00Z: a clock that stands still unless told otherwise keeps every run the same.
const DEFAULT_NOW_NS: u64 = 1_767_225_600_000_000_000;

/// A part of the ABI that some gateways leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Capability {
    /// Counters, gauges and histograms.
    Metrics,
    /// Reading and writing properties, and so filter state.
    Properties,
    /// Log lines.
    Logging,
    /// Values that all VMs of a `vm_id` share.
    SharedData,
    /// Calls at regular times.
    Ticks,
    /// Trailers callbacks: without them a body that trailers follow ends in an empty piece with end of stream, and they pass unseen.
    Trailers,
}

/// In which way a gateway lacks a capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// Its functions are there and answer "unimplemented".
    Unimplemented,
    /// Its functions are not there: a module that imports one of them is refused.
    NoImport,
}

impl Capability {
    /// The host functions that belong to it.
    pub(super) fn functions(self) -> &'static [&'static str] {
        match self {
            Self::Metrics => &["proxy_define_metric", "proxy_increment_metric", "proxy_record_metric", "proxy_get_metric"],
            Self::Properties => &["proxy_get_property", "proxy_set_property"],
            Self::Logging => &["proxy_log", "proxy_get_log_level"],
            Self::SharedData => &["proxy_get_shared_data", "proxy_set_shared_data"],
            Self::Ticks => &["proxy_set_tick_period_milliseconds"],
            // The header maps' functions serve headers, too.
            Self::Trailers => &[],
        }
    }
}

/// How the emulated gateway is set up; the default is Envoy 1.40 as it comes.
#[derive(Clone, Debug)]
pub struct Options {
    /// The engine that runs the plugin.
    pub engine: Engine,
    /// Most body bytes held for a paused stream, each direction; one more is answered 413 by the gateway itself.
    pub buffer_limit_bytes: usize,
    /// Envoy's plugin option of that name: a pause in the headers callback then holds the headers and lets the body come.
    pub allow_on_headers_stop_iteration: bool,
    /// Capabilities that this gateway lacks.
    pub without: BTreeMap<Capability, Lack>,
    /// Plugins with the same id share one map of shared data.
    pub vm_id: String,
    /// Values for `get_property` by dotted path, such as `xds.route_name`; what is not here and not known from the
    /// stream is not found.
    pub properties: BTreeMap<String, Vec<u8>>,
    /// Whether each callback is noted in the [`Exchange`](super::Exchange); a stream of events can have very many.
    pub keep_callbacks: bool,
    /// Lines below this level are dropped, as Envoy does.
    pub log_level: LogLevel,
    /// What the clock shows, nanoseconds since 1970.
    pub now_ns: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            engine: Engine::default(),
            buffer_limit_bytes: DEFAULT_BUFFER_LIMIT_BYTES,
            allow_on_headers_stop_iteration: false,
            without: BTreeMap::new(),
            vm_id: String::new(),
            properties: BTreeMap::new(),
            keep_callbacks: true,
            log_level: LogLevel::Info,
            now_ns: DEFAULT_NOW_NS,
        }
    }
}
