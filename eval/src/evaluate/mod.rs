//! `cargo xtask eval --data DATA`: the plugin over a folder or file of data, and everything that can be said of it.
//!
//! ```text
//! data -> Collector (every record through the engine; scores and outcomes are kept, texts are not) -> Collected
//!      -> sections: summary, conversations, texts, events, precision; temporal, callers, accumulation, grafts -> report::Document -> terminal, report.{json,html,md}
//! ```

mod callers;
mod collect;
mod conversations;
mod events;
mod precision;
mod ranked;
mod remarks;
mod reproduced;
mod run;
mod summary;
mod texts;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use floodmark_core::Detector;
use floodmark_core::detector::Levels;
use floodmark_tables::DETECTOR;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

pub use collect::{Collected, Collector};
pub use run::{Outcome, Run, Scored, Single, ToolKey};

use crate::accumulation;
use crate::data::{self, DataFile, OnBroken, Part};
use crate::engine::{Engine, Kind, built_wasm};
use crate::events::Scorer;
use crate::grafts::Study;
use crate::output;
use crate::report::{Document, Fact, Section};
use crate::stats::Plan;
use crate::stored;
use crate::temporal::{self, References};

/// Samples of a bootstrap.
const DRAWS: usize = 2000;
/// Seed of what is drawn.
const SEED: u64 = 1;
/// How often the line of what is being done moves.
const TICK: Duration = Duration::from_millis(200);

/// Measures the plugin on data: what it finds, what it blocks wrongly, and what the papers' analyses say of it.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The data: a folder with a folder of *.jsonl or *.jsonl.gz for each set, or one such file; docs/data-format.md says what stands in them.
    #[arg(long, value_name = "PATH")]
    data: PathBuf,
    /// The part of the data to measure on.
    #[arg(long, value_enum, default_value_t = Part::Test)]
    split: Part,
    /// What judges: the plugin as native code, or the built wasm.
    #[arg(long, value_enum, default_value_t = Kind::Native)]
    engine: Kind,
    /// The plugin for `--engine wasm`.
    #[arg(long, value_name = "FILE", default_value_os_t = built_wasm())]
    wasm: PathBuf,
    /// A configuration of the plugin, as the gateway gets it; enforce mode and all defaults when left out.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A second detector, trained without `important_instructions` and its kin: shows how agent runs are told apart when the wrapper is new.
    #[arg(long, value_name = "FILE")]
    unseen_model: Option<PathBuf>,
    /// Pass over broken lines, and list them; without it the first one ends the command.
    #[arg(long)]
    skip_broken: bool,
    /// Samples to draw for bootstrap intervals.
    #[arg(long, default_value_t = DRAWS)]
    draws: usize,
    /// Seed of everything that is drawn.
    #[arg(long, default_value_t = SEED)]
    seed: u64,
    /// Write report.json, report.html and report.md into this folder.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

impl Args {
    /// Measures, prints and writes.
    ///
    /// # Errors
    /// When the data cannot be read, which names file and line, the engine fails, or the report cannot be written.
    pub fn run(&self) -> anyhow::Result<()> {
        let files = data::files(&self.data)?;
        let config = self.config.as_deref().map(read).transpose()?;
        let levels = self.levels(config.as_deref())?;
        let unseen = self.unseen_model.as_deref().map(stored::read).transpose()?;
        let collected = self.collect(&files, self.engine(config.as_deref())?, unseen)?;
        ensure!(
            !collected.runs.is_empty() || !collected.singles.is_empty(),
            "{} holds no record of part `{}` that could be judged; `--split all` takes every part, and a record without a part is of part `test`",
            shown(&self.data),
            self.split.name()
        );
        let document = Document {
            title: "What Floodmark finds".to_owned(),
            command: self.command(),
            facts: self.facts(&collected),
            sections: self.sections(&files, &collected, &levels, unseen)?,
            data: collected.origins.clone(),
        };
        self.deliver(&document)
    }

    /// Judges everything.
    fn collect(&self, files: &[DataFile], mut engine: Engine, unseen: Option<&'static Detector<'static>>) -> anyhow::Result<Collected> {
        let size = |file: &DataFile| fs::metadata(&file.path).map_or(0, |data| data.len());
        let bar = ProgressBar::new(files.iter().map(size).sum());
        bar.set_style(ProgressStyle::with_template("{bar:30} {percent:>3} %  {elapsed}  {msg}")?);
        let on_broken = self.on_broken();
        let wanted = |split| self.split.holds(split);
        let mut collector = Collector::new(&mut engine, unseen.map(Scorer::new), &wanted);
        for file in files {
            let taken = collector.file(file, on_broken, &bar)?;
            if taken.broken > 0 {
                bar.suspend(|| eprint!("{taken}"));
            }
            bar.inc(size(file));
        }
        bar.finish_and_clear();
        Ok(collector.finish())
    }

    fn sections(
        &self,
        files: &[DataFile],
        collected: &Collected,
        levels: &Levels,
        unseen: Option<&'static Detector<'static>>,
    ) -> anyhow::Result<Vec<Section>> {
        let plan = Plan { draws: self.draws, seed: self.seed };
        let Collected { runs, singles, .. } = collected;
        let bar = ProgressBar::new_spinner();
        bar.enable_steady_tick(TICK);
        let mut sections = Vec::new();
        let mut add = |what: &'static str, found: &mut dyn FnMut() -> anyhow::Result<Vec<Section>>| {
            bar.set_message(what);
            sections.extend(found()?);
            anyhow::Ok(())
        };
        add("conversations", &mut || Ok(Vec::from_iter(conversations::section(runs))))?;
        add("single texts", &mut || Ok(Vec::from_iter(texts::section(singles, levels, plan))))?;
        add("events", &mut || Ok(Vec::from_iter(events::section(runs, levels, plan))))?;
        add("precision and pairs", &mut || Ok(precision::sections(singles, runs, levels, plan)))?;
        let on_broken = self.on_broken();
        add("trajectories", &mut || {
            let references = References::read(files, on_broken, &mut Scorer::new(&DETECTOR), unseen.map(Scorer::new).as_mut())?;
            let record = Detector { levels: *levels, ..DETECTOR };
            Ok(temporal::sections(temporal::Input { runs, references: &references, record: &record, unseen, plan }))
        })?;
        add("callers", &mut || Ok(Vec::from_iter(callers::section(runs, levels, plan))))?;
        // These judge what they make with the levels that are built in.
        let shipped = self.config.is_none();
        if let Some(split) = self.split.one().filter(|_| shipped) {
            add("assembled conversations", &mut || {
                accumulation::sections(&accumulation::Options { on_broken, ..accumulation::Options::new(&self.data, split, plan) })
            })?;
        }
        if shipped {
            add("grafts", &mut || Ok(Vec::from_iter(Study::of(files, on_broken, &DETECTOR, plan)?.map(|study| study.section()))))?;
        }
        sections.extend(remarks::section(&collected.origins));
        sections.extend(reproduced::section(&collected.origins));
        bar.finish_and_clear();
        let summary = summary::section(singles, runs, &mut sections);
        Ok(std::iter::once(summary).chain(sections).collect())
    }

    fn on_broken(&self) -> OnBroken {
        if self.skip_broken { OnBroken::Skip } else { OnBroken::Stop }
    }

    fn engine(&self, config: Option<&str>) -> anyhow::Result<Engine> {
        match config {
            None => Engine::new(self.engine, &Value::Null, &self.wasm),
            Some(config) => Engine::configured(self.engine, config, &self.wasm).with_context(|| self.of_config()),
        }
    }

    /// The detector's levels, or those that the configuration sets for every request.
    fn levels(&self, config: Option<&str>) -> anyhow::Result<Levels> {
        let mut levels = DETECTOR.levels;
        if let Some(config) = config {
            let config: Value = serde_json::from_str(config).with_context(|| self.of_config())?;
            let set = &config["defaults"]["policy"]["detector"];
            for (name, level) in [
                ("event_block", &mut levels.event_block),
                ("drift", &mut levels.drift),
                ("alarm", &mut levels.alarm),
                ("caller_alarm", &mut levels.caller_alarm),
            ] {
                *level = set[name].as_f64().unwrap_or(*level);
            }
        }
        Ok(levels)
    }

    fn of_config(&self) -> String {
        self.config.as_deref().map_or_else(String::new, |path| format!("the configuration {}", shown(path)))
    }

    fn facts(&self, collected: &Collected) -> Vec<Fact> {
        let mut facts = Vec::new();
        let mut fact = |name, value: String| facts.push(Fact { name, value });
        fact("engine", self.engine.name().to_owned());
        fact("configuration", self.config.as_ref().map_or_else(|| "defaults, mode enforce".to_owned(), |path| path.display().to_string()));
        fact("detector", DETECTOR.version.to_owned());
        fact("part of the data", self.split.name());
        fact("judged", format!("{} conversations and agent runs, {} single texts", collected.runs.len(), collected.singles.len()));
        for (number, what) in [
            (collected.repeated, "single texts that stand again in the same unit"),
            (collected.blank, "blank texts, and conversations in which the model is never asked"),
        ] {
            if number > 0 {
                fact("left out", format!("{number} {what}"));
            }
        }
        if collected.unread > 0 {
            let why = "over the gateway's cap, refused unread, or the detector's rules are off; verdicts on them count";
            fact("not scored", format!("{} chats or texts: {why}", collected.unread));
        }
        if self.config.is_some() {
            fact(
                "left out with a configuration",
                "assembled conversations and grafts, which are judged with the levels that are built in".to_owned(),
            );
        }
        fact("intervals", format!("95 %; bootstraps of {} samples, seed {}", self.draws, self.seed));
        facts
    }

    /// Prints the report, or its summary where the whole is written to a folder.
    fn deliver(&self, document: &Document) -> anyhow::Result<()> {
        let mut text: String = document.facts.iter().map(|fact| format!("{}: {}\n", fact.name, fact.value)).collect();
        let shown_sections = if self.out.is_some() { 1 } else { document.sections.len() };
        for section in document.sections.iter().take(shown_sections) {
            text += &format!("\n{}", section.terminal());
        }
        if let Some(folder) = &self.out {
            let json = format!("{}\n", serde_json::to_string_pretty(document)?);
            for (name, contents) in [("report.json", json), ("report.html", document.page()?), ("report.md", document.markdown())] {
                output::write(&folder.join(name), contents.as_bytes())?;
            }
            text += &format!("\nThe whole report: {}\n", shown(&folder.join("report.html")));
        }
        output::print(&text)
    }

    /// The command that makes this report again.
    fn command(&self) -> String {
        let mut command = format!("cargo xtask eval --data {} --split {}", quoted(&self.data), self.split.name());
        let mut option = |name: &str, value: Option<String>| {
            command += &value.map_or_else(String::new, |value| format!(" --{name} {value}"));
        };
        let wasm = self.engine == Kind::Wasm && self.wasm != built_wasm();
        option("engine", (self.engine != Kind::default()).then(|| self.engine.name().to_owned()));
        option("wasm", wasm.then(|| quoted(&self.wasm)));
        option("config", self.config.as_deref().map(quoted));
        option("unseen-model", self.unseen_model.as_deref().map(quoted));
        option("out", self.out.as_deref().map(quoted));
        option("draws", (self.draws != DRAWS).then(|| self.draws.to_string()));
        option("seed", (self.seed != SEED).then(|| self.seed.to_string()));
        command + if self.skip_broken { " --skip-broken" } else { "" }
    }
}

/// A path as a shell takes it for one word.
fn quoted(path: &Path) -> String {
    let path = shown(path);
    let plain = path.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+=,@".contains(c));
    if plain { path } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read the configuration {}", shown(path)))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_in_commands_are_one_word() {
        let of = |path: &str| quoted(Path::new(path));
        assert_eq!([of("../shared/data"), of("my data.jsonl"), of("it's")], ["../shared/data", "'my data.jsonl'", r"'it'\''s'"]);
    }
}
