//! Anthropic Messages requests: what each key of a message and of a content block holds.

use super::document::Channel;
use super::draft::Holds;

/// The channel of a message's own text; `None` for a role that the format does not know.
pub fn channel(role: &str) -> Option<Channel> {
    match role {
        "system" => Some(Channel::System),
        "user" => Some(Channel::User),
        "assistant" => Some(Channel::Assistant),
        _ => None,
    }
}

/// Whether a block of type `block` holds what a tool gave back, wherever it stands.
pub(super) fn is_tool_result(block: &str) -> bool {
    block.ends_with("tool_result")
}

/// What the value of `key` is, in a message or a content block. A key that is not listed is walked: its strings are scanned as a
/// record of their own.
pub(super) fn holds(key: &str) -> Option<Holds> {
    Some(match key {
        "role" => Holds::Role,
        "type" => Holds::Type,
        "content" => Holds::Parts,
        "text" | "thinking" | "title" | "context" => Holds::Text,
        "input" => Holds::Arguments,
        "source" => Holds::Source,
        "tool_use_id" | "id" | "signature" | "cache_control" | "media_type" => Holds::Opaque,
        _ => return None,
    })
}
