//! Model Context Protocol: JSON-RPC over HTTP, one message, a batch, or a stream of messages. Told by the body, never by headers that mirror it.

use super::super::document::Channel;
use super::super::table::Place::{Answer, Message, Params, Reply, Result, Root};
use super::super::table::{From, Holds, Key, key, mark};

/// What each key holds.
pub const KEYS: &[Key] = &[
    mark(1, Root, "jsonrpc", Holds::RpcVersion),
    mark(1, Answer, "jsonrpc", Holds::RpcVersion),
    key(Root, "id", Holds::RootId),
    key(Answer, "id", Holds::RootId),
    key(Root, "method", Holds::Method),
    key(Answer, "method", Holds::Method),
    key(Root, "params", Holds::Nested(Params)),
    key(Answer, "params", Holds::Nested(Params)),
    key(Root, "result", Holds::Nested(Reply)),
    key(Answer, "result", Holds::Nested(Result)),
    // Requests. What a client was asked for comes back in `inputResponses` and goes to the tool.
    key(Params, "name", Holds::Name),
    key(Params, "arguments", Holds::Arguments),
    key(Params, "inputResponses", Holds::Arguments),
    key(Params, "uri", Holds::Opaque),
    key(Params, "cursor", Holds::Opaque),
    key(Params, "requestState", Holds::Opaque),
    key(Params, "protocolVersion", Holds::Opaque),
    // A server's requests to the model or the user: sampling and elicitation.
    key(Params, "messages", Holds::Messages(From::Server)),
    key(Params, "systemPrompt", Holds::On(Channel::Prompt)),
    key(Params, "message", Holds::Message(From::Peer)),
    key(Params, "requestedSchema", Holds::On(Channel::Prompt)),
    key(Params, "tools", Holds::On(Channel::ToolDefinition)),
    // A client's answers, to sampling and elicitation: they have a role or hold what the user entered.
    key(Reply, "role", Holds::Role),
    mark(1, Reply, "content", Holds::Text),
    key(Reply, "model", Holds::Opaque),
    mark(1, Reply, "action", Holds::Opaque),
    key(Reply, "stopReason", Holds::Opaque),
    // A server's answers.
    mark(1, Result, "content", Holds::Text),
    mark(1, Result, "structuredContent", Holds::Arguments),
    mark(1, Result, "toolResult", Holds::Arguments),
    mark(1, Result, "isError", Holds::Opaque),
    mark(1, Result, "tools", Holds::On(Channel::ToolDefinition)),
    mark(1, Result, "messages", Holds::Messages(From::Server)),
    key(Result, "description", Holds::On(Channel::Prompt)),
    mark(1, Result, "prompts", Holds::On(Channel::Prompt)),
    key(Result, "instructions", Holds::On(Channel::Prompt)),
    mark(1, Result, "inputRequests", Holds::On(Channel::Prompt)),
    mark(1, Result, "contents", Holds::Messages(From::Resource)),
    mark(1, Result, "resources", Holds::On(Channel::Resource)),
    mark(1, Result, "resourceTemplates", Holds::On(Channel::Resource)),
    mark(1, Result, "requestState", Holds::Opaque),
    mark(1, Result, "resultType", Holds::Opaque),
    mark(1, Result, "protocolVersion", Holds::Opaque),
    mark(1, Result, "nextCursor", Holds::Opaque),
    // Contents.
    key(Message, "type", Holds::Type),
    key(Message, "role", Holds::Role),
    key(Message, "content", Holds::Text),
    key(Message, "text", Holds::Text),
    key(Message, "resource", Holds::Text),
    key(Message, "blob", Holds::Data),
    key(Message, "data", Holds::Data),
    key(Message, "mimeType", Holds::MediaType),
    key(Message, "uri", Holds::Opaque),
    key(Message, "name", Holds::Name),
    key(Message, "id", Holds::OwnId),
    key(Message, "input", Holds::Arguments),
    key(Message, "toolUseId", Holds::CallId),
];
