//! The host as the filter sees it: one trait, implemented by the wasm adapter and by the tests.

use floodmark_core::Verdict;

/// A host call that did not succeed; the host's status number (proxy-wasm 0.2.1, `proxy_status_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostError(pub u32);

/// Name and value of a header, as bytes: neither need be UTF-8.
pub type Header = (Vec<u8>, Vec<u8>);

/// Severity of a log line, with the numbers of the ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// For the record.
    Info = 2,
    /// An operator should see it.
    Warn = 3,
    /// Something does not work.
    Error = 4,
}

impl LogLevel {
    /// The severity of a verdict.
    pub fn of(verdict: Verdict) -> Self {
        if verdict >= Verdict::Ask { LogLevel::Warn } else { LogLevel::Info }
    }
}

/// An answer in the upstream's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalReply {
    /// HTTP status.
    pub status: u32,
    /// Headers beside those that the host adds.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// What `%RESPONSE_CODE_DETAILS%` shows.
    pub details: String,
}

/// What the filter asks of its host. Any call may fail: hosts lack capabilities, and a stream may be gone. No failure is fatal.
pub trait Host {
    /// All request headers, in order. Only while the headers have not been sent on.
    fn request_headers(&self) -> Result<Vec<Header>, HostError>;
    /// Takes every copy of a request header away.
    fn remove_request_header(&self, name: &str) -> Result<(), HostError>;
    /// Takes every copy of a request trailer away. Only in the callback in which they come.
    fn remove_request_trailer(&self, name: &str) -> Result<(), HostError>;
    /// The request body's bytes `start..start + length`, as far as they are there.
    fn request_body(&self, start: usize, length: usize) -> Result<Vec<u8>, HostError>;
    /// Sets a request header to one value. Only while the headers have not been sent on.
    fn set_request_header(&self, name: &str, value: &str) -> Result<(), HostError>;
    /// Puts `body` in the place of the request body's first `length` bytes.
    fn replace_request_body(&self, length: usize, body: &[u8]) -> Result<(), HostError>;
    /// All response headers, in order. Only while the headers have not been sent on.
    fn response_headers(&self) -> Result<Vec<Header>, HostError>;
    /// The response body's bytes `start..start + length`, as far as they are there.
    fn response_body(&self, start: usize, length: usize) -> Result<Vec<u8>, HostError>;
    /// Puts `body` in the place of the response body's first `length` bytes.
    fn replace_response_body(&self, length: usize, body: &[u8]) -> Result<(), HostError>;
    /// Sets a response header to one value, or takes it away.
    fn set_response_header(&self, name: &str, value: Option<&str>) -> Result<(), HostError>;
    /// A property of the stream, by its path.
    fn property(&self, path: &[&str]) -> Result<Vec<u8>, HostError>;
    /// Writes filter state: `name` can be read as `wasm.name` by the rest of the gateway.
    fn set_filter_state(&self, name: &str, value: &str) -> Result<(), HostError>;
    /// Answers the client. At most once a stream.
    fn reply(&self, reply: &LocalReply) -> Result<(), HostError>;
    /// The value under `key` in the map that all VMs of the gateway share, and its version; `None` where there is none. An emptied value is there.
    fn shared_data(&self, key: &str) -> Result<Option<(Vec<u8>, u32)>, HostError>;
    /// Writes there. `false` when `version` is not the one that stands; of a key that is not there yet any version will do, and version 0 always
    /// overwrites.
    fn set_shared_data(&self, key: &str, value: &[u8], version: u32) -> Result<bool, HostError>;
    /// Makes a counter and gives its number. At configure time only.
    fn define_counter(&self, name: &str) -> Result<u32, HostError>;
    /// Adds one to a counter.
    fn count(&self, counter: u32) -> Result<(), HostError>;
    /// Writes a log line.
    fn log(&self, level: LogLevel, line: &str);
    /// Nanoseconds since the Unix epoch; 0 where there is no clock.
    fn now_ns(&self) -> u64;
}
