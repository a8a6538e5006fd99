//! What is no attack passes as it was sent, in both modes; monitor mode changes nothing, whatever it finds.

use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use floodmark_host::client::{Answer, Call, Protocol};
use floodmark_host::envoy::Envoy;
use floodmark_host::upstream::Received;
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;

use crate::stage::{Stage, call, case, checks};

checks![
    monitor_passes_an_attack_exactly_as_without_the_plugin,
    monitor_judges_a_body_whose_end_comes_after_the_answer,
    monitor_counts_what_it_would_block,
    uploads_pass_untouched_in_both_modes,
    websockets_pass_untouched_in_both_modes,
    benign_conversations_pass_enforce_byte_for_byte,
];

async fn monitor_passes_an_attack_exactly_as_without_the_plugin(stage: &Stage) -> anyhow::Result<()> {
    let (monitor, plain) = (stage.monitor().await?, stage.plain().await?);
    for protocol in [Protocol::Http1, Protocol::Http2] {
        for (name, cut) in [("slow_burn", None), ("anthropic_tool_results", Some(&[50, 7, 300]))] {
            let (case, id) = (case(name)?, format!("monitor-same-{name}-{protocol:?}"));
            let mut sent = call(&case).over(protocol).id(&id).host("gateway.example");
            // Our own names, too, and repeated ones.
            for value in ["allow", "second"] {
                sent = sent.header("x-floodmark-verdict", value);
            }
            sent = sent.header("x-upstream-reply-header", "x-floodmark-verdict=upstream");
            if let Some(cut) = cut {
                sent = sent.cut(cut, Duration::from_millis(1));
            }
            let with = sent.clone().send(monitor.address()).await?;
            let without = sent.send(plain.address()).await?;
            assert_eq!(with.status, 200, "{}", with.text());
            assert_eq!(answer(&with), answer(&without), "{id}");
            stage.received(plain, &id).await?;
            let received = stage.received(monitor, &id).await?;
            assert_eq!(received.len(), 2, "{id}");
            assert_eq!(request(&received[0]), request(&received[1]), "{id}");
            assert!(received[0].body == case.body.get().as_bytes(), "{id}: the body was changed");
            assert_eq!(monitor.access_line(&id).await?.field("verdict").as_deref(), Some("block"), "it was judged");
        }
    }
    Ok(())
}

/// All of an answer but what differs from one moment to the next.
fn answer(answer: &Answer) -> (u16, Vec<(String, String)>, Bytes) {
    let moment = ["date", "x-envoy-upstream-service-time"];
    let headers = answer.headers.iter().filter(|(name, _)| !moment.contains(&name.as_str()));
    (answer.status, headers.cloned().collect(), answer.body.clone())
}

type Pairs = Vec<(String, Vec<u8>)>;

fn request(received: &Received) -> (&str, &str, &str, &Pairs, &Vec<u8>, &Pairs) {
    let Received { method, path, version, headers, body, trailers, ending: _ } = received;
    (method, path, version, headers, body, trailers)
}

/// The upstream counts the announced bytes and answers; the frame that ends the body comes later, or never reaches the plugin.
async fn monitor_judges_a_body_whose_end_comes_after_the_answer(stage: &Stage) -> anyhow::Result<()> {
    let (monitor, id) = (stage.monitor().await?, "monitor-late-end");
    let sent = call(&case("slow_burn")?).over(Protocol::Http2).id(id).end_late(Duration::from_millis(300));
    assert_eq!(sent.send(monitor.address()).await?.status, 200);
    assert_eq!(monitor.access_line(id).await?.field("verdict").as_deref(), Some("block"));
    Ok(())
}

async fn monitor_counts_what_it_would_block(stage: &Stage) -> anyhow::Result<()> {
    let envoy = stage.start(stage.config("monitor").await?).await?;
    for name in ["slow_burn", "slow_burn", "one_weak_hit"] {
        assert_eq!(call(&case(name)?).send(envoy.address()).await?.status, 200);
    }
    let stats = envoy.stats().await?;
    let stat = |name: &str| stats.get(&format!("wasmcustom.floodmark_{name}")).copied().unwrap_or(0);
    assert_eq!(stat("would_block"), 2);
    assert_eq!(stat("judged_verdict=block_mode=monitor"), 2);
    assert_eq!(stat("judged_verdict=allow_mode=monitor"), 1);
    assert_eq!(stat("judged_verdict=block_mode=enforce"), 0);
    assert_eq!(stat("rejected"), 0);
    assert_eq!(stat("host_errors"), 0);
    let log = envoy.log()?;
    assert_eq!(log.matches("verdict=block action=continue mode=monitor").count(), 2, "{log}");
    assert!(!log.contains("verdict=allow"), "allowed requests are not logged by default: {log}");
    Ok(())
}

async fn uploads_pass_untouched_in_both_modes(stage: &Stage) -> anyhow::Result<()> {
    // Every byte value, and no regular chunk of it looks like another.
    let blob: Vec<u8> = (0..3_000_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let mut form = b"--cut\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.bin\"\r\n\r\n".to_vec();
    form.extend_from_slice(&blob);
    form.extend_from_slice(b"\r\n--cut--\r\n");
    let kinds = [("application/octet-stream", &blob), ("multipart/form-data; boundary=cut", &form)];
    for (mode, envoy) in both(stage).await? {
        for protocol in [Protocol::Http1, Protocol::Http2] {
            for (at, (kind, body)) in kinds.into_iter().enumerate() {
                for chunked in [false, true] {
                    let id = format!("upload-{mode}-{protocol:?}-{at}-{chunked}");
                    let mut call = Call::post("/files", body.clone()).header("content-type", kind).over(protocol).id(&id);
                    if chunked {
                        call = call.cut(&[16_383, 1, 70_000], Duration::ZERO);
                    }
                    let answer = call.send(envoy.address()).await?;
                    assert_eq!(answer.status, 200, "{id}: {}", answer.text());
                    stage.assert_whole(envoy, &id, body).await?;
                }
            }
        }
    }
    Ok(())
}

async fn websockets_pass_untouched_in_both_modes(stage: &Stage) -> anyhow::Result<()> {
    for (mode, envoy) in both(stage).await? {
        let stream = TcpStream::connect(envoy.address()).await?;
        let url = format!("ws://{}/v1/realtime", envoy.address());
        let (mut socket, response) = tokio_tungstenite::client_async(url, stream).await.context("websocket handshake")?;
        assert_eq!(response.status(), 101, "{mode}");
        let attack = case("slow_burn")?.body.get().to_owned();
        for message in [Message::text(attack), Message::binary(vec![0u8, 255, 10, 13]), Message::binary(vec![7u8; 200_000])] {
            socket.send(message.clone()).await?;
            let echo = socket.next().await.context("the websocket ended early")??;
            assert_eq!(echo, message, "{mode}");
        }
        socket.close(None).await?;
    }
    Ok(())
}

async fn benign_conversations_pass_enforce_byte_for_byte(stage: &Stage) -> anyhow::Result<()> {
    let envoy = stage.enforce().await?;
    for name in [
        "one_weak_hit",
        "templated_requests",
        "long_benign_chat",
        "benign_security_talk",
        "benign_agent_run",
        "three_plain_results",
        "long_tool_output",
    ] {
        let (case, id) = (case(name)?, format!("benign-{name}"));
        let answer = call(&case).id(&id).send(envoy.address()).await?;
        assert_eq!(answer.status, 200, "{id}: {}", answer.text());
        assert_eq!(answer.json()?["object"], "chat.completion");
        let verdict = if name == "templated_requests" { "flag" } else { "allow" };
        assert_eq!(answer.header("x-floodmark-verdict"), Some(verdict), "{id}");
        stage.assert_whole(envoy, &id, case.body.get().as_bytes()).await?;
        let line = envoy.access_line(&id).await?;
        assert_eq!(line.field("verdict").as_deref(), Some(verdict), "{id}");
        assert_eq!(line.field("details").as_deref(), Some("via_upstream"), "{id}");
    }
    Ok(())
}

async fn both(stage: &Stage) -> anyhow::Result<[(&'static str, &Envoy); 2]> {
    Ok([("enforce", stage.enforce().await?), ("monitor", stage.monitor().await?)])
}
