//! The plugin's configuration: one JSON object. docs/config.md is generated from these types.

pub(crate) mod endpoints;
mod exemptions;
pub(crate) mod fields;
pub(crate) mod lineage;
mod parse;
mod protobuf;
mod read;
mod routes;
mod state;

pub use endpoints::{ApprovalsConfig, EndpointsConfig, PREFIX, Scope, TokenConfig};
pub use exemptions::{ExemptHeader, Exemption};
use floodmark_core::Action;
use floodmark_core::Policy;
use floodmark_core::wire::Format;
pub use parse::{ConfigError, parse};
pub(crate) use parse::{document, raw};
pub(crate) use read::read;
pub use routes::{Rules, Ruleset, Target};
use serde::{Deserialize, Serialize};
pub use state::{CallerFrom, CallerSource, KeyConfig, RunFrom, RunSource, Session, State, UnseenAssistant};

/// The version of the configuration that this plugin reads.
pub const CONFIG_VERSION: u32 = 1;
/// The largest `max_body_bytes`: a body and its views must fit a VM many times over.
pub const MAX_BODY_BYTES_LIMIT: u32 = 16 * 1024 * 1024;

/// The whole configuration.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Version of the configuration's meaning; must be 1.
    pub version: u32,
    /// The kill switch: with `false` every request passes untouched and unread, whatever else is configured; only the header `x-floodmark-token` is taken
    /// away, and endpoints answer 503.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Your secrets, at most 8; the first one is used, and what is remembered under another one is forgotten. Without any nothing is remembered across requests.
    #[serde(default)]
    pub keys: Vec<KeyConfig>,
    /// What is remembered of runs and callers across requests, in the gateway's memory. Needs `keys`.
    #[serde(default)]
    pub state: Option<State>,
    /// Settings for every request that no override matches.
    #[serde(default)]
    pub defaults: Settings,
    /// Other settings for some requests; the first that matches counts.
    #[serde(default)]
    pub overrides: Vec<Override>,
    /// The lineage gate: what entries of memories and scheduled tasks may do when they come back, which the endpoints answer. Needs `keys`, whose ids have at
    /// most 32 letters then, and state.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<floodmark_core::lineage::Gate>"))]
    pub lineage: Option<serde_json::Value>,
    /// The operator's HTTP endpoints. Needs `keys`.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<EndpointsConfig>"))]
    pub endpoints: Option<serde_json::Value>,
    /// Approvals of what rules with the use `ask` hold back. Needs `keys`.
    #[serde(default)]
    pub approvals: Option<ApprovalsConfig>,
}

/// What happens to a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Whether requests are judged, and whether a verdict acts.
    pub mode: Mode,
    /// What becomes of a request whose verdict is `block`, in mode enforce.
    pub action: OnBlock,
    /// What is judged, and how.
    pub policy: Policy,
    /// Hits that count for nothing, at most 64 entries.
    pub exemptions: Vec<Exemption>,
    /// Paths that carry AI traffic. A body on them that cannot be read is refused in enforce mode.
    pub paths: Vec<AiPath>,
    /// What to do with requests on all other paths.
    pub other_paths: OtherPaths,
    /// Largest body that is read, in bytes, 1 to 16777216. The gateway answers 413 by itself over its own limit for held bodies; in Envoy keep the route's
    /// `request_body_buffer_limit` above the sum of this and `per_connection_buffer_limit_bytes`.
    pub max_body_bytes: u32,
    /// Keep the request's headers back until the body is judged, so that the upstream sees nothing of a blocked request. Needs
    /// `allow_on_headers_stop_iteration: true` in Envoy's own plugin config: without it every request with a body hangs. Mode enforce only.
    pub hold_headers: bool,
    /// What names a run and its caller. Used where there are `keys`.
    pub session: Session,
    /// What becomes of the responses to AI traffic.
    pub responses: Responses,
    /// How a blocked request is answered.
    pub reply: Reply,
    /// Write a log line for verdict `allow` too.
    pub log_allow: bool,
}

/// Whether requests are judged, and whether a verdict acts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Nothing is read.
    Off,
    /// Requests are judged and counted; nothing is paused, changed or refused.
    #[default]
    Monitor,
    /// Verdict `block` is acted on as `action` says, and verdict `label` is told to the upstream.
    Enforce,
}

/// What becomes of a request whose verdict is `block`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OnBlock {
    /// It is answered in the upstream's place.
    #[default]
    Reject,
    /// The text of the offending turns gives way to a notice of the same length, and the request passes. Where that does not help, or cannot be done
    /// (the body is odd, the text stands outside the turns, too many messages would have to go), it is rejected.
    Redact,
    /// It passes and is labelled.
    Label,
}

/// A path that carries AI traffic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AiPath {
    /// The end of the path, without query; starts with a slash, or with the colon before Google's verbs. Compared with the path percent-decoded, with
    /// dots and doubled slashes resolved, in any case.
    pub suffix: String,
    /// The format spoken there, in which refusals are written where the body does not tell its own. Bodies of every format are read everywhere.
    #[serde(default)]
    pub format: Option<ApiFormat>,
}

/// A wire format that a path can be pinned to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ApiFormat {
    /// OpenAI Chat Completions.
    #[serde(rename = "openai_chat")]
    OpenAiChat,
    /// OpenAI Responses.
    #[serde(rename = "openai_responses")]
    OpenAiResponses,
    /// Anthropic Messages.
    AnthropicMessages,
    /// Gemini generateContent.
    Gemini,
    /// Bedrock Converse.
    BedrockConverse,
    /// Ollama chat and generate.
    Ollama,
    /// Model Context Protocol.
    Mcp,
    /// Agent2Agent.
    A2a,
}

/// What to do with requests on paths that are not listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OtherPaths {
    /// Read bodies that begin like JSON, whatever their content-type, and judge those that turn out to be AI traffic. A body that begins otherwise
    /// passes at once; one over the cap is known for AI traffic by its start only, so list your AI paths.
    #[default]
    Json,
    /// Let them pass unread.
    Ignore,
}

/// What becomes of the responses to AI traffic: requests on listed paths, and those whose body was judged to be of a known format. Responses with a
/// status of 200 to 299 are judged, those of JSON when they are whole, and streams (server-sent events, JSON lines, AWS event streams) as they come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Responses {
    /// Whether responses are read at all. In mode enforce the header `accept-encoding` of requests on listed paths then becomes `identity`.
    pub read: bool,
    /// What of a stream is kept back until it is judged, in mode enforce. JSON bodies are always kept back there, unless `action` is `label`.
    pub hold: Hold,
    /// Largest JSON body, and most of a stream that is kept back, in bytes, 1 to 16777216; without it `max_body_bytes`. One message of a stream is read up to 4 MiB.
    /// Answers with images in them are often larger than requests. In Envoy the route's
    /// `request_body_buffer_limit` holds for responses too; over it the gateway breaks the response off by itself.
    pub max_bytes: Option<u32>,
}

/// What of a stream is kept back until it is judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// Nothing: frames pass as they become whole, and on verdict `block` the stream ends with the provider's error in place of what has not passed yet. Text is
    /// judged each 4 KB and at its end.
    #[default]
    None,
    /// Tool calls: the client gets each when it is whole and judged, and text in whole frames.
    Calls,
    /// Everything: the client gets the stream when it is whole and judged. The answer to a GET need not ever end; it is held as with `calls`.
    All,
}

/// How a blocked request is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Reply {
    /// HTTP status, 400 to 499; a verdict is never a server's error, since clients retry those.
    pub status: u32,
    /// Whether it is answered with an error, or with a completion in which the model refuses. MCP and A2A answer with status 200 either way.
    pub style: Style,
}

/// How a refusal looks to a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Style {
    /// The provider's own error with `status`: clients raise it.
    #[default]
    Error,
    /// Status 200 and the provider's own refusal: clients show it as the model's answer. Where no completion was asked for it is an error all the same.
    Refusal,
}

/// Other settings for some requests.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Override {
    /// Which requests; all that is given must match.
    #[serde(rename = "match")]
    pub matches: Match,
    /// The settings that differ from `defaults`, with the same keys; objects are merged, lists replaced.
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    pub settings: serde_json::Value,
}

/// Which requests; all that is given must match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Match {
    /// The request's host without port, in lower case; `*.example.com` matches every host below example.com.
    pub host: Option<String>,
    /// The start of the path, with a slash; compared with the path percent-decoded, with dots and doubled slashes resolved.
    pub path_prefix: Option<String>,
    /// The name of the gateway's route (property `xds.route_name`).
    pub route: Option<String>,
}

/// The paths that providers and servers use. A2A has none of its own. Bare `/responses` is a word of many other applications.
const PATHS: [(&str, ApiFormat); 11] = [
    ("/chat/completions", ApiFormat::OpenAiChat),
    ("/v1/responses", ApiFormat::OpenAiResponses),
    ("/openai/responses", ApiFormat::OpenAiResponses),
    ("/v1/messages", ApiFormat::AnthropicMessages),
    (":generateContent", ApiFormat::Gemini),
    (":streamGenerateContent", ApiFormat::Gemini),
    ("/converse", ApiFormat::BedrockConverse),
    ("/converse-stream", ApiFormat::BedrockConverse),
    ("/api/chat", ApiFormat::Ollama),
    ("/api/generate", ApiFormat::Ollama),
    ("/mcp", ApiFormat::Mcp),
];

impl Default for Settings {
    fn default() -> Self {
        let path = |&(suffix, format): &(&str, ApiFormat)| AiPath { suffix: suffix.to_owned(), format: Some(format) };
        Settings {
            mode: Mode::default(),
            action: OnBlock::default(),
            policy: Policy::default(),
            exemptions: Vec::new(),
            paths: PATHS.iter().map(path).collect(),
            other_paths: OtherPaths::default(),
            max_body_bytes: 1_000_000,
            hold_headers: false,
            session: Session::default(),
            responses: Responses::default(),
            reply: Reply::default(),
            log_allow: false,
        }
    }
}

impl Settings {
    /// The largest response that is kept back or judged whole.
    pub fn max_response_bytes(&self) -> usize {
        self.responses.max_bytes.unwrap_or(self.max_body_bytes) as usize
    }
}

impl Default for Responses {
    fn default() -> Self {
        Responses { read: true, hold: Hold::None, max_bytes: None }
    }
}

impl Default for Reply {
    fn default() -> Self {
        Reply { status: 403, style: Style::default() }
    }
}

impl From<OnBlock> for Action {
    fn from(action: OnBlock) -> Self {
        match action {
            OnBlock::Reject => Action::Reject,
            OnBlock::Redact => Action::Redact,
            OnBlock::Label => Action::Label,
        }
    }
}

impl From<ApiFormat> for Format {
    fn from(format: ApiFormat) -> Self {
        match format {
            ApiFormat::OpenAiChat => Format::OpenAiChat,
            ApiFormat::OpenAiResponses => Format::OpenAiResponses,
            ApiFormat::Gemini => Format::Gemini,
            ApiFormat::BedrockConverse => Format::BedrockConverse,
            ApiFormat::Ollama => Format::Ollama,
            ApiFormat::Mcp => Format::Mcp,
            ApiFormat::A2a => Format::A2a,
            ApiFormat::AnthropicMessages => Format::AnthropicMessages,
        }
    }
}

impl Mode {
    /// Its name in config, metrics and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Off => "off",
            Mode::Monitor => "monitor",
            Mode::Enforce => "enforce",
        }
    }
}

fn yes() -> bool {
    true
}
