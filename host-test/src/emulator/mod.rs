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
//! - a counter cannot be raised by zero or less; the configuration can be read only while it is handed over;
//! - at the stream's end come log, done and delete, in this order.
//!
//! Not there: callouts, gRPC, queues, ticks, shared data and foreign functions answer "unimplemented"; one VM only; an
//! unknown import is a load error that names it.

mod abi;
mod drive;
mod exchange;
mod gateway;
mod headers;
mod host;
mod hostcalls;
mod metrics;
mod options;
mod reply;
mod request;
mod stream;

pub use abi::{Action, LogLevel};
pub use exchange::{Callback, Client, Exchange, SeenReply, SeenRequest};
pub use gateway::{Gateway, StartError, StreamId, Trapped};
pub use headers::Headers;
pub use host::LogLine;
pub use metrics::Metric;
pub use options::{Capability, DEFAULT_BUFFER_LIMIT_BYTES, Options};
pub use request::{Request, UpstreamReply};
pub use stream::LocalReply;
