//! Load on one address: one request after another for latency, several connections at once for throughput.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::ensure;

use crate::client::{Call, Connection, Protocol};

/// Requests of one block; the first few wake the process up again and are not counted.
const BLOCK: usize = 20;
const WARM_UP: usize = 4;

/// Times of requests sent one after another on one connection, in seconds, by block.
pub type Blocks = Vec<Vec<f64>>;

/// Sends `call` to each address in turn, a block at a time, `rounds` times; each must be answered with `status`.
///
/// What disturbs the machine then disturbs all addresses alike. Returns the blocks of each address.
///
/// # Errors
/// When an answer is missing or has another status.
pub async fn latency(addresses: &[SocketAddr], call: &Call, status: u16, rounds: usize) -> anyhow::Result<Vec<Blocks>> {
    let mut connections = Vec::new();
    for address in addresses {
        connections.push(Connection::open(*address, Protocol::Http1).await?);
    }
    let mut blocks = vec![Blocks::new(); addresses.len()];
    for _ in 0..rounds {
        for (connection, blocks) in connections.iter_mut().zip(&mut blocks) {
            let mut block = Vec::with_capacity(BLOCK);
            for at in 0..WARM_UP + BLOCK {
                let answer = connection.send(call.clone()).await?;
                ensure!(answer.status == status, "status {} where {status} was due: {}", answer.status, answer.text());
                if at >= WARM_UP {
                    block.push(answer.elapsed.as_secs_f64());
                }
            }
            blocks.push(block);
        }
    }
    Ok(blocks)
}

/// Requests a second over `connections` at once, each sending one request after another for `time`.
///
/// # Errors
/// When an answer is missing or has another status than `status`.
pub async fn throughput(address: SocketAddr, call: &Call, status: u16, connections: usize, time: Duration) -> anyhow::Result<f64> {
    let mut open = Vec::new();
    for _ in 0..connections {
        open.push(Connection::open(address, Protocol::Http1).await?);
    }
    let started = Instant::now();
    let senders = open.into_iter().map(|mut connection| async move {
        let mut answers = 0usize;
        while started.elapsed() < time {
            let answer = connection.send(call.clone()).await?;
            ensure!(answer.status == status, "status {} where {status} was due: {}", answer.status, answer.text());
            answers += 1;
        }
        Ok(answers)
    });
    let answers: usize = futures_util::future::try_join_all(senders).await?.into_iter().sum();
    Ok(answers as f64 / started.elapsed().as_secs_f64())
}
