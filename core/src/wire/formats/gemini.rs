//! Gemini generateContent and streamGenerateContent, in both spellings of their keys.

use super::super::document::Channel;
use super::super::table::Place::{Answer, Call, Choice, Message, Root};
use super::super::table::{From, Holds, Key, key, mark};

/// What each key holds.
pub const KEYS: &[Key] = &[
    mark(1, Root, "contents", Holds::Messages(From::Client)),
    mark(2, Root, "systemInstruction", Holds::Instructions),
    mark(2, Root, "system_instruction", Holds::Instructions),
    mark(1, Root, "generationConfig", Holds::On(Channel::Other)),
    key(Root, "generateContentRequest", Holds::Nested(Root)),
    key(Root, "tools", Holds::On(Channel::ToolDefinition)),
    key(Root, "toolConfig", Holds::On(Channel::ToolDefinition)),
    key(Root, "model", Holds::Opaque),
    mark(1, Root, "cachedContent", Holds::Unseen(None)),
    mark(1, Root, "cached_content", Holds::Unseen(None)),
    // Answers.
    mark(2, Answer, "candidates", Holds::Choices),
    mark(1, Answer, "promptFeedback", Holds::On(Channel::Other)),
    mark(1, Answer, "usageMetadata", Holds::Opaque),
    mark(1, Answer, "modelVersion", Holds::Opaque),
    key(Answer, "responseId", Holds::Opaque),
    key(Choice, "content", Holds::Nested(Message)),
    key(Choice, "index", Holds::Index),
    key(Choice, "finishReason", Holds::Stopped),
    key(Choice, "safetyRatings", Holds::Opaque),
    // Contents and their parts.
    key(Message, "role", Holds::Role),
    mark(1, Message, "parts", Holds::Text),
    key(Message, "text", Holds::Text),
    key(Message, "functionCall", Holds::Calls),
    key(Message, "function_call", Holds::Calls),
    key(Message, "toolCall", Holds::Calls),
    key(Message, "executableCode", Holds::Calls),
    key(Message, "executable_code", Holds::Calls),
    key(Message, "functionResponse", Holds::ToolResult),
    key(Message, "function_response", Holds::ToolResult),
    key(Message, "toolResponse", Holds::ToolResult),
    key(Message, "toolResult", Holds::ToolResult),
    key(Message, "codeExecutionResult", Holds::ToolResult),
    key(Message, "code_execution_result", Holds::ToolResult),
    key(Message, "output", Holds::ToolResult),
    key(Message, "name", Holds::Name),
    key(Message, "id", Holds::OwnId),
    key(Message, "inlineData", Holds::Text),
    key(Message, "inline_data", Holds::Text),
    key(Message, "data", Holds::Data),
    key(Message, "mimeType", Holds::MediaType),
    key(Message, "mime_type", Holds::MediaType),
    key(Message, "thoughtSignature", Holds::Opaque),
    key(Message, "thought_signature", Holds::Opaque),
    key(Call, "id", Holds::OwnId),
    key(Call, "name", Holds::Name),
    key(Call, "args", Holds::Arguments),
    key(Call, "language", Holds::Opaque),
    // A call's arguments that come in pieces.
    key(Call, "partialArgs", Holds::Text),
    key(Message, "stringValue", Holds::Text),
];
