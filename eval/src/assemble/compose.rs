//! One conversation: where its attack texts stand, what fills the other turns, and the messages of it.

use std::collections::BTreeSet;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::cut::cut;
use super::pool::{MAX_TURNS, MIN_TURNS, Pool, Text};
use super::{Conversation, Kind, words};
use crate::data::Split;
use crate::events::Channel;
use crate::stats::Chance;

/// Turns of a sparse conversation: one in three or four is injected.
const SPARSE_TURNS: [usize; 2] = [3, 4];

/// One user turn, and what the assistant says to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// What the user says.
    user: String,
    /// What a tool is called with and gives back to it.
    tool: Option<(&'static str, &'static str, String)>,
    /// A text stands in it in the attack's place.
    placed: bool,
    answer: &'static str,
}

/// Where texts stand in a conversation.
struct Plan {
    turns: usize,
    /// The turns with a text or a part of one, ascending.
    places: Vec<usize>,
    /// Numbers of attack texts: one for each place, or one in parts.
    texts: Vec<usize>,
}

/// The conversation `number` of `kind`; the control is made as each of the kinds `like` in turn.
pub fn conversation(pool: &Pool, split: Split, seed: u64, kind: Kind, like: &[Kind], number: usize) -> anyhow::Result<Conversation> {
    let (like, rank) = match kind {
        Kind::Control => (like[number % like.len()], number / like.len()),
        _ => (kind, number),
    };
    let leaders = pool.leaders.get(if like == Kind::SparseBenign { &Kind::SingleHit } else { &like });
    let (leading, round) = leading(leaders.map_or(&[], Vec::as_slice), seed, kind, like, rank).context("no attack text to begin with")?;
    let mut chance = chance(seed, kind, &format!("{number} of round {round}"));
    let plan = plan(pool, like, leading, &mut chance);
    let mut taken = BTreeSet::new();
    let parts = if like == Kind::Split { plan.places.len() } else { 1 };
    let mut chosen: Vec<&Text> = Vec::new();
    for &at in &plan.texts {
        let attack = &pool.attacks[at];
        chosen.push(match kind {
            Kind::Control => {
                let block = chosen.first().map(|text| text.block);
                // Where too few are left, one stands there twice.
                let found = pool
                    .like(attack, parts, block, &mut chance, &mut taken)
                    .or_else(|| pool.like(attack, parts, block, &mut chance, &mut BTreeSet::new()));
                &pool.benign
                    [found.context("no benign text can stand in the place of the attack text; add some of its length and channel")?]
            }
            _ => attack,
        });
    }
    let first = *chosen.first().context("a conversation without a text")?;
    let pieces: Vec<String> = match like {
        Kind::Split => {
            cut(&first.text, parts).context("a text that cannot be cut")?.into_iter().map(|piece| piece.trim().to_owned()).collect()
        }
        _ => chosen.iter().map(|text| text.text.clone()).collect(),
    };
    let unit = match kind {
        Kind::Persistent | Kind::Escalating => pool.blocks[first.block].unit.clone(),
        // Made as all of them, so all have the joint unit: texts of one unit would stand in several else.
        Kind::Control => pool.benign_blocks[first.block].unit.clone(),
        _ => first.unit.clone(),
    };
    let mut fillers = fillers(pool, plan.turns, &taken, &mut chance).into_iter();
    let mut pieces = pieces.into_iter();
    let mut turns = Vec::new();
    for turn in 0..plan.turns {
        let filler = fillers.next().context("too few benign turns")?;
        let piece = if plan.places.contains(&turn) { pieces.next() } else { None };
        let placed = piece.is_some();
        let (user, tool) = match piece {
            Some(piece) if first.channel == Channel::ToolResult => {
                let (tool, arguments) = words::call(&mut chance);
                (filler, Some((tool, arguments, piece)))
            }
            Some(piece) => (piece, None),
            None => (filler, None),
        };
        turns.push(Turn { user, tool, placed, answer: words::answer(&mut chance) });
    }
    Ok(Conversation { kind, number, split, source: first.source.clone(), unit, turns })
}

/// The draws of one conversation, or of what conversations of a kind share.
fn chance(seed: u64, kind: Kind, what: &str) -> Chance {
    let name = format!("{seed} {} {what}", kind.name());
    let mut start = [0; 8];
    start.copy_from_slice(&blake3::hash(name.as_bytes()).as_bytes()[..8]);
    Chance::new(u64::from_le_bytes(start))
}

/// The attack text that a conversation is made around, and in which round: every text leads one before any leads a second.
fn leading(leaders: &[usize], seed: u64, kind: Kind, like: Kind, rank: usize) -> Option<(usize, usize)> {
    let mut leaders = leaders.to_vec();
    let round = rank.checked_div(leaders.len())?;
    chance(seed, kind, &format!("round {round} like {}", like.name())).shuffle(&mut leaders);
    leaders.get(rank % leaders.len()).map(|&at| (at, round))
}

/// Chooses the turns and the attack texts of a conversation of this kind around the text `leading`.
fn plan(pool: &Pool, kind: Kind, leading: usize, chance: &mut Chance) -> Plan {
    let mut turns = MIN_TURNS + chance.below(MAX_TURNS - MIN_TURNS + 1);
    let text = &pool.attacks[leading];
    let block = &pool.blocks[text.block].texts;
    let others: Vec<usize> = block.iter().copied().filter(|&other| other != leading).collect();
    let places: Vec<usize> = match kind {
        Kind::Persistent => {
            turns = turns.min(block.len() + 1);
            let spared = if turns > block.len() || chance.below(2) == 0 { Some(chance.below(turns)) } else { None };
            (0..turns).filter(|turn| Some(*turn) != spared).collect()
        }
        Kind::Escalating => {
            // The benign half is the smaller one where the number is odd, so that several attack texts follow it.
            while turns - turns / 2 > block.len() {
                turns -= 1;
            }
            (turns / 2..turns).collect()
        }
        Kind::Split => {
            let most = (turns - 1).min(text.most_parts);
            let parts = 2 + chance.below(most - 1);
            let from = chance.below(turns - parts + 1);
            (from..from + parts).collect()
        }
        Kind::SparseBenign => {
            turns = SPARSE_TURNS[chance.below(SPARSE_TURNS.len())];
            vec![chance.below(turns)]
        }
        Kind::SingleHit | Kind::Control => vec![chance.below(turns)],
    };
    let needed = if kind == Kind::Split { 1 } else { places.len() };
    let mut texts = chance.some(others, needed - 1);
    texts.insert(0, leading);
    chance.shuffle(&mut texts);
    Plan { turns, places, texts }
}

/// What the user says in turns without an attack: turns of one benign conversation as they follow each other, or, every other time, benign single texts.
fn fillers(pool: &Pool, turns: usize, taken: &BTreeSet<usize>, chance: &mut Chance) -> Vec<String> {
    let free = pool.benign.iter().enumerate().filter(|(at, text)| text.single && text.channel == Channel::User && !taken.contains(at));
    let texts: Vec<usize> = free.map(|(at, _)| at).collect();
    let chats: Vec<&Vec<String>> = pool.chats.iter().filter(|chat| chat.len() >= turns).collect();
    let from_chat = texts.len() < turns || (!chats.is_empty() && chance.below(2) == 0);
    if from_chat && !chats.is_empty() {
        let chat = chats[chance.below(chats.len())];
        let from = chance.below(chat.len() - turns + 1);
        return chat[from..from + turns].to_vec();
    }
    chance.some(texts, turns).into_iter().map(|at| pool.benign[at].text.clone()).collect()
}

/// The messages, and the numbers of those that a text stands in in the attack's place. The last answer is left out: the conversation ends where the model is asked.
pub fn messages(turns: &[Turn]) -> (Vec<Value>, Vec<usize>) {
    let (mut messages, mut placed) = (Vec::new(), Vec::new());
    for (number, turn) in turns.iter().enumerate() {
        messages.push(json!({"role": "user", "content": turn.user}));
        if let Some((tool, arguments, result)) = &turn.tool {
            messages.push(json!({"role": "assistant", "content": "", "tool_calls": [{"name": tool, "arguments": arguments}]}));
            messages.push(json!({"role": "tool", "name": tool, "content": result}));
        }
        if turn.placed {
            placed.push(messages.len() - 1);
        }
        if number + 1 < turns.len() {
            messages.push(json!({"role": "assistant", "content": turn.answer}));
        }
    }
    (messages, placed)
}
