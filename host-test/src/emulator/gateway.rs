//! A gateway with one plugin loaded: starting it, and asking what it logged and counted.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::exchange::Exchange;
use super::host::{Host, LogLine};
use super::hostcalls::FUNCTIONS;
use super::metrics::Metric;
use super::options::{Capability, Lack, Options};
use super::process::Process;
use super::request::{Request, UpstreamReply};
use crate::runtime::{LoadError, Trap, Vm};

/// The exports by which a module says which ABI it speaks; both are served the same way.
const ABI_MARKS: [&str; 2] = ["proxy_abi_version_0_2_1", "proxy_abi_version_0_2_0"];

const ROOT: u32 = 1;

/// A gateway with one plugin.
#[derive(Debug)]
pub struct Gateway {
    pub(super) vm: Vm<Host>,
    pub(super) dead: Option<Trapped>,
    pub(super) next_stream: u32,
    /// The module, to start it anew.
    wasm: Arc<[u8]>,
}

/// An open stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamId(pub(super) u32);

/// The plugin died in a callback, or answered one with nonsense; in Envoy every stream of that VM fails from then on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the plugin trapped in {callback}: {cause}")]
pub struct Trapped {
    /// The callback's name.
    pub callback: String,
    /// The engine's words.
    pub cause: String,
}

/// Why a gateway does not start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// The module cannot be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The module does not say that it speaks proxy-wasm 0.2.
    #[error("the module is no proxy-wasm 0.2 plugin: it exports neither {} nor {}", ABI_MARKS[0], ABI_MARKS[1])]
    OtherAbi,
    /// The plugin died while starting.
    #[error(transparent)]
    Trapped(#[from] Trapped),
    /// `proxy_on_vm_start` returned false.
    #[error("the plugin refused to start{}", said(.logs))]
    VmRefused {
        /// What it logged until then.
        logs: Vec<LogLine>,
    },
    /// `proxy_on_configure` returned false: Envoy refuses such a configuration as a whole.
    #[error("the plugin refused its configuration{}", said(.logs))]
    ConfigRefused {
        /// What it logged until then.
        logs: Vec<LogLine>,
    },
}

impl Gateway {
    /// Loads a plugin and configures it, in Envoy's order, in a process of its own.
    ///
    /// # Errors
    /// [`StartError`] says which step failed and what the plugin logged about it.
    pub fn start(wasm: &[u8], config: &str, options: Options) -> Result<Self, StartError> {
        Self::start_in(&Process::default(), wasm, config, options)
    }

    /// Like [`Gateway::start`], as one more VM of a process: gateways have one VM for each worker thread.
    ///
    /// # Errors
    /// Those of [`Gateway::start`].
    pub fn start_in(process: &Process, wasm: &[u8], config: &str, options: Options) -> Result<Self, StartError> {
        Self::load(wasm.into(), Host::new(process.clone(), options, config.as_bytes(), ROOT))
    }

    /// Starts the plugin anew after it trapped, as Envoy does under FAIL_RELOAD. What the process shares stays; open streams are lost.
    ///
    /// # Errors
    /// Those of [`Gateway::start`]; the gateway then stays as dead as it was.
    pub fn reload(&mut self) -> Result<(), StartError> {
        let host = self.vm.host();
        let host = Host::new(host.process.clone(), host.options.clone(), &host.config, ROOT);
        // Numbers of lost streams are not given out again.
        *self = Self { next_stream: self.next_stream, ..Self::load(Arc::clone(&self.wasm), host)? };
        Ok(())
    }

    fn load(wasm: Arc<[u8]>, host: Host) -> Result<Self, StartError> {
        let missing = |capability: &Capability| host.options.without.get(capability) == Some(&Lack::NoImport);
        let left_out: Vec<&str> = host.options.without.keys().filter(|one| missing(one)).flat_map(|one| one.functions()).copied().collect();
        let functions: Vec<_> = FUNCTIONS.iter().filter(|function| !left_out.contains(&function.name)).collect();
        let config_len = u32::try_from(host.config.len()).unwrap_or(u32::MAX);
        let vm = Vm::load(host.options.engine, &wasm, &functions, host)?;
        let mut gateway = Self { vm, dead: None, next_stream: ROOT + 1, wasm };
        if !ABI_MARKS.iter().any(|mark| gateway.vm.exports(mark)) {
            return Err(StartError::OtherAbi);
        }
        if gateway.enter("_initialize", &[])?.is_some() {
            // A reactor may still have a main, which Envoy calls with no arguments.
            gateway.enter("main", &[0, 0])?;
        } else {
            gateway.enter("_start", &[])?;
        }
        gateway.vm.host_mut().config_readable = true;
        gateway.enter("proxy_on_context_create", &[ROOT, 0])?;
        gateway.vm.host_mut().config_readable = false;
        if gateway.enter("proxy_on_vm_start", &[ROOT, 0])? == Some(0) {
            return Err(StartError::VmRefused { logs: gateway.take_logs() });
        }
        gateway.vm.host_mut().config_readable = true;
        let accepted = gateway.enter("proxy_on_configure", &[ROOT, config_len])?;
        gateway.vm.host_mut().config_readable = false;
        if accepted == Some(0) {
            return Err(StartError::ConfigRefused { logs: gateway.take_logs() });
        }
        Ok(gateway)
    }

    /// Sends one request through the plugin to an upstream that gives `reply`, and the reply back.
    ///
    /// # Errors
    /// When the plugin traps; the gateway is of no use afterwards.
    pub fn exchange(&mut self, request: &Request, reply: &UpstreamReply) -> Result<Exchange, Trapped> {
        let id = self.open(request)?;
        for (index, chunk) in request.chunks.iter().enumerate() {
            let last = index + 1 == request.chunks.len() && request.trailers.is_none();
            self.send_chunk(id, chunk, last)?;
        }
        if let Some(trailers) = &request.trailers {
            self.send_trailers(id, trailers)?;
        }
        self.respond(id, reply)?;
        self.finish(id)
    }

    /// All metrics that plugins defined in this process, by name.
    #[must_use]
    pub fn metrics(&self) -> BTreeMap<String, Metric> {
        self.vm.host().process.metrics(|values| values.iter().map(|((name, _), metric)| (name.clone(), metric.clone())).collect())
    }

    /// Where a counter or gauge stands; `None` when the plugin defined none of that name.
    #[must_use]
    pub fn metric(&self, name: &str) -> Option<u64> {
        self.metrics().get(name).and_then(|metric| match metric {
            Metric::Counter(value) | Metric::Gauge(value) => Some(*value),
            Metric::Histogram(_) => None,
        })
    }

    /// Calls the plugin as a timer would, if it asked for that; whether it did.
    ///
    /// # Errors
    /// When the plugin traps.
    pub fn tick(&mut self) -> Result<bool, Trapped> {
        Ok(self.vm.host().tick_ms > 0 && self.enter("proxy_on_tick", &[ROOT])?.is_some())
    }

    /// Number of streams that have not ended.
    #[must_use]
    pub fn open_streams(&self) -> usize {
        self.vm.host().streams.len()
    }

    /// Why the plugin is dead, if it is.
    #[must_use]
    pub fn trapped(&self) -> Option<&Trapped> {
        self.dead.as_ref()
    }

    /// Everything logged since the start or the last [`Gateway::take_logs`].
    #[must_use]
    pub fn logs(&self) -> &[LogLine] {
        &self.vm.host().logs
    }

    /// Takes the log lines away.
    pub fn take_logs(&mut self) -> Vec<LogLine> {
        std::mem::take(&mut self.vm.host_mut().logs)
    }

    /// Sets the clock, nanoseconds since 1970.
    pub fn set_time_ns(&mut self, now_ns: u64) {
        self.vm.host_mut().options.now_ns = now_ns;
    }

    /// Size of the plugin's memory in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.vm.memory_bytes()
    }

    /// All work of the plugin so far in fuel units, start and configuration included; `None` where the engine counts none.
    #[must_use]
    pub fn fuel_used(&self) -> Option<u64> {
        self.vm.fuel_used()
    }

    /// Calls an export on behalf of a context; `None` when the plugin has no such export.
    pub(super) fn enter(&mut self, export: &str, args: &[u32]) -> Result<Option<u32>, Trapped> {
        if let Some(trapped) = &self.dead {
            return Err(trapped.clone());
        }
        let host = self.vm.host_mut();
        host.current = args.first().copied().filter(|id| host.streams.contains_key(id)).unwrap_or(ROOT);
        host.effective = None;
        let current = host.current;
        let before = self.vm.fuel_used().unwrap_or(0);
        let outcome = self.vm.call(export, args);
        let burnt = self.vm.fuel_used().unwrap_or(0) - before;
        if let Some(stream) = self.vm.host_mut().streams.get_mut(&current) {
            stream.fuel += burnt;
        }
        outcome.map_err(|Trap(cause)| self.die(export, cause))
    }

    pub(super) fn die(&mut self, callback: &str, cause: String) -> Trapped {
        let trapped = Trapped { callback: callback.to_owned(), cause };
        self.dead = Some(trapped.clone());
        trapped
    }
}

fn said(logs: &[LogLine]) -> String {
    match logs.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("; ") {
        text if text.is_empty() => " and logged nothing".to_owned(),
        text => format!(": {text}"),
    }
}
