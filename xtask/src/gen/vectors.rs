//! Expands the oracle cases, which only name categories, to conversations with real text that every engine can run.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::{Context as _, Result, ensure};
use floodmark_core::limits::RESAMPLING_MIN_TOKENS;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::compiled::Compiled;
use super::verify;

/// Turns that hit nothing. Too short for the resampling check, whatever stands beside them.
const FILLER: [&str; 16] = [
    "Thanks, that answers my question.",
    "Which train gets me to the office before nine?",
    "Please shorten the second paragraph a little.",
    "How long should rice rest after cooking?",
    "The invoice number is 20417 and the total is 96.40.",
    "Can the chart use blue for the northern region?",
    "What is the difference between a mutex and a semaphore?",
    "Translate this menu into Portuguese for me.",
    "I think the meeting moved to Thursday afternoon.",
    "Sort the list by surname and remove the blanks.",
    "Weather: 14 degrees, light rain until noon.",
    "Could we plant the tomatoes in March already?",
    "{\"status\":\"ok\",\"rows\":3}",
    "The build took four minutes and all checks are green.",
    "Remind me what we agreed on for the logo.",
    "Sounds good, let us go with the smaller one.",
];

#[derive(Deserialize)]
struct Vectors {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    turns: Vec<Turn>,
    expect: Expect,
}

#[derive(Deserialize)]
struct Turn {
    role: String,
    categories: Vec<String>,
    text: Option<String>,
}

/// Raw, so that the numbers are copied as they were written.
#[derive(Deserialize)]
struct Expect {
    turn_scores: Box<RawValue>,
    score: Box<RawValue>,
    verdict: Box<RawValue>,
}

/// One JSON object a line for each case of `vectors`, the text of the file `path`: `{"id","messages","expect":{"verdict","score","turn_scores"}}`.
///
/// # Errors
/// The case and turn whose text would not hit exactly the categories it names.
pub fn expand(path: &str, vectors: &str, compiled: &Compiled) -> Result<String> {
    let vectors: Vectors = serde_json::from_str(vectors).with_context(|| path.to_owned())?;
    let writer = Writer::new(compiled);
    let mut out = String::new();
    for (number, case) in vectors.cases.iter().enumerate() {
        let mut messages = Vec::new();
        for (at, turn) in case.turns.iter().enumerate() {
            let place = || format!("{path}: case {:?}, turn {at}", case.name);
            let content = serde_json::to_string(&writer.content(turn, number, at).with_context(place)?)?;
            let call = if turn.role == "tool" { format!("\"tool_call_id\":\"call_{at}\",") } else { String::new() };
            let role = serde_json::to_string(&turn.role)?;
            messages.push(format!("{{\"role\":{role},{call}\"content\":{content}}}"));
        }
        let id = serde_json::to_string(&case.name)?;
        let (verdict, score, turn_scores) = (tight(&case.expect.verdict), tight(&case.expect.score), tight(&case.expect.turn_scores));
        let expect = format!("{{\"verdict\":{verdict},\"score\":{score},\"turn_scores\":{turn_scores}}}");
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{{\"id\":{id},\"messages\":[{}],\"expect\":{expect}}}", messages.join(","));
    }
    Ok(out)
}

/// Numbers and words without the white space of the source.
fn tight(value: &RawValue) -> String {
    value.get().split_whitespace().collect()
}

/// Knows which lines of the rules speak for one category only.
struct Writer<'c> {
    compiled: &'c Compiled,
    /// By category, in the order of the rules.
    lines: Vec<(&'c str, Vec<&'c str>)>,
}

impl<'c> Writer<'c> {
    fn new(compiled: &'c Compiled) -> Self {
        let lines = |category| verify::own_lines(compiled, category);
        let lines = compiled.categories.iter().map(|category| (category.name.as_str(), lines(category))).collect();
        Writer { compiled, lines }
    }

    /// The text of turn `at` of case `number`.
    fn content(&self, turn: &Turn, number: usize, at: usize) -> Result<String> {
        let mut parts: Vec<&str> = turn.text.as_deref().into_iter().collect();
        for (place, name) in turn.categories.iter().enumerate() {
            let lines = self.lines.iter().find(|(category, _)| category == name);
            let (_, lines) = lines.with_context(|| format!("no rules for category {name:?}"))?;
            parts.push(pick(lines, number + at + place).with_context(|| format!("no line for category {name:?}"))?);
        }
        if parts.is_empty() {
            parts.extend(pick(&FILLER, number * 5 + at));
        }
        let content = parts.join("\n");
        let wanted: BTreeSet<_> = turn.categories.iter().map(String::as_str).collect();
        let hits = verify::hits(self.compiled, &content);
        let found: BTreeSet<_> = hits.iter().filter_map(|id| id.split('.').next()).collect();
        ensure!(found == wanted, "{content:?} hits {hits:?}: change a must_match line or a pattern");
        let filler = turn.categories.is_empty() && turn.text.is_none();
        ensure!(!filler || content.split_whitespace().count() < RESAMPLING_MIN_TOKENS, "filler is too long: {content:?}");
        Ok(content)
    }
}

fn pick<'l>(lines: &[&'l str], number: usize) -> Option<&'l str> {
    lines.get(number % lines.len().max(1)).copied()
}
