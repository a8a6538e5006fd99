//! Numbers of the proxy-wasm ABI 0.2.1: statuses, maps, buffers, log levels and metric types.

/// What a host function answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Ok = 0,
    NotFound = 1,
    BadArgument = 2,
    ParseFailure = 4,
    InvalidMemoryAccess = 6,
    CasMismatch = 8,
    Unimplemented = 12,
}

/// Header maps of the request path; the others belong to callouts, which the emulator has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Map {
    RequestHeaders,
    RequestTrailers,
    ResponseHeaders,
    ResponseTrailers,
    Callout,
}

impl Map {
    pub(super) fn from_number(number: u64) -> Result<Self, Status> {
        Ok(match number {
            0 => Self::RequestHeaders,
            1 => Self::RequestTrailers,
            2 => Self::ResponseHeaders,
            3 => Self::ResponseTrailers,
            4..=7 => Self::Callout,
            _ => return Err(Status::BadArgument),
        })
    }
}

/// Buffers of the request path and of the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Buffer {
    RequestBody,
    ResponseBody,
    VmConfiguration,
    PluginConfiguration,
    Other,
}

impl Buffer {
    pub(super) fn from_number(number: u64) -> Result<Self, Status> {
        Ok(match number {
            0 => Self::RequestBody,
            1 => Self::ResponseBody,
            6 => Self::VmConfiguration,
            7 => Self::PluginConfiguration,
            2..=5 | 8 => Self::Other,
            _ => return Err(Status::BadArgument),
        })
    }
}

/// Levels of a log line, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Finest detail.
    Trace = 0,
    /// For developers.
    Debug = 1,
    /// Ordinary news.
    Info = 2,
    /// Something odd.
    Warn = 3,
    /// Something failed.
    Error = 4,
    /// Nothing works any more.
    Critical = 5,
}

impl LogLevel {
    pub(super) fn from_number(number: u64) -> Result<Self, Status> {
        Ok(match number {
            0 => Self::Trace,
            1 => Self::Debug,
            2 => Self::Info,
            3 => Self::Warn,
            4 => Self::Error,
            5 => Self::Critical,
            _ => return Err(Status::BadArgument),
        })
    }
}

/// What a callback wants done with the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Pass it on.
    Continue,
    /// Hold it.
    Pause,
}
