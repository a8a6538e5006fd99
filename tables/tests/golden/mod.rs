//! The golden scores: what the trainer's detector gave for some texts, bodies that hold them, and the scores that a report says.

use serde_json::{Value, json};

/// A body and the score of each text in it, in wire order.
pub struct Case {
    pub body: String,
    pub scores: Vec<f64>,
}

/// Each text as a user's message, then each with the next one behind it as a tool's result.
pub fn cases() -> Vec<Case> {
    let golden: Vec<(Value, f64)> = include_str!("../../../testdata/detector/golden.jsonl").lines().map(read).collect();
    let user = |text: &Value| json!({"role": "user", "content": text});
    let alone = golden.iter().map(|(text, score)| Case { body: body(&[user(text)]), scores: vec![*score] });
    let pairs = golden.windows(2).map(|pair| {
        let result = json!({"role": "tool", "tool_call_id": "c", "content": pair[1].0});
        Case { body: body(&[user(&pair[0].0), result]), scores: pair.iter().map(|(_, score)| *score).collect() }
    });
    alone.chain(pairs).collect()
}

fn body(messages: &[Value]) -> String {
    json!({"model": "any", "messages": messages}).to_string()
}

/// The score is read from the line's own characters: serde_json may read a number's last digit wrong.
fn read(line: &str) -> (Value, f64) {
    let value: Value = serde_json::from_str(line).expect("a line of JSON");
    let number = line.strip_suffix('}').and_then(|line| line.rsplit_once(r#","score":"#)).expect("the score comes last").1;
    (value["text"].clone(), number.parse().expect("a number"))
}

/// The detector's scores as a report spells them, to the last bit.
#[allow(dead_code, reason = "native tests have the numbers themselves")]
pub fn scores(report: &str) -> Vec<f64> {
    let detector = report.split_once(r#""detector":{"#).expect("the detector was asked").1;
    let list = detector.split_once(r#""scores":["#).and_then(|(_, rest)| rest.split_once(']')).expect("a list of scores").0;
    list.split(',').map(|number| number.parse().expect("a number")).collect()
}
