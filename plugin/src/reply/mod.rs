//! Refusals: the one place that turns a denial into bytes that the provider's own clients understand. docs/replies.md shows them.

mod fill;
mod shapes;

use floodmark_core::streamed::Outcome;
use floodmark_core::wire::{Direction, Format, Framing, IssueKind, Rpc, RpcMethod, write_frame};
use floodmark_core::{Judgement, Verdict};

use crate::config::{Reply, Style};
use crate::host::LocalReply;
use crate::labels::{EVENT_ID_HEADER, VERDICT_HEADER};
use crate::path;
use crate::request::Request;
use fill::Holes;
use shapes::Frame;

/// The code that clients can look for: OpenAI's `error.code`, and in the data of JSON-RPC errors.
pub const CODE: &str = "floodmark_blocked";

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
            let raw = request.value(":path").unwrap_or_default();
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
        }
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
        }
    }

    fn holes(&self) -> Holes {
        let Exchange { event_id, now_ns, reply, .. } = self.exchange;
        let [forbidden, other] = shapes::shape(self.format).kinds;
        Holes {
            message: json(&self.message()),
            rule: unquoted(self.rule),
            event: unquoted(event_id),
            kind: if reply.status == 403 { forbidden } else { other },
            status: reply.status.to_string(),
            number: self.messages.to_string(),
            seconds: now_ns / 1_000_000_000,
        }
    }

    /// Names the rule, the message and what to do; never the pattern, the score or the text.
    fn message(&self) -> String {
        let Denial { rule, exchange: Exchange { event_id, .. }, .. } = *self;
        let what = if self.direction == Direction::Request { "Request" } else { "Response" };
        let turn = self.turn.filter(|_| self.list().is_some());
        let place = turn.map_or(String::new(), |turn| format!(" at {}", self.name_message(turn)));
        format!("{what} blocked by the gateway's policy: rule {rule}{place}. {} Event {event_id}.", self.way_on())
    }

    /// What the client can do: nobody is to be stuck in a conversation.
    fn way_on(&self) -> String {
        if let Some(issue) = IssueKind::of_rule(self.rule) {
            return issue.describe().trim().to_owned();
        }
        if self.direction == Direction::Response {
            return "The conversation can go on without it.".to_owned();
        }
        if self.format.is_json_rpc() {
            return "It was not passed on; other requests are not affected.".to_owned();
        }
        if self.drop_messages.is_empty() || self.list().is_none() {
            return "Start a new conversation to go on.".to_owned();
        }
        let messages: Vec<String> = self.drop_messages.iter().map(|message| self.name_message(*message)).collect();
        format!("Leave out {} to go on with this conversation.", messages.join(", "))
    }

    /// The key of the list that message indices point into.
    fn list(&self) -> Option<&'static str> {
        let list = shapes::shape(self.format).list;
        (self.direction == Direction::Request && !list.is_empty()).then_some(list)
    }

    fn name_message(&self, index: u32) -> String {
        format!("{}[{index}]", self.list().unwrap_or_default())
    }

    /// One JSON document, or where that was asked for an array of it.
    fn whole(&self, template: &str) -> String {
        let filled = self.holes().fill(template, "null");
        if self.exchange.asked == Asked::Array { format!("[{filled}]") } else { filled }
    }

    /// An answer to each JSON-RPC request, from the template that `choose` gives for its method; to nobody in particular where no id could be read.
    fn answers(&self, choose: impl Fn(RpcMethod) -> &'static str) -> Vec<String> {
        let (holes, rpc) = (self.holes(), self.exchange.rpc);
        if rpc.ids.is_empty() {
            return vec![holes.fill(choose(RpcMethod::Other), "null")];
        }
        let methods = rpc.methods.iter().copied().chain(core::iter::repeat(RpcMethod::Other));
        rpc.ids.iter().zip(methods).map(|(id, method)| holes.fill(choose(method), id)).collect()
    }

    fn one_or_batch(&self, answers: &[String]) -> String {
        let joined = answers.join(",");
        if self.exchange.rpc.batch { format!("[{joined}]") } else { joined }
    }

    fn frames(&self, framing: Framing, frames: &[Frame]) -> Vec<u8> {
        let holes = self.holes();
        frames.iter().flat_map(|(name, template)| write_frame(framing, *name, &holes.fill(template, "null"))).collect()
    }
}

fn known(format: Format, pinned: Option<Format>) -> Format {
    if format == Format::Unknown { pinned.unwrap_or(format) } else { format }
}

/// The answer to a request that is refused.
pub fn refusal(denial: &Denial<'_>) -> LocalReply {
    let Exchange { asked, event_id, reply, .. } = denial.exchange;
    let shape = shapes::shape(denial.format);
    let mut headers = vec![(VERDICT_HEADER, denial.verdict.name().to_owned()), (EVENT_ID_HEADER, event_id.to_owned())];
    let (status, framing, body) = if denial.format.is_json_rpc() {
        rpc_refusal(denial)
    } else if reply.style == Style::Error || asked == Asked::Count {
        if denial.format == Format::BedrockConverse {
            headers.push(("x-amzn-errortype", denial.holes().kind.to_owned()));
        }
        (reply.status, None, denial.whole(shape.error).into_bytes())
    } else if asked == Asked::Stream {
        (200, Some(shape.framing), denial.frames(shape.framing, shape.stream))
    } else {
        (200, None, denial.whole(shape.refusal).into_bytes())
    };
    if !body.is_empty() {
        headers.push(("content-type", content_type(framing).to_owned()));
    }
    LocalReply { status, headers, body, details: format!("{CODE}{{{}}}", denial.rule) }
}

/// JSON-RPC knows no status: an answer to each request, with status 200, and nothing but "accepted" to notifications, which nobody may answer.
/// A body in which no request could be read at all is none of these, so its status says no too.
fn rpc_refusal(denial: &Denial<'_>) -> (u32, Option<Framing>, Vec<u8>) {
    let Exchange { rpc, reply, .. } = denial.exchange;
    let unread = rpc.ids.is_empty();
    if unread && IssueKind::of_rule(denial.rule).is_none() {
        return (202, None, Vec::new());
    }
    let shape = shapes::shape(denial.format);
    let refuses = reply.style == Style::Refusal;
    let answers = denial.answers(|method| shapes::rpc_refusal(method).filter(|_| refuses).unwrap_or(shape.error));
    let status = if unread { reply.status } else { 200 };
    let streams = [RpcMethod::SendStreamingMessage, RpcMethod::MessageStream];
    if !rpc.batch && rpc.methods.first().is_some_and(|method| streams.contains(method)) {
        let frames = answers.iter().flat_map(|answer| write_frame(shape.framing, None, answer));
        return (status, Some(shape.framing), frames.collect());
    }
    (status, None, denial.one_or_batch(&answers).into_bytes())
}

/// What replaces a whole JSON response, whose status is 200 and stays so.
pub fn response_body(denial: &Denial<'_>) -> String {
    let shape = shapes::shape(denial.format);
    if denial.format.is_json_rpc() {
        return denial.one_or_batch(&denial.answers(|_| shape.error));
    }
    denial.whole(if denial.exchange.asked == Asked::Count { shape.error } else { shape.refusal })
}

/// How a stream ends of which a part is with the client already.
pub fn stream_end(denial: &Denial<'_>, framing: Framing) -> Vec<u8> {
    let shape = shapes::shape(denial.format);
    if denial.format.is_json_rpc() {
        return denial.answers(|_| shape.error).iter().flat_map(|answer| write_frame(framing, None, answer)).collect();
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
