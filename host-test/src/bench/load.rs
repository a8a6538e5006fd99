//! Load on one address: one request after another for latency, several connections at once for throughput.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::ensure;

use crate::client::{Call, Connection, Protocol};

/// Requests of one block; the first few wake the process up again and are not counted.
pub(super) const BLOCK: usize = 20;
/// Those few.
pub(super) const WARM_UP: usize = 4;

/// Times of requests sent one after another on one connection, in seconds, by block.
pub type Blocks = Vec<Vec<f64>>;

/// Sends each call to its address in turn, a block at a time, `rounds` times; every answer must have status 200.
///
/// What disturbs the machine then disturbs all of them alike. Returns the blocks of each.
///
/// # Errors
/// When an answer is missing or its status is not 200.
pub async fn latency(targets: &[(SocketAddr, Call)], rounds: usize) -> anyhow::Result<Vec<Blocks>> {
    let mut connections = Vec::new();
    for (address, _) in targets {
        connections.push(Connection::open(*address, Protocol::Http1).await?);
    }
    let mut blocks = vec![Blocks::new(); targets.len()];
    for _ in 0..rounds {
        for ((connection, (_, call)), blocks) in connections.iter_mut().zip(targets).zip(&mut blocks) {
            blocks.push(block(connection, || call.clone()).await?);
        }
    }
    Ok(blocks)
}

/// One block: each request is made anew. Gives the times that count.
///
/// # Errors
/// When an answer is missing or its status is not 200.
pub async fn block(connection: &mut Connection, mut call: impl FnMut() -> Call) -> anyhow::Result<Vec<f64>> {
    let mut times = Vec::with_capacity(BLOCK);
    for at in 0..WARM_UP + BLOCK {
        let answer = connection.send(call()).await?;
        ensure!(answer.status == 200, "status {}: {}", answer.status, answer.text());
        if at >= WARM_UP {
            times.push(answer.elapsed.as_secs_f64());
        }
    }
    Ok(times)
}

/// Requests a second over `connections` at once, each sending one request after another for `time`.
///
/// # Errors
/// When an answer is missing or its status is not 200.
pub async fn throughput(address: SocketAddr, call: &Call, connections: usize, time: Duration) -> anyhow::Result<f64> {
    let mut open = Vec::new();
    for _ in 0..connections {
        open.push(Connection::open(address, Protocol::Http1).await?);
    }
    let started = Instant::now();
    let senders = open.into_iter().map(|mut connection| async move {
        let mut answers = 0usize;
        while started.elapsed() < time {
            let answer = connection.send(call.clone()).await?;
            ensure!(answer.status == 200, "status {}: {}", answer.status, answer.text());
            answers += 1;
        }
        Ok(answers)
    });
    let answers: usize = futures_util::future::try_join_all(senders).await?.into_iter().sum();
    Ok(answers as f64 / started.elapsed().as_secs_f64())
}
