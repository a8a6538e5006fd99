//! Wire formats: bytes of a request to one [`Document`] of events, with issues; never all or nothing.

pub mod anthropic;
pub mod body;
mod chat;
pub mod document;
mod draft;
pub mod encoding;
pub mod format;
pub mod issue;
pub mod json;
pub mod openai_chat;

pub use body::{Body, begins_like_json};
pub use chat::read;
pub use document::{Channel, Document, Event, RawString};
pub use encoding::{Codings, Decoded};
pub use format::Format;
pub use issue::{Effect, Issue, IssueKind, Issues};
