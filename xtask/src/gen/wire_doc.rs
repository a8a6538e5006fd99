//! The tables of docs/wire-formats.md: what each format is told by and where its text stands, from core's tables and testdata/positions, and the limits.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::{Context as _, Result, bail};
use floodmark_core::limits;
use floodmark_core::wire::Format;
use floodmark_core::wire::table::{self, FORMATS, Holds, Key, Place};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The page, whose words are written by hand.
pub const PAGE: &str = "docs/wire-formats.md";

/// A file of testdata/positions, as far as the page needs it.
#[derive(Deserialize)]
struct File {
    bodies: Vec<Body>,
}

#[derive(Deserialize)]
struct Body {
    direction: String,
    framing: Option<String>,
    body: Value,
    positions: Map<String, Value>,
}

/// The page `text` with its tables as they are now; `positions` are the files of each format.
///
/// # Errors
/// The page has no place for a table, or a file of positions cannot be read.
pub fn page(text: &str, positions: &[String]) -> Result<String> {
    let mut formats = String::new();
    for ((format, keys), positions) in FORMATS.iter().zip(positions) {
        let file: File = serde_json::from_str(positions).with_context(|| format!("the positions of {}", format.name()))?;
        one_format(&mut formats, *format, keys, &file)?;
    }
    let text = between(text, "formats", &formats)?;
    between(&text, "limits", &bounds()?)
}

/// `text` with what stands between two comments called `name` replaced.
fn between(text: &str, name: &str, with: &str) -> Result<String> {
    let (start, end) = (format!("<!-- {name}: written by `cargo xtask gen` -->\n"), format!("<!-- end of {name} -->"));
    let parts = text.split_once(&start).and_then(|(before, rest)| Some((before, rest.split_once(&end)?.1)));
    let Some((before, behind)) = parts else { bail!("{PAGE} has no place for the table of {name}, between {start}and {end}") };
    Ok(format!("{before}{start}{with}{end}{behind}"))
}

fn one_format(page: &mut String, format: Format, keys: &[Key], file: &File) -> Result<()> {
    writeln!(page, "\n### {} (`{}`)\n", title(format), format.name())?;
    let marked = |mark: u32| {
        let keys = keys.iter().filter(|key| u32::from(key.mark) == mark);
        keys.map(|key| format!("`{}`", key.key)).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ")
    };
    let (alone, together) = (marked(table::RECOGNISED), marked(1));
    let methods = if format.is_json_rpc() { vec!["its methods".to_owned()] } else { Vec::new() };
    let alone = if alone.is_empty() { None } else { Some(format!("one of {alone}")) };
    let together = if together.is_empty() { None } else { Some(format!("two of {together}")) };
    writeln!(page, "Told by {}.\n", methods.into_iter().chain(alone).chain(together).collect::<Vec<_>>().join("; or by "))?;
    writeln!(page, "| channel | in requests | in responses and streams |\n|---|---|---|")?;
    let mut rows: BTreeMap<&str, [BTreeSet<String>; 2]> = BTreeMap::new();
    for body in &file.bodies {
        for (position, expected) in &body.positions {
            let channel = expected.as_str().and_then(|words| words.split(' ').next()).context("a position says its channel")?;
            let column = usize::from(body.direction == "response");
            for pointer in position.split(' ') {
                rows.entry(channel).or_default()[column].extend(path(body, pointer));
            }
        }
    }
    for (channel, columns) in rows.iter().filter(|(_, columns)| columns.iter().any(|paths| !paths.is_empty())) {
        let [requests, responses] = columns.each_ref().map(|paths| paths.iter().cloned().collect::<Vec<_>>().join(", "));
        writeln!(page, "| `{channel}` | {requests} | {responses} |")?;
    }
    Ok(())
}

/// The way to a position by the keys that are known; `None` where one is not, or holds one word.
fn path(body: &Body, pointer: &str) -> Option<String> {
    let mut value = Some(&body.body);
    let answers = body.framing.is_some() || body.direction == "response";
    let mut place = Some(if answers { Place::Answer } else { Place::Root });
    let mut path = String::new();
    // The number of a stream's message, and the event that AWS names.
    let unsaid = match body.framing.as_deref() {
        None => 0,
        Some("aws_event_stream") => 2,
        Some(_) => 1,
    };
    for (depth, segment) in pointer.split('#').next()?.split('/').skip(1).enumerate() {
        let in_list = value.is_some_and(Value::is_array);
        value = value.and_then(|value| value.get(segment).or_else(|| value.get(segment.parse::<usize>().ok()?)));
        if depth < unsaid {
            continue;
        }
        if in_list {
            path.push_str(if place.is_some() && !path.is_empty() { "[]" } else { "" });
            continue;
        }
        let (_, known) = place.and_then(|place| table::find(place, segment))?;
        if is_word(known.holds) {
            return None;
        }
        write!(path, "{}{}", if path.is_empty() { "" } else { "." }, known.key).ok()?;
        place = inside(known.holds);
        if place.is_none() {
            break;
        }
    }
    (!path.is_empty()).then(|| format!("`{path}`"))
}

/// Whether what belongs there is one word, which is scanned only where it is not.
fn is_word(holds: Holds) -> bool {
    let id = matches!(holds, Holds::Id(_) | Holds::CallId | Holds::OwnId | Holds::RootId | Holds::Unseen(_));
    id || matches!(holds, Holds::Opaque | Holds::Type | Holds::Role | Holds::MediaType | Holds::RpcVersion | Holds::Method)
}

/// Where the keys of an object at a key stand; `None` where they are all alike.
fn inside(holds: Holds) -> Option<Place> {
    match holds {
        Holds::Messages(_) | Holds::Message(_) | Holds::Text | Holds::ToolResult | Holds::Instructions => Some(Place::Message),
        Holds::Calls => Some(Place::Call),
        Holds::Choices => Some(Place::Choice),
        Holds::Nested(place) => Some(place),
        _ => None,
    }
}

fn title(format: Format) -> &'static str {
    match format {
        Format::OpenAiChat => "OpenAI Chat Completions",
        Format::OpenAiResponses => "OpenAI Responses",
        Format::AnthropicMessages => "Anthropic Messages",
        Format::Gemini => "Gemini",
        Format::BedrockConverse => "Bedrock Converse",
        Format::Ollama => "Ollama",
        Format::Mcp => "Model Context Protocol",
        Format::A2a => "Agent2Agent",
        Format::Unknown => "none of these",
    }
}

/// The limits that bodies and streams meet.
fn bounds() -> Result<String> {
    let mut table = String::from("| limit | value | beyond it |\n|---|---|---|\n");
    for (name, value, beyond) in [
        ("MAX_DEPTH", limits::MAX_DEPTH, "objects and lists nested deeper: issue `too_deep`, refused"),
        ("MAX_CONTENT_LEVELS", limits::MAX_CONTENT_LEVELS, "parts nested deeper are scanned as strings of their message"),
        (
            "MAX_EVENTS",
            limits::MAX_EVENTS,
            "more messages, results and calls: issue `too_many_events`, refused; their text is scanned together",
        ),
        ("MAX_RPC_IDS", limits::MAX_RPC_IDS, "more JSON-RPC requests in one batch: a refusal answers the first ones"),
        (
            "MAX_STREAM_BYTES",
            limits::MAX_STREAM_BYTES,
            "more memory for one stream's texts and calls under way: they are judged piece by piece",
        ),
        ("MAX_ID_BYTES", limits::MAX_ID_BYTES, "a longer identifier is scanned, and a longer JSON-RPC id is answered as `null`"),
        ("MAX_ISSUES", limits::MAX_ISSUES, "later issues give way to stronger ones"),
        ("MAX_FRAME_BYTES", limits::MAX_FRAME_BYTES, "a longer message of a stream: issue `frame_too_long`, refused"),
        ("MAX_STREAM_SLOTS", limits::MAX_STREAM_SLOTS, "more texts and calls under way in one stream: issue `too_many_events`, refused"),
        ("STREAM_TEXT_BYTES", limits::STREAM_TEXT_BYTES, "a streamed text is judged when so much of it has come, and at its end"),
        (
            "STREAM_CALL_BYTES",
            limits::STREAM_CALL_BYTES,
            "a streamed call's arguments are judged whole up to this length, and piece by piece beyond",
        ),
        ("STREAM_TAIL_BYTES", limits::STREAM_TAIL_BYTES, "so much of what was judged is judged again with what follows"),
    ] {
        writeln!(table, "| `{name}` | {value} | {beyond} |")?;
    }
    Ok(table)
}
