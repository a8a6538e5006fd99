//! Wire formats: bytes of a request to one [`Document`] of events, with issues; never all or nothing.

pub mod body;
mod crc32;
pub mod document;
mod draft;
pub mod encoding;
pub mod format;
pub mod formats;
pub mod issue;
pub mod json;
pub mod named;
mod read;
pub mod stream;
pub mod table;

pub use body::{Body, begins_like_json};
pub use document::{BodyId, Channel, Document, Ends, Event, IdKind, RECORD_BORDER, RawString, Role, Rpc, RpcMethod};
pub use encoding::{Codings, Decoded};
pub use format::{Direction, Format};
pub use issue::{Effect, Issue, IssueKind, Issues};
pub use named::named_string;
pub use read::{arguments_spelled, read, read_frame};
pub use stream::{Frame, Frames, Framing, write_frame};
