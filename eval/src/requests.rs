//! The bodies that a gateway would see of a record: OpenAI chat requests, each with the history so far.

use serde_json::{Value, json};

use crate::data::{Channel, Message};

/// The question that a single text is put behind. It says nothing that a pattern looks for.
const QUESTION: &str = "Could you look at this and tell me in two sentences what it is about?";
/// The tool that a single tool result comes from.
const TOOL: &str = "read_text";

/// The messages of one chat, and where its requests end.
#[derive(Debug, Default)]
pub struct Chat {
    /// JSON text of each message.
    messages: Vec<String>,
    /// Numbers of messages that the requests hold, ascending.
    ends: Vec<usize>,
}

/// The chats of a conversation or an agent run: one, or one for each session where the run went over several.
pub fn chats(messages: &[Message]) -> Vec<Chat> {
    messages.chunk_by(|one, next| one.session == next.session).map(Chat::new).collect()
}

/// A single text as the only message.
pub fn alone(text: &str, channel: Channel) -> Vec<u8> {
    body(&[event(text, channel).to_string()])
}

/// A single text behind a user's harmless question: as the user's next message, or as the result of the call that the question led to.
pub fn after_a_question(text: &str, channel: Channel) -> Vec<u8> {
    let question = json!({"role": "user", "content": QUESTION});
    let between = match channel {
        Channel::User => json!({"role": "assistant", "content": "Of course, please send it."}),
        Channel::Tool => json!({"role": "assistant", "content": null, "tool_calls": [call(0, TOOL, "{}")]}),
    };
    body(&[question.to_string(), between.to_string(), event(text, channel).to_string()])
}

impl Chat {
    fn new(messages: &[Message]) -> Self {
        let mut chat = Chat::default();
        // Results come in the order of their calls; what answers no call answers the last one.
        let (mut called, mut answered) = (0_usize, 0_usize);
        for (at, message) in messages.iter().enumerate() {
            let mut value = json!({"role": message.role, "content": message.shown()});
            if message.role == "tool" {
                value["tool_call_id"] = Value::String(call_id(answered.min(called.saturating_sub(1))));
                answered += 1;
            }
            if !message.tool_calls.is_empty() {
                let calls = message.tool_calls.iter().zip(called..).map(|(one, number)| call(number, &one.name, &one.spelled()));
                value["tool_calls"] = calls.collect();
                called += message.tool_calls.len();
            }
            chat.messages.push(value.to_string());
            if asks(message, messages.get(at + 1)) {
                chat.ends.push(at + 1);
            }
        }
        chat
    }

    /// Number of messages in it, and of those that the longest request holds: what the model is not asked after is in none.
    pub fn messages(&self) -> [usize; 2] {
        [self.messages.len(), self.ends.last().copied().unwrap_or_default()]
    }

    /// Numbers of messages that the requests hold, ascending.
    pub(crate) fn ends(&self) -> &[usize] {
        &self.ends
    }

    /// The bodies of the requests, the longest first.
    pub fn bodies(&self) -> impl Iterator<Item = Vec<u8>> {
        self.ends.iter().rev().map(|&end| body(&self.messages[..end]))
    }
}

/// Whether a request ends with this message: it is the user's or a tool's, and no further result belongs to the same request.
fn asks(message: &Message, next: Option<&Message>) -> bool {
    matches!(message.role.as_str(), "user" | "tool") && next.is_none_or(|next| next.role != "tool")
}

fn event(text: &str, channel: Channel) -> Value {
    match channel {
        Channel::User => json!({"role": "user", "content": text}),
        Channel::Tool => json!({"role": "tool", "tool_call_id": call_id(0), "content": text}),
    }
}

fn call(number: usize, name: &str, arguments: &str) -> Value {
    json!({"id": call_id(number), "type": "function", "function": {"name": name, "arguments": arguments}})
}

fn call_id(number: usize) -> String {
    format!("call_{number}")
}

fn body(messages: &[String]) -> Vec<u8> {
    format!(r#"{{"model":"eval","messages":[{}]}}"#, messages.join(",")).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bodies(messages: &str) -> Vec<Vec<Value>> {
        let messages: Vec<Message> = serde_json::from_str(messages).unwrap();
        let bodies = chats(&messages).iter().flat_map(|chat| chat.bodies().collect::<Vec<_>>()).collect::<Vec<_>>();
        bodies.iter().map(|body| serde_json::from_slice::<Value>(body).unwrap()["messages"].as_array().unwrap().clone()).collect()
    }

    #[test]
    fn a_request_ends_where_the_model_is_asked() {
        let found = bodies(
            r#"[{"role":"system","content":"s"},{"role":"user","content":"u"},
                {"role":"assistant","content":"","tool_calls":[{"name":"f","arguments":{"a":1}},{"name":"g","arguments":"{\"b\":2}"}]},
                {"role":"tool","content":"one","name":"f"},{"role":"tool","content":"","error":"two"},{"role":"assistant","content":"end"}]"#,
        );
        assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [5, 2], "after both results, and after the user's message");
        let calls = &found[0][2]["tool_calls"];
        assert_eq!((&calls[0]["function"]["arguments"], &calls[1]["function"]["arguments"]), (&json!("{\"a\":1}"), &json!("{\"b\":2}")));
        assert_eq!(found[0][3], json!({"role": "tool", "content": "one", "tool_call_id": calls[0]["id"]}));
        assert_eq!(found[0][4], json!({"role": "tool", "content": "two", "tool_call_id": calls[1]["id"]}));
    }

    #[test]
    fn sessions_are_chats_of_their_own() {
        let found = bodies(
            r#"[{"role":"user","content":"a","session":0},{"role":"assistant","content":"b","session":0},{"role":"user","content":"c","session":1}]"#,
        );
        assert_eq!(found, [vec![json!({"role": "user", "content": "a"})], vec![json!({"role": "user", "content": "c"})]]);
    }

    #[test]
    fn user_messages_without_answers_are_requests_each() {
        assert_eq!(bodies(r#"[{"role":"user","content":"a"},{"role":"user","content":"b"}]"#).len(), 2);
    }
}
