//! Envoy's admin page: readiness, the listener's port, counters.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};

use super::{Envoy, GLANCE, PATIENCE};
use crate::client::Call;
use crate::upstream::Journal;

/// Counters and gauges by name.
pub type Stats = BTreeMap<String, u64>;

pub(super) async fn is_ready(admin: SocketAddr) -> bool {
    Call::get("/ready").send(admin).await.is_ok_and(|a| a.status == 200)
}

/// The address of the listener `gateway`, which may have been given port 0; of the first where none is called that.
pub(super) async fn listener(admin: SocketAddr) -> anyhow::Result<SocketAddr> {
    match named(admin, "gateway").await {
        Ok(address) => Ok(address),
        Err(_) => named(admin, "").await,
    }
}

/// The address of the first listener whose name begins so.
async fn named(admin: SocketAddr, name: &str) -> anyhow::Result<SocketAddr> {
    let answer = Call::get("/listeners?format=json").send(admin).await?.json()?;
    let listeners = answer["listener_statuses"].as_array().map(Vec::as_slice).unwrap_or_default();
    let found = listeners.iter().find(|listener| listener["name"].as_str().is_some_and(|own| own.starts_with(name)));
    let socket = found.map(|listener| &listener["local_address"]["socket_address"]);
    let socket = socket.with_context(|| format!("no listener {name:?} in Envoy's answer {answer}"))?;
    let address = format!("{}:{}", socket["address"].as_str().unwrap_or_default(), socket["port_value"]);
    address.parse().with_context(|| format!("no address in Envoy's answer {answer}"))
}

impl Envoy {
    /// Where another listener than the gateway's is, by its name.
    ///
    /// # Errors
    /// When there is none, or the admin page does not answer.
    pub async fn listener(&self, name: &str) -> anyhow::Result<SocketAddr> {
        named(self.admin, name).await
    }

    /// All counters and gauges that were ever used.
    ///
    /// # Errors
    /// When the admin page does not answer.
    pub async fn stats(&self) -> anyhow::Result<Stats> {
        let text = self.admin_get("/stats?usedonly").await?;
        let pairs = text.lines().filter_map(|line| line.split_once(": "));
        Ok(pairs.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))).collect())
    }

    /// One counter or gauge; 0 when it was never used.
    ///
    /// # Errors
    /// When the admin page does not answer.
    pub async fn stat(&self, name: &str) -> anyhow::Result<u64> {
        Ok(self.stats().await?.get(name).copied().unwrap_or(0))
    }

    /// An admin page's text.
    ///
    /// # Errors
    /// When the admin page does not answer with 200.
    pub async fn admin_get(&self, path: &str) -> anyhow::Result<String> {
        let answer = Call::get(path).send(self.admin).await?;
        ensure!(answer.status == 200, "Envoy's {path} answered {}: {}", answer.status, answer.text());
        Ok(answer.text())
    }

    /// Waits until no request is under way, in Envoy and at the upstream: then nothing more can reach the upstream.
    ///
    /// # Errors
    /// When a request is still under way at the end of the patience.
    pub async fn settle(&self, upstream: &Journal) -> anyhow::Result<()> {
        let started = Instant::now();
        loop {
            let active: u64 = self.stats().await?.iter().filter(|(n, _)| is_active(n)).map(|(_, v)| v).sum();
            let open = upstream.open();
            if active == 0 && open == 0 {
                return Ok(());
            }
            if started.elapsed() > PATIENCE {
                bail!("{active} requests are still under way in Envoy and {open} at the upstream");
            }
            tokio::time::sleep(GLANCE).await;
        }
    }
}

/// Requests under way, without the admin page's own.
fn is_active(name: &str) -> bool {
    name.ends_with(".downstream_rq_active") && !name.starts_with("http.admin.") || name.ends_with(".upstream_rq_active")
}
