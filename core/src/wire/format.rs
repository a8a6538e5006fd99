//! The formats that are known, and which way a body goes.

/// A wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// OpenAI Chat Completions.
    OpenAiChat,
    /// OpenAI Responses.
    OpenAiResponses,
    /// Anthropic Messages.
    AnthropicMessages,
    /// Gemini generateContent.
    Gemini,
    /// Bedrock Converse.
    BedrockConverse,
    /// Ollama's own chat and generate.
    Ollama,
    /// Model Context Protocol: JSON-RPC over HTTP.
    Mcp,
    /// Agent2Agent: JSON-RPC over HTTP.
    A2a,
    /// None of the above; its strings are scanned all the same.
    Unknown,
}

impl Format {
    /// Every format that has a name of its own.
    pub const KNOWN: [Format; 8] = [
        Format::OpenAiChat,
        Format::OpenAiResponses,
        Format::AnthropicMessages,
        Format::Gemini,
        Format::BedrockConverse,
        Format::Ollama,
        Format::Mcp,
        Format::A2a,
    ];

    /// Its name in config and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Format::OpenAiChat => "openai_chat",
            Format::OpenAiResponses => "openai_responses",
            Format::AnthropicMessages => "anthropic_messages",
            Format::Gemini => "gemini",
            Format::BedrockConverse => "bedrock_converse",
            Format::Ollama => "ollama",
            Format::Mcp => "mcp",
            Format::A2a => "a2a",
            Format::Unknown => "unknown",
        }
    }

    /// Whether its bodies are JSON-RPC, whose errors are answers with status 200 that echo the request's id.
    pub const fn is_json_rpc(self) -> bool {
        matches!(self, Format::Mcp | Format::A2a)
    }
}

/// Which way a body goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// From the client to the upstream.
    #[default]
    Request,
    /// From the upstream to the client.
    Response,
}
