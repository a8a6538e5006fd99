//! What the upstream received, by test id, including how each body ended.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How the body of a request ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Still arriving.
    Open,
    /// The body came whole.
    Clean,
    /// The stream broke off before the end.
    Reset,
}

/// One request as the upstream saw it.
#[derive(Clone, Debug)]
pub struct Received {
    /// Method.
    pub method: String,
    /// Path with query.
    pub path: String,
    /// `HTTP/1.1` or `HTTP/2.0`.
    pub version: String,
    /// Header names in lower case with their bytes, in wire order.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Body bytes so far.
    pub body: Vec<u8>,
    /// Trailers, if any came.
    pub trailers: Vec<(String, Vec<u8>)>,
    /// How the body ended.
    pub ending: Ending,
}

impl Received {
    /// First value of a header, as text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<String> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| String::from_utf8_lossy(v).into_owned())
    }
}

type Store = BTreeMap<String, Vec<Received>>;

/// Shared record of requests. Cloning shares it.
#[derive(Clone, Debug, Default)]
pub struct Journal(Arc<Mutex<Store>>);

impl Journal {
    /// Requests received under `id`, oldest first.
    #[must_use]
    pub fn received(&self, id: &str) -> Vec<Received> {
        self.lock().get(id).cloned().unwrap_or_default()
    }

    /// Number of requests whose body has not ended yet.
    #[must_use]
    pub fn open(&self) -> usize {
        self.lock().values().flatten().filter(|r| r.ending == Ending::Open).count()
    }

    /// Starts the record of a request; the returned entry counts it as reset unless `finish` is called.
    pub(super) fn begin(&self, id: &str, received: Received) -> Entry {
        let mut store = self.lock();
        let list = store.entry(id.to_owned()).or_default();
        list.push(received);
        Entry { journal: self.clone(), id: id.to_owned(), index: list.len() - 1 }
    }

    fn lock(&self) -> MutexGuard<'_, Store> {
        // A panic elsewhere cannot leave a half-written record, so a poisoned lock is still good to read.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The open record of one request.
#[derive(Debug)]
pub(super) struct Entry {
    journal: Journal,
    id: String,
    index: usize,
}

impl Entry {
    pub(super) fn data(&self, bytes: &[u8]) {
        self.update(|r| r.body.extend_from_slice(bytes));
    }

    pub(super) fn trailers(&self, trailers: Vec<(String, Vec<u8>)>) {
        self.update(|r| r.trailers = trailers);
    }

    pub(super) fn finish(&self) {
        self.update(|r| r.ending = Ending::Clean);
    }

    fn update(&self, change: impl FnOnce(&mut Received)) {
        if let Some(r) = self.journal.lock().get_mut(&self.id).and_then(|l| l.get_mut(self.index)) {
            change(r);
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        // hyper drops the handler when the peer resets the stream: that is how a broken body shows.
        self.update(|r| {
            if r.ending == Ending::Open {
                r.ending = Ending::Reset;
            }
        });
    }
}
