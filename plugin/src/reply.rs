//! Refusals: the one place that turns a verdict into bytes that the provider's own clients understand.

use floodmark_core::wire::{Format, IssueKind};
use floodmark_core::{Judgement, Reason};
use serde::Serialize;

use crate::host::LocalReply;
use crate::labels::{EVENT_ID_HEADER, VERDICT_HEADER};

/// The code that clients can look for, in OpenAI's `error.code`.
pub const CODE: &str = "floodmark_blocked";

#[derive(Serialize)]
struct OpenAi<'a> {
    error: OpenAiError<'a>,
}

/// OpenAI's error object; its clients want all four keys.
#[derive(Serialize)]
struct OpenAiError<'a> {
    message: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    param: Option<&'a str>,
    code: &'a str,
}

#[derive(Serialize)]
struct Anthropic<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    error: AnthropicError<'a>,
    request_id: &'a str,
}

#[derive(Serialize)]
struct AnthropicError<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    message: &'a str,
}

/// The refusal for a blocked request, in the shape of the format that was read, or else of the one that its path is `pinned` to. It names the rule
/// and the messages, never the pattern, the score or the text.
pub fn refusal(judgement: &Judgement<'_>, pinned: Option<Format>, status: u32, event_id: &str) -> LocalReply {
    let reason = judgement.decisive.as_ref();
    let rule = reason.map_or("unknown", |reason| reason.rule);
    let message =
        format!("Request blocked by the gateway's policy: rule {rule}{}. {} Event {event_id}.", place(reason), way_on(judgement, rule));
    let format = if judgement.format == Format::Unknown { pinned.unwrap_or(Format::Unknown) } else { judgement.format };
    let body = match format {
        Format::AnthropicMessages => to_json(&Anthropic {
            kind: "error",
            error: AnthropicError { kind: "permission_error", message: &message },
            request_id: event_id,
        }),
        _ => to_json(&OpenAi { error: OpenAiError { message: &message, kind: "invalid_request_error", param: None, code: CODE } }),
    };
    LocalReply {
        status,
        headers: vec![
            ("content-type", "application/json".to_owned()),
            (VERDICT_HEADER, judgement.verdict.name().to_owned()),
            (EVENT_ID_HEADER, event_id.to_owned()),
        ],
        body,
        details: format!("{CODE}{{{rule}}}"),
    }
}

fn place(reason: Option<&Reason<'_>>) -> String {
    reason.and_then(|reason| reason.turn).map_or(String::new(), |turn| format!(" at messages[{turn}]"))
}

/// What the client can do: nobody is to be stuck in a conversation.
fn way_on(judgement: &Judgement<'_>, rule: &str) -> String {
    if let Some(issue) = IssueKind::of_rule(rule) {
        return issue.describe().trim().to_owned();
    }
    if judgement.drop_messages.is_empty() {
        return "Start a new conversation to go on.".to_owned();
    }
    let messages: Vec<String> = judgement.drop_messages.iter().map(|message| format!("messages[{message}]")).collect();
    format!("Leave out {} to go on with this conversation.", messages.join(", "))
}

/// These types hold strings only, which JSON can always spell; were it otherwise, an empty body with the status still refuses.
fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
