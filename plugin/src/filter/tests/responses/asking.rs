//! A response whose verdict is `ask` does not pass: nobody can approve what a model said already.

use floodmark_core::wire::{Framing, write_frame};

use super::*;

const ASKING: &str = r#"{"mode":"enforce","policy":{"rules":{"instruction_seeding":"ask"}}}"#;

#[test]
fn a_whole_one_gives_way_to_a_refusal() {
    let (host, got) = exchange(ASKING, JSON, &[&completion(ATTACK)], End::Said);
    let body = String::from_utf8(got.body).expect("UTF-8");
    assert!(body.contains("Response blocked by the gateway's policy") && !body.contains(ATTACK), "{body}");
    assert_eq!((host.state("floodmark.response_verdict").as_str(), counted(&host, "blocked")), ("ask", 1));
    assert!(host.state("floodmark.approval").is_empty());
}

#[test]
fn a_stream_ends_before_it() {
    let frame = |text: &str| {
        let delta = serde_json::json!({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]});
        write_frame(Framing::Sse, None, &delta.to_string())
    };
    let sse = &[(":status", "200"), ("content-type", "text/event-stream")];
    for hold in ["none", "all"] {
        let settings = ASKING.replacen('{', &format!(r#"{{"responses":{{"hold":"{hold}"}},"#), 1);
        let frames = [frame(CALM), frame(ATTACK), b"data: [DONE]\n\n".to_vec()];
        let (host, got) = exchange(&settings, sse, &frames.iter().map(Vec::as_slice).collect::<Vec<_>>(), End::Said);
        let body = String::from_utf8(got.body).expect("UTF-8");
        assert!(body.contains("floodmark_blocked") && body.contains("[DONE]"), "{hold}: {body}");
        assert!(hold == "none" || !body.contains(ATTACK), "{hold}: {body}");
        assert_eq!((host.state("floodmark.response_verdict").as_str(), counted(&host, "blocked")), ("ask", 1), "{hold}");
    }
}
