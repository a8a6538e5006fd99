//! Listening, and stopping without breaking what is under way.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::{JoinHandle, JoinSet};

use super::access::Record;
use super::upstream::Upstream;
use super::vm::Vms;
use super::{Settings, admin, exchange};
use crate::emulator::Exchange;

/// Longest time for a request's head, and between two requests on a connection.
const HEAD_TIMEOUT: Duration = Duration::from_secs(60);
/// Largest head of a request.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// Pause after a failed accept: it fails for want of file descriptors, and at once again.
pub(super) const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A running server.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    admin_address: Option<SocketAddr>,
    shared: Arc<Shared>,
    stop: oneshot::Sender<()>,
    accepting: JoinHandle<()>,
    admin: Option<JoinHandle<()>>,
}

/// What all requests have in common.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) upstream: Upstream,
    pub(super) timeout: Duration,
    pub(super) vms: Vms,
    requests: Arc<Semaphore>,
    max_requests: usize,
    /// Requests ended, by status.
    ended: Mutex<BTreeMap<u16, u64>>,
}

impl Server {
    /// Starts the plugin's VMs and listens; needs a tokio runtime of several threads.
    ///
    /// # Errors
    /// When the settings, the module or its configuration are refused, or an address cannot be listened on.
    pub async fn start(settings: &Settings) -> anyhow::Result<Self> {
        ensure!(settings.workers > 0 && settings.max_requests > 0 && settings.max_connections > 0, "limits of 0 serve nobody");
        let upstream = Upstream::new(&settings.upstream)?;
        let listener = listen(settings.listen).await?;
        let admin_listener = match settings.admin {
            Some(address) => Some(listen(address).await?),
            None => None,
        };
        let vms = tokio::task::block_in_place(|| Vms::start(settings))?;
        let shared = Arc::new(Shared {
            upstream,
            timeout: settings.timeout,
            vms,
            requests: Arc::new(Semaphore::new(settings.max_requests)),
            max_requests: settings.max_requests,
            ended: Mutex::default(),
        });
        let address = listener.local_addr().context("cannot read the server's own port")?;
        let admin_address = admin_listener.as_ref().and_then(|listener| listener.local_addr().ok());
        let admin = admin_listener.map(|listener| tokio::spawn(admin::accept(listener, Arc::clone(&shared))));
        let (stop, stopped) = oneshot::channel();
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared), settings.max_connections, settings.grace, stopped));
        Ok(Self { address, admin_address, shared, stop, accepting, admin })
    }

    /// Where clients connect.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where the admin page is.
    #[must_use]
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin_address
    }

    /// Stops listening, lets open requests end within the grace, breaks the rest, and waits for the last line of the log.
    pub async fn stop(self) {
        let _ = self.stop.send(());
        // It cannot fail but by a panic, which has been printed.
        let _ = self.accepting.await;
        if let Some(admin) = self.admin {
            admin.abort();
        }
        let shared = self.shared;
        let _ = tokio::task::spawn_blocking(move || shared.vms.stop()).await;
    }
}

impl Shared {
    /// A place among the requests at once, if there is one.
    pub(super) fn permit(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.requests).try_acquire_owned().ok()
    }

    /// Number of requests under way.
    pub(super) fn active(&self) -> usize {
        self.max_requests - self.requests.available_permits()
    }

    /// Requests that ended, by status; 0 for those whose client left before it was answered.
    pub(super) fn ended(&self) -> BTreeMap<u16, u64> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Writes a request's line and counts it.
    pub(super) fn log(&self, record: &Record, exchange: Option<&Exchange>) {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        *ended.entry(record.status.unwrap_or(0)).or_default() += 1;
        drop(ended);
        // A reader that went away is no reason to stop serving.
        let _ = writeln!(std::io::stdout(), "{}", record.line(exchange));
    }
}

async fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, max: usize, grace: Duration, mut stopped: oneshot::Receiver<()>) {
    let graceful = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(max));
    let mut connections = JoinSet::new();
    loop {
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        tokio::select! {
            _ = &mut stopped => break,
            Some(_) = connections.join_next() => {}
            (place, accepted) = next => match accepted {
                Ok((stream, client)) => {
                    let serving = serve(stream, client, Arc::clone(&shared), graceful.watcher());
                    connections.spawn(async move {
                        serving.await;
                        drop(place);
                    });
                }
                Err(error) => {
                    eprintln!("error: cannot accept a connection: {error}");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    drop(listener);
    // Either all ended, or the grace is over and the rest is broken off.
    let _ = tokio::time::timeout(grace, graceful.shutdown()).await;
    connections.shutdown().await;
}

async fn serve(stream: TcpStream, client: SocketAddr, shared: Arc<Shared>, watcher: Watcher) {
    // Events of a stream would otherwise wait for the client's delayed ACK.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(client);
        exchange::answer(Arc::clone(&shared), request)
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(MAX_HEAD_BYTES);
    // An error here is a client that went away, or a stream that was broken on purpose; the access log has it.
    let _ = watcher.watch(builder.serve_connection(TokioIo::new(stream), service)).await;
}
