//! Bedrock Converse and ConverseStream, whose stream is an AWS event stream.

use super::super::document::Channel;
use super::super::table::Place::{Answer, Call, Message, Root};
use super::super::table::{From, Holds, Key, key, mark};

/// What each key holds.
pub const KEYS: &[Key] = &[
    mark(2, Root, "messages", Holds::Messages(From::Client)),
    mark(1, Root, "system", Holds::Instructions),
    mark(2, Root, "toolConfig", Holds::On(Channel::ToolDefinition)),
    mark(2, Root, "inferenceConfig", Holds::On(Channel::Other)),
    mark(2, Root, "guardrailConfig", Holds::On(Channel::Other)),
    mark(2, Root, "additionalModelRequestFields", Holds::On(Channel::Other)),
    mark(2, Root, "promptVariables", Holds::Message(From::Client)),
    // Answers: `output` holds the message. A stream's events are told by the frame's name.
    mark(1, Answer, "output", Holds::Messages(From::Model)),
    key(Message, "message", Holds::Nested(Message)),
    mark(2, Answer, "stopReason", Holds::Stopped),
    key(Answer, "usage", Holds::Opaque),
    key(Answer, "metrics", Holds::Opaque),
    key(Answer, "role", Holds::Role),
    key(Answer, "start", Holds::Nested(Message)),
    key(Answer, "delta", Holds::Nested(Message)),
    mark(2, Answer, "contentBlockIndex", Holds::Index),
    key(Answer, "p", Holds::Opaque),
    // Messages and their blocks, which have one key each.
    key(Message, "role", Holds::Role),
    key(Message, "content", Holds::Text),
    key(Message, "text", Holds::Text),
    key(Message, "toolUse", Holds::Calls),
    key(Message, "toolResult", Holds::ToolResult),
    key(Message, "toolUseId", Holds::CallId),
    key(Message, "status", Holds::Opaque),
    key(Message, "guardContent", Holds::Text),
    key(Message, "reasoningContent", Holds::Text),
    key(Message, "reasoningText", Holds::Text),
    key(Message, "citationsContent", Holds::Text),
    key(Message, "searchResult", Holds::Text),
    key(Message, "document", Holds::Text),
    key(Message, "image", Holds::Text),
    key(Message, "video", Holds::Text),
    key(Message, "audio", Holds::Text),
    key(Message, "source", Holds::Text),
    key(Message, "title", Holds::Text),
    key(Message, "context", Holds::Text),
    key(Message, "bytes", Holds::Data),
    key(Message, "format", Holds::MediaType),
    key(Message, "name", Holds::Name),
    key(Message, "signature", Holds::Opaque),
    key(Message, "cachePoint", Holds::Opaque),
    key(Message, "redactedContent", Holds::Unseen(None)),
    key(Call, "toolUseId", Holds::CallId),
    key(Call, "name", Holds::Name),
    key(Call, "input", Holds::Arguments),
];
