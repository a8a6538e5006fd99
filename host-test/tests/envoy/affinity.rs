//! envoy-config/affinity.yaml as shipped: two gateways behind an Envoy that keeps sessions together.

use std::collections::BTreeMap;

use floodmark_host::envoy::{Config, Envoy, Options};

use crate::runs::{alarm_at, gateway, refused_for, spread, turn};
use crate::stage::{Stage, checks};

checks![sessions_stay_on_one_gateway_and_an_attack_in_pieces_is_seen_whole];

const SESSIONS: usize = 16;
const TURNS: usize = 4;

async fn sessions_stay_on_one_gateway_and_an_attack_in_pieces_is_seen_whole(stage: &Stage) -> anyhow::Result<()> {
    let gateways = [gateway(stage).await?, gateway(stage).await?];
    let config = Config::front("affinity", &gateways.each_ref().map(Envoy::address))?;
    let front = stage.start(config.clone()).await?;

    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for session in 0..SESSIONS {
        let mut at = None;
        for round in 0..TURNS {
            let id = format!("affinity-{session}-{round}");
            let call = turn("one caller", &format!("session {session}"), "What is the weather in Bern?").id(&id);
            assert_eq!(call.send(front.address()).await?.status, 200);
            let went = front.access_line(&id).await?.field("gateway");
            assert!(went.is_some() && (at.is_none() || at == went), "{id}: {went:?} after {at:?}");
            at = went;
        }
        *seen.entry(at.unwrap_or_default()).or_default() += 1;
    }
    assert_eq!(seen.len(), 2, "sixteen sessions on one of two gateways: {seen:?}");

    // The whole attack at one gateway, and the control: the same taken in turns sees half of it. One worker, since each worker takes turns of its own.
    let texts = spread()?;
    let right = alarm_at(&texts, floodmark_tables::DETECTOR.levels.alarm);
    assert_eq!(first_refused(&front, &texts, "together").await?, Some(right));
    let in_turns = config.replace("lb_policy: MAGLEV", "lb_policy: ROUND_ROBIN")?;
    let in_turns = Envoy::start(&Options { concurrency: 1, ..stage.options()? }, &in_turns).await?;
    assert_eq!(first_refused(&in_turns, &texts[..=right], "in turns").await?, None);
    Ok(())
}

/// The first text that is refused in a session of these.
async fn first_refused(front: &Envoy, texts: &[String], session: &str) -> anyhow::Result<Option<usize>> {
    for (at, text) in texts.iter().enumerate() {
        if refused_for(&turn(session, session, text).send(front.address()).await?)?.is_some() {
            return Ok(Some(at));
        }
    }
    Ok(None)
}
