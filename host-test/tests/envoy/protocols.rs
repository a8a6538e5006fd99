//! However a body travels, its verdict is the same.

use std::time::Duration;

use floodmark_host::client::Protocol;
use floodmark_host::envoy::Envoy;

use crate::stage::{Stage, assert_judged, call, case, checks, with_trailers};

checks![every_cut_gets_the_same_verdict, a_body_that_ends_in_trailers_is_judged, trailers_that_envoy_drops_hide_nothing];

const PROTOCOLS: [Protocol; 2] = [Protocol::Http1, Protocol::Http2];

async fn every_cut_gets_the_same_verdict(stage: &Stage) -> anyhow::Result<()> {
    let envoy = stage.enforce().await?;
    let cuts: [(&[usize], u64); 4] = [(&[1], 0), (&[7, 1, 13], 0), (&[311], 2), (&[100_000], 0)];
    for protocol in PROTOCOLS {
        for name in ["slow_burn", "anthropic_tool_results", "one_weak_hit"] {
            let case = case(name)?;
            for (at, (sizes, pause_ms)) in cuts.iter().enumerate() {
                let id = format!("cut-{protocol:?}-{name}-{at}");
                let call = call(&case).over(protocol).cut(sizes, Duration::from_millis(*pause_ms)).id(&id);
                let answer = call.send(envoy.address()).await?;
                assert_eq!(answer.status, case.expect.status, "{id}: {}", answer.text());
                assert_judged(envoy, &id, &case).await?;
                if case.expect.status == 200 {
                    stage.assert_whole(envoy, &id, case.body.get().as_bytes()).await?;
                } else {
                    stage.assert_no_byte(envoy, &id).await?;
                }
            }
        }
    }
    Ok(())
}

/// Envoy never says "end of stream" with the body when trailers follow, so this is the way round a filter that waits for it.
async fn a_body_that_ends_in_trailers_is_judged(stage: &Stage) -> anyhow::Result<()> {
    let edited = |name: &'static str| async move { stage.start(with_trailers(stage.config(name).await?)?).await };
    let (enforce, monitor) = (edited("enforce").await?, edited("monitor").await?);
    for protocol in PROTOCOLS {
        let id = format!("trailers-attack-{protocol:?}");
        assert_eq!(send(&enforce, "slow_burn", protocol, &id).await?, 403);
        stage.assert_no_byte(&enforce, &id).await?;

        for (envoy, name, verdict) in [(&enforce, "one_weak_hit", "allow"), (&monitor, "slow_burn", "block")] {
            let id = format!("trailers-{name}-{protocol:?}");
            assert_eq!(send(envoy, name, protocol, &id).await?, 200);
            assert_eq!(envoy.access_line(&id).await?.field("verdict").as_deref(), Some(verdict), "{id}");
            stage.assert_whole(envoy, &id, case(name)?.body.get().as_bytes()).await?;
            let trailers = stage.received(envoy, &id).await?.remove(0).trailers;
            assert_eq!(trailers, [("x-checksum".to_owned(), b"41".to_vec())], "{id}");
        }
    }
    Ok(())
}

/// On the shipped configs Envoy drops HTTP/1.1 trailers, and an HTTP/1.1 upstream gets none: the verdict stays the same.
async fn trailers_that_envoy_drops_hide_nothing(stage: &Stage) -> anyhow::Result<()> {
    let envoy = stage.enforce().await?;
    for protocol in PROTOCOLS {
        let id = format!("dropped-trailers-{protocol:?}");
        assert_eq!(send(envoy, "slow_burn", protocol, &id).await?, 403);
        stage.assert_no_byte(envoy, &id).await?;
    }
    Ok(())
}

async fn send(envoy: &Envoy, name: &str, protocol: Protocol, id: &str) -> anyhow::Result<u16> {
    let call = call(&case(name)?).over(protocol).cut(&[100], Duration::ZERO).trailer("x-checksum", "41").id(id);
    Ok(call.send(envoy.address()).await?.status)
}
