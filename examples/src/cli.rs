//! What both programs take on the command line.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use floodmark_core::lineage::Channel;

use crate::keys;
use crate::store::{Options, gate};

/// Keys, gate, and who acts.
#[derive(clap::Args, Debug)]
pub struct Common {
    /// File with the keys, ID=SECRET; else they are in FLOODMARK_KEYS
    #[arg(long)]
    keys: Option<PathBuf>,
    /// File for the newest change's number, where whoever can write the SQLite file cannot write
    #[arg(long)]
    counter: Option<PathBuf>,
    /// JSON file with what the gate goes by: approved sources, groups, mandates
    #[arg(long)]
    gate: Option<PathBuf>,
    /// Whose store it is
    #[arg(long, default_value = "acme")]
    tenant: String,
    /// Who acts
    #[arg(long, default_value = "alice")]
    pub principal: String,
}

impl Common {
    /// How to open this store.
    ///
    /// # Errors
    /// Keys or a gate that cannot be read.
    pub fn options(&self, db: &Path, store: &str) -> Result<Options> {
        Ok(Options {
            db: db.to_owned(),
            tenant: self.tenant.clone(),
            store: store.to_owned(),
            gate: gate(self.gate.as_deref())?,
            ring: keys::ring(self.keys.as_deref())?,
            counter: self.counter.clone(),
        })
    }

    /// Whether there is a counter to compare the file's head with.
    pub fn has_counter(&self) -> bool {
        self.counter.is_some()
    }
}

/// The channel of this name.
///
/// # Errors
/// When there is none.
pub fn channel(name: &str) -> Result<Channel> {
    Channel::ALL.into_iter().find(|known| known.name() == name).context("no such channel; `--help` lists them")
}
