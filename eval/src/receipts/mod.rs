//! `floodmark-eval receipts`: the score of every event of agent runs and conversations, as rows that figures can be recomputed from without the detector.
//!
//! A receipt is CSV with the columns `trajectory_id,group,position,score,unit`; docs/eval/receipts.md is its specification.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use anyhow::ensure;
use floodmark_core::Detector;
use floodmark_tables::DETECTOR;

use crate::data::{self, DataFile, Label, Record, Split, unit};
use crate::events::{Scorer, of_record};
use crate::output;
use crate::stored;

/// The header of a receipt.
pub(crate) const COLUMNS: [&str; 5] = ["trajectory_id", "group", "position", "score", "unit"];

/// Scores the events of agent runs and conversations and writes them as a receipt.
///
/// Single texts are no trajectories, and attacked runs that never met the attack belong to no group: both are left out.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The data folder: README.md, and a folder of *.jsonl.gz for each set.
    #[arg(long)]
    data: PathBuf,
    /// Take only this part of the data; may repeat.
    #[arg(long, value_enum)]
    split: Vec<Split>,
    /// Take only this set (`agentdyn`) or file of a set (`agentdyn/trajectories`); may repeat.
    #[arg(long)]
    set: Vec<String>,
    /// Score with this detector, as `cargo xtask train detector` writes it; the detector of record when left out.
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// Write here instead of printing.
    #[arg(long)]
    out: Option<PathBuf>,
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    attack: u32,
    benign: u32,
    events: u32,
    never_met: u32,
    /// Records without an event.
    empty: u32,
}

impl Args {
    /// Scores and writes.
    ///
    /// # Errors
    /// When the data cannot be read, which names file and line, nothing is chosen, or the receipt cannot be written.
    pub fn run(&self) -> anyhow::Result<()> {
        let detector = self.model.as_deref().map_or(Ok(&DETECTOR), stored::read)?;
        let count = match &self.out {
            None => self.write(io::stdout().lock(), detector)?,
            Some(path) => self.write(BufWriter::new(output::create(path)?), detector)?,
        };
        let Count { attack, benign, events, never_met, empty } = count;
        eprintln!("detector {}: {attack} attack and {benign} benign trajectories, {events} events", detector.version);
        eprintln!("left out: {never_met} attacked runs that never met the attack, {empty} records without an event");
        Ok(())
    }

    fn write(&self, out: impl Write, detector: &'static Detector<'static>) -> anyhow::Result<Count> {
        let files = data::files(&self.data)?;
        let known = |wanted: &String| files.iter().any(|file| names(file).contains(wanted));
        if let Some(unknown) = self.set.iter().find(|wanted| !known(wanted)) {
            let all: Vec<String> = files.iter().map(|file| names(file)[1].clone()).collect();
            anyhow::bail!("no set `{unknown}` in {}; there are {}", self.data.display(), all.join(", "));
        }
        let mut rows = Rows { csv: csv::Writer::from_writer(out), scorer: Scorer::new(detector), count: Count::default() };
        rows.csv.write_record(COLUMNS)?;
        for file in files.iter().filter(|file| self.set.is_empty() || names(file).iter().any(|name| self.set.contains(name))) {
            let wanted = |record: &Record| self.split.is_empty() || self.split.contains(&record.split);
            file.each(|record| if wanted(record) { rows.record(file, record) } else { Ok(()) })?;
        }
        rows.csv.flush()?;
        ensure!(rows.count.events > 0, "no agent run or conversation is in what was chosen");
        Ok(rows.count)
    }
}

/// A file by its set, and by its own name.
fn names(file: &DataFile) -> [String; 2] {
    [file.set.clone(), format!("{}/{}", file.set, file.stem())]
}

/// The rows as they are written.
struct Rows<W: Write> {
    csv: csv::Writer<W>,
    scorer: Scorer<'static>,
    count: Count,
}

impl<W: Write> Rows<W> {
    fn record(&mut self, file: &DataFile, record: &Record) -> anyhow::Result<()> {
        if record.text.is_some() {
            return Ok(());
        }
        let attack = record.label != Label::Benign;
        if attack && record.injection_seen == Some(false) {
            self.count.never_met += 1;
            return Ok(());
        }
        let events = of_record(&file.set, record)?;
        let group = match (events.is_empty(), attack) {
            (true, _) => &mut self.count.empty,
            (false, true) => &mut self.count.attack,
            (false, false) => &mut self.count.benign,
        };
        *group += 1;
        // Ids and units of one set or file mean nothing in another.
        let [_, name] = names(file);
        let id = format!("{name}/{}", record.id);
        let unit = format!("{}/{}", file.set, unit(&file.set, record));
        for event in events {
            // The shortest spelling that reads back as the same bits.
            let score = self.scorer.score(&event.text).to_string();
            let group = if attack { "attack" } else { "benign" };
            self.csv.write_record([id.as_str(), group, &event.position.to_string(), &score, &unit])?;
            self.count.events += 1;
        }
        Ok(())
    }
}
