//! The provider's answers, in the providers' own shapes.

use serde_json::{Value, json};

/// An answer to a POST of `body` bytes at `path` (without query): a chat completion, an Anthropic message, or a count.
pub(super) fn answer(path: &str, body: &[u8]) -> Value {
    let text = format!("Received {} bytes.", body.len());
    if path.ends_with("/chat/completions") {
        json!({
            "id": "chatcmpl-upstream", "object": "chat.completion", "created": 1_700_000_000, "model": model(body),
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text, "refusal": null},
                "logprobs": null, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 3, "total_tokens": 4}
        })
    } else if path.ends_with("/messages") {
        json!({
            "id": "msg_upstream", "type": "message", "role": "assistant", "model": model(body),
            "content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "stop_sequence": null,
            "usage": {"input_tokens": 1, "output_tokens": 3}
        })
    } else {
        json!({"received_bytes": body.len()})
    }
}

fn model(body: &[u8]) -> String {
    let named = serde_json::from_slice::<Value>(body).ok().and_then(|v| v.get("model")?.as_str().map(str::to_owned));
    named.unwrap_or_else(|| "unnamed".to_owned())
}
