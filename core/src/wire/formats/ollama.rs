//! Ollama's own chat and generate; their streams are JSON lines.

use super::super::document::Channel;
use super::super::table::Place::{Answer, Call, Message, Root};
use super::super::table::{From, Holds, Key, key, mark};

/// What each key holds.
pub const KEYS: &[Key] = &[
    mark(2, Root, "messages", Holds::Messages(From::Client)),
    mark(1, Root, "prompt", Holds::Message(From::Client)),
    key(Root, "suffix", Holds::Message(From::Client)),
    mark(1, Root, "system", Holds::Instructions),
    key(Root, "template", Holds::Instructions),
    mark(1, Root, "options", Holds::On(Channel::Other)),
    mark(2, Root, "keep_alive", Holds::Opaque),
    key(Root, "images", Holds::Media),
    key(Root, "tools", Holds::On(Channel::ToolDefinition)),
    key(Root, "stream", Holds::Stream),
    key(Root, "model", Holds::Opaque),
    key(Answer, "model", Holds::Opaque),
    // Answers, whole and line by line.
    key(Answer, "message", Holds::Message(From::Model)),
    key(Answer, "response", Holds::Nested(Answer)),
    key(Answer, "thinking", Holds::Text),
    mark(2, Answer, "done", Holds::Stopped),
    key(Answer, "done_reason", Holds::Opaque),
    key(Answer, "created_at", Holds::Opaque),
    key(Root, "context", Holds::Opaque),
    key(Answer, "context", Holds::Opaque),
    // Messages.
    key(Message, "role", Holds::Role),
    key(Message, "content", Holds::Text),
    key(Message, "thinking", Holds::Text),
    key(Message, "images", Holds::Media),
    key(Message, "tool_calls", Holds::Calls),
    key(Message, "tool_name", Holds::Name),
    key(Message, "tool_call_id", Holds::CallId),
    key(Call, "id", Holds::OwnId),
    key(Call, "function", Holds::Nested(Call)),
    key(Call, "index", Holds::Index),
    key(Call, "name", Holds::Name),
    key(Call, "arguments", Holds::Arguments),
];
