//! Bodies too large to keep as cases: images of a megabyte in every format, batches of thousands.

use floodmark_core::limits::MAX_RPC_IDS;
use floodmark_core::wire::{self, Body, Direction, Document, Format, IssueKind};

/// One megabyte of base64 that looks like an image's.
fn image() -> String {
    "iVBORw0KGgoAAAANSUhEUgAA/9j+4AAQSkZJRgABAQEA".repeat(1_000_000 / 44)
}

/// Each format's image, `IMAGE` in its place, and which way the body goes.
const IMAGES: [(Format, Direction, &str); 14] = [
    (
        Format::OpenAiChat,
        Direction::Request,
        r#"{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,IMAGE"}}]}]}"#,
    ),
    (
        Format::OpenAiChat,
        Direction::Request,
        r#"{"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"IMAGE","format":"wav"}}]}]}"#,
    ),
    (
        Format::OpenAiChat,
        Direction::Response,
        r#"{"choices":[{"message":{"role":"assistant","audio":{"id":"a","data":"IMAGE","transcript":"b"}}}]}"#,
    ),
    (
        Format::OpenAiResponses,
        Direction::Request,
        r#"{"max_output_tokens":1,"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,IMAGE"}]}]}"#,
    ),
    (
        Format::OpenAiResponses,
        Direction::Request,
        r#"{"max_output_tokens":1,"input":[{"type":"computer_call_output","call_id":"c","output":{"type":"computer_screenshot","image_url":"data:image/png;base64,IMAGE"}}]}"#,
    ),
    (
        Format::OpenAiResponses,
        Direction::Response,
        r#"{"object":"response","max_output_tokens":1,"output":[{"type":"image_generation_call","id":"i","result":"IMAGE"}]}"#,
    ),
    (
        Format::AnthropicMessages,
        Direction::Request,
        r#"{"system":"s","messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"IMAGE"}}]}]}"#,
    ),
    (
        Format::AnthropicMessages,
        Direction::Request,
        r#"{"system":"s","messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"image","source":{"data":"IMAGE","media_type":"image/png","type":"base64"}}]}]}]}"#,
    ),
    (
        Format::Gemini,
        Direction::Request,
        r#"{"contents":[{"role":"user","parts":[{"inline_data":{"mime_type":"image/png","data":"IMAGE"}}]}]}"#,
    ),
    (
        Format::Gemini,
        Direction::Response,
        r#"{"candidates":[{"content":{"role":"model","parts":[{"inlineData":{"data":"IMAGE","mimeType":"image/png"}}]}}]}"#,
    ),
    (
        Format::BedrockConverse,
        Direction::Request,
        r#"{"inferenceConfig":{},"messages":[{"role":"user","content":[{"image":{"format":"png","source":{"bytes":"IMAGE"}}}]}]}"#,
    ),
    (Format::Ollama, Direction::Request, r#"{"keep_alive":1,"messages":[{"role":"user","content":"a","images":["IMAGE"]}]}"#),
    (
        Format::Mcp,
        Direction::Response,
        r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"image","data":"IMAGE","mimeType":"image/png"}]}}"#,
    ),
    (
        Format::Mcp,
        Direction::Response,
        r#"{"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"a","mimeType":"image/png","blob":"IMAGE"}]}}"#,
    ),
];

#[test]
fn an_image_is_skipped_in_every_format() {
    let image = image();
    for (format, direction, body) in IMAGES {
        let bytes = body.replace("IMAGE", &image).into_bytes();
        assert!(bytes.len() > 900_000);
        let body = Body::new(&bytes);
        let document = wire::read(&body, None, direction);
        let kinds: Vec<IssueKind> = document.issues.kinds().collect();
        assert_eq!((document.format, kinds.as_slice()), (format, &[IssueKind::MediaSkipped][..]), "{direction:?}");
        let longest = document.events.iter().map(|event| event.text.len()).max();
        assert!(longest.is_none_or(|bytes| bytes < 100), "{format:?} {direction:?}: {longest:?} bytes to scan");
    }
}

fn batch(entry: &str, entries: usize) -> Vec<u8> {
    format!("[{}{}]", format!("{entry},").repeat(entries - 1), entry.replace("ABC", "the last")).into_bytes()
}

fn texts(document: &Document<'_>) -> usize {
    document.events.iter().filter(|event| event.text.contains("the last")).count()
}

/// Twenty thousand calls in one batch: what is beyond the cap is refused, and its text read all the same.
#[test]
fn a_batch_beyond_the_cap_is_refused_and_read() {
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"b":"ABC"}}}"#;
    let bytes = batch(call, 20_000);
    let body = Body::new(&bytes);
    let document = wire::read(&body, None, Direction::Request);
    assert_eq!((document.format, document.rpc.batch), (Format::Mcp, true));
    assert_eq!((document.rpc.ids.len(), document.rpc.methods.len()), (MAX_RPC_IDS, MAX_RPC_IDS));
    assert_eq!(document.issues.kinds().collect::<Vec<_>>(), [IssueKind::TooManyEvents]);
    assert_eq!(texts(&document), 1);
}

/// The same within one answer: ids of notifications and answers are not counted as requests.
#[test]
fn a_batch_of_answers_has_no_request_to_answer() {
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"ABC"}]}}"#;
    let bytes = batch(answer, 1000);
    let body = Body::new(&bytes);
    let document = wire::read(&body, None, Direction::Response);
    assert_eq!((document.format, document.rpc.ids.len(), document.events.len()), (Format::Mcp, 0, 1000));
    assert_eq!(texts(&document), 1);
}
