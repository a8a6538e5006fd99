//! One line of a replay file: a conversation, or a provider's request body as it is.

use std::fmt;

use floodmark_core::wire::{self, Format};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Keys by which a line is taken for a provider's request body rather than for a conversation.
const PROVIDER_KEYS: [&str; 16] = [
    "contents",
    "inferenceConfig",
    "input",
    "instructions",
    "jsonrpc",
    "max_completion_tokens",
    "max_tokens",
    "model",
    "options",
    "prompt",
    "promptVariables",
    "stream",
    "system",
    "temperature",
    "toolConfig",
    "tools",
];

const OPENAI_PATH: &str = "/v1/chat/completions";
const RESPONSES_PATH: &str = "/v1/responses";

/// A line ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// JSON text of the id: the conversation's own, or else the line's number.
    pub id: String,
    /// The request body.
    pub body: Vec<u8>,
    /// The path that the body would be sent to.
    pub path: &'static str,
}

/// What is wrong with a line.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// The bytes are no JSON object.
    #[error("not a JSON object: {0}")]
    NotJson(serde_json::Error),
    /// An object without anything to judge.
    #[error("neither a conversation (key `messages`) nor a provider's request body (for example key `model`)")]
    NothingToJudge,
    /// A conversation of another shape.
    #[error("`messages` must be a list")]
    MessagesNoList,
    /// A key of a conversation that stands twice, so that readers disagree on it.
    #[error("the key `{0}` stands twice")]
    KeyTwice(String),
    /// The configuration lets such a request pass unread.
    #[error("not judged: under this configuration the plugin lets the request to {0} pass unread (switched off, mode off, or no AI path)")]
    NotJudged(String),
}

impl Line {
    /// Reads a line. A conversation becomes an OpenAI chat body with the messages verbatim; keys such as `expect` are
    /// left out. A provider's body is kept as it is, byte for byte.
    ///
    /// # Errors
    /// When the line is neither.
    pub fn parse(number: usize, text: &[u8]) -> Result<Self, LineError> {
        let Keys(keys) = serde_json::from_slice(text).map_err(LineError::NotJson)?;
        if keys.iter().any(|(key, _)| PROVIDER_KEYS.contains(&key.as_str())) {
            let body = text.to_vec();
            return Ok(Self { id: number.to_string(), path: path_of(&body, &keys), body });
        }
        let value = |name: &str| {
            let mut values = keys.iter().filter(|(key, _)| key == name).map(|(_, value)| value.get());
            match (values.next(), values.next()) {
                (_, Some(_)) => Err(LineError::KeyTwice(name.to_owned())),
                (value, None) => Ok(value),
            }
        };
        let messages = value("messages")?.ok_or(LineError::NothingToJudge)?;
        if !messages.starts_with('[') {
            return Err(LineError::MessagesNoList);
        }
        let id = value("id")?.map_or_else(|| number.to_string(), str::to_owned);
        Ok(Self { id, body: format!(r#"{{"model":"replay","messages":{messages}}}"#).into_bytes(), path: OPENAI_PATH })
    }
}

/// Where a client would send this body. A path only hints, but it names the format.
fn path_of(body: &[u8], keys: &[(String, &RawValue)]) -> &'static str {
    match wire::read(&wire::Body::new(body), None, wire::Direction::Request).format {
        // Model and input may be other things too, on other paths.
        Format::Unknown if keys.iter().any(|(key, _)| key == "input") => RESPONSES_PATH,
        Format::OpenAiChat | Format::Unknown => OPENAI_PATH,
        Format::OpenAiResponses => RESPONSES_PATH,
        Format::AnthropicMessages => "/v1/messages",
        Format::Gemini => "/v1beta/models/replay:generateContent",
        Format::BedrockConverse => "/model/replay/converse",
        Format::Ollama => "/api/chat",
        Format::Mcp => "/mcp",
        Format::A2a => "/a2a",
    }
}

/// An object's keys in order, repetitions kept, values as they stand.
struct Keys<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Keys<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Keys<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut keys = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    keys.push(entry);
                }
                Ok(Keys(keys))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (String, String, &'static str) {
        let line = Line::parse(7, text.as_bytes()).unwrap();
        (line.id, String::from_utf8(line.body).unwrap(), line.path)
    }

    #[test]
    fn a_conversation_becomes_a_chat_body_with_its_messages_verbatim() {
        let text = r#"{"expect":{"verdict":"allow"},"messages":[ {"role":"user","content":"a\u00e9\ud83d","x":1.0}],"id":"a\"b"}"#;
        let body = r#"{"model":"replay","messages":[ {"role":"user","content":"a\u00e9\ud83d","x":1.0}]}"#;
        assert_eq!(parsed(text), (r#""a\"b""#.to_owned(), body.to_owned(), "/v1/chat/completions"));
        assert_eq!(parsed(r#"{"messages":[]}"#).0, "7");
    }

    #[test]
    fn a_provider_body_stays_as_it_is() {
        for (text, path) in [
            (r#"{"model":"m","messages":[],"messages":[1]} "#, "/v1/chat/completions"),
            (r#"{"id":"x","mo\u0064el":null,"messages":[]}"#, "/v1/chat/completions"),
            (r#"{"model":"m","max_tokens":9,"system":"s","messages":[{"role":"user","content":"x"}]}"#, "/v1/messages"),
            (r#"{"contents":[{"parts":[]}]}"#, "/v1beta/models/replay:generateContent"),
            (r#"{"input":"x","previous_response_id":"r"}"#, "/v1/responses"),
            (r#"{"input":"x","model":"m"}"#, "/v1/responses"),
            (r#"{"messages":[],"toolConfig":{}}"#, "/model/replay/converse"),
            (r#"{"model":"l","messages":[],"options":{}}"#, "/api/chat"),
            (r#"{"jsonrpc":"2.0","method":"tools/call","params":{}}"#, "/mcp"),
            (r#"{"jsonrpc":"2.0","method":"SendMessage","params":{}}"#, "/a2a"),
        ] {
            assert_eq!(parsed(text), ("7".to_owned(), text.to_owned(), path));
        }
    }

    #[test]
    fn bad_lines_say_what_is_wrong() {
        for (text, words) in [
            ("[1]", "not a JSON object: invalid type: sequence, expected an object"),
            (r#"{"messages":[}"#, "not a JSON object: expected value at line 1 column 14"),
            ("{}{}", "not a JSON object: trailing characters"),
            (r#"{"text":"hello"}"#, "neither a conversation (key `messages`) nor"),
            (r#"{"id":1,"messages":"hello"}"#, "`messages` must be a list"),
            (r#"{"messages":[],"messages":[]}"#, "the key `messages` stands twice"),
        ] {
            let error = Line::parse(1, text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
        assert!(Line::parse(1, b"{\"messages\":[\"\xff\"]}").is_err(), "invalid UTF-8");
    }
}
