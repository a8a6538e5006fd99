//! `floodmark-eval instructions`: which texts of tools and memories the lineage gate takes for instructions.

use std::collections::BTreeMap;
use std::path::PathBuf;

use floodmark_core::instructions::{Likeness, wording};
use floodmark_core::{Judge, Policy};
use floodmark_tables::{CATEGORIES, INSTRUCTIONS, TABLES};

use crate::data::{self, Channel, Label, Part, Record, unit};
use crate::markdown::{Origin, cell, cell_text, data, row, table};
use crate::output::deliver;
use crate::stats::Share;

/// Asks of every single text that came from a tool or a memory whether it is instruction-like, and prints how many are.
///
/// The result is Markdown. Shares come with 95 % intervals that take into account that records repeat.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The data folder: README.md, and a folder of *.jsonl.gz for each set.
    #[arg(long)]
    data: PathBuf,
    /// The part of the data to judge.
    #[arg(long, value_enum, default_value_t = Part::All)]
    split: Part,
    /// Write here instead of printing.
    #[arg(long)]
    out: Option<PathBuf>,
}

/// What was found in a group of texts.
#[derive(Debug, Default)]
struct Tally {
    /// Whatever found it.
    any: Share,
    /// The word lists, asked alone.
    worded: Share,
    /// How many each came first to say so.
    first: BTreeMap<&'static str, u32>,
}

/// Set, source and kind of text.
type Group = (String, String, String);

impl Args {
    /// Measures and writes the report.
    ///
    /// # Errors
    /// When the data cannot be read, which names file and line, or the report cannot be written.
    pub fn run(&self) -> anyhow::Result<()> {
        let judge = Judge::new(&Policy::default(), &TABLES).map_err(|error| anyhow::anyhow!("policy.{}: {}", error.key, error.problem))?;
        let mut tallies: [BTreeMap<Group, Tally>; 2] = Default::default();
        let mut origins = Vec::new();
        for file in data::files(&self.data)? {
            let mut records = file.records()?;
            let mut judged = 0_u32;
            while let Some(record) = records.next_record()? {
                let Some(text) = memory(&record).filter(|_| self.split.holds(record.split)) else { continue };
                let of_label = &mut tallies[usize::from(record.label == Label::Benign)];
                let kind = record.kind.clone().unwrap_or_else(|| "-".to_owned());
                let tally = of_label.entry((file.set.clone(), record.source.clone(), kind)).or_default();
                tally.count(&judge, &unit(&file.set, &record), text);
                judged += 1;
            }
            if judged > 0 {
                eprintln!("{}/{}: {judged} texts", file.set, file.name);
                origins.push(Origin { file, judged });
            }
        }
        let [attacks, honest] = &tallies;
        anyhow::ensure!(
            !origins.is_empty(),
            "no text of a tool or a memory in {} (split {}); records need `text`, and `channel` \"tool\"",
            self.data.display(),
            self.split.name()
        );
        deliver(&self.report(attacks, honest, &origins), self.out.as_deref())
    }

    fn report(&self, attacks: &BTreeMap<Group, Tally>, honest: &BTreeMap<Group, Tally>, origins: &[Origin]) -> String {
        let out = self.out.as_ref().map_or_else(String::new, |out| format!(" --out {}", out.display()));
        let mut text = format!(
            "# What is taken for an instruction\n\nWritten by this command; do not edit.\n\n```sh\ncargo xtask eval instructions --data {} --split {}{out}\n```\n\n\
             The lineage gate asks of entries of class 4 whether they are instruction-like: those that are go into quarantine, others are read with a label. Here it is asked of single texts of \
             tools and memories. *By wording*: by the word lists alone (rules/instructions.toml); the detector and the patterns of categories are asked too, and were trained and written \
             on the `train` part of the same sets. *First said by*: what was asked first and said yes; the patterns are asked before the detector, and that before the lists. \
             Attack texts that claim something without telling anybody to do it are not instructions, and are read with the label. Among honest texts, documents for people to work by are \
             full of instructions, and found to be. A cell holds the number of texts, their share and its 95 % interval (exact, at the effective number of independent texts).\n",
            self.data.display(),
            self.split.name()
        );
        for (title, groups) in [("Attacks", attacks), ("Honest texts", honest)] {
            text.push_str(&format!("\n## {title}\n\n"));
            if groups.is_empty() {
                text.push_str("None.\n");
                continue;
            }
            table(&mut text, &["set", "source", "kind", "texts", "instruction-like", "by wording", "first said by"]);
            for ((set, source, kind), tally) in groups {
                let first: Vec<String> = tally.first.iter().map(|(name, count)| format!("{name} {count}")).collect();
                let texts = tally.any.records().to_string();
                let first = if first.is_empty() { "-".to_owned() } else { first.join(", ") };
                let cells = [set.as_str(), &cell_text(source), kind, &texts, &cell(&tally.any), &cell(&tally.worded), &first];
                row(&mut text, &cells);
            }
        }
        data(&mut text, origins);
        text
    }
}

/// The text of a record that may stand in a memory: what a tool gave, or was remembered.
fn memory(record: &Record) -> Option<&str> {
    record.text.as_deref().filter(|_| record.channel == Some(Channel::Tool))
}

impl Tally {
    fn count(&mut self, judge: &Judge<'_>, unit: &str, text: &str) {
        let found = judge.instruction_like(text);
        self.any.count(unit, found.is_some());
        self.worded.count(unit, wording(text, &INSTRUCTIONS, &CATEGORIES.folds).is_some());
        if let Some(name) = found.map(Likeness::name) {
            *self.first.entry(name).or_default() += 1;
        }
    }
}
