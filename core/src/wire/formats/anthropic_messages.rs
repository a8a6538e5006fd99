//! Anthropic Messages: requests, answers, and the events of a stream.

use super::super::document::{Channel, IdKind};
use super::super::table::Place::{Answer, Message, Metadata, Root};
use super::super::table::{From, Holds, Key, key, mark};

/// What each key holds.
pub const KEYS: &[Key] = &[
    mark(2, Root, "messages", Holds::Messages(From::Client)),
    mark(1, Root, "system", Holds::Instructions),
    key(Root, "tools", Holds::On(Channel::ToolDefinition)),
    key(Root, "stream", Holds::Stream),
    key(Root, "model", Holds::Opaque),
    key(Answer, "model", Holds::Opaque),
    key(Root, "metadata", Holds::Nested(Metadata)),
    key(Metadata, "user_id", Holds::Id(IdKind::User)),
    mark(1, Root, "stop_sequences", Holds::On(Channel::Other)),
    // Answers are messages; a stream's events hold them and what is added to them.
    key(Answer, "id", Holds::RootId),
    key(Answer, "type", Holds::Type),
    key(Answer, "role", Holds::Role),
    key(Answer, "content", Holds::Text),
    mark(2, Answer, "stop_reason", Holds::Stopped),
    key(Answer, "usage", Holds::Opaque),
    key(Answer, "message", Holds::Message(From::Model)),
    mark(2, Answer, "content_block", Holds::Message(From::Model)),
    key(Answer, "delta", Holds::Nested(Message)),
    key(Answer, "index", Holds::Index),
    key(Message, "partial_json", Holds::Arguments),
    key(Message, "stop_reason", Holds::Stopped),
    // Messages and their blocks.
    key(Message, "model", Holds::Opaque),
    key(Message, "usage", Holds::Opaque),
    key(Message, "role", Holds::Role),
    key(Message, "type", Holds::Type),
    key(Message, "content", Holds::Text),
    key(Message, "text", Holds::Text),
    key(Message, "thinking", Holds::Text),
    key(Message, "title", Holds::Text),
    key(Message, "context", Holds::Text),
    key(Message, "source", Holds::Text),
    key(Message, "data", Holds::Data),
    key(Message, "media_type", Holds::MediaType),
    key(Message, "name", Holds::Name),
    key(Message, "input", Holds::Arguments),
    key(Message, "id", Holds::OwnId),
    key(Message, "tool_use_id", Holds::CallId),
    key(Message, "signature", Holds::Opaque),
    key(Message, "file_id", Holds::Opaque),
    key(Message, "cache_control", Holds::Opaque),
    key(Message, "encrypted_content", Holds::Unseen(None)),
];
