//! The same in streams: the text may come in several messages, and is found on its channel once it is whole.

use std::collections::BTreeMap;

use floodmark_core::wire::{Channel, Format};
use floodmark_core::{Hint, Judge, Policy, RuleUse, Streamed, Verdict};
use floodmark_tables::PATTERNS;

use serde_json::json;

use super::neighbours::{add_last, around};
use super::places::{ATTACK, Body, files, pieces};

const CHANNELS: [Channel; 9] = [
    Channel::System,
    Channel::User,
    Channel::Assistant,
    Channel::ToolResult,
    Channel::ToolCall,
    Channel::ToolDefinition,
    Channel::Prompt,
    Channel::Resource,
    Channel::Other,
];

/// Any hit blocks; exemption `i` covers every channel but number `i`.
fn judge() -> Judge<'static> {
    let rules = BTreeMap::from([("instruction_seeding".to_owned(), RuleUse::Block)]);
    let mut judge = Judge::new(&Policy { rules, ..Policy::default() }, &PATTERNS).expect("a valid policy");
    for channel in CHANNELS {
        let others: Vec<Channel> = CHANNELS.into_iter().filter(|other| *other != channel).collect();
        judge.exempt(&[], &others).expect("a valid exemption");
    }
    judge
}

fn streams() -> impl Iterator<Item = (Format, Body)> {
    files().into_iter().flat_map(|file| {
        let format = file.format();
        file.bodies.into_iter().filter(|body| body.framing.is_some()).map(move |body| (format, body))
    })
}

/// The stream of these frames, with exemption number `exempt`, if any.
fn streamed(judge: &Judge<'_>, format: Format, body: &Body, frames: &[Vec<u8>], exempt: Option<usize>) -> Streamed {
    let hint = Hint { format: Some(format), ai_path: true, exemptions: exempt.map_or(0, |exempt| 1 << exempt), ..Hint::default() };
    let mut streamed = Streamed::new(body.framing().expect("a stream"), hint);
    frames.iter().for_each(|frame| streamed.push(judge, frame));
    streamed.end(judge);
    streamed
}

#[test]
fn the_streams_as_they_stand_pass() {
    let judge = judge();
    for (format, body) in streams() {
        let streamed = streamed(&judge, format, &body, &body.frames(&body.body), None);
        let outcome = streamed.outcome();
        let issues: Vec<&str> = outcome.issues.kinds().map(|kind| kind.name()).collect();
        assert_eq!((outcome.verdict, outcome.format), (Verdict::Allow, format), "{}: {outcome:?}", body.name);
        assert_eq!(issues, body.issues, "{}", body.name);
    }
}

#[test]
fn an_attack_at_each_position_of_a_stream_is_found_on_its_channel() {
    let judge = judge();
    let (mut wrong, mut tried) = (Vec::new(), 0);
    for (format, body) in streams() {
        for (position, expected) in &body.positions {
            let frames = body.frames(&body.with(position, ATTACK));
            let channels = (0..CHANNELS.len()).filter(|exempt| {
                let streamed = streamed(&judge, format, &body, &frames, Some(*exempt));
                streamed.outcome().verdict == Verdict::Block
            });
            let channels: Vec<&str> = channels.map(|number| CHANNELS[number].name()).collect();
            let what = format!("{}, {}, {position}", format.name(), body.name);
            if channels != [expected.channel.as_str()] {
                wrong.push(format!("{what}: {channels:?}, not {}", expected.channel));
            }
            // Nothing of a call may have passed, of a text its last piece.
            let last = pieces(position, ATTACK).iter().map(|(pointer, _)| pointer.split('/').nth(1).and_then(|at| at.parse().ok())).max();
            let last: usize = last.flatten().expect("the number of a message");
            let before: usize = frames.iter().take(last).map(Vec::len).sum();
            let at = streamed(&judge, format, &body, &frames, None).blocked_at();
            let text = expected.channel == "assistant";
            if at.is_none_or(|at| at > before as u64 && !text) {
                wrong.push(format!("{what}: blocked at {at:?}, and the last piece is at {before}"));
            }
            tried += 1;
        }
    }
    assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(tried > 40, "only {tried} positions");
}

#[test]
fn unknown_keys_beside_each_position_of_a_stream_are_read() {
    let judge = judge();
    let (mut wrong, mut tried) = (Vec::new(), 0);
    for (format, body) in streams() {
        for pointer in body.positions.keys().flat_map(|position| position.split(' ')) {
            // Of an AWS frame the outermost object is the frame's, of all the list of messages.
            let frame = if body.framing.as_deref() == Some("aws_event_stream") { 2 } else { 1 };
            for outer in around(pointer).filter(|outer| outer.matches('/').count() >= frame) {
                let mut value = body.body.clone();
                if add_last(&mut value, outer, "~x", &json!([{"a": ATTACK}])) {
                    tried += 1;
                    let streamed = streamed(&judge, format, &body, &body.frames(&value), None);
                    if streamed.outcome().verdict != Verdict::Block {
                        wrong.push(format!("{}, {}: in {outer}", format.name(), body.name));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(tried > 300, "only {tried}");
}
