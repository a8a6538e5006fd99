//! Multi-turn attacks are blocked, and the upstream sees no byte of them.

use std::time::Duration;

use floodmark_core::{Hint, Judge, Policy};
use floodmark_host::client::{Call, Protocol};
use floodmark_host::demo::Seen;

use crate::stage::{Stage, assert_judged, assert_openai_refusal, call, case, checks};

checks![
    slow_burn_is_blocked_in_openai_shape,
    attack_in_tool_results_is_blocked_in_anthropic_shape,
    every_attack_of_the_demo_is_blocked,
    with_held_headers_upstream_sees_nothing_at_all,
    hold_headers_alone_hangs_as_documented,
];

async fn slow_burn_is_blocked_in_openai_shape(stage: &Stage) -> anyhow::Result<()> {
    let case = case("slow_burn")?;
    let policy = Policy::default();
    let judge = Judge::new(&policy, &floodmark_tables::TABLES).expect("the default policy is valid");
    let judgement = judge.judge(case.body.get().as_bytes(), Hint::default());
    let tau = policy.conversation.tau;
    assert!(judgement.score.turn_scores.iter().all(|score| *score < tau), "one turn alone would do");

    let envoy = stage.enforce().await?;
    for (id, protocol) in [("slow-burn-1", Protocol::Http1), ("slow-burn-2", Protocol::Http2)] {
        let answer = call(&case).over(protocol).id(id).send(envoy.address()).await?;
        let rule = judgement.decisive.as_ref().expect("a reason").rule;
        assert_openai_refusal(&answer, rule, id)?;
        stage.assert_no_byte(envoy, id).await?;

        assert_judged(envoy, id, &case).await?;
        let line = envoy.access_line(id).await?;
        assert_eq!(line.field("rule").as_deref(), Some(rule));
        assert_eq!(line.field("event_id").as_deref(), Some(id));
        assert_eq!(line.field("status").as_deref(), Some("403"));
        assert_eq!(line.field("details").as_deref(), Some(format!("floodmark_blocked{{{rule}}}").as_str()));
    }
    Ok(())
}

async fn attack_in_tool_results_is_blocked_in_anthropic_shape(stage: &Stage) -> anyhow::Result<()> {
    let (id, envoy) = ("anthropic-attack", stage.enforce().await?);
    let answer = call(&case("anthropic_tool_results")?).id(id).send(envoy.address()).await?;
    assert_eq!(answer.status, 403, "{}", answer.text());
    let body = answer.json()?;
    assert_eq!(body["type"], "error", "{body}");
    assert_eq!(body["error"]["type"], "permission_error", "{body}");
    assert_eq!(body["request_id"], id, "{body}");
    assert!(body["error"]["message"].as_str().is_some_and(|m| m.contains("messages[2]")), "{body}");
    stage.assert_no_byte(envoy, id).await
}

async fn every_attack_of_the_demo_is_blocked(stage: &Stage) -> anyhow::Result<()> {
    let envoy = stage.enforce().await?;
    for name in [
        "rising_steps",
        "poisoned_tool_results",
        "one_message_three_results",
        "padded_with_small_talk",
        "beside_an_image",
        "one_injected_result",
        "five_leaning_results",
    ] {
        let (case, id) = (case(name)?, format!("attack-{name}"));
        let answer = call(&case).id(&id).send(envoy.address()).await?;
        assert_eq!(answer.status, 403, "{id}: {}", answer.text());
        assert_judged(envoy, &id, &case).await?;
        stage.assert_no_byte(envoy, &id).await?;
    }
    Ok(())
}

async fn with_held_headers_upstream_sees_nothing_at_all(stage: &Stage) -> anyhow::Result<()> {
    let envoy = stage.held().await?;
    let (attack, benign) = (case("slow_burn")?, case("one_weak_hit")?);
    for protocol in [Protocol::Http1, Protocol::Http2] {
        for round in 0..5 {
            let id = format!("held-attack-{protocol:?}-{round}");
            let call = call(&attack).over(protocol).cut(&[200], Duration::from_millis(2)).id(&id);
            assert_eq!(call.send(envoy.address()).await?.status, 403);
            assert_eq!(Seen::of(&stage.received(envoy, &id).await?), Seen::Nothing, "{id}");
        }
        let id = format!("held-benign-{protocol:?}");
        let answer = call(&benign).over(protocol).cut(&[200], Duration::from_millis(2)).id(&id).send(envoy.address()).await?;
        assert_eq!(answer.status, 200, "{}", answer.text());
        stage.assert_whole(envoy, &id, benign.body.get().as_bytes()).await?;
    }
    Ok(())
}

/// The trap that enforce.yaml and docs/config.md warn of. Envoy never hands over the body, so nothing ever answers.
async fn hold_headers_alone_hangs_as_documented(stage: &Stage) -> anyhow::Result<()> {
    let config = stage.config("enforce").await?.replace("hold_headers: false", "hold_headers: true")?;
    let envoy = stage.start(config).await?;
    assert_eq!(Call::get("/").send(envoy.address()).await?.status, 200, "without a body nothing is held");
    let hanging = call(&case("one_weak_hit")?).timeout(Duration::from_secs(2)).send(envoy.address()).await;
    let error = hanging.err().map_or_else(|| "an answer came".to_owned(), |e| format!("{e:#}"));
    assert!(error.contains("within 2000 ms"), "{error}");
    Ok(())
}
