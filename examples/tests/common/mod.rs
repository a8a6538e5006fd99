//! A folder with a store, and the process that tampers with it.
#![allow(dead_code, reason = "each test uses its part")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

use floodmark_core::lineage::{Gate, KeyRing};
use floodmark_examples::store::Options;
use tempfile::TempDir;

/// Where a store lies.
pub struct Place {
    pub folder: Rc<TempDir>,
    pub counter: Option<PathBuf>,
    /// The first seals.
    pub keys: Vec<&'static str>,
    pub gate: Gate,
}

impl Place {
    pub fn new() -> Self {
        Place { folder: Rc::new(tempfile::tempdir().unwrap()), counter: None, keys: vec!["k"], gate: Gate::default() }
    }

    /// The same place.
    pub fn again(&self) -> Self {
        Place { folder: self.folder.clone(), counter: self.counter.clone(), keys: self.keys.clone(), gate: self.gate.clone() }
    }

    pub fn with_counter(mut self) -> Self {
        self.counter = Some(self.folder.path().join("elsewhere"));
        self
    }

    pub fn db(&self) -> PathBuf {
        self.folder.path().join("store.db")
    }

    pub fn options(&self, tenant: &str, store: &str) -> Options {
        let ring = KeyRing::new(self.keys.iter().map(|id| ((*id).to_owned(), secret(id))).collect()).unwrap();
        Options { db: self.db(), tenant: tenant.into(), store: store.into(), gate: self.gate.clone(), ring, counter: self.counter.clone() }
    }
}

/// A secret for tests, made of the key's name.
fn secret(id: &str) -> [u8; 32] {
    std::array::from_fn(|at| id.as_bytes()[at % id.len()] ^ at as u8)
}

/// Whether `verify` passes, as a shell sees it, and what it says.
pub fn verify(place: &Place) -> (bool, String) {
    let keys: Vec<String> = place.keys.iter().map(|id| format!("{id}={}", floodmark_core::lineage::encode_hex(&secret(id)))).collect();
    let mut command = Command::new(env!("CARGO_BIN_EXE_memory-store"));
    command.env("FLOODMARK_KEYS", keys.join(" ")).arg("--db").arg(place.db());
    if let Some(counter) = &place.counter {
        command.arg("--counter").arg(counter);
    }
    let done = command.arg("verify").output().unwrap();
    (done.status.success(), String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned())
}

/// Runs SQL on the file in another process, which has no key. It must change something.
pub fn tamper(db: &Path, sql: &str) {
    let before = std::fs::read(db).unwrap();
    let done = Command::new(env!("CARGO_BIN_EXE_tamper")).arg(db).arg(sql).env_clear().output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_ne!(before, std::fs::read(db).unwrap(), "{sql} changed nothing");
}
