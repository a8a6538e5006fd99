//! Wire formats: bytes of a request to one [`Document`] of events, with issues; never all or nothing.

pub mod anthropic;
pub mod body;
mod chat;
mod crc32;
pub mod document;
mod draft;
pub mod encoding;
pub mod format;
pub mod issue;
pub mod json;
pub mod openai_chat;
pub mod stream;

pub use body::{Body, begins_like_json};
pub use chat::read;
pub use document::{BodyId, Channel, Document, Event, IdKind, RawString, Role, Rpc, RpcMethod};
pub use encoding::{Codings, Decoded};
pub use format::{Direction, Format};
pub use issue::{Effect, Issue, IssueKind, Issues};
pub use stream::{Frame, Frames, Framing, write_frame};
