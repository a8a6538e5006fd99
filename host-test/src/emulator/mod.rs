//! A stateful proxy-wasm 0.2.1 gateway in the process: it imitates Envoy 1.40 on the request path, hard edges included.
//!
//! It plays no script. A test sends a request through [`Gateway::exchange`] and then asks what happened: what the
//! upstream saw, what the client got, which filter state was written, which metrics moved, which lines were logged.
//!
//! Imitated on purpose, because plugins break on it (facts from Envoy's and the C++ host's behaviour):
//! - header maps are gone once the headers callback has returned Continue: a value is then `BadArgument`, all pairs are
//!   an empty list, `request.*` properties are not found; all of it is back, read-only, in the log callback;
//! - a Pause in a headers callback stops the body too, so waiting for it hangs, unless
//!   [`Options::allow_on_headers_stop_iteration`] is on;
//! - `body_size` is everything held while paused, else only the chunk; reads past the end are clamped;
//! - a body that ends in trailers never says end of stream;
//! - a held body over [`Options::buffer_limit_bytes`] is answered 413 by the gateway;
//! - a local reply is sent after the callback returns, passes the plugin's own response callbacks, and resets the
//!   upstream; a second one is dropped, replaces the first, or breaks the stream, as the first has got on;
//! - a body may be replaced from its start or added to at its end, not changed in the middle; a `content-length` that no longer fits
//!   is sent on, so that the other end reads less than there is, or waits for more;
//! - the VMs of a [`Process`] share metrics and, by [`Options::vm_id`], one map of data: a `cas` of 0 always overwrites, and any `cas`
//!   will do for a key that is not there;
//! - a counter cannot be raised by zero or less; the configuration can be read only while it is handed over;
//! - at the stream's end come log, done and delete, in this order.
//!
//! What other gateways lack can be left out with [`Options::without`]. Not there at all: callouts, gRPC, queues and foreign functions
//! answer "unimplemented"; an unknown import is a load error that names it.

mod abi;
mod drive;
mod exchange;
mod gateway;
mod headers;
mod host;
mod hostcalls;
mod metrics;
mod options;
mod process;
mod reply;
mod request;
mod stream;

pub use abi::{Action, LogLevel};
pub use drive::Look;
pub use exchange::{Callback, Client, Exchange, SeenReply, SeenRequest};
pub use gateway::{Gateway, StartError, StreamId, Trapped};
pub use headers::Headers;
pub use host::LogLine;
pub use metrics::Metric;
pub use options::{Capability, DEFAULT_BUFFER_LIMIT_BYTES, Lack, Options};
pub use process::Process;
pub use request::{FromClient, FromUpstream, Message, Request, UpstreamReply};
pub use stream::{LocalReply, Passed};
