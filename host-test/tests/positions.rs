//! An attack at every position of every request, through the built plugin: the same channel and turn as the core finds, on each format's path.

#[path = "../../tables/tests/positions/places.rs"]
mod places;
mod support;

use floodmark_core::wire::Direction;
use floodmark_host::emulator::Request;
use places::{ATTACK, files};
use serde_json::{Value, json};
use support::ways;

/// Any hit blocks, wherever it is.
const CONFIG: &str = r#"{"version":1,"defaults":{"policy":{"rules":{"instruction_seeding":"block"}}}}"#;

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
