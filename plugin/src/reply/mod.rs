//! Refusals: the one place that turns a denial into bytes that the provider's own clients understand. docs/replies.md shows them.

mod date;
mod shapes;

use floodmark_core::streamed::Outcome;
use floodmark_core::wire::{Direction, Format, Framing, IssueKind, Rpc, RpcMethod, write_frame};
use floodmark_core::{Judgement, Verdict};

use crate::config::{Reply, Style};
use crate::host::LocalReply;
use crate::labels::{APPROVAL_HEADER, EVENT_ID_HEADER, VERDICT_HEADER};
use crate::path;
use crate::request::Request;
use shapes::Frame;

/// The code that clients can look for: OpenAI's `error.code`, and in the data of JSON-RPC errors.
pub const CODE: &str = "floodmark_blocked";
/// The same of a request that passes once an operator approves it.
pub const ASK_CODE: &str = "floodmark_ask";

/// What a client whose request needs an approval is told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approval<'a> {
    /// An operator can give the one of this id.
    Pending(&'a str),
    /// An operator denied the one of this id.
    Denied(&'a str),
    /// None can be given: the gateway cannot keep it.
    Impossible,
}

impl<'a> Approval<'a> {
    /// Its id.
    pub fn id(self) -> Option<&'a str> {
        match self {
            Approval::Pending(id) | Approval::Denied(id) => Some(id),
            Approval::Impossible => None,
        }
    }
}

/// What kind of answer a request asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Asked {
    /// One JSON document.
    #[default]
    Whole,
    /// A stream, in the framing of its format.
    Stream,
    /// A stream that is one JSON array: Gemini's without `alt=sse`.
    Array,
    /// A number of tokens. No completion would be understood, so it is refused with an error whatever the style.
    Count,
}

/// Ends of paths at which tokens are counted: Anthropic's, Bedrock's, Gemini's and that of OpenAI's Responses.
const COUNTS: [&str; 4] = ["/count_tokens", "/count-tokens", ":countTokens", "/input_tokens"];

impl Asked {
    /// What a request's path says; the body may still ask for a stream.
    pub fn of_path(request: &Request) -> Self {
        let ends = |suffix: &str| path::ends_with(request.path(), suffix);
        if COUNTS.into_iter().any(ends) {
            return Asked::Count;
        }
        if ends(":streamGenerateContent") {
            let raw = request.fields().value(":path").unwrap_or_default();
            let sse = raw.split(|byte| matches!(byte, b'?' | b'&')).any(|parameter| parameter.eq_ignore_ascii_case(b"alt=sse"));
            return if sse { Asked::Stream } else { Asked::Array };
        }
        if ends("/converse-stream") { Asked::Stream } else { Asked::Whole }
    }

    /// The same with what the request's body says.
    #[must_use]
    pub fn or_stream(self, stream: bool) -> Self {
        if stream && self == Asked::Whole { Asked::Stream } else { self }
    }
}

/// What a refusal has to know of the exchange, beside the judgement.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    /// The format that bodies are in whose own is not known: the request's, or the one that its path is pinned to.
    pub pinned: Option<Format>,
    /// The JSON-RPC requests that have to be answered: those of the request's body, also where a response is refused.
    pub rpc: &'a Rpc,
    /// What the request asks for.
    pub asked: Asked,
    /// The event id.
    pub event_id: &'a str,
    /// Nanoseconds since the Unix epoch.
    pub now_ns: u64,
    /// How refusals look here.
    pub reply: &'a Reply,
}

/// What was denied, and all that a refusal tells of it.
#[derive(Clone, Copy, Debug)]
pub struct Denial<'a> {
    /// Where it was denied.
    pub exchange: Exchange<'a>,
    /// Whether the request or its response is refused.
    pub direction: Direction,
    /// The verdict.
    pub verdict: Verdict,
    /// The rule that decided.
    pub rule: &'a str,
    /// Index of the message that it was met in.
    pub turn: Option<u32>,
    /// Messages without which the conversation could go on.
    pub drop_messages: &'a [u32],
    /// The format in which the client is answered.
    pub format: Format,
    /// Messages of the stream that came before.
    pub messages: u32,
    /// The approval without which it does not pass; `None` where no approval helps.
    pub approval: Option<Approval<'a>>,
}

impl<'a> Denial<'a> {
    /// Of a whole body that was judged.
    pub fn of_judgement(judgement: &'a Judgement<'_>, direction: Direction, exchange: Exchange<'a>) -> Self {
        let reason = judgement.decisive.as_ref();
        Denial {
            exchange,
            direction,
            verdict: judgement.verdict,
            rule: reason.map_or("unknown", |reason| reason.rule),
            turn: reason.and_then(|reason| reason.turn),
            drop_messages: &judgement.drop_messages,
            format: known(judgement.format, exchange.pinned),
            messages: 0,
            approval: None,
        }
    }

    /// The same of what passes once it is approved.
    #[must_use]
    pub fn unless_approved(self, approval: Approval<'a>) -> Self {
        Denial { approval: Some(approval), ..self }
    }

    /// Of a response that streams.
    pub fn of_stream(outcome: &'a Outcome, exchange: Exchange<'a>) -> Self {
        Denial {
            exchange,
            direction: Direction::Response,
            verdict: outcome.verdict,
            rule: outcome.rule.as_deref().unwrap_or("unknown"),
            turn: None,
            drop_messages: &[],
            format: known(outcome.format, exchange.pinned),
            messages: outcome.messages,
            approval: None,
        }
    }

    /// A template with its holes filled; `id` is the id of a JSON-RPC request, as JSON.
    fn fill(&self, template: &str, id: &str) -> String {
        let Exchange { event_id, now_ns, reply, .. } = self.exchange;
        let seconds = now_ns / 1_000_000_000;
        let mut filled = Vec::new();
        let mut bytes = template.bytes();
        while let Some(byte) = bytes.next() {
            if byte != b'$' {
                filled.push(byte);
                continue;
            }
            let value = match bytes.next() {
                Some(b'm') => json(&self.message()),
                Some(b'r') => unquoted(self.rule),
                Some(b'e') => unquoted(event_id),
                Some(b'k') => self.kind().to_owned(),
                Some(b'c') => self.code().to_owned(),
                Some(b'C') => self.code().to_ascii_uppercase(),
                Some(b'a') => self.approval_member("approval"),
                Some(b'p') => self.approval_member("floodmark.dev/approval"),
                Some(b's') => number(u64::from(reply.status)),
                Some(b'n') => number(u64::from(self.messages)),
                Some(b't') => number(seconds),
                Some(b'd') => date::rfc3339(seconds),
                _ => id.to_owned(),
            };
            filled.extend_from_slice(value.as_bytes());
        }
        String::from_utf8(filled).unwrap_or_default()
    }

    /// What the provider calls the error, where that depends on the status.
    fn kind(&self) -> &'static str {
        let [forbidden, other] = shapes::shape(self.format).kinds;
        if self.exchange.reply.status == 403 { forbidden } else { other }
    }

    fn code(&self) -> &'static str {
        if self.approval.is_some() { ASK_CODE } else { CODE }
    }

    /// One more member of an object that has some, where there is an approval id.
    fn approval_member(&self, key: &str) -> String {
        self.approval.and_then(Approval::id).map_or_else(String::new, |id| [",\"", key, "\":\"", &unquoted(id), "\""].concat())
    }

    /// Names the rule, the message and what to do; never the pattern, the score or the text.
    fn message(&self) -> String {
        let request = self.direction == Direction::Request;
        let list = shapes::shape(self.format).list;
        // A client knows its own messages only.
        let named = request && !list.is_empty();
        let mut message = if request { "Request" } else { "Response" }.to_owned();
        message += if self.approval.is_some() { " held back" } else { " blocked" };
        message += " by the gateway's policy: rule ";
        message += self.rule;
        if let Some(turn) = self.turn.filter(|_| named) {
            message += " at ";
            name_messages(&mut message, list, &[turn]);
        }
        message += ". ";
        let issue = IssueKind::of_rule(self.rule);
        if let Some(issue) = issue {
            message += issue.describe().trim();
        }
        if let Some(approval) = self.approval {
            message += if issue.is_some() { " " } else { "" };
            tell_approval(&mut message, approval);
        } else if issue.is_some() {
            // Said above.
        } else if !request {
            message += "The conversation can go on without it.";
        } else if self.format.is_json_rpc() {
            message += "It was not passed on; other requests are not affected.";
        } else if self.drop_messages.is_empty() {
            message += "Start a new conversation to go on.";
        } else {
            message += "Leave out ";
            name_messages(&mut message, list, self.drop_messages);
            message += " to go on with this conversation.";
        }
        message += " Event ";
        message += self.exchange.event_id;
        message.push('.');
        message
    }

    /// One JSON document, or where that was asked for an array of it.
    fn whole(&self, template: &str) -> Vec<u8> {
        let filled = self.fill(template, "null");
        if self.exchange.asked == Asked::Array { bracketed(&filled) } else { filled.into_bytes() }
    }

    /// An answer to each JSON-RPC request, from the template that `choose` gives for its method; to nobody in particular where no id could be read. In
    /// frames, or else in one document.
    fn answers(&self, framing: Option<Framing>, choose: impl Fn(RpcMethod) -> &'static str) -> Vec<u8> {
        let rpc = self.exchange.rpc;
        let (mut document, mut frames) = (String::new(), Vec::new());
        let mut answer = |id: &str, method: RpcMethod| {
            let filled = self.fill(choose(method), id);
            match framing {
                Some(framing) => frames.extend_from_slice(&write_frame(framing, None, &filled)),
                None => {
                    if !document.is_empty() {
                        document.push(',');
                    }
                    document += &filled;
                }
            }
        };
        for (index, id) in rpc.ids.iter().enumerate() {
            answer(id, rpc.methods.get(index).copied().unwrap_or_default());
        }
        if rpc.ids.is_empty() {
            answer("null", RpcMethod::Other);
        }
        match framing {
            Some(_) => frames,
            None if rpc.batch => bracketed(&document),
            None => document.into_bytes(),
        }
    }

    fn frames(&self, framing: Framing, frames: &[Frame]) -> Vec<u8> {
        let mut stream = Vec::new();
        for (name, template) in frames {
            stream.extend_from_slice(&write_frame(framing, *name, &self.fill(template, "null")));
        }
        stream
    }
}

fn name_messages(out: &mut String, list: &str, messages: &[u32]) {
    for (index, message) in messages.iter().enumerate() {
        if index > 0 {
            *out += ", ";
        }
        *out += list;
        out.push('[');
        *out += &number(u64::from(*message));
        out.push(']');
    }
}

fn tell_approval(out: &mut String, approval: Approval<'_>) {
    let (before, after) = match approval {
        Approval::Pending(_) => ("An operator has to approve it (approval ", "); then send the same again."),
        Approval::Denied(_) => ("An operator denied it (approval ", ")."),
        Approval::Impossible => ("An operator would have to approve it, but the gateway cannot keep approvals now.", ""),
    };
    *out += before;
    *out += approval.id().unwrap_or_default();
    *out += after;
}

fn bracketed(json: &str) -> Vec<u8> {
    let mut array = vec![b'['];
    array.extend_from_slice(json.as_bytes());
    array.push(b']');
    array
}

fn number(value: u64) -> String {
    format!("{value}")
}

fn known(format: Format, pinned: Option<Format>) -> Format {
    if format == Format::Unknown { pinned.unwrap_or(format) } else { format }
}

/// The answer to a request that is refused.
pub fn refusal(denial: &Denial<'_>) -> LocalReply {
    let Exchange { asked, event_id, reply, .. } = denial.exchange;
    let shape = shapes::shape(denial.format);
    let mut headers = Vec::new();
    let (status, framing, body) = if denial.format.is_json_rpc() {
        rpc_refusal(denial)
    } else if reply.style == Style::Error || asked == Asked::Count {
        if denial.format == Format::BedrockConverse {
            headers.push(("x-amzn-errortype", denial.kind().to_owned()));
        }
        (reply.status, None, denial.whole(shape.error))
    } else if asked == Asked::Stream {
        (200, Some(shape.framing), denial.frames(shape.framing, shape.stream))
    } else {
        (200, None, denial.whole(shape.refusal))
    };
    if !body.is_empty() {
        headers.push(("content-type", content_type(framing).to_owned()));
    }
    headers.extend([(VERDICT_HEADER, denial.verdict.name().to_owned()), (EVENT_ID_HEADER, event_id.to_owned())]);
    headers.extend(denial.approval.and_then(Approval::id).map(|id| (APPROVAL_HEADER, id.to_owned())));
    LocalReply { status, headers, body, details: [denial.code(), "{", denial.rule, "}"].concat() }
}

/// JSON-RPC knows no status: an answer to each request, with status 200, and nothing but "accepted" to notifications, which nobody may answer.
/// A body in which no request could be read at all is none of these, so its status says no too.
fn rpc_refusal(denial: &Denial<'_>) -> (u32, Option<Framing>, Vec<u8>) {
    let Exchange { rpc, reply, .. } = denial.exchange;
    let unread = rpc.ids.is_empty();
    if unread && rpc.spoken && IssueKind::of_rule(denial.rule).is_none() {
        return (202, None, Vec::new());
    }
    let shape = shapes::shape(denial.format);
    let refuses = reply.style == Style::Refusal;
    let streams = [RpcMethod::SendStreamingMessage, RpcMethod::MessageStream];
    let streams = !rpc.batch && rpc.methods.first().is_some_and(|method| streams.contains(method));
    let framing = streams.then_some(shape.framing);
    let body = denial.answers(framing, |method| shapes::rpc_refusal(method).filter(|_| refuses).unwrap_or(shape.error));
    (if unread { reply.status } else { 200 }, framing, body)
}

/// What replaces a whole JSON response, whose status is 200 and stays so.
pub fn response_body(denial: &Denial<'_>) -> Vec<u8> {
    let shape = shapes::shape(denial.format);
    if denial.format.is_json_rpc() {
        return denial.answers(None, |_| shape.error);
    }
    denial.whole(if denial.exchange.asked == Asked::Count { shape.error } else { shape.refusal })
}

/// How a stream ends of which a part is with the client already.
pub fn stream_end(denial: &Denial<'_>, framing: Framing) -> Vec<u8> {
    let shape = shapes::shape(denial.format);
    if denial.format.is_json_rpc() {
        return denial.answers(Some(framing), |_| shape.error);
    }
    denial.frames(framing, shape.end)
}

fn content_type(framing: Option<Framing>) -> &'static str {
    match framing {
        None => "application/json",
        Some(Framing::Sse) => "text/event-stream",
        Some(Framing::JsonLines) => "application/x-ndjson",
        Some(Framing::AwsEventStream) => "application/vnd.amazon.eventstream",
    }
}

/// A string can always be spelled; were it otherwise, an empty string still refuses.
fn json(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_else(|_| "\"\"".to_owned())
}

fn unquoted(text: &str) -> String {
    let quoted = json(text);
    quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
