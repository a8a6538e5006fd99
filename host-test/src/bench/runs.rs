//! What a run's state saves and costs: a new turn on a long history that is sent again, beside the parts that it cannot be cheaper than.

use std::hint::black_box;

use anyhow::ensure;
use floodmark_core::run::{Caller, Context, History, Run, RunKey};
use floodmark_core::wire::{Direction, read};
use floodmark_core::{Hint, Judge};
use serde_json::{Value, json};

use super::body::{Kind, chat};
use super::line::Line;
use super::native::judge;
use super::stats::{Samples, time_of};

/// Messages of the history.
const TURNS: usize = 100;
/// Of a body whose messages are some 400 bytes long, and enough of them.
const SOURCE_BYTES: usize = 65536;

static KEY: RunKey = RunKey::new([9; 16]);

/// All lines.
///
/// # Errors
/// When the shipped policy is not valid, or a body is judged as it should not be.
pub fn measure(samples: Samples) -> anyhow::Result<Vec<Line>> {
    let judge = judge()?;
    let context = Context {
        key: &KEY,
        history: History::Resent,
        fallback: false,
        unseen_assistant: false,
        refuses: true,
        half_life_ms: 3_600_000,
        now_ms: 1,
        approved: None,
    };
    let messages = messages()?;
    let (history, all, new) = (body(&messages[..TURNS]), body(&messages[..=TURNS]), body(&messages[TURNS..=TURNS]));
    let before = settled(&judge, &Run::default(), &history, &context).encode();
    ensure!(looked_at(&judge, &Run::decode(&before).unwrap_or_default(), &all, &context) == 1, "more than the new turn was looked at");
    let line = |what: &str, seconds: f64| Line::new(format!("native, 100 turns and a new one: {what}"), seconds * 1e6, "us");
    let with_state = time_of(samples, || {
        let run = Run::decode(black_box(&before)).unwrap_or_default();
        black_box(settled(&judge, &run, black_box(&all), &context).encode());
    });
    let stateless = time_of(samples, || {
        black_box(judge.judge(black_box(all.as_bytes()), Hint::default()));
    });
    let reading = time_of(samples, || {
        black_box(read(&Hint::default().body(black_box(all.as_bytes())), None, Direction::Request));
    });
    let new_turn = time_of(samples, || {
        black_box(judge.judge(black_box(new.as_bytes()), Hint::default()));
    });
    Ok(vec![
        line("with state", with_state),
        line("stateless", stateless),
        line("reading alone", reading),
        line("the new turn alone", new_turn),
        line("run's record, read and written", record(&before, samples)),
        line("caller's record, read, added to and written", caller(&judge, &new, &context, samples)),
    ])
}

fn record(run: &[u8], samples: Samples) -> f64 {
    time_of(samples, || {
        black_box(Run::decode(black_box(run)).unwrap_or_default().encode());
    })
}

fn caller(judge: &Judge<'_>, body: &str, context: &Context<'_>, samples: Samples) -> f64 {
    let text = Hint::default().body(body.as_bytes());
    let settled = judge.open(&text, Hint::default()).settle(&Run::default(), context);
    let stored = Caller::default().encode();
    time_of(samples, || {
        let mut caller = Caller::decode(black_box(&stored)).unwrap_or_default();
        black_box(caller.absorb(&settled.counted, judge, context));
        black_box(caller.encode());
    })
}

fn settled(judge: &Judge<'_>, run: &Run, body: &str, context: &Context<'_>) -> Run {
    let text = Hint::default().body(body.as_bytes());
    judge.open(&text, Hint::default()).settle(run, context).run
}

fn looked_at(judge: &Judge<'_>, run: &Run, body: &str, context: &Context<'_>) -> usize {
    let text = Hint::default().body(body.as_bytes());
    let mut opened = judge.open(&text, Hint::default());
    opened.settle(run, context);
    opened.looked_at()
}

/// Messages of users and the assistant in turn, each in words of its own.
fn messages() -> anyhow::Result<Vec<Value>> {
    let body: Value = serde_json::from_str(&chat(Kind::Benign, SOURCE_BYTES))?;
    let list = body["messages"].as_array().into_iter().flatten().take(TURNS + 1).enumerate();
    let messages: Vec<Value> = list
        .map(|(at, message)| json!({"role": message["role"], "content": format!("{at}. {}", message["content"].as_str().unwrap_or_default())}))
        .collect();
    ensure!(messages.len() == TURNS + 1, "the bench's body holds {} messages", messages.len());
    Ok(messages)
}

fn body(messages: &[Value]) -> String {
    json!({"model": "bench", "messages": messages}).to_string()
}
