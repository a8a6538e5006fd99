//! What a body says: its events in wire order.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::format::Format;
use super::issue::Issues;

/// Where a text came from, as far as the body says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// System or developer instructions.
    System,
    /// A user's message.
    User,
    /// The model's own words, sent back as history.
    Assistant,
    /// What a tool gave back.
    ToolResult,
    /// The strings of a tool call's arguments.
    ToolCall,
    /// What says how a tool is used: definitions in chat requests, `tools/list` results of MCP.
    ToolDefinition,
    /// What an MCP server says to the model: prompts, instructions, sampling and elicitation requests.
    Prompt,
    /// What an MCP server's resources hold, and their descriptions.
    Resource,
    /// Anything else in the body that holds text: metadata, unknown keys.
    Other,
}

impl Channel {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Channel::System => "system",
            Channel::User => "user",
            Channel::Assistant => "assistant",
            Channel::ToolResult => "tool_result",
            Channel::ToolCall => "tool_call",
            Channel::ToolDefinition => "tool_definition",
            Channel::Prompt => "prompt",
            Channel::Resource => "resource",
            Channel::Other => "other",
        }
    }

    /// Whether its events are turns where nothing is trusted: user messages and tool results (DESIGN.md 7).
    pub const fn is_turn(self) -> bool {
        matches!(self, Channel::User | Channel::ToolResult)
    }
}

/// Who a message says that it is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// `system`, and instructions outside the messages.
    System,
    /// `developer`.
    Developer,
    /// `user`.
    User,
    /// `assistant`, `model`, `agent`.
    Assistant,
    /// `tool`, `function`.
    Tool,
    /// No role, or one that no format knows.
    Unknown,
}

impl Role {
    /// The role of this name in any format, without regard to case; `None` when no format knows it.
    pub fn of(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        Some(match name.strip_prefix("role_").unwrap_or(&name) {
            "system" => Role::System,
            "developer" => Role::Developer,
            "user" => Role::User,
            "assistant" | "model" | "agent" => Role::Assistant,
            "tool" | "function" => Role::Tool,
            _ => return None,
        })
    }

    /// The channel of its messages' own text.
    pub const fn channel(self) -> Channel {
        match self {
            Role::System | Role::Developer => Channel::System,
            Role::User | Role::Unknown => Channel::User,
            Role::Assistant => Channel::Assistant,
            Role::Tool => Channel::ToolResult,
        }
    }
}

/// Stands between records of an event's text. No pattern is found across it ([`crate::score::letters::BORDER`]).
pub const RECORD_BORDER: char = crate::score::letters::BORDER as char;

/// One text at one position: a message's text, a tool's result, a tool call's arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event<'b> {
    /// 0-based index in the wire's message list; `None` outside it.
    pub message: Option<u32>,
    /// Where the text came from.
    pub channel: Channel,
    /// The role of the message that it stands in; `None` outside messages.
    pub role: Option<Role>,
    /// Name of the tool that is called, or that gave the result, where the body says it there.
    pub tool: Option<Cow<'b, str>>,
    /// The identifier that joins a call and its result.
    pub call_id: Option<Cow<'b, str>>,
    /// The text's parts joined by line feeds, then its records set apart by U+001F, which no pattern matches.
    pub text: Cow<'b, str>,
    /// Where the records begin, that is strings which are no message text but which a model may be shown; the text's length without any.
    pub records_at: usize,
    /// Where its strings stand in the body, as far as they can be replaced. Keys, single words outside the text and arguments spelled in a string are
    /// left out: with others in their place the body would mean something else.
    pub strings: Vec<RawString>,
    /// The policy trusts whoever said it: it only flags ([`crate::scope::Scope`]).
    pub trusted: bool,
    /// In a stream's message: the numbers of the choice, item or block and of the call in it, by which later messages go on with it.
    pub slot: (u32, u32),
    /// In a stream's message: no later message goes on with it.
    pub whole: bool,
}

/// Where a JSON string stands in a body, from its opening quote to behind its closing one. Bodies are far smaller than four
/// gigabytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RawString {
    /// Offset of the opening quote.
    pub start: u32,
    /// Offset behind the closing quote.
    pub end: u32,
}

impl<'b> Event<'b> {
    /// An event of one text.
    pub(crate) fn plain(message: Option<u32>, channel: Channel, text: Cow<'b, str>) -> Self {
        let records_at = text.len();
        let (strings, slot) = (Vec::new(), (0, 0));
        Event { message, channel, role: None, tool: None, call_id: None, text, records_at, strings, trusted: false, slot, whole: false }
    }

    /// Whether it is a turn, that is counts in the conversation score.
    pub fn is_turn(&self) -> bool {
        self.channel.is_turn() && !self.trusted
    }

    /// Whether it is a step of the trajectory: a user's message, a tool's result or a call's arguments (DESIGN.md 8), with anything but
    /// white space and control characters in it.
    pub fn is_step(&self) -> bool {
        let channel = self.channel.is_turn() || self.channel == Channel::ToolCall;
        channel && !self.trusted && self.text.bytes().any(|byte| byte > b' ')
    }

    /// The message's own text, without records.
    pub fn parts(&self) -> &str {
        self.text.get(..self.records_at).unwrap_or_default()
    }
}

/// What could be read of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document<'b> {
    /// The format it was read as.
    pub format: Format,
    /// In wire order.
    pub events: Vec<Event<'b>>,
    /// The JSON-RPC requests in it, which a refusal must answer.
    pub rpc: Rpc,
    /// What names the conversation, each kind once, as far as the body says.
    pub ids: Vec<BodyId<'b>>,
    /// The request asks for a stream.
    pub stream: bool,
    /// In a stream's message: what it ends.
    pub ends: Ends,
    /// What was odd, the encoding's issues first.
    pub issues: Issues,
}

/// What a stream's message says is whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// All that came.
    pub all: bool,
    /// The choices, items or blocks of these numbers.
    pub slots: Vec<u32>,
}

impl Document<'_> {
    /// A document that says nothing.
    pub fn empty(format: Format) -> Self {
        Document {
            format,
            events: Vec::new(),
            rpc: Rpc::default(),
            ids: Vec::new(),
            stream: false,
            ends: Ends::default(),
            issues: Issues::default(),
        }
    }
}

/// The JSON-RPC requests of a body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rpc {
    /// The `id` of each request, as its JSON spells it (a string with its quotes, a number, `null`); notifications and answers have none. Ids longer
    /// than [`crate::limits::MAX_ID_BYTES`] are `null`.
    pub ids: Vec<String>,
    /// What each of them asks for, beside `ids`.
    pub methods: Vec<RpcMethod>,
    /// There is a message of JSON-RPC in it, if only a notification or an answer.
    pub spoken: bool,
    /// The body is a batch, an array of messages: so must its answer be.
    pub batch: bool,
}

/// A method of JSON-RPC, as far as an answer in the shape of its result needs to know it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RpcMethod {
    /// MCP's `tools/call`.
    ToolsCall,
    /// A2A 1.0.
    SendMessage,
    /// A2A 1.0; answered as a stream.
    SendStreamingMessage,
    /// A2A 0.3.
    MessageSend,
    /// A2A 0.3; answered as a stream.
    MessageStream,
    /// Any other.
    #[default]
    Other,
}

impl RpcMethod {
    /// The method of this name.
    pub fn of(name: &str) -> Self {
        match name {
            "tools/call" => RpcMethod::ToolsCall,
            "SendMessage" => RpcMethod::SendMessage,
            "SendStreamingMessage" => RpcMethod::SendStreamingMessage,
            "message/send" => RpcMethod::MessageSend,
            "message/stream" => RpcMethod::MessageStream,
            _ => RpcMethod::Other,
        }
    }
}

/// What an identifier in a body names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IdKind {
    /// A Responses conversation.
    Conversation,
    /// The response that a Responses request goes on from.
    PreviousResponse,
    /// The `id` of a Responses response.
    Response,
    /// An A2A context.
    Context,
    /// The user or session that a chat request names (`metadata.user_id`, `user`, `safety_identifier`, `prompt_cache_key`).
    User,
}

impl IdKind {
    /// Its name in logs.
    pub const fn name(self) -> &'static str {
        match self {
            IdKind::Conversation => "conversation",
            IdKind::PreviousResponse => "previous_response",
            IdKind::Response => "response",
            IdKind::Context => "context",
            IdKind::User => "user",
        }
    }
}

/// An identifier, at most [`crate::limits::MAX_ID_BYTES`] long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodyId<'b> {
    /// What it names.
    pub kind: IdKind,
    /// Its value.
    pub value: Cow<'b, str>,
}
