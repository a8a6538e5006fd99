//! `cargo xtask eval assemble`: seeded conversations out of held-out single attack texts and benign turns, and a benign control made the same way.
//!
//! Attack texts come one by one; this puts them where a conversation would hold them: in every turn, after benign openings, once among harmless turns, or cut
//! over several. The control has the same turns with a benign text of like length in the place of each attack text, so that the two differ in that alone.

mod compose;
mod cut;
mod pool;
mod words;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde_json::json;

use crate::data::{OnBroken, Record, Split};
use crate::output;
use compose::Turn;
use pool::Pool;

/// Assembles conversations of 3 to 6 user turns from single attack texts and benign turns of one part of the data, as JSON lines.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The data folder: README.md, and a folder of *.jsonl.gz for each set.
    #[arg(long)]
    data: PathBuf,
    /// The part of the data that all texts come from.
    #[arg(long, value_enum, default_value = "test")]
    split: Split,
    /// The same seed gives the same bytes.
    #[arg(long, default_value_t = SEED)]
    seed: u64,
    /// Conversations of each kind.
    #[arg(long, default_value_t = NUMBER)]
    number: usize,
    /// Pass over broken lines instead of stopping at the first.
    #[arg(long)]
    skip_broken: bool,
    /// Write here instead of printing.
    #[arg(long)]
    out: Option<PathBuf>,
}

/// The seed that reports use.
pub const SEED: u64 = 6;
/// Conversations of each kind: one in a hundred of the control is twenty.
pub const NUMBER: usize = 2000;

/// What a conversation is made like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// An attack text in every turn, or in every turn but one.
    Persistent,
    /// Benign openings, then an attack text in each turn.
    Escalating,
    /// One attack text among benign turns.
    SingleHit,
    /// One attack text cut over consecutive turns, among benign turns.
    Split,
    /// Benign: made as the four above, with a benign text in the place of each attack text.
    Control,
    /// One attack text in three or four turns, labelled benign as arXiv 2602.11247 has it: an attack that gave up.
    SparseBenign,
}

impl Kind {
    /// The kinds that are to be found.
    pub const ATTACKS: [Kind; 4] = [Kind::Persistent, Kind::Escalating, Kind::SingleHit, Kind::Split];
    /// All kinds, in the order of files and reports.
    pub const ALL: [Kind; 6] = [Kind::Persistent, Kind::Escalating, Kind::SingleHit, Kind::Split, Kind::Control, Kind::SparseBenign];

    /// Its name in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Persistent => "persistent",
            Kind::Escalating => "escalating",
            Kind::SingleHit => "single_hit",
            Kind::Split => "split",
            Kind::Control => "control",
            Kind::SparseBenign => "sparse_benign",
        }
    }

    /// Whether it is labelled an attack.
    pub fn is_attack(self) -> bool {
        Kind::ATTACKS.contains(&self)
    }
}

/// A conversation that was assembled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation {
    /// How it was made.
    pub kind: Kind,
    /// Its number among those of its kind, from 0.
    pub number: usize,
    /// The part of the data that its texts come from.
    pub split: Split,
    /// Set and source of the text that stands in the attack's place.
    pub source: String,
    /// Its independence unit: that of its attack text, or the joint unit of several; of the control the joint unit that all benign texts in the attack's place are
    /// of. Fillers are shared by all.
    pub unit: String,
    turns: Vec<Turn>,
}

impl Conversation {
    /// The record as a line of a data file, without the line feed.
    pub fn line(&self) -> String {
        let Conversation { kind, number, split, source, unit, turns } = self;
        let label = if kind.is_attack() { "attack" } else { "benign" };
        let (messages, placed) = compose::messages(turns);
        // Reports have rows by source and none by technique: it tells what is benign by its making from other benign conversations.
        let by_kind = if kind.is_attack() { source.clone() } else { format!("assembled {}", kind.name()) };
        json!({
            "id": format!("{}-{number:05}", kind.name()), "source": by_kind, "text_source": source, "label": label, "split": split.name(),
            "unit": unit, "technique": kind.name(), "placed": placed, "messages": messages,
        })
        .to_string()
    }

    /// The record.
    ///
    /// # Errors
    /// When the line is no record, which would be this module's fault.
    pub fn record(&self) -> anyhow::Result<Record> {
        serde_json::from_str(&self.line()).context("an assembled conversation is no record")
    }
}

/// Assembles conversations, each from a seed of its own: the first ones are the same however many follow.
pub struct Assembler {
    pool: Pool,
    split: Split,
    seed: u64,
}

impl Assembler {
    /// Reads the texts of one part of a data folder.
    ///
    /// # Errors
    /// When the data cannot be read, or hold no attack texts or too few benign ones.
    pub fn new(data: &Path, split: Split, seed: u64) -> anyhow::Result<Self> {
        Self::read(data, split, seed, OnBroken::Stop)?.complete()
    }

    /// The same, but an error where the data lack something.
    fn complete(self) -> anyhow::Result<Self> {
        match self.missing() {
            Some(missing) => bail!("{missing}"),
            None => Ok(self),
        }
    }

    /// As [`Self::new`], but what the data lack is no error: [`Self::missing`] says it, and nothing can be assembled then.
    ///
    /// # Errors
    /// When the data cannot be read.
    pub fn read(data: &Path, split: Split, seed: u64, on_broken: OnBroken) -> anyhow::Result<Self> {
        Ok(Assembler { pool: Pool::read(data, split, seed, on_broken)?, split, seed })
    }

    /// What the data lack.
    pub fn missing(&self) -> Option<&str> {
        self.pool.missing.as_deref()
    }

    /// What of the data is not assembled from, for its size or because it is not held out; `None` where nothing is left out.
    pub fn left_out(&self) -> Option<String> {
        Some(self.pool.left.to_string()).filter(|said| !said.is_empty())
    }

    /// The kinds that the attack texts are enough for: persistent and escalating ones need several of one source, split ones need words.
    pub fn kinds(&self) -> Vec<Kind> {
        let possible = |kind: &Kind| self.missing().is_none() && self.pool.leaders.get(kind).is_none_or(|leaders| !leaders.is_empty());
        Kind::ALL.into_iter().filter(possible).collect()
    }

    /// Gives `take` `number` conversations of `kind`; none of a kind that the texts are not enough for.
    ///
    /// # Errors
    /// What `take` says, with the conversation's kind and number.
    pub fn each(&self, kind: Kind, number: usize, mut take: impl FnMut(&Conversation) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let kinds = self.kinds();
        if !kinds.contains(&kind) {
            return Ok(());
        }
        let like: Vec<Kind> = kinds.into_iter().filter(|kind| kind.is_attack()).collect();
        for at in 0..number {
            compose::conversation(&self.pool, self.split, self.seed, kind, &like, at)
                .and_then(|conversation| take(&conversation))
                .with_context(|| format!("{} {at}", kind.name()))?;
        }
        Ok(())
    }
}

/// `number` conversations of each kind from one part of a data folder, kind by kind.
///
/// # Errors
/// As those of [`Assembler::new`].
pub fn assemble(data: &Path, split: Split, seed: u64, number: usize) -> anyhow::Result<Vec<Conversation>> {
    let assembler = Assembler::new(data, split, seed)?;
    let mut all = Vec::new();
    for kind in Kind::ALL {
        assembler.each(kind, number, |conversation| {
            all.push(conversation.clone());
            Ok(())
        })?;
    }
    Ok(all)
}

impl Args {
    /// Assembles and writes.
    ///
    /// # Errors
    /// When the data cannot be read or hold too little, or the file cannot be written.
    pub fn run(&self) -> anyhow::Result<()> {
        let on_broken = if self.skip_broken { OnBroken::Skip } else { OnBroken::Stop };
        let assembler = Assembler::read(&self.data, self.split, self.seed, on_broken)?.complete()?;
        for kind in Kind::ALL.into_iter().filter(|kind| !assembler.kinds().contains(kind)) {
            eprintln!("no conversations of kind {}: no source has enough attack texts, or long enough ones", kind.name());
        }
        if let Some(left_out) = assembler.left_out() {
            eprintln!("not assembled from: {left_out}");
        }
        let Some(path) = &self.out else { return output::unless_gone(self.write(&assembler, BufWriter::new(io::stdout().lock()))) };
        self.write(&assembler, BufWriter::new(output::create(path)?))?;
        let (kinds, number, of) = (assembler.kinds().len(), self.number, &assembler.pool);
        eprintln!("{number} conversations of each of {kinds} kinds from {of}, written to {}", path.display());
        Ok(())
    }

    fn write(&self, assembler: &Assembler, mut to: impl Write) -> anyhow::Result<()> {
        for kind in Kind::ALL {
            assembler.each(kind, self.number, |conversation| writeln!(to, "{}", conversation.line()).context("cannot write"))?;
        }
        to.flush().context("cannot write")
    }
}
