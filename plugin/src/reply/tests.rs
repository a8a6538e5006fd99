//! The shapes, as the providers document them and their Python clients of November 2026 read them (openai 3.57, anthropic 2.14, google-genai 3.6,
//! botocore 1.44, ollama 0.6, mcp 2.3, a2a-sdk 1.3): what these need and what they raise was tried against each shape and is pinned here.

mod asking;
mod rpc;

use floodmark_core::wire::Frames;
use serde_json::{Value, json};

use super::*;

const EVENT: &str = "ev-1";
const RULE: &str = "role_confusion.x";
/// 2026-11-30T10:56:39Z
const NOW_S: u64 = 1_796_036_199;
const REQUEST: &str = "Request blocked by the gateway's policy: rule role_confusion.x";
const RESPONSE: &str =
    "Response blocked by the gateway's policy: rule role_confusion.x. The conversation can go on without it. Event ev-1.";

struct Case {
    format: Format,
    style: Style,
    status: u32,
    asked: Asked,
    direction: Direction,
    rule: &'static str,
    drop_messages: Vec<u32>,
    rpc: Rpc,
    approval: Option<Approval<'static>>,
}

fn rpc(requests: &[(&str, &str)]) -> Rpc {
    let ids = requests.iter().map(|(id, _)| (*id).to_owned()).collect();
    Rpc { ids, methods: requests.iter().map(|(_, method)| RpcMethod::of(method)).collect(), spoken: true, batch: false }
}

impl Case {
    fn new(format: Format, style: Style, asked: Asked) -> Self {
        let method = if format == Format::A2a { "SendMessage" } else { "tools/call" };
        let (direction, drop_messages, rpc) = (Direction::Request, vec![1, 3], rpc(&[("7", method)]));
        Case { format, style, status: 403, asked, direction, rule: RULE, drop_messages, rpc, approval: None }
    }

    fn with<T>(&self, run: impl FnOnce(&Denial<'_>) -> T) -> T {
        let reply = Reply { status: self.status, style: self.style };
        let exchange =
            Exchange { pinned: None, rpc: &self.rpc, asked: self.asked, event_id: EVENT, now_ns: NOW_S * 1_000_000_000 + 5, reply: &reply };
        let Case { direction, rule, format, approval, .. } = *self;
        let verdict = if approval.is_some() { Verdict::Ask } else { Verdict::Block };
        run(&Denial {
            exchange,
            direction,
            verdict,
            rule,
            turn: Some(1),
            drop_messages: &self.drop_messages,
            format,
            messages: 5,
            approval,
        })
    }

    fn refusal(&self) -> LocalReply {
        self.with(refusal)
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.refusal().body).expect("JSON")
    }

    fn body(&self) -> Value {
        serde_json::from_slice(&self.with(response_body)).expect("JSON")
    }

    fn end(&self) -> Vec<(Option<String>, Value)> {
        let framing = shapes::shape(self.format).framing;
        frames(framing, &self.with(|denial| stream_end(denial, framing)))
    }
}

/// The frames of a stream as the core's reader cuts them; `[DONE]` as a string.
fn frames(framing: Framing, stream: &[u8]) -> Vec<(Option<String>, Value)> {
    let (mut cutter, mut found) = (Frames::new(framing, 1 << 16), Vec::new());
    let mut each = |frame: floodmark_core::wire::Frame<'_>| {
        assert!(frame.issue.is_none(), "{:?}", frame.issue);
        let data = core::str::from_utf8(frame.data).expect("UTF-8");
        let data = if data == "[DONE]" { json!(data) } else { serde_json::from_str(data).expect("JSON") };
        found.push((frame.name.map(str::to_owned), data));
    };
    cutter.push(stream, &mut each);
    cutter.end(&mut each);
    assert_eq!(cutter.whole_bytes(), stream.len() as u64);
    found
}

fn header<'r>(reply: &'r LocalReply, name: &str) -> Option<&'r str> {
    reply.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
}

/// What a client is told that knows its messages under `list`.
fn told(list: &str) -> String {
    format!("{REQUEST} at {list}[1]. Leave out {list}[1], {list}[3] to go on with this conversation. Event ev-1.")
}

const TOLD_CALLER: &str =
    "Request blocked by the gateway's policy: rule role_confusion.x. It was not passed on; other requests are not affected. Event ev-1.";

fn error_info() -> Value {
    json!({"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "FLOODMARK_BLOCKED", "domain": "floodmark.dev",
        "metadata": {"code": "floodmark_blocked", "rule": RULE, "event": EVENT}})
}

fn openai_error(message: &str) -> Value {
    json!({"message": message, "type": "invalid_request_error", "param": null, "code": "floodmark_blocked"})
}

/// The error of each format with status 403. A new format does not compile without one.
fn error(format: Format) -> Value {
    match format {
        Format::OpenAiChat | Format::Unknown => json!({"error": openai_error(&told("messages"))}),
        Format::OpenAiResponses => json!({"error": openai_error(&told("input"))}),
        Format::AnthropicMessages => json!({"type": "error", "request_id": EVENT, "error": {"type": "permission_error",
            "message": told("messages"), "details": {"error_code": "floodmark_blocked"}}}),
        Format::Gemini => {
            json!({"error": {"code": 403, "message": told("contents"), "status": "PERMISSION_DENIED", "details": [error_info()]}})
        }
        Format::BedrockConverse => json!({"message": told("messages")}),
        Format::Ollama => json!({"error": told("messages")}),
        Format::Mcp => rpc_error("7".parse().expect("JSON"), format, TOLD_CALLER),
        Format::A2a => rpc_error("7".parse().expect("JSON"), format, TOLD_CALLER),
    }
}

fn rpc_error(id: Value, format: Format, message: &str) -> Value {
    let data = json!({"code": "floodmark_blocked", "rule": RULE, "event": EVENT});
    let data = if format == Format::A2a { json!([error_info()]) } else { data };
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": -31403, "message": message, "data": data}})
}

fn response_object(status: &str, output: Value) -> Value {
    json!({"id": "resp_ev-1", "object": "response", "created_at": NOW_S, "status": status, "error": null, "incomplete_details": null,
        "instructions": null, "metadata": {}, "model": "floodmark", "output": output, "parallel_tool_calls": true, "temperature": null,
        "tool_choice": "auto", "tools": [], "top_p": null, "usage": {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0,
        "input_tokens_details": {"cache_write_tokens": 0, "cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}})
}

fn output_message(status: &str, content: Value) -> Value {
    json!({"id": "msg_ev-1", "type": "message", "status": status, "role": "assistant", "content": content})
}

/// The refusing completion of each format.
fn completion(format: Format, message: &str) -> Value {
    match format {
        Format::OpenAiChat | Format::Unknown => json!({"id": "chatcmpl-ev-1", "object": "chat.completion", "created": NOW_S,
            "model": "floodmark", "choices": [{"index": 0, "message": {"role": "assistant", "content": null, "refusal": message},
            "logprobs": null, "finish_reason": "content_filter"}],
            "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}}),
        Format::OpenAiResponses => {
            response_object("completed", json!([output_message("completed", json!([{"type": "refusal", "refusal": message}]))]))
        }
        Format::AnthropicMessages => json!({"id": "msg_ev-1", "type": "message", "role": "assistant", "model": "floodmark",
            "content": [{"type": "text", "text": message}], "stop_reason": "refusal", "stop_sequence": null,
            "stop_details": {"type": "refusal", "category": null, "explanation": message}, "usage": {"input_tokens": 0, "output_tokens": 0}}),
        Format::Gemini => json!({"candidates": [{"content": {"role": "model", "parts": [{"text": message}]}, "finishReason": "SAFETY",
            "finishMessage": message, "index": 0}], "usageMetadata": {"promptTokenCount": 0, "totalTokenCount": 0},
            "modelVersion": "floodmark", "responseId": EVENT}),
        Format::BedrockConverse => json!({"output": {"message": {"role": "assistant", "content": [{"text": message}]}},
            "stopReason": "guardrail_intervened", "usage": {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0},
            "metrics": {"latencyMs": 0}}),
        Format::Ollama => json!({"model": "floodmark", "created_at": "2026-11-30T10:56:39Z", "response": message,
            "message": {"role": "assistant", "content": message}, "done": true, "done_reason": "content_filter"}),
        Format::Mcp => json!({"jsonrpc": "2.0", "id": 7, "result": {"resultType": "complete", "isError": true,
            "content": [{"type": "text", "text": message}],
            "_meta": {"floodmark.dev/rule": RULE, "floodmark.dev/event": EVENT}}}),
        Format::A2a => json!({"jsonrpc": "2.0", "id": 7, "result": {"message": {"messageId": EVENT, "role": "ROLE_AGENT",
            "parts": [{"text": message}]}}}),
    }
}

fn message_of(format: Format) -> String {
    match shapes::shape(format).list {
        "" => TOLD_CALLER.to_owned(),
        list => told(list),
    }
}

#[test]
fn errors_are_the_providers_own() {
    for format in Format::KNOWN.into_iter().chain([Format::Unknown]) {
        for asked in [Asked::Whole, Asked::Stream] {
            let case = Case::new(format, Style::Error, asked);
            let reply = case.refusal();
            assert_eq!(case.json(), error(format), "{}", format.name());
            assert_eq!(reply.status, if format.is_json_rpc() { 200 } else { 403 });
            assert_eq!(header(&reply, "content-type"), Some("application/json"));
            assert_eq!((header(&reply, VERDICT_HEADER), header(&reply, EVENT_ID_HEADER)), (Some("block"), Some(EVENT)));
            assert_eq!(reply.details, "floodmark_blocked{role_confusion.x}");
        }
    }
}

/// Anthropic's, Google's and AWS's names belong to a status; botocore reads its from the header. A2A's and MCP's answers have no status.
#[test]
fn names_of_errors_go_with_the_status() {
    let kind = |format, status| {
        let case = Case { status, ..Case::new(format, Style::Error, Asked::Whole) };
        (case.refusal().status, case.json(), header(&case.refusal(), "x-amzn-errortype").map(str::to_owned))
    };
    assert_eq!(kind(Format::AnthropicMessages, 400).1["error"]["type"], "invalid_request_error");
    let (status, gemini, _) = kind(Format::Gemini, 400);
    assert_eq!((status, &gemini["error"]["code"], &gemini["error"]["status"]), (400, &json!(400), &json!("INVALID_ARGUMENT")));
    for (status, name) in [(403, "AccessDeniedException"), (400, "ValidationException"), (422, "ValidationException")] {
        assert_eq!(kind(Format::BedrockConverse, status).2.as_deref(), Some(name));
    }
    assert_eq!(kind(Format::OpenAiChat, 400).2, None);
    assert_eq!(kind(Format::Mcp, 400).0, 200);
}

#[test]
fn refusals_are_completions_of_the_provider() {
    for format in Format::KNOWN.into_iter().chain([Format::Unknown]) {
        let case = Case::new(format, Style::Refusal, Asked::Whole);
        assert_eq!(case.json(), completion(format, &message_of(format)), "{}", format.name());
        assert_eq!((case.refusal().status, header(&case.refusal(), "content-type")), (200, Some("application/json")));
        assert_eq!(header(&case.refusal(), "x-amzn-errortype"), None);
        // A response is replaced by the same, whatever the style; one of JSON-RPC by an error, since its result would have to be the method's own.
        for style in [Style::Error, Style::Refusal] {
            let case = Case { direction: Direction::Response, ..Case::new(format, style, Asked::Whole) };
            let expected = if format.is_json_rpc() { rpc_error(json!(7), format, RESPONSE) } else { completion(format, RESPONSE) };
            assert_eq!(case.body(), expected, "{}", format.name());
        }
    }
}

/// Who asked for a stream gets one, from its first event to its last.
#[test]
fn refusals_stream_to_the_end() {
    for format in Format::KNOWN {
        let case = Case::new(format, Style::Refusal, Asked::Stream);
        let (reply, message) = (case.refusal(), message_of(format));
        if format.is_json_rpc() {
            assert_eq!(case.json(), completion(format, &message));
            continue;
        }
        let framing = shapes::shape(format).framing;
        let named = Framing::of_content_type(header(&reply, "content-type").expect("a content-type").as_bytes());
        assert_eq!((reply.status, named), (200, Some(framing)));
        let frames = frames(framing, &reply.body);
        let (names, data): (Vec<Option<&str>>, Vec<&Value>) = frames.iter().map(|(name, data)| (name.as_deref(), data)).unzip();
        let texts: String = data.iter().map(|data| delta(data)).collect();
        assert_eq!(texts, message, "{}", format.name());
        match format {
            Format::OpenAiChat => {
                assert_eq!(names, [None; 3]);
                let chunk = |delta: Value, finish: Value| {
                    json!({"id": "chatcmpl-ev-1", "object": "chat.completion.chunk", "created": NOW_S,
                    "model": "floodmark", "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}]})
                };
                let first = chunk(json!({"role": "assistant", "refusal": message}), Value::Null);
                assert_eq!(data, [&first, &chunk(json!({}), json!("content_filter")), &json!("[DONE]")]);
            }
            Format::OpenAiResponses => {
                let kinds: Vec<&str> = names.into_iter().flatten().collect();
                let part = ["content_part.added", "refusal.delta", "refusal.done", "content_part.done"];
                let expected = ["created", "output_item.added"].into_iter().chain(part).chain(["output_item.done", "completed"]);
                assert_eq!(kinds, expected.map(|name| format!("response.{name}")).collect::<Vec<_>>());
                for (number, (data, kind)) in data.iter().zip(kinds).enumerate() {
                    assert_eq!((&data["sequence_number"], &data["type"]), (&json!(number), &json!(kind)));
                }
                assert_eq!(data[0]["response"], response_object("in_progress", json!([])));
                assert_eq!((&data[1]["item"], &data[1]["output_index"]), (&output_message("in_progress", json!([])), &json!(0)));
                for about in &data[2..6] {
                    assert_eq!(
                        (&about["item_id"], &about["output_index"], &about["content_index"]),
                        (&json!("msg_ev-1"), &json!(0), &json!(0))
                    );
                }
                assert_eq!(data[2]["part"], json!({"type": "refusal", "refusal": ""}));
                assert_eq!((&data[4]["refusal"], &data[5]["part"]["refusal"]), (&json!(message), &json!(message)));
                assert_eq!(data[6]["item"], completion(format, &message)["output"][0]);
                assert_eq!(data[7]["response"], completion(format, &message));
            }
            Format::AnthropicMessages => {
                let kinds =
                    ["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop"];
                assert_eq!(names, kinds.map(Some));
                assert!(data.iter().zip(kinds).all(|(data, kind)| data["type"] == kind));
                let mut start = completion(format, &message);
                start["content"] = json!([]);
                start["stop_reason"] = Value::Null;
                start.as_object_mut().expect("an object").remove("stop_details");
                assert_eq!(data[0]["message"], start);
                assert_eq!(data[1]["content_block"], json!({"type": "text", "text": ""}));
                assert!((1..4).all(|at| data[at]["index"] == 0));
                let stop = &data[4]["delta"];
                let whole = completion(format, &message);
                assert_eq!((&stop["stop_reason"], &stop["stop_details"]), (&whole["stop_reason"], &whole["stop_details"]));
                assert_eq!(data[4]["usage"], json!({"output_tokens": 0}));
            }
            Format::Gemini => assert_eq!((names, data), (vec![None], vec![&completion(format, &message)])),
            Format::BedrockConverse => {
                assert_eq!(names, ["messageStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata"].map(Some));
                assert_eq!(data[0], &json!({"role": "assistant"}));
                assert_eq!((&data[1]["contentBlockIndex"], data[2]), (&json!(0), &json!({"contentBlockIndex": 0})));
                assert_eq!(data[3], &json!({"stopReason": "guardrail_intervened"}));
                let whole = completion(format, &message);
                assert_eq!(data[4], &json!({"usage": whole["usage"], "metrics": whole["metrics"]}));
            }
            Format::Ollama => {
                assert_eq!(data[0]["response"], json!(message));
                assert_eq!((&data[0]["done"], data[0].get("done_reason")), (&json!(false), None));
                assert_eq!(data[1], &completion(format, ""));
            }
            Format::Mcp | Format::A2a | Format::Unknown => unreachable!("they do not stream here"),
        }
    }
}

/// The piece of text that a frame brings.
fn delta(frame: &Value) -> &str {
    let places = ["/choices/0/delta/refusal", "/delta/text", "/candidates/0/content/parts/0/text", "/message/content"];
    let of_responses = frame["type"].as_str().filter(|kind| kind.ends_with("refusal.delta")).and_then(|_| frame["delta"].as_str());
    of_responses.or_else(|| places.iter().find_map(|place| frame.pointer(place)?.as_str())).unwrap_or_default()
}

/// What clients raise: openai an APIError for a truthy `error`, anthropic for event `error`, google-genai for data that begins with `error`, botocore
/// for an exception frame, ollama for a line with `error`, mcp and a2a-sdk for the JSON-RPC error.
#[test]
fn started_streams_end_with_the_providers_error() {
    for format in Format::KNOWN {
        let case = Case { direction: Direction::Response, ..Case::new(format, Style::Error, Asked::Stream) };
        let mut whole = error(format);
        let message = match format {
            Format::BedrockConverse => whole.pointer_mut("/message"),
            Format::Ollama => whole.pointer_mut("/error"),
            _ => whole.pointer_mut("/error/message"),
        };
        *message.expect("a message") = json!(RESPONSE);
        let expected = match format {
            Format::OpenAiChat => vec![(None, whole), (None, json!("[DONE]"))],
            Format::OpenAiResponses => {
                let fields = json!({"type": "error", "code": "floodmark_blocked", "message": RESPONSE, "param": null, "sequence_number": 5,
                    "error": openai_error(RESPONSE)});
                vec![(Some("error".to_owned()), fields)]
            }
            Format::AnthropicMessages => vec![(Some("error".to_owned()), whole)],
            // The only one of its streams' exceptions that asks nobody to try again.
            Format::BedrockConverse => vec![(Some("validationException".to_owned()), whole)],
            _ => vec![(None, whole)],
        };
        assert_eq!(case.end(), expected, "{}", format.name());
    }
}

#[test]
fn gemini_streams_without_sse_are_arrays_and_counts_are_errors() {
    let array = |style| Case::new(Format::Gemini, style, Asked::Array);
    assert_eq!(array(Style::Error).json(), json!([error(Format::Gemini)]));
    assert_eq!(array(Style::Refusal).json(), json!([completion(Format::Gemini, &told("contents"))]));
    let response = Case { direction: Direction::Response, ..array(Style::Error) };
    assert_eq!(response.body(), json!([completion(Format::Gemini, RESPONSE)]));
    for format in [Format::AnthropicMessages, Format::Gemini, Format::BedrockConverse, Format::OpenAiResponses] {
        let case = Case::new(format, Style::Refusal, Asked::Count);
        assert_eq!((case.refusal().status, case.json()), (403, error(format)));
    }
}

#[test]
fn paths_say_what_is_asked_for() {
    for (path, expected) in [
        ("/v1/chat/completions", Asked::Whole),
        ("/v1beta/models/g:generateContent", Asked::Whole),
        ("/v1beta/models/g:streamGenerateContent?key=k&alt=sse", Asked::Stream),
        ("/v1beta/models/g%3astreamGenerateContent?alt=sse", Asked::Stream),
        ("/v1beta/models/g:streamGenerateContent?key=alt", Asked::Array),
        ("/v1beta/models/g:countTokens", Asked::Count),
        ("/model/m/converse-stream", Asked::Stream),
        ("/model/m/converse", Asked::Whole),
        ("/v1/messages/count_tokens", Asked::Count),
        ("/model/m/count-tokens", Asked::Count),
        ("/v1/responses/input_tokens", Asked::Count),
    ] {
        assert_eq!(Asked::of_path(&Request::new(vec![(b":path".to_vec(), path.into())])), expected, "{path}");
    }
    assert_eq!([Asked::Whole.or_stream(true), Asked::Whole.or_stream(false)], [Asked::Stream, Asked::Whole]);
    assert_eq!([Asked::Array.or_stream(true), Asked::Count.or_stream(true)], [Asked::Array, Asked::Count]);
}

/// Whatever stands in a rule's name stays in its string, and fills no hole.
#[test]
fn every_reply_is_json_and_names_rule_and_event() {
    let rule = "a\"$i$e\\\n\u{1}\u{2028}é";
    for format in Format::KNOWN.into_iter().chain([Format::Unknown]) {
        for (style, direction) in [Style::Error, Style::Refusal].into_iter().zip([Direction::Request, Direction::Response]) {
            for asked in [Asked::Whole, Asked::Stream, Asked::Array, Asked::Count] {
                let case = Case { rule, direction, ..Case::new(format, style, asked) };
                let framing = header(&case.refusal(), "content-type").and_then(|kind| Framing::of_content_type(kind.as_bytes()));
                let refusal = match framing {
                    Some(framing) => frames(framing, &case.refusal().body).into_iter().map(|(_, data)| data).collect(),
                    None => vec![case.json()],
                };
                let end = case.end().into_iter().map(|(_, data)| data).collect();
                for reply in [refusal, vec![case.body()], end] {
                    assert!(reply.iter().any(|data| holds(data, &|text| text.contains(rule) && text.contains("Event ev-1."))), "{reply:?}");
                }
            }
        }
    }
}

fn holds(value: &Value, found: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => found(text),
        Value::Array(list) => list.iter().any(|one| holds(one, found)),
        Value::Object(map) => map.values().any(|one| holds(one, found)),
        _ => false,
    }
}

#[test]
fn nobody_is_stuck() {
    let message = |format, drop_messages: &[u32]| {
        let case = Case { drop_messages: drop_messages.to_vec(), ..Case::new(format, Style::Error, Asked::Whole) };
        case.json()["error"]["message"].as_str().expect("a message").to_owned()
    };
    assert_eq!(
        message(Format::OpenAiResponses, &[2]),
        format!("{REQUEST} at input[1]. Leave out input[2] to go on with this conversation. Event ev-1.")
    );
    assert_eq!(message(Format::Gemini, &[]), format!("{REQUEST} at contents[1]. Start a new conversation to go on. Event ev-1."));
}

/// The format that was read wins; the path's is for bodies that were not, and the request's for streams that name none.
#[test]
fn the_pinned_format_is_for_what_was_not_read() {
    let config = crate::config::parse(br#"{"version":1}"#).expect("valid");
    let judge = &config.defaults.judge;
    let (rpc, reply) = (Rpc::default(), Reply::default());
    let exchange = Exchange { pinned: Some(Format::Gemini), rpc: &rpc, asked: Asked::Whole, event_id: EVENT, now_ns: 0, reply: &reply };
    let hint = floodmark_core::Hint { ai_path: true, ..Default::default() };
    let unread = judge.judge(b"{\"contents\":[", hint);
    let denial = Denial::of_judgement(&unread, Direction::Request, exchange);
    assert_eq!((denial.verdict, denial.rule), (Verdict::Block, "wire.truncated"));
    assert_eq!(known(Format::Unknown, Some(Format::Gemini)), Format::Gemini);
    assert_eq!(known(Format::Ollama, Some(Format::Gemini)), Format::Ollama);
    assert_eq!(known(Format::Unknown, None), Format::Unknown);
    let mut outcome = floodmark_core::Streamed::new(Framing::Sse, hint).outcome().clone();
    (outcome.verdict, outcome.rule, outcome.messages) = (Verdict::Block, Some(RULE.to_owned()), 9);
    let denial = Denial::of_stream(&outcome, exchange);
    assert_eq!((denial.format, denial.direction, denial.rule, denial.messages), (Format::Gemini, Direction::Response, RULE, 9));
}

/// docs/replies.md shows every shape as it is sent, with words for what differs.
#[test]
fn the_page_shows_every_shape() {
    let page: String = include_str!("../../../docs/replies.md").split_whitespace().collect();
    let shown = |template: &str| {
        let holes = [
            ("$m", "\"MESSAGE\""),
            ("$e", "EVENT"),
            ("$r", "RULE"),
            ("$i", "ID"),
            ("$s", "403"),
            ("$t", "SECONDS"),
            ("$d", "TIME"),
            ("$c", CODE),
            ("$C", "FLOODMARK_BLOCKED"),
            ("$a", ""),
            ("$p", ""),
        ];
        let filled = holes.iter().fold(template.to_owned(), |text, (hole, word)| text.replace(hole, word));
        filled.replace("$n", "NUMBER").split_whitespace().collect::<String>()
    };
    let methods = ["tools/call", "SendMessage", "message/send"].map(RpcMethod::of);
    for format in Format::KNOWN {
        let shape = shapes::shape(format);
        let ends = shape.end.iter().map(|(_, template)| *template);
        let results = methods.iter().filter_map(|method| shapes::rpc_refusal(*method));
        for template in [shape.error, shape.refusal].into_iter().chain(ends).chain(results) {
            let template = shown(&template.replace("$k", shape.kinds[0]));
            assert!(page.contains(&template), "{}: {template}", format.name());
        }
        assert!(page.contains(&format!("`{}`", format.name())));
    }
}
