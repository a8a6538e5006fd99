//! The formats that are known, and how a request's path hints at one.

/// A wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// OpenAI Chat Completions.
    OpenAiChat,
    /// Anthropic Messages.
    AnthropicMessages,
    /// None of the above; its strings are scanned all the same.
    Unknown,
}

impl Format {
    /// Its name in config and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Format::OpenAiChat => "openai_chat",
            Format::AnthropicMessages => "anthropic_messages",
            Format::Unknown => "unknown",
        }
    }
}
