//! A memory store on the command line: remembers, recalls, forgets, and says what is wrong with its file.

use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use clap::{Parser, Subcommand};
use floodmark_core::lineage::Decision;
use floodmark_examples::cli::{self, Common};
use floodmark_examples::store::{Finding, New, Options, Store, Use};

#[derive(Parser)]
#[command(about = "A store of memories whose entries are sealed and checked")]
struct Cli {
    /// The SQLite file
    #[arg(long, default_value = "memory.db")]
    db: PathBuf,
    #[command(flatten)]
    common: Common,
    /// The store's name
    #[arg(long, default_value = "memories")]
    store: String,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make a new store
    Init,
    /// Write an entry, or a new version of it
    Remember {
        /// Its name
        entry: String,
        /// Its text
        content: String,
        /// Which way it came: user, approved_source, agent, tool, web, import, plugin, pasted, scheduler or unknown
        #[arg(long)]
        channel: String,
        /// Who wrote it
        #[arg(long, default_value = "")]
        author: String,
        /// An entry that it was made from; may be given several times
        #[arg(long)]
        parent: Vec<String>,
    },
    /// Read an entry: its text is printed only if the gate lets it through
    Recall {
        /// Its name
        entry: String,
    },
    /// Take an entry away
    Forget {
        /// Its name
        entry: String,
    },
    /// Check the head and every entry of the file
    Verify,
    /// Take the rows as they are for the store's: only after you have looked at them
    Reseal,
}

fn main() -> Result<()> {
    let Cli { db, common, store, command } = Cli::parse();
    let options = || common.options(&db, &store);
    let principal = &common.principal;
    match command {
        Command::Init => Store::create(options()?).map(|_| println!("made {}", db.display())),
        Command::Remember { entry, content, channel, author, parent } => {
            let channel = cli::channel(&channel)?;
            let parents: Vec<&str> = parent.iter().map(String::as_str).collect();
            let new = New { entry: &entry, content: &content, channel, author: &author, parents: &parents };
            let minted = Store::open(options()?)?.remember(principal, &new)?;
            println!("{entry} version {}", minted.version);
            Ok(())
        }
        Command::Recall { entry } => {
            let (content, answer) = Store::open(options()?)?.recall(principal, &entry, Use::default())?;
            eprintln!("{}", serde_json::to_string(&answer)?);
            match answer.decision {
                Decision::Run => println!("{content}"),
                Decision::Label => println!("{}\n{content}", answer.label.unwrap_or_default()),
                Decision::Ask | Decision::Quarantine => bail!("{entry} is kept back; an administrator can look at it and release it"),
            }
            Ok(())
        }
        Command::Forget { entry } => Store::open(options()?)?.forget(principal, &entry),
        Command::Verify => verify(&options, common.has_counter()),
        Command::Reseal => {
            let wrong = print(&mut Store::reseal(options()?)?)?;
            println!("sealed these rows; {wrong} are not as they were sealed before, and stay so");
            Ok(())
        }
    }
}

/// Prints what is found of each row, then of the head. Only a store of which all is as it was sealed passes.
fn verify(options: &dyn Fn() -> Result<Options>, has_counter: bool) -> Result<()> {
    let (mut store, head) = match Store::open(options()?) {
        Ok(store) => (store, None),
        Err(problem) => (Store::inspect(options()?)?, Some(problem)),
    };
    let wrong = print(&mut store)?;
    match (head, has_counter) {
        (Some(problem), _) => return Err(problem),
        (None, true) => println!("the head is right"),
        (None, false) => println!("the head is right, but without --counter the file may be an older one"),
    }
    ensure!(wrong == 0, "{wrong} rows are not as they were sealed; bring back a good copy, or forget them");
    Ok(())
}

/// Prints what is found of each row. How many are not as they were sealed?
fn print(store: &mut Store) -> Result<usize> {
    let findings = store.look()?;
    for Finding { principal, entry, text, .. } in &findings {
        // Names stand in the file, so anybody may have chosen them: on one line.
        println!("{} {}: {text}", principal.escape_debug(), entry.escape_debug());
    }
    Ok(findings.iter().filter(|finding| !finding.intact).count())
}
