//! The texts of a body as the judgement sees them, so that the page can show hits in place without a parser of its own.
use floodmark_core::wire::{self, Body};
use serde::Serialize;

/// One text.
#[derive(Debug, PartialEq, Serialize)]
pub struct EventText {
    /// 0-based index in the wire's message list; null outside it.
    message: Option<u32>,
    /// Where it came from: `user`, `tool_result`, `system` and so on.
    channel: &'static str,
    /// Whether it is a turn, that is counts in the score.
    turn: bool,
    /// Spans of the report's reasons are byte ranges in its UTF-8.
    text: String,
}

/// The texts of a body, in wire order.
pub fn events(body: &str) -> Vec<EventText> {
    let body = Body::new(body.as_bytes());
    let document = wire::read(&body, None, wire::Direction::Request);
    let event = |event: wire::Event<'_>| EventText {
        message: event.message,
        channel: event.channel.name(),
        turn: event.channel.is_turn(),
        text: event.text.into_owned(),
    };
    document.events.into_iter().map(event).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_each_text_with_its_place() {
        let body = r#"{"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Caf\u00e9?"},
            {"role":"assistant","content":"Yes."},{"role":"tool","tool_call_id":"call_1","content":"found"}]}"#;
        let found: Vec<_> = events(body).into_iter().map(|event| (event.message, event.channel, event.turn, event.text)).collect();
        let expected = [
            (Some(0), "system", false, "Be brief."),
            (Some(1), "user", true, "Caf\u{e9}?"),
            (Some(2), "assistant", false, "Yes."),
            (Some(3), "tool_result", true, "found"),
        ];
        assert_eq!(found, expected.map(|(message, channel, turn, text)| (message, channel, turn, text.to_owned())));
    }

    #[test]
    fn keeps_what_was_read_of_a_broken_body() {
        let found = events(r#"{"messages":[{"role":"user","content":"before the break"},"#);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].text, "before the break");
    }
}
