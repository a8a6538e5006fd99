//! `floodmark-eval patterns`: what the patterns hit in honest traffic and in attacks.

mod measure;
mod report;
mod tally;

use std::path::PathBuf;

use anyhow::Context as _;
use floodmark_core::Policy;
use floodmark_tables::CATEGORIES;
use serde_json::{Value, json};

use crate::data::{self, Part};
use crate::markdown::Origin;
use crate::output::deliver;
use measure::Measure;
use report::Head;
use tally::Tallies;

/// Judges every record of a data folder and prints what was hit: honest traffic, attacks, and the worst patterns.
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
    /// How conversations are scored: a profile's name as in the plugin's configuration; the plugin's default when left out.
    #[arg(long, value_parser = with_profile)]
    profile: Option<Policy>,
    /// The report's title, for a report that is kept beside later ones.
    #[arg(long, default_value = "What the patterns hit")]
    title: String,
    /// Write here instead of printing.
    #[arg(long)]
    out: Option<PathBuf>,
}

impl Args {
    /// Measures and writes the report.
    ///
    /// # Errors
    /// When the data cannot be read, which names file and line, or the report cannot be written.
    pub fn run(&self) -> anyhow::Result<()> {
        let policy = self.profile.clone().unwrap_or_default();
        let measure = Measure::new(&policy)?;
        let mut tallies = Tallies::default();
        let mut origins = Vec::new();
        for file in data::files(&self.data)? {
            let mut records = file.records()?;
            let mut judged = 0_u32;
            while let Some(record) = records.next_record()? {
                if self.split.holds(record.split) {
                    measure.record(&file, &record, &mut tallies)?;
                    judged += 1;
                }
            }
            eprintln!("{}/{}: {judged} records", file.set, file.name);
            origins.push(Origin { file, judged });
        }
        let head = Head {
            title: &self.title,
            command: self.command()?,
            profile: profile(&policy)?,
            tau: policy.conversation.tau,
            patterns: CATEGORIES.patterns.len(),
            fingerprint: CATEGORIES.fingerprint,
        };
        let text = report::markdown(&head, &origins, &tallies);
        deliver(&text, self.out.as_deref())
    }

    /// The command that makes this report again.
    fn command(&self) -> anyhow::Result<String> {
        let mut command = format!("cargo xtask eval patterns --data {} --split {}", self.data.display(), self.split.name());
        if let Some(policy) = &self.profile {
            command += &format!(" --profile {}", profile(policy)?);
        }
        if let Some(out) = &self.out {
            command += &format!(" --out {}", out.display());
        }
        Ok(command)
    }
}

/// The policy that has nothing but this profile; which ones there are is said by the type itself.
fn with_profile(name: &str) -> Result<Policy, serde_json::Error> {
    serde_json::from_value(json!({ "profile": name }))
}

fn profile(policy: &Policy) -> anyhow::Result<String> {
    let policy = serde_json::to_value(policy)?;
    policy.get("profile").and_then(Value::as_str).map(str::to_owned).context("a policy names its profile")
}
