//! Messages as files spell them: the sets' own shape, and what the OpenAI API takes, so that logged requests can be measured as they are.

use std::fmt;

use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A message of a conversation.
#[derive(Debug, Deserialize)]
#[serde(try_from = "SpelledMessage")]
pub struct Message {
    /// `system`, `developer`, `user`, `assistant` or `tool`.
    pub role: String,
    /// Its text; text parts are joined by line feeds, as in judging.
    pub content: String,
    /// Of a tool's result: the tool.
    pub name: Option<String>,
    /// What the assistant calls.
    pub tool_calls: Vec<Call>,
    /// Of a tool's result: why the call failed. Where there is no content the agent was shown this.
    pub error: Option<String>,
    /// Number of the chat, in runs that went over several.
    pub session: Option<u32>,
}

impl Message {
    /// What the model was shown of it.
    pub fn shown(&self) -> &str {
        match &self.error {
            Some(error) if self.content.is_empty() => error,
            _ => &self.content,
        }
    }
}

/// A tool call.
#[derive(Debug, Deserialize)]
#[serde(try_from = "SpelledCall")]
pub struct Call {
    /// The tool.
    pub name: String,
    /// Its arguments, as JSON: an object, or a string that already holds one.
    pub arguments: Box<RawValue>,
}

impl Call {
    /// The arguments as the wire carries them: JSON in a string. Some sets hold that string already.
    pub fn spelled(&self) -> String {
        let spelled = self.arguments.get();
        serde_json::from_str::<String>(spelled).unwrap_or_else(|_| spelled.to_owned())
    }
}

/// The keys of a message that hold something.
#[derive(Deserialize)]
struct SpelledMessage {
    role: String,
    #[serde(default)]
    content: Content,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<Call>>,
    /// The only call, as the API took it before there were several.
    #[serde(default)]
    function_call: Option<Call>,
    /// What the assistant says instead of a content.
    #[serde(default)]
    refusal: Option<String>,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    session: Option<u32>,
}

impl TryFrom<SpelledMessage> for Message {
    type Error = String;

    fn try_from(spelled: SpelledMessage) -> Result<Self, String> {
        let SpelledMessage { role, content, name, tool_calls, function_call, refusal, error, session } = spelled;
        let role = match role.as_str() {
            "system" | "developer" | "user" | "assistant" | "tool" => role,
            "function" => "tool".to_owned(),
            _ => return Err(format!("a message of role `{role}`, which is none of system, developer, user, assistant, tool and function")),
        };
        let mut tool_calls = tool_calls.unwrap_or_default();
        tool_calls.extend(function_call);
        if role != "assistant" && !tool_calls.is_empty() {
            return Err(format!("a message of role `{role}` with calls, which only an assistant makes"));
        }
        let content = match content.0.or(refusal) {
            Some(content) => content,
            None if !tool_calls.is_empty() || error.is_some() => String::new(),
            None => return Err(format!("a message of role `{role}` without `content`")),
        };
        Ok(Self { role, content, name, tool_calls, error, session })
    }
}

/// A text, its parts joined, or nothing.
#[derive(Default)]
struct Content(Option<String>);

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text, null or a list of text parts as `content`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Content, E> {
        Ok(Content(Some(text.to_owned())))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Content, E> {
        Ok(Content(Some(text)))
    }

    fn visit_unit<E: Error>(self) -> Result<Content, E> {
        Ok(Content(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Content, A::Error> {
        let mut texts = Vec::new();
        while let Some(Part(text)) = parts.next_element()? {
            texts.push(text);
        }
        Ok(Content(Some(texts.join("\n"))))
    }
}

/// The text of a content part. What is no text cannot be judged, and a record without it would not be what was sent.
struct Part(String);

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PartVisitor)
    }
}

struct PartVisitor;

impl<'de> Visitor<'de> for PartVisitor {
    type Value = Part;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a content part, an object with `type` and `text`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut keys: A) -> Result<Part, A::Error> {
        let (mut kind, mut text, mut refusal) = (None::<String>, None::<String>, None::<String>);
        while let Some(key) = keys.next_key::<String>()? {
            match key.as_str() {
                "type" => kind = keys.next_value()?,
                "text" => text = keys.next_value()?,
                "refusal" => refusal = keys.next_value()?,
                _ => drop(keys.next_value::<IgnoredAny>()?),
            }
        }
        match kind.as_deref() {
            Some("text" | "input_text" | "output_text") => text.map(Part).ok_or_else(|| A::Error::missing_field("text")),
            Some("refusal") => refusal.map(Part).ok_or_else(|| A::Error::missing_field("refusal")),
            Some(kind) => Err(A::Error::custom(format!("a content part of type `{kind}`, where only text is understood"))),
            None => Err(A::Error::custom("a content part without `type`")),
        }
    }
}

/// A call in the sets' own shape, or in that of the API.
#[derive(Deserialize)]
struct SpelledCall {
    #[serde(default)]
    name: Option<String>,
    #[serde(default, deserialize_with = "raw")]
    arguments: Option<Box<RawValue>>,
    #[serde(default)]
    function: Option<Function>,
    #[serde(default)]
    r#type: Option<String>,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    arguments: Box<RawValue>,
}

impl TryFrom<SpelledCall> for Call {
    type Error = String;

    fn try_from(call: SpelledCall) -> Result<Self, String> {
        match call {
            SpelledCall { function: Some(Function { name, arguments }), name: None, arguments: None, .. } => Ok(Self { name, arguments }),
            SpelledCall { function: None, name: Some(name), arguments: Some(arguments), .. } => Ok(Self { name, arguments }),
            SpelledCall { r#type: Some(kind), .. } if kind != "function" => {
                Err(format!("a tool call of type `{kind}`, where only `function` is understood"))
            }
            _ => Err("a tool call needs `name` and `arguments`, or `function` with both".to_owned()),
        }
    }
}

/// `null` is an argument too, not none.
fn raw<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> Result<Message, String> {
        serde_json::from_str(text).map_err(|error: serde_json::Error| error.to_string())
    }

    #[test]
    fn contents_are_texts_parts_or_null() {
        let content = |text: &str| message(text).unwrap().content;
        assert_eq!(content(r#"{"role":"user","content":"a\u0062"}"#), "ab");
        let parts = r#"[{"type":"text","text":"one"},{"text":"two","cache_control":{"type":"x"},"type":"text"}]"#;
        assert_eq!(content(&format!(r#"{{"role":"developer","content":{parts}}}"#)), "one\ntwo");
        assert_eq!(content(r#"{"role":"assistant","content":[{"type":"refusal","refusal":"no"}]}"#), "no");
        assert_eq!(content(r#"{"role":"assistant","content":null,"refusal":"no"}"#), "no");
        let failed = message(r#"{"role":"tool","error":"no such file"}"#).unwrap();
        assert_eq!((failed.content.as_str(), failed.shown()), ("", "no such file"));
    }

    #[test]
    fn calls_are_spelled_in_two_ways() {
        let calls = |text: &str| {
            let message = message(&format!(r#"{{"role":"assistant","content":null,{text}}}"#)).unwrap();
            message.tool_calls.iter().map(|call| (call.name.clone(), call.spelled())).collect::<Vec<_>>()
        };
        let expected = [("f".to_owned(), r#"{"a": 1}"#.to_owned())];
        assert_eq!(calls(r#""tool_calls":[{"name":"f","arguments":{"a": 1}}]"#), expected);
        assert_eq!(calls(r#""tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"}}]"#), expected);
        assert_eq!(calls(r#""function_call":{"name":"f","arguments":"{\"a\": 1}"}"#), expected);
        assert_eq!(calls(r#""tool_calls":[{"name":"f","arguments":null}]"#), [("f".to_owned(), "null".to_owned())]);
    }

    #[test]
    fn what_is_not_understood_is_said() {
        for (text, said) in [
            (r#"{"role":"model","content":"a"}"#, "role `model`"),
            (r#"{"role":"user","text":"a"}"#, "a message of role `user` without `content`"),
            (r#"{"role":"user","content":null}"#, "without `content`"),
            (r#"{"role":"assistant","content":null,"tool_calls":null}"#, "without `content`"),
            (r#"{"role":"user","content":7}"#, "expected a text, null or a list of text parts"),
            (r#"{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:"}}]}"#, "a content part of type `image_url`"),
            (r#"{"role":"user","content":[{"text":"a"}]}"#, "a content part without `type`"),
            (r#"{"role":"user","content":["a"]}"#, "a content part, an object"),
            (r#"{"role":"user","content":[{"type":"text"}]}"#, "missing field `text`"),
            (r#"{"role":"user","content":"a","tool_calls":[{"name":"f","arguments":{}}]}"#, "only an assistant makes"),
            (r#"{"role":"assistant","content":"","tool_calls":[{"name":"f"}]}"#, "a tool call needs"),
            (
                r#"{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":"{}"},"name":"g"}]}"#,
                "a tool call needs",
            ),
            (r#"{"role":"assistant","content":"","tool_calls":[{"type":"custom","custom":{"name":"f","input":"x"}}]}"#, "of type `custom`"),
            (
                r#"{"role":"assistant","content":"","tool_calls":[{"type":"function","function":{"name":"f"}}]}"#,
                "missing field `arguments`",
            ),
        ] {
            let error = message(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
