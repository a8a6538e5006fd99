//! What a gateway may be like: engine, limits, clock, missing capabilities and known properties.

use std::collections::{BTreeMap, BTreeSet};

use super::abi::LogLevel;
use crate::runtime::Engine;

/// Envoy's default for `per_connection_buffer_limit_bytes`.
pub const DEFAULT_BUFFER_LIMIT_BYTES: usize = 1 << 20;

/// 2026-01-01T00:00:00Z: a clock that stands still unless told otherwise keeps every run the same.
const DEFAULT_NOW_NS: u64 = 1_767_225_600_000_000_000;

/// A group of host functions that some gateways leave out; they then answer "unimplemented".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Capability {
    /// Counters, gauges and histograms.
    Metrics,
    /// Reading and writing properties, and so filter state.
    Properties,
    /// Log lines.
    Logging,
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
    pub without: BTreeSet<Capability>,
    /// Values for `get_property` by dotted path, such as `xds.route_name`; what is not here and not known from the
    /// stream is not found.
    pub properties: BTreeMap<String, Vec<u8>>,
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
            without: BTreeSet::new(),
            properties: BTreeMap::new(),
            log_level: LogLevel::Info,
            now_ns: DEFAULT_NOW_NS,
        }
    }
}
