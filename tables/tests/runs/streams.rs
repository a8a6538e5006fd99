//! Streamed responses where the server keeps the history: their events are the run's.

use floodmark_core::run::Caller;
use floodmark_core::wire::{Direction, Format, Framing, write_frame};
use floodmark_core::{Streamed, Verdict};

use super::*;

fn hint() -> Hint {
    Hint { format: Some(Format::Mcp), ai_path: true, direction: Direction::Response, ..Hint::default() }
}

fn result(id: usize, text: &str) -> String {
    serde_json::json!({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": text}]}}).to_string()
}

fn stream(run: &Run, texts: &[String]) -> Streamed {
    let mut streamed = Streamed::new(Framing::Sse, hint());
    streamed.within(run, &kept());
    for (id, text) in texts.iter().enumerate() {
        streamed.push(&JUDGE, &write_frame(Framing::Sse, None, &result(id, text)));
    }
    streamed.end(&JUDGE);
    streamed
}

fn whole(run: &Run, text: &str) -> Settled<'static> {
    let bytes = result(1, text);
    let body = hint().body(bytes.as_bytes());
    JUDGE.open(&body, hint()).settle(run, &kept())
}

/// Messages of a stream, one behind the other, are as responses one behind the other; the alarm ends the stream where it comes.
#[test]
fn a_stream_goes_on_from_its_run() {
    let start = settle(&Run::default(), &[message("tool", warm(0))], kept()).run;
    let texts: Vec<String> = (1..6).map(warm).collect();
    let (mut run, mut end) = (start.clone(), None);
    for (at, text) in texts.iter().enumerate() {
        let settled = whole(&run, text);
        run = settled.run;
        if settled.judgement.verdict == Verdict::Block {
            end = Some(at);
            break;
        }
    }
    assert_eq!(end, Some(2));
    let mut streamed = stream(&start, &texts);
    let noted = streamed.take_noted();
    assert!(streamed.take_noted().is_empty(), "given once");
    let outcome = streamed.outcome();
    assert_eq!((outcome.verdict, outcome.rule.as_deref(), outcome.messages), (Verdict::Block, Some("detector.persistence"), 3));
    let mut absorbed = start.clone();
    absorbed.absorb(&noted, &JUDGE, &kept());
    assert_eq!(absorbed, run);
    assert_eq!(absorbed.alarms(), 1);
    // Whatever was stored in between.
    let mut between = settle(&start, &[message("user", CLEAN)], kept()).run;
    let events = between.events();
    between.absorb(&noted, &JUDGE, &kept());
    assert_eq!(between.events(), events + 3);
    let mut caller = Caller::default();
    assert!(!caller.absorb(noted.counted(), &JUDGE, &kept()));
    assert!(caller.cusum() > 0.5);
}

/// Without a run each message is by itself, and nothing is noted.
#[test]
fn without_a_run_nothing_is_noted() {
    let mut streamed = Streamed::new(Framing::Sse, hint());
    (0..6).for_each(|at| streamed.push(&JUDGE, &write_frame(Framing::Sse, None, &result(at, &warm(at)))));
    streamed.end(&JUDGE);
    assert_eq!((streamed.outcome().verdict, streamed.take_noted().is_empty()), (Verdict::Allow, true));
}

/// A call that the stream says piece by piece and then once more as a whole counts once.
#[test]
fn a_repeated_call_counts_once() {
    let arguments = serde_json::json!({ "a": WARM }).to_string();
    let item =
        |arguments: &str| serde_json::json!({"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": arguments});
    let frames = [
        serde_json::json!({"type": "response.output_item.added", "output_index": 0, "item": item("")}),
        serde_json::json!({"type": "response.function_call_arguments.delta", "output_index": 0, "item_id": "fc", "delta": arguments}),
        serde_json::json!({"type": "response.function_call_arguments.done", "output_index": 0, "item_id": "fc", "arguments": arguments}),
        serde_json::json!({"type": "response.output_item.done", "output_index": 0, "item": item(&arguments)}),
        serde_json::json!({"type": "response.completed", "response": {"id": "r", "object": "response", "output": [item(&arguments)]}}),
    ];
    let mut streamed = Streamed::new(Framing::Sse, Hint { format: Some(Format::OpenAiResponses), ..hint() });
    streamed.within(&Run::default(), &kept());
    for frame in &frames {
        streamed.push(&JUDGE, &write_frame(Framing::Sse, None, &frame.to_string()));
    }
    streamed.end(&JUDGE);
    let mut run = Run::default();
    run.absorb(&streamed.take_noted(), &JUDGE, &kept());
    // The first time it was whole, with its name.
    assert_eq!(run.events(), 1);
    assert!(run.cusum() > 0.1 && run.cusum() < 1.0 - DETECTOR.levels.drift);
}
