//! A scheduler on the command line: each task is checked before it fires.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};
use floodmark_core::lineage::Decision;
use floodmark_examples::cli::{self, Common};
use floodmark_examples::now_ms;
use floodmark_examples::store::{New, Store};
use floodmark_examples::tasks::{self, Task};

#[derive(Parser)]
#[command(about = "A scheduler whose tasks are sealed, and checked before they fire")]
struct Cli {
    /// The SQLite file
    #[arg(long, default_value = "tasks.db")]
    db: PathBuf,
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make a new store
    Init,
    /// Schedule a task
    Add {
        /// Its name
        name: String,
        /// The tool that it calls
        tool: String,
        /// The tool's arguments, a JSON object
        arguments: String,
        /// Every so many seconds
        #[arg(long)]
        every_s: u64,
        /// Which way it came: user, approved_source, agent, tool, web, import, plugin, pasted, scheduler or unknown
        #[arg(long)]
        channel: String,
        /// A task that it was made from; may be given several times
        #[arg(long)]
        parent: Vec<String>,
    },
    /// Check the tasks that are due, and fire those that may
    Tick {
        /// Unix time of the last tick, in seconds
        #[arg(long)]
        last_s: u64,
        /// Unix time in seconds; now if it is left out
        #[arg(long)]
        now_s: Option<u64>,
        /// A sealed grant in hex; may be given several times
        #[arg(long)]
        grant: Vec<String>,
    },
}

fn main() -> Result<()> {
    let Cli { db, common, command } = Cli::parse();
    let options = common.options(&db, tasks::STORE)?;
    match command {
        Command::Init => Store::create(options).map(|_| ()),
        Command::Add { name, tool, arguments, every_s, channel, parent } => {
            let channel = cli::channel(&channel)?;
            let arguments = serde_json::from_str(&arguments).context("the arguments must be a JSON object")?;
            let content = Task { tool, arguments, every_s }.content()?;
            let parents: Vec<&str> = parent.iter().map(String::as_str).collect();
            Store::open(options)?
                .remember(&common.principal, &New { entry: &name, content: &content, channel, author: "", parents: &parents })?;
            Ok(())
        }
        Command::Tick { last_s, now_s, grant } => {
            let now_s = now_s.map_or_else(|| now_ms().map(|ms| ms / 1000), Ok)?;
            for due in tasks::due(&mut Store::open(options)?, &grant, last_s, now_s)? {
                println!("{}", line(&due));
            }
            Ok(())
        }
    }
}

/// What becomes of a task. A real scheduler would call the tool instead of printing the call, with the arguments' text as it is.
fn line(due: &tasks::Due) -> String {
    // Names stand in the file, so anybody may have chosen them: on one line.
    let who = format!("{} of {}", due.name.escape_debug(), due.principal.escape_debug());
    if let Some(Task { tool, arguments, .. }) = due.fires() {
        return format!("fire  {who}: {tool} {arguments}");
    }
    if let Some(Task { tool, arguments, .. }) = due.with(Decision::Ask) {
        return format!("ask   {who}: may it call {tool} with {arguments}? No mandate covers it.");
    }
    match &due.answer {
        Err(problem) => format!("keep  {who}: {problem:#}"),
        Ok(answer) => {
            let reason = answer.broken.map(|broken| broken.name()).or(answer.why.map(|why| why.name())).unwrap_or("untrusted");
            format!("keep  {who}: {reason}")
        }
    }
}
