//! Agent2Agent, versions 0.3 and 1.0: JSON-RPC over HTTP, and its plain HTTP binding.

use super::super::document::IdKind;
use super::super::table::Place::{Answer, Message, Params, Result, Root};
use super::super::table::{From, Holds, Key, key, mark};

/// What each key holds.
pub const KEYS: &[Key] = &[
    mark(1, Root, "jsonrpc", Holds::RpcVersion),
    mark(1, Answer, "jsonrpc", Holds::RpcVersion),
    key(Root, "id", Holds::RootId),
    key(Answer, "id", Holds::RootId),
    key(Root, "method", Holds::Method),
    key(Root, "params", Holds::Nested(Params)),
    key(Answer, "result", Holds::Nested(Result)),
    // The plain HTTP binding has the same objects without the envelope.
    key(Root, "message", Holds::Message(From::Peer)),
    key(Answer, "message", Holds::Message(From::Model)),
    mark(2, Answer, "task", Holds::Nested(Result)),
    mark(2, Answer, "statusUpdate", Holds::Nested(Result)),
    mark(2, Answer, "artifactUpdate", Holds::Nested(Result)),
    key(Params, "message", Holds::Message(From::Peer)),
    mark(1, Params, "contextId", Holds::Id(IdKind::Context)),
    key(Params, "taskId", Holds::Opaque),
    key(Params, "id", Holds::Opaque),
    // Answers.
    key(Result, "task", Holds::Nested(Result)),
    key(Result, "message", Holds::Message(From::Model)),
    mark(1, Result, "statusUpdate", Holds::Nested(Result)),
    mark(1, Result, "artifactUpdate", Holds::Nested(Result)),
    mark(1, Result, "artifacts", Holds::Messages(From::Model)),
    mark(1, Result, "artifact", Holds::Message(From::Model)),
    mark(1, Result, "history", Holds::Messages(From::Model)),
    key(Result, "status", Holds::Nested(Result)),
    mark(1, Result, "state", Holds::Opaque),
    mark(1, Result, "parts", Holds::Text),
    key(Result, "role", Holds::Role),
    key(Result, "kind", Holds::Opaque),
    mark(1, Result, "contextId", Holds::Id(IdKind::Context)),
    mark(1, Result, "messageId", Holds::Opaque),
    key(Result, "taskId", Holds::Opaque),
    key(Result, "id", Holds::Opaque),
    key(Result, "timestamp", Holds::Opaque),
    // Messages and their parts.
    key(Message, "role", Holds::Role),
    key(Message, "parts", Holds::Text),
    key(Message, "text", Holds::Text),
    key(Message, "kind", Holds::Type),
    key(Message, "data", Holds::Data),
    key(Message, "raw", Holds::Data),
    key(Message, "file", Holds::Text),
    key(Message, "uri", Holds::Opaque),
    key(Message, "bytes", Holds::Data),
    key(Message, "mediaType", Holds::MediaType),
    key(Message, "mimeType", Holds::MediaType),
    mark(2, Message, "messageId", Holds::Opaque),
    mark(1, Message, "contextId", Holds::Id(IdKind::Context)),
    mark(2, Message, "message_id", Holds::Opaque),
    mark(1, Message, "context_id", Holds::Id(IdKind::Context)),
    key(Message, "media_type", Holds::MediaType),
    key(Message, "taskId", Holds::Opaque),
    key(Message, "artifactId", Holds::Opaque),
];
