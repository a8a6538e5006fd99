//! `floodmark-eval train detector`: the detector of record from a data folder and our own texts, byte for byte the same on every machine.
//!
//! ```text
//! events (train) + own texts -> samples -> fit (rounds of chunks and svm) -> levels (bytes, sigmoid, levels on dev) -> emit (table, source, golden scores)
//! ```

mod chunks;
mod crates;
mod cross;
mod emit;
mod fit;
mod levels;
mod own;
mod platt;
mod recipe;
mod samples;
mod svm;

use std::path::{Path, PathBuf};

use floodmark_core::Detector;

use crate::data::{self, Split};
use crate::events::{Corpus, Event, Label, Left, of_record};
use crate::markdown::Origin;
use crate::output::deliver;
use crate::stats::Chance;
use crate::stored;
use fit::fit;
use levels::{Calibrated, Conversation, Table, calibrate};
use recipe::{FOLDER, Recipe};
use samples::{Sample, Weighed, of_answer, of_event, of_own, of_piece};

/// Sets whose assistants write prose.
const ANSWERS: [&str; 2] = ["llm_chat", "benign_agent_runs"];

/// Trains a model that is baked into the plugin.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    model: Which,
}

#[derive(clap::Subcommand, Debug)]
enum Which {
    /// Trains the detector of record and writes its table into tables/
    Detector(DetectorArgs),
}

/// Trains the detector of record.
#[derive(clap::Args, Debug)]
pub struct DetectorArgs {
    /// The data folder: README.md, and a folder of *.jsonl.gz for each set.
    #[arg(long)]
    data: PathBuf,
    /// The folder of the recipe's crates; `cargo xtask train` fetches them and gives it.
    #[arg(long)]
    crates: PathBuf,
    /// Leave the family of `important_instructions` out, to see how it is found when it is new. Needs --out.
    #[arg(long, requires = "out")]
    without_important_instructions: bool,
    /// Leave our own texts out, to see what they are good for. Needs --out.
    #[arg(long, requires = "out")]
    without_own_texts: bool,
    /// Write the detector into this file instead of tables/; the report of --cross-validate likewise instead of printing it.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Train nothing that stays: measure the recipe by grouped cross-validation over train and dev.
    #[arg(long)]
    cross_validate: bool,
}

impl Args {
    /// Trains.
    ///
    /// # Errors
    /// When data, recipe or texts cannot be read, or a file cannot be written.
    pub fn run(&self) -> anyhow::Result<()> {
        let Which::Detector(args) = &self.model;
        args.run(Path::new("."))
    }
}

impl DetectorArgs {
    fn run(&self, root: &Path) -> anyhow::Result<()> {
        let recipe = Recipe::read(&root.join(FOLDER))?;
        let read = Read::new(&self.data, &recipe)?;
        let pieces = crates::read(&self.crates, &recipe)?;
        let own = own::read(&root.join(FOLDER).join("texts"), recipe.samples.own_fillings, recipe.seed)?;
        let ours = own.iter().filter(|_| !self.without_own_texts);
        // What is trained on beside the events of the data.
        let mut others: Vec<Sample> = ours.map(|own| of_own(own, recipe.bits)).collect();
        others.extend(pieces.iter().filter(|piece| piece.split == Split::Train).map(|piece| of_piece(piece, recipe.bits)));
        others.extend(read.answers.iter().cloned());
        if self.cross_validate {
            let report = cross::report(&read, &others, self.without_important_instructions, &recipe, &self.command());
            return deliver(&report, self.out.as_deref());
        }
        let (events, left) = read.corpus.training();
        tell(&left);
        let events: Vec<Sample> = events.into_iter().map(|event| of_event(event, recipe.bits)).collect();
        let samples = events.iter().chain(&others).filter(|sample| !(self.without_important_instructions && sample.important));
        let mut chance = Chance::new(recipe.seed);
        let weighed = Weighed::new(samples, &recipe, &mut chance);
        eprintln!("training on {} texts", weighed.samples.len());
        let table = Table::new(&fit(&weighed, &recipe, &mut chance), &recipe);
        let dev: Vec<&Event> =
            read.corpus.events.iter().filter(|event| event.split == Split::Dev && event.label != Label::Unclear).collect();
        let mut conversations = read.conversations;
        conversations.extend(pieces.into_iter().filter(|piece| piece.split == Split::Dev).map(Conversation::of_piece));
        let found = calibrate(&table, &dev, &conversations, &recipe)?;
        let version = emit::version(&recipe.version, &table, &found);
        show(&found, &version);
        match &self.out {
            None => emit::write(root, &table, &found, &version),
            Some(path) => {
                let members = table.members(found.platt);
                stored::write(path, &Detector { members: &members, levels: found.levels, version: &version })
            }
        }
    }

    /// The command that does this again.
    fn command(&self) -> String {
        let mut command = format!("cargo xtask train detector --data {}", self.data.display());
        for (given, option) in [
            (self.cross_validate, " --cross-validate"),
            (self.without_important_instructions, " --without-important-instructions"),
            (self.without_own_texts, " --without-own-texts"),
        ] {
            command += if given { option } else { "" };
        }
        if let Some(out) = &self.out {
            command += &format!(" --out {}", out.display());
        }
        command
    }
}

/// What is read of a data folder.
struct Read {
    origins: Vec<Origin>,
    corpus: Corpus,
    /// Benign conversations and runs of dev.
    conversations: Vec<Conversation>,
    /// What assistants answered in benign conversations of train. They are no events, but as honest as what was asked.
    answers: Vec<Sample>,
}

impl Read {
    fn new(folder: &Path, recipe: &Recipe) -> anyhow::Result<Self> {
        let mut answers = Vec::new();
        let (mut corpus, mut conversations, mut origins) = (Corpus::default(), Vec::new(), Vec::new());
        for file in data::files(folder)? {
            let mut judged = 0;
            file.each(|record| {
                judged += u32::from(record.split != Split::Test);
                let events = of_record(&file.set, record)?;
                if record.split == Split::Dev && events.iter().all(|event| event.label == Label::Benign) {
                    let unit = events.first().map(|event| format!("{}/{}", event.set, event.unit)).unwrap_or_default();
                    conversations
                        .push(Conversation { unit, events: events.iter().map(|event| (event.channel, event.text.clone())).collect() });
                }
                if record.split == Split::Train && record.label == data::Label::Benign && ANSWERS.contains(&file.set.as_str()) {
                    let unit = data::unit_of(&file.set, record, false);
                    let said = record.messages.iter().flatten().filter(|message| message.role == "assistant");
                    answers.extend(said.map(|message| of_answer(&record.source, &unit, &message.content, recipe.bits)));
                }
                corpus.extend(events);
                Ok(())
            })?;
            origins.push(Origin { file, judged });
        }
        Ok(Read { origins, corpus, conversations, answers })
    }
}

fn tell(left: &Left) {
    let held_out: u64 = left.held_out.values().sum();
    eprintln!(
        "{} texts; left out: {held_out} that dev or test hold too {:?}, {} repeated, {} labelled both ways",
        left.kept, left.held_out, left.repeated, left.contradictory
    );
}

fn show(found: &Calibrated, version: &str) {
    let Calibrated { platt, levels, median, alarm, block, caller_arl0_events } = found;
    eprintln!("version {version}\n{platt:?}\n{levels:?}\nmedian of benign events {median}");
    eprintln!("caller_alarm with ARL0 {caller_arl0_events:?} events");
    for (name, level) in [("event_block", block), ("alarm", alarm)] {
        eprintln!(
            "{name}: {:.3} % of dev's benign units, {:.3} % drawn, {:.3} % at {} events; ARL0 {:?} events",
            100.0 * level.seen.hit_units() as f64 / level.seen.units().max(1) as f64,
            100.0 * level.drawn,
            100.0 * level.longest,
            level.longest_events,
            level.arl0_events
        );
    }
}
