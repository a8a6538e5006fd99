//! The texts that conversations are assembled from: attack texts with their units, benign texts of all lengths, and user turns of benign conversations.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use super::Kind;
use super::cut::cut;
use crate::data::{self, Label, OnBroken, Record, Split, unit};
use crate::events::{self, Channel, Event, of_record};
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
/// Turns of benign conversations that stand in the place of attack texts at most; of more, some by chance.
const MOST_TURNS: usize = 4 * MOST;
/// Bytes of a text that is kept, and of a user's turn: the longest of the shared data has 11,890. Thousands of conversations are made and judged of them.
pub const MAX_TEXT: usize = 16 << 10;
/// Bytes that are kept of attack texts, benign texts and benign conversations at most, each; all of the shared data's are 3.4 MiB, so nothing of them is left out.
const MOST_BYTES: usize = 16 << 20;

/// Joint units of benign texts of each channel at most: enough to draw samples of, few enough that each has texts of all lengths.
const BENIGN_BLOCKS: usize = 24;
/// Texts that each of them has at least, on average: twice what one conversation takes.
const BENIGN_BLOCK: usize = 2 * MAX_TURNS;

/// A single text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    pub text: String,
    pub channel: Channel,
    /// Set and source.
    pub source: String,
    pub unit: String,
    /// Number of its joint unit: of attack texts among [`Pool::blocks`], of benign ones among [`Pool::benign_blocks`].
    pub block: usize,
    /// It is a record of its own, not a turn of a conversation.
    pub single: bool,
    /// Most parts that it can be cut into, with all smaller numbers; 1 of a text that cannot be cut.
    pub most_parts: usize,
    doublings: u32,
}

impl Text {
    /// A record of its own.
    fn of(event: Event) -> Self {
        let (source, unit) = (format!("{}/{}", event.set, event.source), unit_name(&event));
        Text::new(event.text, event.channel, source, unit, true)
    }

    fn new(text: String, channel: Channel, source: String, unit: String, single: bool) -> Self {
        let doublings = doublings(&text);
        let most_parts = (2..=MAX_PARTS).take_while(|&parts| cut(&text, parts).is_some()).last().unwrap_or(1);
        Text { text, channel, source, unit, block: 0, single, most_parts, doublings }
    }
}

/// Texts that conversations with several of them take theirs from. Of attack texts a unit, or units of one source that hold few texts each, put together; of benign
/// ones units of one channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Numbers among [`Pool::attacks`] or [`Pool::benign`].
    pub texts: Vec<usize>,
    /// The names of its units; of benign ones, which are many, its channel and number.
    pub unit: String,
}

/// All texts of one part of the data.
#[derive(Debug, Default)]
pub struct Pool {
    pub attacks: Vec<Text>,
    pub blocks: Vec<Block>,
    /// Single texts and turns of the conversations, each once; by length, short ones first.
    pub benign: Vec<Text>,
    pub benign_blocks: Vec<Block>,
    /// User turns of each benign conversation.
    pub chats: Vec<Vec<String>>,
    /// The attack texts that conversations of each kind of attack can be made around.
    pub leaders: BTreeMap<Kind, Vec<usize>>,
    /// What is not there but needed.
    pub missing: Option<String>,
    /// What was read and is not in it.
    pub left: Left,
}

/// What a pool leaves out, beside what is there twice and what it has no place for by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Texts, and conversations with a turn, of more than [`MAX_TEXT`] bytes.
    pub long: usize,
    /// Texts and conversations that came when all bytes were taken.
    pub full: usize,
    /// Attack texts whose unit has texts in another part of the data too, and their units.
    pub elsewhere: (usize, usize),
}

impl fmt::Display for Left {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Left { long, full, elsewhere: (texts, units) } = *self;
        let some = [
            (texts, format!("{texts} attack texts of {units} units that other parts of the data have texts of too")),
            (long, format!("{long} texts or conversations with one of more than {MAX_TEXT} bytes")),
            (full, format!("{full} texts or conversations beyond {MOST_BYTES} bytes of their sort")),
        ];
        let said: Vec<String> = some.into_iter().filter(|(number, _)| *number > 0).map(|(_, said)| said).collect();
        to.write_str(&said.join("; "))
    }
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

/// Keeps at most a number of what it is given, each as likely as the others, but for what would be more than [`MOST_BYTES`].
struct Kept<T> {
    kept: Vec<(T, usize)>,
    most: usize,
    bytes: usize,
    seen: usize,
    full: usize,
    chance: Chance,
}

impl<T> Kept<T> {
    fn new(most: usize, seed: u64) -> Self {
        Kept { kept: Vec::new(), most, bytes: 0, seen: 0, full: 0, chance: Chance::new(seed) }
    }

    /// Offers a thing of so many bytes.
    fn offer(&mut self, thing: T, bytes: usize) {
        self.seen += 1;
        let at = if self.kept.len() < self.most { self.kept.len() } else { self.chance.below(self.seen) };
        if at >= self.most {
            return;
        }
        let others = self.bytes - self.kept.get(at).map_or(0, |(_, bytes)| *bytes);
        if others + bytes > MOST_BYTES {
            self.full += 1;
            return;
        }
        self.bytes = others + bytes;
        match self.kept.get_mut(at) {
            Some(place) => *place = (thing, bytes),
            None => self.kept.push((thing, bytes)),
        }
    }

    fn into_kept(self) -> impl Iterator<Item = T> {
        self.kept.into_iter().map(|(thing, _)| thing)
    }
}

/// A benign conversation: source, unit and user turns.
type Chat = (String, String, Vec<String>);

/// What is read before it is known what of it can be used.
struct Reading {
    split: Split,
    attacks: Kept<Event>,
    benign: Kept<Event>,
    chats: Kept<Chat>,
    /// Texts that were met, and those of them that are benign: one that stands there twice is taken once, one that is labelled both ways not at all as an attack.
    seen: BTreeSet<Key>,
    honest: BTreeSet<Key>,
    /// Units that other parts of the data have texts of.
    elsewhere: BTreeSet<Key>,
    long: usize,
}

impl Reading {
    fn new(split: Split, seed: u64) -> Self {
        Reading {
            split,
            attacks: Kept::new(MOST, seed),
            benign: Kept::new(MOST, seed),
            chats: Kept::new(MOST, seed),
            seen: BTreeSet::new(),
            honest: BTreeSet::new(),
            elsewhere: BTreeSet::new(),
            long: 0,
        }
    }

    fn take(&mut self, set: &str, record: &Record) -> anyhow::Result<()> {
        if record.text.is_some() {
            for event in of_record(set, record)? {
                self.text(event, record.split);
            }
        } else if record.split == self.split
            && let Some(turns) = user_turns(record)
        {
            if turns.iter().any(|turn| turn.len() > MAX_TEXT) {
                self.long += 1;
                return Ok(());
            }
            let bytes = turns.iter().map(String::len).sum();
            self.chats.offer((format!("{set}/{}", record.source), format!("{set}/{}", unit(set, record)), turns), bytes);
        }
        Ok(())
    }

    fn text(&mut self, event: Event, split: Split) {
        if split != self.split || event.split != self.split {
            self.elsewhere.insert(key(&unit_name(&event)));
            return;
        }
        let key = key(&event.text);
        if event.label == events::Label::Benign {
            self.honest.insert(key);
        }
        if !self.seen.insert(key) {
            return;
        }
        if event.text.len() > MAX_TEXT {
            self.long += 1;
            return;
        }
        let bytes = event.text.len();
        match event.label {
            events::Label::Attack => self.attacks.offer(event, bytes),
            events::Label::Benign => self.benign.offer(event, bytes),
            events::Label::Unclear => {}
        }
    }
}

/// Set and unit.
fn unit_name(event: &Event) -> String {
    format!("{}/{}", event.set, event.unit)
}

impl Pool {
    /// Reads the texts of `split`.
    pub fn read(folder: &Path, split: Split, seed: u64, on_broken: OnBroken) -> anyhow::Result<Self> {
        let mut reading = Reading::new(split, seed);
        for file in data::files(folder)?.into_iter().filter(|file| !LEFT_OUT.contains(&file.set.as_str())) {
            file.read(on_broken, |record| reading.take(&file.set, record))?;
        }
        let mut pool = Pool::of(reading, seed);
        pool.missing = pool.lacks(&format!("{} in {}", split.name(), folder.display()));
        pool.join_units(seed);
        pool.deal_benign(seed);
        for kind in Kind::ATTACKS {
            let leaders = (0..pool.attacks.len()).filter(|at| pool.leads(&pool.attacks[*at], kind)).collect();
            pool.leaders.insert(kind, leaders);
        }
        Ok(pool)
    }

    /// The texts of what was read, without what is no attack or not held out.
    fn of(reading: Reading, seed: u64) -> Self {
        let Reading { attacks, benign, chats, mut seen, mut honest, elsewhere, long, .. } = reading;
        let mut left = Left { long, full: attacks.full + benign.full + chats.full, ..Left::default() };
        let mut benign: Vec<Text> = benign.into_kept().map(Text::of).collect();
        let mut turns = Kept::new(MOST_TURNS, seed);
        let mut talked = Vec::new();
        for (source, unit, said) in chats.into_kept() {
            for turn in &said {
                let key = key(turn);
                if seen.insert(key) {
                    turns.offer((turn.clone(), source.clone(), unit.clone()), turn.len());
                }
                honest.insert(key);
            }
            talked.push(said);
        }
        benign.extend(turns.into_kept().map(|(turn, source, unit)| Text::new(turn, Channel::User, source, unit, false)));
        benign.sort_by_cached_key(|text| (text.text.len(), key(&text.text)));
        let mut units = BTreeSet::new();
        let mut held_out = |event: &Event| {
            let unit = unit_name(event);
            let here = !elsewhere.contains(&key(&unit));
            if !here {
                left.elsewhere.0 += 1;
                units.insert(unit);
            }
            here
        };
        let attacks = attacks.into_kept().filter(|event| !honest.contains(&key(&event.text)) && held_out(event)).map(Text::of).collect();
        left.elsewhere.1 = units.len();
        Pool { attacks, benign, chats: talked, left, ..Pool::default() }
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

    /// Deals the units of benign texts into blocks, those of like length over all blocks alike. All texts of a control conversation are of one block, so that those
    /// of different blocks share no unit.
    fn deal_benign(&mut self, seed: u64) {
        let mut channels: BTreeMap<&'static str, BTreeMap<String, Vec<usize>>> = BTreeMap::new();
        for (at, text) in self.benign.iter().enumerate() {
            channels.entry(text.channel.name()).or_default().entry(text.unit.clone()).or_default().push(at);
        }
        let mut chance = Chance::new(seed);
        for (channel, units) in channels {
            let texts: usize = units.values().map(Vec::len).sum();
            let number = (texts / BENIGN_BLOCK).clamp(1, BENIGN_BLOCKS).min(units.len());
            let mut units: Vec<Vec<usize>> = units.into_values().collect();
            // Texts stand by length, so the one in the middle of a unit has its median length.
            units.sort_by_key(|texts| (texts[texts.len() / 2], texts[0]));
            let from = self.benign_blocks.len();
            self.benign_blocks.extend((0..number).map(|at| Block { texts: Vec::new(), unit: format!("joint benign {channel} {at:02}") }));
            for alike in units.chunks(number) {
                let mut places: Vec<usize> = (from..from + number).collect();
                chance.shuffle(&mut places);
                for (texts, place) in alike.iter().zip(places) {
                    texts.iter().for_each(|&at| self.benign[at].block = place);
                    self.benign_blocks[place].texts.extend(texts);
                }
            }
        }
    }

    /// A benign text to stand in the place of `attack`: of the same channel, between half and double as long, or one of the few that are nearest to that; and
    /// that can be cut into `parts` where that is more than one. User turns of conversations may stand there too: the more texts, the less the control hangs on a few.
    /// The first of a conversation is any such text, the others are of its block.
    pub fn like(
        &self,
        attack: &Text,
        parts: usize,
        block: Option<usize>,
        chance: &mut Chance,
        taken: &mut BTreeSet<usize>,
    ) -> Option<usize> {
        /// Texts that there is a choice of at least, of all and of a block.
        const CHOICE: [usize; 2] = [64, 4];
        /// A doubling.
        const NEAR: u32 = 1000;
        let length = doublings(&attack.text);
        let apart = |at: usize| {
            let text = &self.benign[at];
            let fits = text.channel == attack.channel && text.most_parts >= parts && !taken.contains(&at);
            fits.then(|| (text.doublings.abs_diff(length), at))
        };
        let (mut near, choice): (Vec<(u32, usize)>, _) = match block {
            Some(block) => (self.benign_blocks[block].texts.iter().copied().filter_map(apart).collect(), CHOICE[1]),
            None => ((0..self.benign.len()).filter_map(apart).collect(), CHOICE[0]),
        };
        let like = near.iter().filter(|(apart, _)| *apart <= NEAR).count();
        if like >= choice {
            near.retain(|(apart, _)| *apart <= NEAR);
        } else {
            near.sort_unstable();
            near.truncate(choice);
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

/// The hash of a text or a unit's name, which is kept in its place.
type Key = [u8; 16];

fn key(text: &str) -> Key {
    let mut key = [0; 16];
    key.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..16]);
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_kept_than_there_is_room_for() {
        let half = MOST_BYTES / 2;
        let mut kept = Kept::new(3, 1);
        for (number, bytes) in [half, 10, half, half - 10].into_iter().enumerate() {
            kept.offer(number, bytes);
        }
        assert_eq!((kept.bytes, kept.full), (MOST_BYTES, 1));
        // One that replaces another needs no more than that had and what is free; nothing is ever over the limit.
        for number in 4..200 {
            kept.offer(number, if number % 2 == 0 { half } else { 1 });
            assert!(kept.bytes <= MOST_BYTES && kept.kept.iter().map(|(_, bytes)| bytes).sum::<usize>() == kept.bytes);
        }
        let first: Vec<usize> = kept.into_kept().collect();
        assert!(first.len() == 3 && first.iter().any(|number| *number > 3), "{first:?}");
    }
}
