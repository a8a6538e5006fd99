//! The demo's gateway: Envoy with the plugin, Envoy without it beside it, and one provider behind both.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use super::{Case, Outcome, Seen};
use crate::client::{Answer, Call, Connection, Protocol};
use crate::envoy::{Config, Envoy, Options};
use crate::upstream::Upstream;

/// Requests with and without the plugin for each median.
const PAIRS: usize = 41;

/// Envoy with and without the plugin, before the same provider.
#[derive(Debug)]
pub struct Gateway {
    /// Envoy on `envoy-config/enforce.yaml`.
    pub envoy: Envoy,
    plain: Envoy,
    upstream: Upstream,
}

impl Gateway {
    /// Starts all three.
    ///
    /// # Errors
    /// When Envoy does not start, for one on a module that it refuses.
    pub async fn start(options: &Options, wasm: &Path) -> anyhow::Result<Self> {
        let upstream = Upstream::start().await?;
        let config = Config::shipped("enforce", wasm, upstream.address())?;
        let plain = Envoy::start(options, &config.clone().without_filter()?).await?;
        let envoy = Envoy::start(options, &config).await?;
        Ok(Self { envoy, plain, upstream })
    }

    /// Sends a conversation once for its outcome, then some times for the time that the plugin adds.
    ///
    /// # Errors
    /// When no answer comes or the access log has no line of it.
    pub async fn play(&self, case: &Case) -> anyhow::Result<Outcome> {
        let answer = self.call(case).id(&case.id).send(self.envoy.address()).await?;
        let line = self.envoy.access_line(&case.id).await?;
        self.envoy.settle(self.upstream.journal()).await?;
        Ok(Outcome {
            verdict: line.field("verdict"),
            score: line.field("score").and_then(|s| s.parse().ok()),
            rule: line.field("rule"),
            status: answer.status,
            seen: Seen::of(&self.upstream.journal().received(&case.id)),
            time: Some(self.times(case).await?),
        })
    }

    fn call(&self, case: &Case) -> Call {
        Call::post(&case.path, case.body.get().to_owned())
    }

    async fn times(&self, case: &Case) -> anyhow::Result<(Duration, Duration)> {
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for _ in 0..PAIRS {
            with.push(self.timed(case, self.envoy.address()).await?.elapsed);
            without.push(self.timed(case, self.plain.address()).await?.elapsed);
        }
        Ok((median(with), median(without)))
    }

    /// One call on a connection that Envoy has accepted already, so that the handshake is not in the time.
    async fn timed(&self, case: &Case, address: SocketAddr) -> anyhow::Result<Answer> {
        let mut connection = Connection::open(address, Protocol::Http1).await?;
        connection.send(Call::get("/")).await?;
        connection.send(self.call(case)).await
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
