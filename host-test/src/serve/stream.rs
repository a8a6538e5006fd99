//! One request, from its head to its line in the access log: in a VM as soon as it may have one.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use hyper::Request;
use hyper::body::Incoming;
use tokio::sync::OwnedSemaphorePermit;

use super::access::Record;
use super::failure::{Failure, Stop};
use super::server::Shared;
use super::vm::Vm;
use crate::emulator::{Gateway, Headers, Look, Request as Opening, StreamId, Trapped};

/// See the file's first line. Whoever still has to do with the request holds it; with the last of them it ends.
#[derive(Debug)]
pub(super) struct Stream {
    shared: Arc<Shared>,
    record: Mutex<Record>,
    /// The client's address and port.
    source: Option<SocketAddr>,
    place: OnceLock<Place>,
}

#[derive(Debug)]
struct Place {
    vm: Arc<Vm>,
    id: StreamId,
    permit: OwnedSemaphorePermit,
}

impl Stream {
    pub(super) fn new(shared: &Arc<Shared>, request: &Request<Incoming>) -> Arc<Self> {
        let record = Mutex::new(Record::new(request));
        let source = request.extensions().get().copied();
        Arc::new(Self { shared: Arc::clone(shared), record, source, place: OnceLock::new() })
    }

    /// What is common to all requests.
    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The request's record.
    pub(super) fn record(&self) -> MutexGuard<'_, Record> {
        // Each holder writes whole fields, so a poisoned lock still guards a good record.
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the request into a VM and hands its headers to the plugin; `last` when no body follows.
    pub(super) async fn enter(self: &Arc<Self>, headers: Headers, last: bool) -> Result<Look, Stop> {
        let permit = self.shared.permit().ok_or(Failure::Busy)?;
        let vm = Arc::clone(self.shared.vms.least_busy().ok_or(Failure::Busy)?);
        vm.enter();
        let (stream, own) = (Arc::clone(self), Arc::clone(&vm));
        // The job itself notes where the stream is: a client that leaves meanwhile takes with it whoever waits for the job.
        let opened = vm.run(move |gateway| {
            let opening = Opening::from_headers(headers, last);
            let opening = match stream.source {
                Some(source) => opening.from_address(source),
                None => opening,
            };
            let id = gateway.open(&opening).inspect_err(|_| own.leave())?;
            // Nobody else enters the same request.
            let _ = stream.place.set(Place { vm: own, id, permit });
            gateway.look(id)
        });
        self.settled(opened.await.and_then(Result::ok).ok_or(Failure::Trapped)?)
    }

    /// Goes one step in the VM and sees what may pass then.
    pub(super) async fn step(
        &self,
        step: impl FnOnce(&mut Gateway, StreamId) -> Result<(), Trapped> + Send + 'static,
    ) -> Result<Look, Stop> {
        let place = self.place.get().ok_or(Failure::Trapped)?;
        let id = place.id;
        let look = place.vm.run(move |gateway| step(gateway, id).and_then(|()| gateway.look(id)));
        self.settled(look.await.and_then(Result::ok).ok_or(Failure::Trapped)?)
    }

    fn settled(&self, look: Look) -> Result<Look, Stop> {
        match look {
            Look { reset: Some(details), .. } => Err(Stop::Reset(details)),
            Look { stuck: Some(_), .. } => Err(Failure::Stuck.into()),
            look => Ok(look),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let record = self.record().clone();
        let shared = Arc::clone(&self.shared);
        let Some(Place { vm, id, permit }) = self.place.take() else {
            return shared.log(&record, None);
        };
        let counted = Arc::clone(&vm);
        vm.order(move |gateway| {
            // A stream that was lost with its VM has a line all the same.
            let exchange = gateway.finish(id).ok();
            counted.leave();
            shared.log(&record, exchange.as_ref());
            drop(permit);
        });
    }
}
