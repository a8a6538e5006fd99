//! The gateway's memory as the host functions see it: configuration, clock, log, metrics and open streams.

use std::collections::BTreeMap;

use super::abi::{LogLevel, Status};
use super::metrics::Metrics;
use super::options::{Capability, Options};
use super::process::Process;
use super::stream::Stream;

/// One line that the plugin logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// Its level.
    pub level: LogLevel,
    /// Its text; bytes that are no UTF-8 are replaced.
    pub text: String,
}

/// Everything but the guest.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) options: Options,
    pub(super) config: Vec<u8>,
    /// The plugin's configuration can be read only while it is being handed over.
    pub(super) config_readable: bool,
    pub(super) logs: Vec<LogLine>,
    pub(super) metrics: Metrics,
    pub(super) process: Process,
    /// Time between two ticks in milliseconds; 0 for none.
    pub(super) tick_ms: u32,
    pub(super) streams: BTreeMap<u32, Stream>,
    pub(super) root: u32,
    /// The context whose callback is running.
    pub(super) current: u32,
    /// The context that the plugin chose to act for instead.
    pub(super) effective: Option<u32>,
}

impl Host {
    pub(super) fn new(process: Process, options: Options, config: &[u8], root: u32) -> Self {
        Self {
            options,
            config: config.to_vec(),
            config_readable: false,
            logs: Vec::new(),
            metrics: Metrics::default(),
            process,
            tick_ms: 0,
            streams: BTreeMap::new(),
            root,
            current: root,
            effective: None,
        }
    }

    /// The stream that a host call is about; the root context has none.
    pub(super) fn stream(&mut self) -> Option<&mut Stream> {
        let chosen = self.effective.filter(|id| *id == self.root || self.streams.contains_key(id));
        self.streams.get_mut(&chosen.unwrap_or(self.current))
    }

    pub(super) fn require(&self, capability: Capability) -> Result<(), Status> {
        if self.options.without.contains_key(&capability) { Err(Status::Unimplemented) } else { Ok(()) }
    }
}
