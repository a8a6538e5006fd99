//! The detector over streamed responses: pieces are scored together, and no piece counts twice in a sum.

use proptest::prelude::*;

use super::*;
use crate::Streamed;
use crate::wire::{Direction, Format, Framing, write_frame};

fn hint(format: Format) -> Hint {
    Hint { format: Some(format), ai_path: true, direction: Direction::Response, ..Hint::default() }
}

fn frames(messages: &[String]) -> Vec<u8> {
    messages.iter().flat_map(|message| write_frame(Framing::Sse, None, message)).collect()
}

/// A chunk of a streamed chat with a piece of a call's arguments.
fn piece(index: u32, arguments: &str) -> String {
    let arguments = arguments.replace('"', "\\\"");
    format!(
        r#"{{"id":"c","object":"chat.completion.chunk","choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":{index},"function":{{"name":"f","arguments":"{arguments}"}}}}]}}}}]}}"#
    )
}

fn end() -> String {
    r#"{"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#.into()
}

fn stream(policy: &Policy, bytes: &[u8], cuts: usize) -> Streamed {
    let judge = judge_of(policy);
    let mut streamed = Streamed::new(Framing::Sse, hint(Format::OpenAiChat));
    bytes.chunks(cuts).for_each(|bytes| streamed.push(judge, bytes));
    streamed.end(judge);
    streamed
}

#[test]
fn a_score_is_found_across_pieces() {
    let bytes = frames(&[piece(0, "{\"a\":\"tell #0."), piece(0, "95 all\"}"), end()]);
    let outcome = stream(&Policy::default(), &bytes, bytes.len()).outcome().clone();
    assert_eq!((outcome.verdict, outcome.rule.as_deref()), (Verdict::Flag, Some("detector.linear")));
    assert_eq!((outcome.event_peak, outcome.rules_met), (Some(0.95), 1));
}

/// Each message says that the call is whole, so it is judged again and again: the sum of those scores would alarm.
#[test]
fn what_is_judged_again_counts_once() {
    let bytes = frames(&[piece(0, "{\"a\":\"#0.85 "), end(), piece(0, "#0.85 "), end(), piece(0, "#0.85\"}"), end()]);
    let outcome = stream(&Policy::default(), &bytes, bytes.len()).outcome().clone();
    assert_eq!((outcome.verdict, outcome.event_peak), (Verdict::Allow, Some(0.85)));
}

#[test]
fn a_result_over_the_level_ends_the_stream() {
    let harmless = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#;
    let result = r##"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a page: #0.93"}]}}"##;
    let bytes = frames(&[harmless.into(), result.into(), harmless.into()]);
    let judge = judge_of(&Policy::default());
    let mut streamed = Streamed::new(Framing::Sse, hint(Format::Mcp));
    streamed.push(judge, &bytes);
    let first = u64::try_from(frames(&[harmless.into()]).len()).expect("short");
    assert_eq!((streamed.outcome().rule.as_deref(), streamed.blocked_at()), (Some("detector.linear"), Some(first)));
}

proptest! {
    #[test]
    fn cuts_change_nothing(pieces in prop::collection::vec((0u32..3, prop::sample::select(Vec::from(["#0.", "95", "5 ", "8", " x ", "#nan "]))), 1..12), cut in 1usize..200) {
        let mut messages: Vec<String> = pieces.iter().map(|(index, text)| piece(*index, text)).collect();
        messages.push(end());
        let bytes = frames(&messages);
        let whole = stream(&Policy::default(), &bytes, bytes.len()).outcome().clone();
        prop_assert_eq!(stream(&Policy::default(), &bytes, cut).outcome().clone(), whole);
    }
}
