//! One attack text at every position of every format that can hold text: it is found there, with the right channel, role and turn.

mod anywhere;
mod covered;
mod neighbours;
mod places;
mod streams;

use std::collections::BTreeMap;

use floodmark_core::wire::{self, Body as Text, Direction, Effect, Format};
use floodmark_core::{Hint, Judge, Policy, RuleUse, Verdict};
use floodmark_tables::PATTERNS;
use places::{ATTACK, Body, files};

/// Any hit blocks, wherever it is.
fn judge() -> Judge<'static> {
    let rules = BTreeMap::from([("instruction_seeding".to_owned(), RuleUse::Block)]);
    Judge::new(&Policy { rules, ..Policy::default() }, &PATTERNS).expect("a valid policy")
}

/// Which events of a body hold the attack, as `channel role message`.
fn found(bytes: &[u8], direction: Direction, hint: Option<Format>) -> Vec<String> {
    let text = Text::new(bytes);
    let document = wire::read(&text, hint, direction);
    let mut found = Vec::new();
    for event in document.events.iter().filter(|event| event.text.contains(ATTACK)) {
        let role = event.role.map_or("-".to_owned(), |role| format!("{role:?}").to_lowercase());
        let message = event.message.map_or("-".to_owned(), |message| message.to_string());
        found.push(format!("{} {role} {message}", event.channel.name()));
    }
    found
}

fn whole() -> impl Iterator<Item = (Format, Body)> {
    let all = files().into_iter().flat_map(|file| {
        let format = file.format();
        file.bodies.into_iter().map(move |body| (format, body))
    });
    all.filter(|(_, body)| body.framing.is_none())
}

#[test]
fn the_bodies_as_they_stand_are_told_by_what_they_hold_and_pass() {
    let judge = judge();
    let mut wrong = Vec::new();
    for (format, body) in whole() {
        let bytes = body.bytes(&body.body);
        let hint = Hint { direction: body.direction(), format: body.hinted.then_some(format), ai_path: true, ..Hint::default() };
        let judged = judge.judge(&bytes, hint);
        let mut issues: Vec<&str> = judged.issues.as_slice().iter().map(|issue| issue.kind.name()).collect();
        let mut expected = body.issues.clone();
        issues.sort_unstable();
        expected.sort_unstable();
        let odd = judged.issues.worst().is_some_and(|issue| issue.kind.effect() != Effect::Note);
        if judged.format != format || judged.verdict != Verdict::Allow || issues != expected || odd {
            wrong.push(format!("{}, {}: {:?} {:?} {issues:?}", format.name(), body.name, judged.format, judged.verdict));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_attack_at_each_position_is_found_there() {
    let judge = judge();
    let (mut wrong, mut tried) = (Vec::new(), 0);
    for (format, body) in whole() {
        for (position, expected) in &body.positions {
            let bytes = body.bytes(&body.with(position, ATTACK));
            let what = format!("{}, {}, {position}", format.name(), body.name);
            let word = |word: &Option<String>| word.clone().unwrap_or("-".to_owned());
            let message = expected.message.map(|message| message.to_string());
            let expect = format!("{} {} {}", expected.channel, word(&expected.role), word(&message));
            let seen = found(&bytes, body.direction(), Some(format));
            if seen != [expect.clone()] {
                wrong.push(format!("{what}: {seen:?}, not {expect}"));
            }
            let hint = Hint { direction: body.direction(), format: Some(format), ai_path: true, ..Hint::default() };
            let judged = judge.judge(&bytes, hint);
            let reasons: Vec<_> = judged.reasons.iter().map(|reason| (reason.channel.map(|channel| channel.name()), reason.turn)).collect();
            if judged.verdict != Verdict::Block || reasons != [(Some(expected.channel.as_str()), expected.message)] {
                wrong.push(format!("{what}: {:?} {reasons:?}, not {expect}", judged.verdict));
            }
            tried += 1;
        }
    }
    assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(tried > 300, "only {tried} positions");
}
