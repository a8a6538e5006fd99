//! An attack at every position of every request, response and stream, through the built plugin: the same channel as the core finds, on each format's path.

#[path = "../../tables/tests/positions/places.rs"]
mod places;
mod support;

use floodmark_core::wire::{Direction, Framing};
use floodmark_host::emulator::{Gateway, Options, Request, UpstreamReply};
use places::{ATTACK, Body, files};
use serde_json::{Value, json};
use support::{plugin, runtimes, ways};

/// Any hit of a pattern blocks, wherever it is; the detector, which scores a text and what stands beside it, says nothing of one position.
const CONFIG: &str = r#"{"version":1,"defaults":{"policy":{"rules":{"instruction_seeding":"block","detector":"off"}}}}"#;

#[test]
fn the_plugin_finds_each_position_where_it_is() {
    for (name, mut way) in ways(CONFIG) {
        let (mut wrong, mut tried) = (Vec::new(), 0);
        for file in files() {
            for body in file.bodies.iter().filter(|body| body.framing.is_none() && body.direction() == Direction::Request) {
                for (position, expected) in &body.positions {
                    let request = Request::post_json(&body.path, body.bytes(&body.with(position, ATTACK)));
                    let report = way.judge(&request).expect("the plugin lives").unwrap_or_else(|unread| panic!("{}: {unread}", body.name));
                    let report: Value = serde_json::from_str(&report).expect("a report");
                    let reasons: Vec<Value> = report["reasons"].as_array().expect("reasons").iter().map(place).collect();
                    let expect = json!([expected.channel, expected.message]);
                    if report["verdict"] != "block" || reasons != [expect.clone()] {
                        wrong.push(format!("{}, {}, {position}: {reasons:?}, not {expect}", file.format, body.name));
                    }
                    tried += 1;
                }
            }
        }
        assert!(wrong.is_empty(), "{name}, {} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
        assert!(tried > 300, "only {tried} positions");
    }
}

fn place(reason: &Value) -> Value {
    json!([reason["channel"], reason["turn"]])
}

const CHANNELS: [&str; 9] = ["system", "user", "assistant", "tool_result", "tool_call", "tool_definition", "prompt", "resource", "other"];

/// Any hit blocks, but on `exempt` channels.
fn with_exempt(exempt: &[&str]) -> String {
    let policy = json!({"rules": {"instruction_seeding": "block", "detector": "off"}});
    json!({"version": 1, "defaults": {"policy": policy, "exemptions": [{"reason": "to tell channels", "channels": exempt}]}}).to_string()
}

/// The same in responses and streams: no report says their channels, so a hit blocks with all channels exempt but its own, and not with its own.
#[test]
fn the_plugin_finds_each_position_of_a_response_on_its_channel() {
    let files = files();
    for engine in runtimes() {
        let (mut wrong, mut tried) = (Vec::new(), 0);
        let wasm = plugin();
        for channel in CHANNELS {
            let others: Vec<&str> = CHANNELS.into_iter().filter(|other| *other != channel).collect();
            let start = |exempt: &[&str]| Gateway::start(&wasm, &with_exempt(exempt), Options { engine, ..Options::default() });
            let (mut on, mut off) = (start(&others).expect("a valid configuration"), start(&[channel]).expect("a valid configuration"));
            for file in &files {
                let calm = file.bodies.iter().find(|body| body.direction() == Direction::Request).expect("a request");
                for body in file.bodies.iter().filter(|body| body.direction() == Direction::Response) {
                    let request = Request::post_json(&body.path, calm.bytes(&calm.body));
                    for (position, _) in body.positions.iter().filter(|(_, expected)| expected.channel == channel) {
                        let blocks = |gateway: &mut Gateway| {
                            let exchange = gateway.exchange(&request, &reply(body, position)).expect("the plugin lives");
                            gateway.take_logs();
                            exchange.state("floodmark.response_verdict") == Some("block")
                        };
                        if !blocks(&mut on) || blocks(&mut off) {
                            wrong.push(format!("{}, {}, {position}: not on {channel} alone", file.format, body.name));
                        }
                        tried += 1;
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{engine:?}, {} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
        assert!(tried > 200, "only {tried}");
    }
}

/// The upstream's answer, in the pieces that a stream has.
fn reply(body: &Body, position: &str) -> UpstreamReply {
    let value = body.with(position, ATTACK);
    let kind = match body.framing() {
        None => return UpstreamReply::json(200, String::from_utf8(body.bytes(&value)).expect("text")),
        Some(Framing::Sse) => "text/event-stream",
        Some(Framing::JsonLines) => "application/x-ndjson",
        Some(Framing::AwsEventStream) => "application/vnd.amazon.eventstream",
    };
    let mut reply = UpstreamReply::json(200, "");
    reply.headers.set("content-type", kind);
    reply.chunks(body.frames(&value))
}
