//! OpenAI Chat Completions: requests, answers, and the chunks of a stream.

use super::super::document::{Channel, IdKind};
use super::super::table::Place::{Answer, Call, Choice, Message, Metadata, Root};
use super::super::table::{From, Holds, Key, key, mark};

/// What each key holds.
pub const KEYS: &[Key] = &[
    mark(2, Root, "messages", Holds::Messages(From::Client)),
    key(Root, "tools", Holds::On(Channel::ToolDefinition)),
    mark(1, Root, "functions", Holds::On(Channel::ToolDefinition)),
    key(Root, "stream", Holds::Stream),
    key(Root, "model", Holds::Opaque),
    key(Answer, "model", Holds::Opaque),
    key(Root, "user", Holds::Id(IdKind::User)),
    key(Root, "metadata", Holds::Nested(Metadata)),
    key(Root, "safety_identifier", Holds::Id(IdKind::User)),
    key(Root, "prompt_cache_key", Holds::Id(IdKind::User)),
    // Answers, whole and in chunks.
    mark(2, Answer, "choices", Holds::Choices),
    key(Answer, "id", Holds::RootId),
    key(Answer, "object", Holds::Opaque),
    key(Answer, "system_fingerprint", Holds::Opaque),
    key(Root, "service_tier", Holds::Opaque),
    key(Answer, "service_tier", Holds::Opaque),
    key(Answer, "usage", Holds::Opaque),
    key(Choice, "message", Holds::Nested(Message)),
    key(Choice, "delta", Holds::Nested(Message)),
    key(Choice, "text", Holds::Text),
    key(Choice, "index", Holds::Index),
    key(Choice, "finish_reason", Holds::Stopped),
    // Messages and their parts. `name` is a record too, since models read it.
    key(Message, "role", Holds::Role),
    key(Message, "type", Holds::Type),
    key(Message, "content", Holds::Text),
    key(Message, "text", Holds::Text),
    key(Message, "refusal", Holds::Text),
    key(Message, "reasoning_content", Holds::Text),
    key(Message, "name", Holds::Name),
    key(Message, "tool_calls", Holds::Calls),
    key(Message, "function_call", Holds::Calls),
    key(Message, "function", Holds::Calls),
    key(Message, "custom", Holds::Calls),
    key(Message, "tool_call_id", Holds::CallId),
    key(Message, "id", Holds::OwnId),
    key(Message, "index", Holds::Index),
    key(Message, "image_url", Holds::Media),
    key(Message, "input_audio", Holds::Text),
    key(Message, "audio", Holds::Text),
    key(Message, "video_url", Holds::Media),
    key(Message, "file", Holds::Text),
    key(Message, "file_data", Holds::Data),
    key(Message, "data", Holds::Data),
    key(Message, "format", Holds::MediaType),
    // Calls.
    key(Call, "id", Holds::OwnId),
    key(Call, "index", Holds::Index),
    key(Call, "type", Holds::Opaque),
    key(Call, "function", Holds::Nested(Call)),
    key(Call, "custom", Holds::Nested(Call)),
    key(Call, "name", Holds::Name),
    key(Call, "arguments", Holds::Arguments),
    key(Call, "input", Holds::Arguments),
];
