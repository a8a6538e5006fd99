//! The plugin's VMs, each on a thread of its own: work comes in as jobs, and a VM that trapped is started anew.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use tokio::sync::oneshot;

use super::Settings;
use crate::emulator::{Gateway, Options, Process};

/// A plugin that traps again and again is not started anew more often, as in Envoy.
const BETWEEN_RELOADS: Duration = Duration::from_secs(1);

/// Something to do, or `None` to end.
type Job = Option<Box<dyn FnOnce(&mut Gateway) + Send>>;

/// All VMs of the server.
#[derive(Debug)]
pub(super) struct Vms {
    vms: Vec<Arc<Vm>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    traps: Arc<AtomicU64>,
}

/// One VM, as its streams see it.
#[derive(Debug)]
pub(super) struct Vm {
    jobs: mpsc::Sender<Job>,
    streams: AtomicUsize,
}

impl Vms {
    /// Starts all of them, one after the other, so that the first that refuses its configuration is the last that tries.
    ///
    /// # Errors
    /// When the module or the configuration is refused.
    pub(super) fn start(settings: &Settings) -> anyhow::Result<Self> {
        let path = &settings.wasm;
        let wasm = std::fs::read(path).with_context(|| format!("cannot read the plugin {}; cargo xtask wasm builds it", path.display()))?;
        let options = Options {
            engine: settings.engine,
            buffer_limit_bytes: settings.max_held_bytes,
            // A held body is wanted here whether or not headers are held with it.
            allow_on_headers_stop_iteration: true,
            keep_callbacks: false,
            ..Options::default()
        };
        let (process, traps) = (Process::default(), Arc::new(AtomicU64::new(0)));
        let (mut vms, mut threads) = (Vec::new(), Vec::new());
        for number in 0..settings.workers {
            let options = Options { now_ns: now_ns(), ..options.clone() };
            let gateway = Gateway::start_in(&process, &wasm, &settings.config, options)?;
            let (jobs, incoming) = mpsc::channel();
            let traps = Arc::clone(&traps);
            let thread = thread::Builder::new().name(format!("wasm-{number}")).spawn(move || live(gateway, &incoming, &traps));
            threads.push(thread.context("cannot start a thread for the plugin")?);
            vms.push(Arc::new(Vm { jobs, streams: AtomicUsize::new(0) }));
        }
        Ok(Self { vms, threads: Mutex::new(threads), traps })
    }

    /// The VM with the fewest open streams.
    pub(super) fn least_busy(&self) -> Option<&Arc<Vm>> {
        self.vms.iter().min_by_key(|vm| vm.streams.load(Ordering::Relaxed))
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Vm>> {
        self.vms.iter()
    }

    /// How often a VM trapped.
    pub(super) fn traps(&self) -> u64 {
        self.traps.load(Ordering::Relaxed)
    }

    /// Ends all of them when they have done what was ordered until now.
    pub(super) fn stop(&self) {
        self.vms.iter().for_each(|vm| vm.send(None));
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // It can only have ended early by a panic, which has been printed.
            let _ = thread.join();
        }
    }
}

impl Vm {
    /// Does something in the VM's thread; `None` when that thread is gone.
    pub(super) async fn run<R: Send + 'static>(&self, work: impl FnOnce(&mut Gateway) -> R + Send + 'static) -> Option<R> {
        let (done, result) = oneshot::channel();
        self.order(move |gateway| {
            // Whoever asked may have gone meanwhile.
            let _ = done.send(work(gateway));
        });
        result.await.ok()
    }

    /// Has something done without waiting for it.
    pub(super) fn order(&self, work: impl FnOnce(&mut Gateway) + Send + 'static) {
        self.send(Some(Box::new(work)));
    }

    fn send(&self, job: Job) {
        // The thread is gone when the server has stopped, or after a panic of its own; a request then finds no result.
        let _ = self.jobs.send(job);
    }

    /// Counts a stream in.
    pub(super) fn enter(&self) {
        self.streams.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a stream out.
    pub(super) fn leave(&self) {
        self.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

fn live(mut gateway: Gateway, jobs: &mpsc::Receiver<Job>, traps: &AtomicU64) {
    print_logs(&mut gateway);
    let mut reloaded: Option<Instant> = None;
    while let Ok(Some(job)) = jobs.recv() {
        let was_dead = gateway.trapped().is_some();
        if was_dead && reloaded.is_none_or(|at| at.elapsed() >= BETWEEN_RELOADS) {
            reloaded = Some(Instant::now());
            if let Err(error) = gateway.reload() {
                eprintln!("error: the plugin cannot be started anew: {error}");
            }
        }
        gateway.set_time_ns(now_ns());
        let was_dead = gateway.trapped().is_some();
        job(&mut gateway);
        print_logs(&mut gateway);
        if let Some(trapped) = gateway.trapped().filter(|_| !was_dead) {
            traps.fetch_add(1, Ordering::Relaxed);
            eprintln!("error: {trapped}; its requests are answered 503");
        }
    }
}

fn print_logs(gateway: &mut Gateway) {
    for line in gateway.take_logs() {
        eprintln!("{}: {}", format!("{:?}", line.level).to_lowercase(), line.text);
    }
}

fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
