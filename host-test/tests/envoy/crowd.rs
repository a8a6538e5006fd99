//! Many clients at once on two workers: each conversation gets its own verdict, never a neighbour's.

use std::time::Duration;

use floodmark_host::client::{Connection, Protocol};
use floodmark_host::demo::Seen;

use crate::stage::{Stage, assert_judged, call, case, checks};

checks![twenty_clients_each_get_their_own_verdict];

const CLIENTS: usize = 20;
const ROUNDS: usize = 6;
const CASES: [&str; 6] =
    ["slow_burn", "long_benign_chat", "anthropic_tool_results", "one_weak_hit", "poisoned_tool_results", "benign_agent_run"];

async fn twenty_clients_each_get_their_own_verdict(stage: &Stage) -> anyhow::Result<()> {
    let envoy = stage.start(stage.config("enforce").await?).await?;
    let clients = (0..CLIENTS).map(|client| {
        let envoy = &envoy;
        async move {
            let protocol = if client % 2 == 0 { Protocol::Http1 } else { Protocol::Http2 };
            let mut connection = Connection::open(envoy.address(), protocol).await?;
            for round in 0..ROUNDS {
                let (id, case) = (id(client, round), case(name(client, round))?);
                // Small pieces with pauses, so that many bodies are held at the same time.
                let call = call(&case).over(protocol).cut(&[150 + client], Duration::from_millis(1)).id(&id);
                let answer = connection.send(call).await?;
                assert_eq!(answer.status, case.expect.status, "{id}: {}", answer.text());
                assert_eq!(answer.header("x-floodmark-verdict"), Some(case.expect.verdict.as_str()), "{id}");
                if answer.status == 403 {
                    assert_eq!(answer.header("x-floodmark-event-id"), Some(id.as_str()));
                    if protocol == Protocol::Http1 {
                        // Envoy may close a connection after a reply of its own.
                        connection = Connection::open(envoy.address(), protocol).await?;
                    }
                }
            }
            anyhow::Ok(())
        }
    });
    futures_util::future::try_join_all(clients).await?;

    let stats = envoy.stats().await?;
    let judged = |verdict| stats.get(&format!("wasmcustom.floodmark_judged_verdict={verdict}_mode=enforce")).copied();
    let half = (CLIENTS * ROUNDS / 2) as u64;
    assert_eq!((judged("block"), judged("allow")), (Some(half), Some(half)));
    for client in 0..CLIENTS {
        for round in 0..ROUNDS {
            let (id, case) = (id(client, round), case(name(client, round))?);
            assert_judged(&envoy, &id, &case).await?;
            let seen = Seen::of(&stage.received(&envoy, &id).await?);
            let sent = case.body.get().len();
            let right = if case.expect.status == 200 { seen == Seen::Whole(sent) } else { matches!(seen, Seen::Nothing | Seen::Broken(0)) };
            assert!(right, "{id}: the upstream received {seen} of {sent} bytes");
        }
    }
    Ok(())
}

fn id(client: usize, round: usize) -> String {
    format!("crowd-{client}-{round}")
}

fn name(client: usize, round: usize) -> &'static str {
    CASES[(client + round) % CASES.len()]
}
