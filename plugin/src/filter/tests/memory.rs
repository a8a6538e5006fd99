//! A host in memory that keeps state: what was replied, logged, counted and published.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::host::{Header, Host, HostError, LocalReply, LogLevel};

/// The map that VMs share, as Envoy keeps it: cpp-host's `shared_data.cc`.
#[derive(Default)]
pub struct SharedMap {
    pub values: BTreeMap<String, (Vec<u8>, u32)>,
    versions: u32,
}

impl SharedMap {
    fn set(&mut self, key: &str, value: &[u8], version: u32) -> bool {
        if self.values.get(key).is_some_and(|(_, standing)| version != 0 && version != *standing) {
            return false;
        }
        self.versions += 1;
        self.values.insert(key.to_owned(), (value.to_vec(), self.versions));
        true
    }

    /// Bytes of all keys and values.
    pub fn bytes(&self) -> usize {
        self.values.iter().map(|(key, (value, _))| key.len() + value.len()).sum()
    }
}

#[derive(Default)]
pub struct Memory {
    /// Hosts that stand for the VMs of one gateway have the same.
    pub shared: Arc<Mutex<SharedMap>>,
    /// There is no shared data.
    pub alone: Cell<bool>,
    /// Runs before each call on shared data.
    pub before_shared: RefCell<Option<Box<dyn FnMut()>>>,
    /// By dotted path.
    pub properties: RefCell<BTreeMap<String, Vec<u8>>>,
    /// What the clock shows; 7 ns unless it is set.
    pub clock_ns: Cell<u64>,
    pub headers: RefCell<Vec<Header>>,
    pub trailers: RefCell<Vec<Header>>,
    /// What the host gives as the request body.
    pub body: RefCell<Vec<u8>>,
    pub response_headers: RefCell<BTreeMap<String, String>>,
    pub state: RefCell<BTreeMap<String, String>>,
    pub replies: RefCell<Vec<LocalReply>>,
    pub counters: RefCell<Vec<(String, u32)>>,
    pub logs: RefCell<Vec<(LogLevel, String)>>,
    /// What the host gives as the response body, and takes in its place.
    pub response_body: RefCell<Vec<u8>>,
    pub response_is_fixed: Cell<bool>,
    /// Every call but logging fails.
    pub broken: Cell<bool>,
    pub body_is_fixed: Cell<bool>,
    pub headers_sent: Cell<bool>,
}

impl Memory {
    fn check(&self) -> Result<(), HostError> {
        if self.broken.get() { Err(HostError(12)) } else { Ok(()) }
    }

    fn shares(&self) -> Result<(), HostError> {
        if let Some(before) = self.before_shared.borrow_mut().as_mut() {
            before();
        }
        self.check()?;
        if self.alone.get() { Err(HostError(12)) } else { Ok(()) }
    }

    /// The upstream's headers.
    pub fn answer(&self, headers: &[(&str, &str)]) {
        *self.response_headers.borrow_mut() = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    }

    pub fn counted(&self, name: &str) -> u32 {
        let counters = self.counters.borrow();
        counters.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("no counter {name}")).1
    }

    /// The body of the reply, which is text.
    pub fn replied(&self) -> String {
        String::from_utf8(self.replies.borrow()[0].body.clone()).expect("UTF-8")
    }

    pub fn state(&self, name: &str) -> String {
        self.state.borrow().get(name).cloned().unwrap_or_default()
    }
}

impl Host for Memory {
    fn request_headers(&self) -> Result<Vec<Header>, HostError> {
        self.check()?;
        Ok(self.headers.borrow().clone())
    }
    fn remove_request_header(&self, name: &str) -> Result<(), HostError> {
        self.headers.borrow_mut().retain(|(known, _)| known != name.as_bytes());
        self.check()
    }
    fn remove_request_trailer(&self, name: &str) -> Result<(), HostError> {
        self.trailers.borrow_mut().retain(|(known, _)| known != name.as_bytes());
        self.check()
    }
    fn request_body(&self, start: usize, length: usize) -> Result<Vec<u8>, HostError> {
        self.check()?;
        let body = self.body.borrow();
        Ok(body[start.min(body.len())..(start + length).min(body.len())].to_vec())
    }
    fn set_request_header(&self, name: &str, value: &str) -> Result<(), HostError> {
        assert!(!self.headers_sent.get(), "{name} is set after the headers were sent on");
        self.headers.borrow_mut().retain(|(known, _)| known != name.as_bytes());
        self.headers.borrow_mut().push((name.into(), value.into()));
        self.check()
    }
    fn replace_request_body(&self, length: usize, body: &[u8]) -> Result<(), HostError> {
        self.check()?;
        if self.body_is_fixed.get() {
            return Err(HostError(2));
        }
        self.body.borrow_mut().splice(..length, body.iter().copied());
        Ok(())
    }
    fn response_headers(&self) -> Result<Vec<Header>, HostError> {
        self.check()?;
        Ok(self.response_headers.borrow().iter().map(|(name, value)| (name.clone().into(), value.clone().into())).collect())
    }
    fn response_body(&self, start: usize, length: usize) -> Result<Vec<u8>, HostError> {
        self.check()?;
        let body = self.response_body.borrow();
        Ok(body[start.min(body.len())..(start + length).min(body.len())].to_vec())
    }
    fn replace_response_body(&self, length: usize, body: &[u8]) -> Result<(), HostError> {
        self.check()?;
        if self.response_is_fixed.get() {
            return Err(HostError(2));
        }
        let mut held = self.response_body.borrow_mut();
        let length = length.min(held.len());
        held.splice(..length, body.iter().copied());
        Ok(())
    }
    fn set_response_header(&self, name: &str, value: Option<&str>) -> Result<(), HostError> {
        match value {
            Some(value) => self.response_headers.borrow_mut().insert(name.to_owned(), value.to_owned()),
            None => self.response_headers.borrow_mut().remove(name),
        };
        self.check()
    }
    fn property(&self, path: &[&str]) -> Result<Vec<u8>, HostError> {
        self.check()?;
        let known = self.properties.borrow().get(&path.join(".")).cloned();
        if path == ["xds", "route_name"] { Ok(b"lab".to_vec()) } else { known.ok_or(HostError(1)) }
    }
    fn set_filter_state(&self, name: &str, value: &str) -> Result<(), HostError> {
        self.state.borrow_mut().insert(name.to_owned(), value.to_owned());
        self.check()
    }
    fn reply(&self, reply: &LocalReply) -> Result<(), HostError> {
        self.replies.borrow_mut().push(reply.clone());
        self.check()
    }
    fn shared_data(&self, key: &str) -> Result<Option<(Vec<u8>, u32)>, HostError> {
        self.shares()?;
        Ok(self.shared.lock().expect("no holder panics").values.get(key).cloned())
    }
    fn set_shared_data(&self, key: &str, value: &[u8], version: u32) -> Result<bool, HostError> {
        self.shares()?;
        Ok(self.shared.lock().expect("no holder panics").set(key, value, version))
    }
    fn define_counter(&self, name: &str) -> Result<u32, HostError> {
        self.check()?;
        let mut counters = self.counters.borrow_mut();
        assert!(counters.iter().all(|(known, _)| known != name), "{name} is defined twice");
        counters.push((name.to_owned(), 0));
        Ok(counters.len() as u32 - 1)
    }
    fn count(&self, counter: u32) -> Result<(), HostError> {
        self.check()?;
        self.counters.borrow_mut()[counter as usize].1 += 1;
        Ok(())
    }
    fn log(&self, level: LogLevel, line: &str) {
        self.logs.borrow_mut().push((level, line.to_owned()));
    }
    fn now_ns(&self) -> u64 {
        if self.clock_ns.get() == 0 { 7 } else { self.clock_ns.get() }
    }
}
