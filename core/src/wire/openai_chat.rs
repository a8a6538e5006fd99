//! OpenAI Chat Completions requests: what each key of a message and of a content part holds.

use super::document::Channel;
use super::draft::Holds;

/// The channel of a message's own text; `None` for a role that the format does not know.
pub fn channel(role: &str) -> Option<Channel> {
    match role {
        "system" | "developer" => Some(Channel::System),
        "user" => Some(Channel::User),
        "assistant" => Some(Channel::Assistant),
        "tool" | "function" => Some(Channel::ToolResult),
        _ => None,
    }
}

/// What the value of `key` is, in a message or a content part. A key that is not listed is walked: its strings are scanned as a
/// record of their own (`name` among them, since models read it).
pub(super) fn holds(key: &str) -> Option<Holds> {
    Some(match key {
        "role" => Holds::Role,
        "type" => Holds::Type,
        "content" => Holds::Parts,
        "text" | "refusal" => Holds::Text,
        "tool_calls" => Holds::Calls,
        "function_call" | "function" | "custom" => Holds::Call,
        "arguments" | "input" => Holds::Arguments,
        "image_url" | "input_audio" | "audio" | "video_url" | "file" => Holds::Media,
        "tool_call_id" | "id" | "index" => Holds::Opaque,
        _ => return None,
    })
}
