//! A streamed answer as providers give them: a chat completion with text and then one long tool call, event by event.

use serde_json::{Value, json};

/// Pieces of text, and pieces of a tool call's arguments after them.
const TEXTS: usize = 12;
const ARGUMENTS: usize = 48;

/// The events, in the shape of OpenAI's Chat Completions; the call's arguments are some `call_bytes` long.
#[must_use]
pub fn completion_events(call_bytes: usize) -> Vec<String> {
    let offer = "delivery in four days, three years of warranty; ".repeat(1 + call_bytes / ARGUMENTS / 48);
    let event = |delta: Value, finish: Option<&str>| {
        let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish});
        let chunk = json!({"id": "chatcmpl-upstream", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "m", "choices": [choice]});
        format!("data: {chunk}\n\n")
    };
    let mut events = vec![event(json!({"role": "assistant", "content": ""}), None)];
    events.extend((0..TEXTS).map(|at| event(json!({"content": format!("Offer {at} is fair. ")}), None)));
    let call = |function: Value, id: Option<&str>| {
        let mut call = json!({"index": 0, "function": function});
        if let Some(id) = id {
            call["id"] = id.into();
            call["type"] = "function".into();
        }
        event(json!({"tool_calls": [call]}), None)
    };
    events.push(call(json!({"name": "compare", "arguments": "{\"offers\":["}), Some("call_1")));
    events.extend((0..ARGUMENTS).map(|at| {
        let comma = if at == 0 { "" } else { "," };
        call(json!({"arguments": format!("{comma}\"chair model K{at}, {offer}\"")}), None)
    }));
    events.push(call(json!({"arguments": "]}"}), None));
    events.push(event(json!({}), Some("tool_calls")));
    events.push("data: [DONE]\n\n".to_owned());
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_of_the_call_join_to_its_arguments() {
        let events = completion_events(10_000);
        let data: Vec<&str> = events.iter().map(|event| event.strip_prefix("data: ").unwrap().strip_suffix("\n\n").unwrap()).collect();
        assert_eq!(data.last(), Some(&"[DONE]"));
        let chunks = data[..data.len() - 1].iter().map(|data| serde_json::from_str::<Value>(data).unwrap());
        let piece = |chunk: Value| chunk.pointer("/choices/0/delta/tool_calls/0/function/arguments")?.as_str().map(str::to_owned);
        let joined: String = chunks.filter_map(piece).collect();
        assert!((10_000..14_000).contains(&joined.len()), "{} bytes", joined.len());
        let arguments: Value = serde_json::from_str(&joined).unwrap();
        assert_eq!(arguments["offers"].as_array().unwrap().len(), ARGUMENTS);
    }
}
