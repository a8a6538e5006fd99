//! The texts that conversations are assembled from: attack texts with their units, benign texts of all lengths, and user turns of benign conversations.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use super::Kind;
use super::cut::cut;
use crate::data::{self, Label, OnBroken, Record, Split, unit};
use crate::events::{self, Channel, of_record};
use crate::stats::Chance;

/// Parts that a text is cut into at most.
const MAX_PARTS: usize = 4;
/// Left out: its attack texts are whole documents with mostly harmless questions in the wrong place ("What is the capital of Brazil?"), which a reader of texts
/// should not find, so they would measure the carriers.
const LEFT_OUT: [&str; 1] = ["bipia"];
/// Fewest turns of a conversation.
pub const MIN_TURNS: usize = 3;
/// Most turns of a conversation, and of attack texts that one needs.
pub const MAX_TURNS: usize = 6;
/// Attack texts, benign texts and benign conversations that are kept at most, each; of more, some by chance.
const MOST: usize = 6000;

/// A single text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    pub text: String,
    pub channel: Channel,
    /// Set and source.
    pub source: String,
    pub unit: String,
    /// Number of its joint unit among [`Pool::blocks`], of attack texts.
    pub block: usize,
    /// It is a record of its own, not a turn of a conversation.
    pub single: bool,
    /// Most parts that it can be cut into, with all smaller numbers; 1 of a text that cannot be cut.
    pub most_parts: usize,
    doublings: u32,
}

impl Text {
    fn new(text: String, channel: Channel, source: String, unit: String, single: bool) -> Self {
        let doublings = doublings(&text);
        let most_parts = (2..=MAX_PARTS).take_while(|&parts| cut(&text, parts).is_some()).last().unwrap_or(1);
        Text { text, channel, source, unit, block: 0, single, most_parts, doublings }
    }
}

/// Attack texts that conversations with several of them take theirs from: a unit, or units of one source that hold few texts each, put together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Numbers among [`Pool::attacks`].
    pub texts: Vec<usize>,
    /// The names of its units.
    pub unit: String,
}

/// All texts of one part of the data.
#[derive(Debug, Default)]
pub struct Pool {
    pub attacks: Vec<Text>,
    pub blocks: Vec<Block>,
    /// Single texts and turns of the conversations, each once; by length, short ones first.
    pub benign: Vec<Text>,
    /// User turns of each benign conversation.
    pub chats: Vec<Vec<String>>,
    /// The attack texts that conversations of each kind of attack can be made around.
    pub leaders: BTreeMap<Kind, Vec<usize>>,
    /// What is not there but needed.
    pub missing: Option<String>,
}

impl fmt::Display for Pool {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units: BTreeSet<&str> = self.attacks.iter().map(|text| text.unit.as_str()).collect();
        let Pool { attacks, blocks, benign, chats, .. } = self;
        let benign = benign.iter().filter(|text| text.single).count();
        let (attacks, blocks, chats, units) = (attacks.len(), blocks.len(), chats.len(), units.len());
        write!(to, "{attacks} attack texts in {units} units ({blocks} joint ones), {benign} benign texts and {chats} benign conversations")
    }
}

/// Keeps at most [`MOST`] of what it is given, each as likely as the others.
struct Kept<T> {
    kept: Vec<T>,
    seen: usize,
    chance: Chance,
}

impl<T> Kept<T> {
    fn new(seed: u64) -> Self {
        Kept { kept: Vec::new(), seen: 0, chance: Chance::new(seed) }
    }

    fn offer(&mut self, thing: T) {
        self.seen += 1;
        if self.kept.len() < MOST {
            self.kept.push(thing);
            return;
        }
        let at = self.chance.below(self.seen);
        if let Some(place) = self.kept.get_mut(at) {
            *place = thing;
        }
    }
}

impl Pool {
    /// Reads the texts of `split`.
    pub fn read(folder: &Path, split: Split, seed: u64, on_broken: OnBroken) -> anyhow::Result<Self> {
        let (mut attacks, mut benign, mut chats) = (Kept::new(seed), Kept::new(seed), Kept::new(seed));
        // A text that stands there twice is taken once; one that is labelled both ways not at all as an attack.
        let mut seen: BTreeSet<[u8; 16]> = BTreeSet::new();
        let mut honest: BTreeSet<[u8; 16]> = BTreeSet::new();
        for file in data::files(folder)? {
            if LEFT_OUT.contains(&file.set.as_str()) {
                continue;
            }
            file.read(on_broken, |record| {
                if record.split != split {
                    return Ok(());
                }
                if record.text.is_some() {
                    for event in of_record(&file.set, record)? {
                        let key = key(&event.text);
                        if event.split != split {
                            continue;
                        }
                        if event.label == events::Label::Benign {
                            honest.insert(key);
                        }
                        if !seen.insert(key) {
                            continue;
                        }
                        let source = format!("{}/{}", event.set, event.source);
                        let unit = format!("{}/{}", event.set, event.unit);
                        let text = Text::new(event.text, event.channel, source, unit, true);
                        match event.label {
                            events::Label::Attack => attacks.offer(text),
                            events::Label::Benign => benign.offer(text),
                            events::Label::Unclear => {}
                        }
                    }
                } else if let Some(turns) = user_turns(record) {
                    let unit = format!("{}/{}", file.set, unit(&file.set, record));
                    chats.offer((format!("{}/{}", file.set, record.source), unit, turns));
                }
                Ok(())
            })?;
        }
        let mut benign = benign.kept;
        let mut talked = Vec::new();
        for (source, unit, turns) in chats.kept {
            for turn in &turns {
                if seen.insert(key(turn)) {
                    benign.push(Text::new(turn.clone(), Channel::User, source.clone(), unit.clone(), false));
                }
                honest.insert(key(turn));
            }
            talked.push(turns);
        }
        let attacks: Vec<Text> = attacks.kept.into_iter().filter(|text| !honest.contains(&key(&text.text))).collect();
        benign.sort_by_cached_key(|text| (text.text.len(), key(&text.text)));
        let mut pool = Pool { attacks, benign, chats: talked, ..Pool::default() };
        pool.missing = pool.lacks(&format!("{} in {}", split.name(), folder.display()));
        pool.join_units(seed);
        for kind in Kind::ATTACKS {
            let leaders = (0..pool.attacks.len()).filter(|at| pool.leads(&pool.attacks[*at], kind)).collect();
            pool.leaders.insert(kind, leaders);
        }
        Ok(pool)
    }

    /// What is not there but needed.
    fn lacks(&self, place: &str) -> Option<String> {
        let wanted = "records with `text`, `channel` and the label";
        if self.attacks.is_empty() {
            return Some(format!(
                "no attack texts of {place} to assemble conversations from; give {wanted} `attack` (docs/data-format.md)"
            ));
        }
        let users = self.benign.iter().filter(|text| text.single && text.channel == Channel::User).count();
        if users < 2 * MAX_TURNS && self.chats.iter().all(|chat| chat.len() < MAX_TURNS) {
            let (enough, chats) = (2 * MAX_TURNS, format!("conversations of {MAX_TURNS} user turns and more"));
            return Some(format!(
                "too few benign user texts of {place} to assemble conversations from; give at least {enough} {wanted} `benign`, or {chats} (docs/data-format.md)"
            ));
        }
        let channels = [(Channel::User, "user"), (Channel::ToolResult, "tool")];
        let of = |texts: &[Text], channel| texts.iter().any(|text| text.channel == channel);
        let lacking = channels.into_iter().find(|(channel, _)| of(&self.attacks, *channel) && !of(&self.benign, *channel));
        lacking.map(|(_, name)| {
            format!("no benign texts of channel {name} in {place}, but attack texts that the control needs some for; give {wanted} `benign` (docs/data-format.md)")
        })
    }

    /// Whether conversations of a kind can be made around a text.
    fn leads(&self, text: &Text, kind: Kind) -> bool {
        match kind {
            // With three turns at least two of them need a text.
            Kind::Persistent | Kind::Escalating => self.blocks[text.block].texts.len() >= MIN_TURNS - 1,
            // The control needs one that can be cut as well.
            Kind::Split => {
                text.most_parts > 1
                    && self.benign.iter().any(|benign| benign.channel == text.channel && benign.most_parts >= text.most_parts)
            }
            _ => true,
        }
    }

    /// Puts units of one source and channel together until each block has as many texts as a conversation may need. Blocks share no unit, so conversations of
    /// different blocks share no attack text.
    fn join_units(&mut self, seed: u64) {
        let mut sources: BTreeMap<(String, &'static str), BTreeMap<String, Vec<usize>>> = BTreeMap::new();
        for (at, text) in self.attacks.iter().enumerate() {
            let units = sources.entry((text.source.clone(), text.channel.name())).or_default();
            units.entry(text.unit.clone()).or_default().push(at);
        }
        let mut chance = Chance::new(seed);
        for units in sources.into_values() {
            let mut units: Vec<(String, Vec<usize>)> = units.into_iter().collect();
            chance.shuffle(&mut units);
            let mut open: Vec<Block> = Vec::new();
            for (unit, texts) in units {
                match open.last_mut().filter(|block| block.texts.len() < MAX_TURNS) {
                    Some(block) => {
                        block.texts.extend(texts);
                        block.unit = format!("{}+{unit}", block.unit);
                    }
                    None => open.push(Block { texts, unit }),
                }
            }
            // What is left at the end goes to the block before it.
            if open.len() > 1
                && let Some(last) = open.pop_if(|block| block.texts.len() < MAX_TURNS)
                && let Some(before) = open.last_mut()
            {
                before.texts.extend(last.texts);
                before.unit = format!("{}+{}", before.unit, last.unit);
            }
            self.blocks.append(&mut open);
        }
        for (number, block) in self.blocks.iter().enumerate() {
            for &at in &block.texts {
                self.attacks[at].block = number;
            }
        }
    }

    /// A benign text to stand in the place of `attack`: of the same channel, between half and double as long, or one of the few that are nearest to that; and
    /// that can be cut into `parts` where that is more than one. User turns of conversations may stand there too: the more texts, the less the control hangs on a few.
    pub fn like(&self, attack: &Text, parts: usize, chance: &mut Chance, taken: &mut BTreeSet<usize>) -> Option<usize> {
        /// Texts that there is a choice of at least.
        const CHOICE: usize = 64;
        /// A doubling.
        const NEAR: u32 = 1000;
        let length = doublings(&attack.text);
        let fits = |text: &Text| text.channel == attack.channel && text.most_parts >= parts;
        let free = self.benign.iter().enumerate().filter(|(at, text)| fits(text) && !taken.contains(at));
        let mut near: Vec<(u32, usize)> = free.map(|(at, text)| (text.doublings.abs_diff(length), at)).collect();
        let like = near.iter().filter(|(apart, _)| *apart <= NEAR).count();
        if like >= CHOICE {
            near.retain(|(apart, _)| *apart <= NEAR);
        } else {
            near.sort_unstable();
            near.truncate(CHOICE);
        }
        let &(_, at) = near.get(chance.below(near.len()))?;
        taken.insert(at);
        Some(at)
    }
}

/// The length of a text in thousandths of doublings of a byte.
fn doublings(text: &str) -> u32 {
    (libm::log2(text.len().max(1) as f64) * 1000.0) as u32
}

/// The user turns of a benign conversation between people or with an assistant, if there are enough; `None` of agent runs.
fn user_turns(record: &Record) -> Option<Vec<String>> {
    if record.label != Label::Benign || record.task.is_some() || record.suite.is_some() {
        return None;
    }
    let turns = record.messages.iter().flatten().filter(|message| message.role == "user" && !message.content.trim().is_empty());
    let turns: Vec<String> = turns.map(|message| message.content.clone()).collect();
    (turns.len() >= MIN_TURNS).then_some(turns)
}

fn key(text: &str) -> [u8; 16] {
    let mut key = [0; 16];
    key.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..16]);
    key
}
