//! The plugin's filter run natively over a host in memory.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use floodmark_plugin::config;
use floodmark_plugin::filter::{Filter, Flow, Shared};
use floodmark_plugin::host::{Header, Host, HostError, LocalReply, LogLevel};

use crate::emulator::{Options, Request};

/// The ABI's status for something that is not there.
const NOT_FOUND: HostError = HostError(1);

/// A configured filter.
#[derive(Debug)]
pub(super) struct Native {
    shared: Rc<Shared>,
    data: Data,
}

/// Shared data: values and versions by key. All lines of a replay are one gateway's.
type Data = Rc<RefCell<BTreeMap<String, (Vec<u8>, u32)>>>;

impl Native {
    pub(super) fn new(configuration: &str) -> Result<Self, config::ConfigError> {
        let rules = config::parse(configuration.as_bytes())?;
        let host = Memory::default();
        Ok(Self { shared: Rc::new(Shared::new(&host, rules, configuration.as_bytes())), data: host.data })
    }

    /// The report on one request, whose body comes in the request's chunks; `None` when the filter lets it pass unread.
    pub(super) fn report(&self, request: &Request) -> Option<String> {
        let mut host = Memory {
            headers: request.headers.iter().map(|(name, value)| (name.as_bytes().to_vec(), value.to_vec())).collect(),
            data: Rc::clone(&self.data),
            ..Memory::default()
        };
        let mut filter = Filter::new(Rc::clone(&self.shared));
        filter.request_headers(&host, request.chunks.is_empty() && request.trailers.is_none());
        let mut held = false;
        for (index, chunk) in request.chunks.iter().enumerate() {
            if !held {
                host.body.clear();
            }
            host.body.extend_from_slice(chunk);
            let last = index + 1 == request.chunks.len() && request.trailers.is_none();
            held = filter.request_body(&host, host.body.len(), last) == Flow::Pause;
        }
        if request.trailers.is_some() {
            filter.request_trailers(&host);
        }
        host.report.into_inner()
    }
}

/// A gateway that only holds one request and keeps the report.
#[derive(Debug, Default)]
struct Memory {
    headers: Vec<Header>,
    body: Vec<u8>,
    report: RefCell<Option<String>>,
    data: Data,
}

impl Host for Memory {
    fn request_headers(&self) -> Result<Vec<Header>, HostError> {
        Ok(self.headers.clone())
    }

    fn remove_request_header(&self, _: &str) -> Result<(), HostError> {
        Ok(())
    }

    fn remove_request_trailer(&self, _: &str) -> Result<(), HostError> {
        Ok(())
    }

    fn request_body(&self, start: usize, length: usize) -> Result<Vec<u8>, HostError> {
        let start = start.min(self.body.len());
        Ok(self.body[start..start.saturating_add(length).min(self.body.len())].to_vec())
    }

    fn set_request_header(&self, _: &str, _: &str) -> Result<(), HostError> {
        Ok(())
    }

    fn replace_request_body(&self, _: usize, _: &[u8]) -> Result<(), HostError> {
        Ok(())
    }

    fn response_headers(&self) -> Result<Vec<Header>, HostError> {
        Err(NOT_FOUND)
    }

    fn response_body(&self, _: usize, _: usize) -> Result<Vec<u8>, HostError> {
        Err(NOT_FOUND)
    }

    fn replace_response_body(&self, _: usize, _: &[u8]) -> Result<(), HostError> {
        Err(NOT_FOUND)
    }

    fn set_response_header(&self, _: &str, _: Option<&str>) -> Result<(), HostError> {
        Ok(())
    }

    fn property(&self, _: &[&str]) -> Result<Vec<u8>, HostError> {
        Err(NOT_FOUND)
    }

    fn set_filter_state(&self, name: &str, value: &str) -> Result<(), HostError> {
        if name == super::engine::REPORT_STATE {
            self.report.replace(Some(value.to_owned()));
        }
        Ok(())
    }

    fn reply(&self, _: &LocalReply) -> Result<(), HostError> {
        Ok(())
    }

    fn shared_data(&self, key: &str) -> Result<Option<(Vec<u8>, u32)>, HostError> {
        Ok(self.data.borrow().get(key).cloned())
    }

    /// Nobody else writes here, so the version always fits.
    fn set_shared_data(&self, key: &str, value: &[u8], _: u32) -> Result<bool, HostError> {
        self.data.borrow_mut().insert(key.to_owned(), (value.to_vec(), 1));
        Ok(true)
    }

    fn define_counter(&self, _: &str) -> Result<u32, HostError> {
        Ok(0)
    }

    fn count(&self, _: u32) -> Result<(), HostError> {
        Ok(())
    }

    fn log(&self, _: LogLevel, _: &str) {}

    /// The emulator's clock, which stands still.
    fn now_ns(&self) -> u64 {
        Options::default().now_ns
    }
}
