//! The texts that conversations are assembled from: attack texts with their units, benign texts of all lengths, and user turns of benign conversations.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use anyhow::bail;

use super::cut::cut;
use crate::data::{self, Label, Record, Split};
use crate::events::{self, Channel, of_record};
use crate::stats::Chance;

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
    /// By length, short ones first.
    pub benign: Vec<Text>,
    /// User turns of each benign conversation.
    pub chats: Vec<Vec<String>>,
}

impl fmt::Display for Pool {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units: BTreeSet<&str> = self.attacks.iter().map(|text| text.unit.as_str()).collect();
        let Pool { attacks, blocks, benign, chats } = self;
        let (attacks, blocks, benign, chats, units) = (attacks.len(), blocks.len(), benign.len(), chats.len(), units.len());
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
    pub fn read(folder: &Path, split: Split, seed: u64) -> anyhow::Result<Self> {
        let (mut attacks, mut benign, mut chats) = (Kept::new(seed), Kept::new(seed), Kept::new(seed));
        // A text that stands there twice is taken once; one that is labelled both ways not at all as an attack.
        let mut seen: BTreeSet<[u8; 16]> = BTreeSet::new();
        let mut honest: BTreeSet<[u8; 16]> = BTreeSet::new();
        for file in data::files(folder)? {
            if LEFT_OUT.contains(&file.set.as_str()) {
                continue;
            }
            file.each(|record| {
                if record.split != split {
                    return Ok(());
                }
                if record.text.is_some() {
                    for event in of_record(&file.set, record)? {
                        let key = key(&event.text);
                        if event.split != split || !seen.insert(key) {
                            continue;
                        }
                        let source = format!("{}/{}", event.set, event.source);
                        let unit = format!("{}/{}", event.set, event.unit);
                        let text = Text { text: event.text, channel: event.channel, source, unit, block: 0 };
                        match event.label {
                            events::Label::Attack => attacks.offer(text),
                            events::Label::Benign => {
                                honest.insert(key);
                                benign.offer(text);
                            }
                            events::Label::Unclear => {}
                        }
                    }
                } else if let Some(turns) = user_turns(record) {
                    chats.offer(turns);
                }
                Ok(())
            })?;
        }
        let (mut benign, chats) = (benign.kept, chats.kept);
        let attacks: Vec<Text> = attacks.kept.into_iter().filter(|text| !honest.contains(&key(&text.text))).collect();
        let (shown, name) = (folder.display(), split.name());
        let wanted = "records with `text` and `channel`";
        if attacks.is_empty() {
            bail!("{shown} holds no attack texts of {name} to assemble conversations from: {wanted} and the label `attack` (docs/data-format.md)");
        }
        if benign.iter().all(|text| text.channel != Channel::User) && chats.is_empty() {
            let chats = format!("conversations of {MIN_TURNS} user turns and more");
            bail!("{shown} holds no benign user texts of {name} to assemble conversations from: {wanted} `user`, or {chats}, with the label `benign` (docs/data-format.md)");
        }
        for channel in [Channel::User, Channel::ToolResult] {
            let needed = attacks.iter().any(|text| text.channel == channel);
            if needed && benign.iter().all(|text| text.channel != channel) {
                let channel = if channel == Channel::User { "user" } else { "tool" };
                bail!("{shown} holds attack texts but no benign ones of channel {channel} in {name}: the control needs some, {wanted} and the label `benign`");
            }
        }
        benign.sort_by_cached_key(|text| (text.text.len(), key(&text.text)));
        let mut pool = Pool { attacks, blocks: Vec::new(), benign, chats };
        pool.join_units(seed);
        Ok(pool)
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

    /// A benign text to stand in the place of `attack`: of the same channel, between half and double as long, or of the few that are nearest to that; and that can be cut into
    /// `parts` where that is more than one.
    pub fn like(&self, attack: &Text, parts: usize, chance: &mut Chance, taken: &mut BTreeSet<usize>) -> Option<usize> {
        /// Texts that there is a choice of at least.
        const CHOICE: usize = 16;
        let length = attack.text.len();
        let fits = |text: &Text| text.channel == attack.channel && (parts < 2 || cut(&text.text, parts).is_some());
        let free = self.benign.iter().enumerate().filter(|(at, text)| !taken.contains(at) && fits(text));
        let mut near: Vec<(usize, usize)> = free.map(|(at, text)| (apart(text.text.len(), length), at)).collect();
        near.sort_unstable();
        let like = near.partition_point(|(apart, _)| *apart <= 1000);
        near.truncate(like.max(CHOICE));
        let (_, at) = *near.get(chance.below(near.len().max(1)))?;
        taken.insert(at);
        Some(at)
    }
}

/// How far apart two lengths are as a ratio, in thousandths of a doubling.
fn apart(one: usize, other: usize) -> usize {
    let doublings = libm::log2(one.max(1) as f64 / other.max(1) as f64);
    (libm::fabs(doublings) * 1000.0) as usize
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
