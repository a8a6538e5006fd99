//! `floodmark-eval detector`: how many injections the detector of record finds, at thresholds fixed on dev, and how often it is wrong.

mod conversations;
mod measure;
mod report;
mod sections;
mod targets;

use std::path::PathBuf;

use floodmark_tables::DETECTOR;

use crate::data::{self, Split};
use crate::events::{Corpus, Scorer, of_record};
use crate::markdown::Origin;
use crate::output::deliver;
use crate::stored;
use conversations::Conversations;
pub(crate) use measure::Benchmark;
use measure::Scored;
use report::{Measured, Outputs, Report};

/// Scores every event of a data folder with the detector of record: recall and false positives at thresholds fixed on dev, and whole conversations at its own levels.
///
/// The result is Markdown. Shares come with 95 % intervals that take into account that records repeat.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The data folder: README.md, and a folder of *.jsonl.gz for each set.
    #[arg(long)]
    data: PathBuf,
    /// The part of the data to measure on. Thresholds are always fixed on dev.
    #[arg(long, value_enum, default_value_t = Split::Test)]
    split: Split,
    /// A detector that was trained without `important_instructions` and its kin, as `cargo xtask train detector` writes it: shows how the family is found when it is new.
    #[arg(long, value_name = "FILE")]
    unseen_model: Option<PathBuf>,
    /// Write here instead of printing.
    #[arg(long)]
    out: Option<PathBuf>,
}

impl Args {
    /// Measures and writes the report.
    ///
    /// # Errors
    /// When the data cannot be read, which names file and line, holds no benign dev events, or the report cannot be written.
    pub fn run(&self) -> anyhow::Result<()> {
        let mut scorer = Scorer::new(&DETECTOR);
        let mut corpus = Corpus::default();
        let mut conversations = Conversations::default();
        let mut origins = Vec::new();
        for file in data::files(&self.data)? {
            let mut judged = 0_u32;
            file.each(|record| {
                let events = of_record(&file.set, record)?;
                let measured = self.measures(record.split);
                if measured && record.messages.is_some() {
                    let scores = events.iter().map(|event| scorer.score(&event.text)).collect::<Vec<_>>();
                    conversations.count(record, &events, &scores, &DETECTOR.levels);
                }
                let taken = events.into_iter().filter(|event| self.measures(event.split)).collect::<Vec<_>>();
                judged += u32::from(measured || !taken.is_empty());
                corpus.extend(taken);
                Ok(())
            })?;
            eprintln!("{}/{}: {judged} records", file.set, file.name);
            origins.push(Origin { file, judged });
        }
        let scored = score(&corpus, &mut scorer);
        let mut measured = Measured::new(&scored, self.split)?;
        let unseen = self.unseen_model.as_deref().map(stored::read).transpose()?;
        if let Some(model) = unseen {
            measured.unseen = Some(Outputs::of(&score(&corpus, &mut Scorer::new(model)), self.split));
        }
        let unseen_version = unseen.map(|model| model.version);
        let (command, detector) = (self.command(), &DETECTOR);
        let report = Report { command, detector, unseen_version, measured, conversations: &conversations, origins: &origins };
        deliver(&report.markdown(), self.out.as_deref())
    }

    /// Whether anything is done with this part: thresholds are fixed on dev.
    fn measures(&self, split: Split) -> bool {
        split == Split::Dev || split == self.split
    }

    /// The command that makes this report again.
    fn command(&self) -> String {
        let mut command = format!("cargo xtask eval detector --data {} --split {}", self.data.display(), self.split.name());
        if let Some(model) = &self.unseen_model {
            command += &format!(" --unseen-model {}", model.display());
        }
        if let Some(out) = &self.out {
            command += &format!(" --out {}", out.display());
        }
        command
    }
}

fn score<'e>(corpus: &'e Corpus, scorer: &mut Scorer<'_>) -> Vec<Scored<'e>> {
    corpus.events.iter().map(|event| Scored { event, score: scorer.score(&event.text) }).collect()
}
