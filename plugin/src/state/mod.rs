//! What the VMs of one gateway remember together, across requests.

pub mod quarantine;
mod set;
pub mod table;

use floodmark_core::limits::{MAX_CALLER_BYTES, MAX_QUARANTINE_BYTES, MAX_QUARANTINE_TENANTS, MAX_RUN_BYTES};
use floodmark_core::run::RunKey;

use crate::approvals::Approvals;
use crate::config;
use crate::host::{Host, LogLevel};
use crate::keys::{Secret, SubKey, first};
use crate::metrics::StateCounters;
use table::{CallerTag, KEY_BYTES, Key, Shape, Table};

/// The names of the tables, in keys of shared data and in counters.
pub const TABLES: [&str; 6] = ["runs", "callers", "ids", "approvals", "versions", "quarantine"];

/// The tables, and the keys under which things have their names in them.
#[derive(Clone, Debug)]
pub struct State {
    /// By run id: [`floodmark_core::run::Run`].
    pub runs: Table,
    /// By caller: [`floodmark_core::run::Caller`].
    pub callers: Table,
    /// By identifiers that responses gave out: the id of the run that they belong to.
    pub ids: Table,
    /// Approvals.
    pub approvals: Approvals,
    /// By entry of a principal's in a tenant's store: its newest version.
    pub versions: Table,
    /// By tenant: [`quarantine::List`].
    pub quarantine: Table,
    /// Names tenants and their entries.
    pub lineage_key: SubKey,
    /// Names callers.
    pub caller_key: SubKey,
    /// Names runs.
    pub run_key: SubKey,
    /// Names learned identifiers.
    pub id_key: SubKey,
    /// For the digests that runs hold.
    pub event_key: RunKey,
    /// How long anything is remembered.
    pub ttl_ms: u64,
    /// After so long half of what was counted is left.
    pub half_life_ms: u64,
}

impl State {
    /// Tables as configured, named with this secret.
    pub fn new(secret: &Secret, config: &config::State, approvals: &config::ApprovalsConfig, counters: &StateCounters) -> Self {
        let (ttl_ms, half_life_ms) = (u64::from(config.ttl_s) * 1000, u64::from(config.half_life_s) * 1000);
        let counters = |number: usize| counters.tables.get(number).cloned().unwrap_or_default();
        let new = |number: usize, entries, payload_bytes, ttl_ms| {
            let name = TABLES.get(number).copied().unwrap_or_default();
            Table::new(Shape { name, entries, payload_bytes, ttl_ms, half_life_ms, insists: number == 4 }, counters(number))
        };
        let table = |number, entries, payload_bytes| new(number, entries, payload_bytes, ttl_ms);
        // What is known of entries and tenants is for good: it only gives way to what is newer.
        let lasting = |number, entries, payload_bytes| new(number, entries, payload_bytes, u64::MAX);
        State {
            runs: table(0, config.runs, MAX_RUN_BYTES),
            callers: table(1, config.callers, MAX_CALLER_BYTES),
            ids: table(2, config.runs, KEY_BYTES),
            approvals: Approvals::new(secret.derive("approvals"), approvals.ttl_s, counters(3)),
            versions: lasting(4, config.versions, size_of::<u64>()),
            quarantine: lasting(5, MAX_QUARANTINE_TENANTS, MAX_QUARANTINE_BYTES),
            lineage_key: secret.derive("lineage names"),
            caller_key: secret.derive("caller"),
            run_key: secret.derive("run"),
            id_key: secret.derive("id"),
            event_key: RunKey::new(first(secret.derive("events").bytes())),
            ttl_ms,
            half_life_ms,
        }
    }

    /// A tenant's name in the tables, and beside all that is its own.
    pub fn tenant(&self, name: &str) -> (Key, CallerTag) {
        let digest = self.lineage_key.digest(&[b"tenant", name.as_bytes()]);
        (first(&digest), first(&digest))
    }

    /// Says once, at the start, that nothing can be remembered, if so.
    pub fn warn_without(host: &dyn Host) {
        if host.shared_data("floodmark/1/start").is_err() {
            host.log(
                LogLevel::Warn,
                "floodmark state: this gateway has no shared data, so nothing is remembered: each request is judged alone",
            );
        }
    }
}
