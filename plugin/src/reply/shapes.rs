//! The shapes of refusals, one for each format, as JSON with holes. docs/replies.md says what clients make of each.

use floodmark_core::wire::{Format, Framing, RpcMethod};

/// A frame of a stream: its name, and its data.
pub type Frame = (Option<&'static str>, &'static str);

/// How one format says no.
#[derive(Debug)]
pub struct Shape {
    /// An error. Of JSON-RPC: one request's.
    pub error: &'static str,
    /// What `$k` stands for with status 403, and with any other.
    pub kinds: [&'static str; 2],
    /// A completion in which the model refuses.
    pub refusal: &'static str,
    /// The same as a stream.
    pub stream: &'static [Frame],
    /// The end of a stream that began otherwise.
    pub end: &'static [Frame],
    /// How its streams are framed.
    pub framing: Framing,
    /// The key of its list of messages; empty where it has none.
    pub list: &'static str,
}

/// The shape of a format; OpenAI's where nobody knows better, since most clients speak it.
pub fn shape(format: Format) -> &'static Shape {
    match format {
        Format::OpenAiChat | Format::Unknown => &OPENAI_CHAT,
        Format::OpenAiResponses => &OPENAI_RESPONSES,
        Format::AnthropicMessages => &ANTHROPIC,
        Format::Gemini => &GEMINI,
        Format::BedrockConverse => &BEDROCK,
        Format::Ollama => &OLLAMA,
        Format::Mcp => &MCP,
        Format::A2a => &A2A,
    }
}

/// The result that says no to a JSON-RPC request; `None` for methods that can only be answered with an error.
pub fn rpc_refusal(method: RpcMethod) -> Option<&'static str> {
    match method {
        RpcMethod::ToolsCall => Some(concat!(
            r#"{"jsonrpc":"2.0","id":$i,"result":{"resultType":"complete","content":[{"type":"text","text":$m}],"isError":true,"#,
            r#""_meta":{"floodmark.dev/rule":"$r","floodmark.dev/event":"$e"$p}}}"#
        )),
        RpcMethod::SendMessage | RpcMethod::SendStreamingMessage => {
            Some(r#"{"jsonrpc":"2.0","id":$i,"result":{"message":{"messageId":"$e","role":"ROLE_AGENT","parts":[{"text":$m}]}}}"#)
        }
        RpcMethod::MessageSend | RpcMethod::MessageStream => Some(
            r#"{"jsonrpc":"2.0","id":$i,"result":{"kind":"message","messageId":"$e","role":"agent","parts":[{"kind":"text","text":$m}]}}"#,
        ),
        RpcMethod::Other => None,
    }
}

macro_rules! openai_fields {
    () => {
        r#""error":{"message":$m,"type":"invalid_request_error","param":null,"code":"$c"}"#
    };
}

macro_rules! openai_error {
    () => {
        concat!("{", openai_fields!(), "}")
    };
}

macro_rules! chat {
    ($kind:literal, $choice:literal) => {
        concat!(
            r#"{"id":"chatcmpl-$e","object":""#,
            $kind,
            r#"","created":$t,"model":"floodmark","choices":[{"index":0,"#,
            $choice,
            r#"}]"#
        )
    };
}

static OPENAI_CHAT: Shape = Shape {
    error: openai_error!(),
    kinds: ["", ""],
    refusal: concat!(
        chat!(
            "chat.completion",
            r#""message":{"role":"assistant","content":null,"refusal":$m},"logprobs":null,"finish_reason":"content_filter""#
        ),
        r#","usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}}"#
    ),
    stream: &[
        (
            None,
            concat!(
                chat!("chat.completion.chunk", r#""delta":{"role":"assistant","refusal":$m},"logprobs":null,"finish_reason":null"#),
                "}"
            ),
        ),
        (None, concat!(chat!("chat.completion.chunk", r#""delta":{},"logprobs":null,"finish_reason":"content_filter""#), "}")),
        (None, "[DONE]"),
    ],
    end: &[(None, openai_error!()), (None, "[DONE]")],
    framing: Framing::Sse,
    list: "messages",
};

macro_rules! response {
    ($status:literal, $output:expr) => {
        concat!(
            r#"{"id":"resp_$e","object":"response","created_at":$t,"status":""#,
            $status,
            r#"","error":null,"incomplete_details":null,"instructions":null,"metadata":{},"model":"floodmark","output":["#,
            $output,
            r#"],"parallel_tool_calls":true,"temperature":null,"tool_choice":"auto","tools":[],"top_p":null,"usage":{"input_tokens":0,"#,
            r#""input_tokens_details":{"cache_write_tokens":0,"cached_tokens":0},"output_tokens":0,"#,
            r#""output_tokens_details":{"reasoning_tokens":0},"total_tokens":0}}"#
        )
    };
}

macro_rules! item {
    ($status:literal, $content:expr) => {
        concat!(r#"{"id":"msg_$e","type":"message","status":""#, $status, r#"","role":"assistant","content":["#, $content, "]}")
    };
}

macro_rules! part {
    ($text:literal) => {
        concat!(r#"{"type":"refusal","refusal":"#, $text, "}")
    };
}

macro_rules! event {
    ($name:literal, $number:literal, $rest:expr) => {
        (Some($name), concat!(r#"{"type":""#, $name, r#"","sequence_number":"#, $number, ",", $rest, "}"))
    };
}

/// Where a part stands, in events about it.
macro_rules! at {
    ($rest:expr) => {
        concat!(r#""item_id":"msg_$e","output_index":0,"content_index":0,"#, $rest)
    };
}

static OPENAI_RESPONSES: Shape = Shape {
    error: openai_error!(),
    kinds: ["", ""],
    refusal: response!("completed", item!("completed", part!("$m"))),
    stream: &[
        event!("response.created", 0, concat!(r#""response":"#, response!("in_progress", ""))),
        event!("response.output_item.added", 1, concat!(r#""output_index":0,"item":"#, item!("in_progress", ""))),
        event!("response.content_part.added", 2, at!(concat!(r#""part":"#, part!(r#""""#)))),
        event!("response.refusal.delta", 3, at!(r#""delta":$m"#)),
        event!("response.refusal.done", 4, at!(r#""refusal":$m"#)),
        event!("response.content_part.done", 5, at!(concat!(r#""part":"#, part!("$m")))),
        event!("response.output_item.done", 6, concat!(r#""output_index":0,"item":"#, item!("completed", part!("$m")))),
        event!("response.completed", 7, concat!(r#""response":"#, response!("completed", item!("completed", part!("$m"))))),
    ],
    // As the documents have it, and once more inside `error`, as the provider also sends it: only then do its clients raise it.
    end: &[(
        Some("error"),
        concat!(r#"{"type":"error","code":"$c","message":$m,"param":null,"sequence_number":$n,"#, openai_fields!(), "}"),
    )],
    framing: Framing::Sse,
    list: "input",
};

macro_rules! anthropic_error {
    () => {
        concat!(r#"{"type":"error","error":{"type":"$k","message":$m,"details":{"error_code":"$c"}},"#, r#""request_id":"$e"}"#)
    };
}

macro_rules! anthropic_message {
    ($content:literal, $stop:expr) => {
        concat!(
            r#"{"id":"msg_$e","type":"message","role":"assistant","model":"floodmark","content":["#,
            $content,
            "],",
            $stop,
            r#","usage":{"input_tokens":0,"output_tokens":0}}"#
        )
    };
}

macro_rules! anthropic_stop {
    () => {
        r#""stop_reason":"refusal","stop_sequence":null,"stop_details":{"type":"refusal","category":null,"explanation":$m}"#
    };
}

static ANTHROPIC: Shape = Shape {
    error: anthropic_error!(),
    kinds: ["permission_error", "invalid_request_error"],
    refusal: anthropic_message!(r#"{"type":"text","text":$m}"#, anthropic_stop!()),
    stream: &[
        (
            Some("message_start"),
            concat!(r#"{"type":"message_start","message":"#, anthropic_message!("", r#""stop_reason":null,"stop_sequence":null"#), "}"),
        ),
        (Some("content_block_start"), r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#),
        (Some("content_block_delta"), r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":$m}}"#),
        (Some("content_block_stop"), r#"{"type":"content_block_stop","index":0}"#),
        (Some("message_delta"), concat!(r#"{"type":"message_delta","delta":{"#, anthropic_stop!(), r#"},"usage":{"output_tokens":0}}"#)),
        (Some("message_stop"), r#"{"type":"message_stop"}"#),
    ],
    end: &[(Some("error"), anthropic_error!())],
    framing: Framing::Sse,
    list: "messages",
};

/// Google's machine-readable reason, which A2A took over.
macro_rules! error_info {
    () => {
        concat!(
            r#"{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"$C","domain":"floodmark.dev","#,
            r#""metadata":{"code":"$c","rule":"$r","event":"$e"$a}}"#
        )
    };
}

macro_rules! gemini_error {
    () => {
        concat!(r#"{"error":{"code":$s,"message":$m,"status":"$k","details":["#, error_info!(), "]}}")
    };
}

macro_rules! gemini_refusal {
    () => {
        concat!(
            r#"{"candidates":[{"content":{"role":"model","parts":[{"text":$m}]},"finishReason":"SAFETY","finishMessage":$m,"index":0}],"#,
            r#""usageMetadata":{"promptTokenCount":0,"totalTokenCount":0},"modelVersion":"floodmark","responseId":"$e"}"#
        )
    };
}

static GEMINI: Shape = Shape {
    error: gemini_error!(),
    kinds: ["PERMISSION_DENIED", "INVALID_ARGUMENT"],
    refusal: gemini_refusal!(),
    stream: &[(None, gemini_refusal!())],
    end: &[(None, gemini_error!())],
    framing: Framing::Sse,
    list: "contents",
};

static BEDROCK: Shape = Shape {
    error: r#"{"message":$m}"#,
    kinds: ["AccessDeniedException", "ValidationException"],
    refusal: concat!(
        r#"{"output":{"message":{"role":"assistant","content":[{"text":$m}]}},"stopReason":"guardrail_intervened","#,
        r#""usage":{"inputTokens":0,"outputTokens":0,"totalTokens":0},"metrics":{"latencyMs":0}}"#
    ),
    stream: &[
        (Some("messageStart"), r#"{"role":"assistant"}"#),
        (Some("contentBlockDelta"), r#"{"contentBlockIndex":0,"delta":{"text":$m}}"#),
        (Some("contentBlockStop"), r#"{"contentBlockIndex":0}"#),
        (Some("messageStop"), r#"{"stopReason":"guardrail_intervened"}"#),
        (Some("metadata"), r#"{"usage":{"inputTokens":0,"outputTokens":0,"totalTokens":0},"metrics":{"latencyMs":0}}"#),
    ],
    // Of the exceptions that its streams know, the only one that asks nobody to try again.
    end: &[(Some("validationException"), r#"{"message":$m}"#)],
    framing: Framing::AwsEventStream,
    list: "messages",
};

/// For chat and generate in one: each has a key of its own for the text, and clients pass over the other.
macro_rules! ollama {
    ($text:literal, $rest:literal) => {
        concat!(
            r#"{"model":"floodmark","created_at":"$d","message":{"role":"assistant","content":"#,
            $text,
            r#"},"response":"#,
            $text,
            $rest
        )
    };
}

static OLLAMA: Shape = Shape {
    error: r#"{"error":$m}"#,
    kinds: ["", ""],
    refusal: ollama!("$m", r#","done":true,"done_reason":"content_filter"}"#),
    stream: &[(None, ollama!("$m", r#","done":false}"#)), (None, ollama!(r#""""#, r#","done":true,"done_reason":"content_filter"}"#))],
    end: &[(None, r#"{"error":$m}"#)],
    framing: Framing::JsonLines,
    list: "messages",
};

/// JSON-RPC has one answer: an error, whole or as a message of a stream; its data is the format's own.
macro_rules! rpc_shape {
    ($data:expr) => {{
        const ERROR: &str = concat!(r#"{"jsonrpc":"2.0","id":$i,"error":{"code":-31403,"message":$m,"data":"#, $data, "}}");
        Shape {
            error: ERROR,
            kinds: ["", ""],
            refusal: ERROR,
            stream: &[(None, ERROR)],
            end: &[(None, ERROR)],
            framing: Framing::Sse,
            list: "",
        }
    }};
}

static MCP: Shape = rpc_shape!(r#"{"code":"$c","rule":"$r","event":"$e"$a}"#);

static A2A: Shape = rpc_shape!(concat!("[", error_info!(), "]"));
