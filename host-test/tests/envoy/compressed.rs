//! Compressed bodies: judged unpacked, sent on as they came.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use floodmark_host::client::{Call, Protocol};

use crate::stage::{Stage, assert_openai_refusal, checks};

checks![
    a_harmless_packed_body_is_sent_on_byte_for_byte,
    a_packed_attack_is_refused_wherever_it_goes,
    a_body_that_is_not_what_it_says_is_refused_on_ai_paths,
    monitor_sends_a_packed_attack_on_and_judges_it,
];

const AI_PATH: &str = "/v1/chat/completions";
const OTHER_PATH: &str = "/elsewhere";

/// A case of testdata/wire/compressed, packed by Python: its content-encoding and its bytes.
fn packed(name: &str) -> anyhow::Result<(String, Vec<u8>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/wire/compressed").join(format!("{name}.json"));
    let case: serde_json::Value = serde_json::from_slice(&std::fs::read(path)?)?;
    let hex = case["body_hex"].as_str().context("hex")?;
    let bytes = (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16)).collect::<Result<_, _>>()?;
    Ok((case["content_encoding"].as_str().context("a coding")?.to_owned(), bytes))
}

fn call(path: &str, coding: &str, body: &[u8]) -> Call {
    Call::post(path, body.to_vec()).header("content-encoding", coding)
}

async fn a_harmless_packed_body_is_sent_on_byte_for_byte(stage: &Stage) -> anyhow::Result<()> {
    let (envoy, (coding, body)) = (stage.enforce().await?, packed("ok/gzip_calm")?);
    for protocol in [Protocol::Http1, Protocol::Http2] {
        for (at, path) in [AI_PATH, OTHER_PATH].into_iter().enumerate() {
            for cut in [None, Some(7)] {
                let id = format!("packed-calm-{protocol:?}-{at}-{cut:?}");
                let mut call = call(path, &coding, &body).over(protocol).id(&id);
                if let Some(bytes) = cut {
                    call = call.cut(&[bytes], Duration::from_millis(1));
                }
                let answer = call.send(envoy.address()).await?;
                assert_eq!(answer.status, 200, "{id}: {}", answer.text());
                assert_eq!(answer.header("x-floodmark-verdict"), Some("allow"), "{id}");
                stage.assert_whole(envoy, &id, &body).await?;
                let received = stage.received(envoy, &id).await?.remove(0);
                assert!(received.headers.iter().any(|(name, value)| name == "content-encoding" && value == coding.as_bytes()), "{id}");
            }
        }
    }
    Ok(())
}

async fn a_packed_attack_is_refused_wherever_it_goes(stage: &Stage) -> anyhow::Result<()> {
    let envoy = stage.enforce().await?;
    for (at, name) in ["ok/gzip_attack", "ok/gzip_members", "ok/gzip_twice", "ok/deflate_zlib", "ok/deflate_raw"].into_iter().enumerate() {
        let (coding, body) = packed(name)?;
        for (where_to, path) in [AI_PATH, OTHER_PATH].into_iter().enumerate() {
            let id = format!("packed-attack-{at}-{where_to}");
            let answer = call(path, &coding, &body).id(&id).send(envoy.address()).await?;
            // Only of what was read there are messages to leave out.
            assert_openai_refusal(&answer, "Leave out messages[", &id)?;
            stage.assert_no_byte(envoy, &id).await?;
        }
    }
    Ok(())
}

async fn a_body_that_is_not_what_it_says_is_refused_on_ai_paths(stage: &Stage) -> anyhow::Result<()> {
    let envoy = stage.enforce().await?;
    for (at, (name, coding)) in
        [("bad/gzip_check", "gzip"), ("bad/gzip_reserved_flag", "gzip"), ("ok/gzip_calm", "br")].into_iter().enumerate()
    {
        let (_, body) = packed(name)?;
        let id = format!("packed-broken-{at}");
        let rule = if coding == "br" { "wire.content_encoding" } else { "wire.compression" };
        let answer = call(AI_PATH, coding, &body).id(&id).send(envoy.address()).await?;
        assert_openai_refusal(&answer, rule, &id)?;
        stage.assert_no_byte(envoy, &id).await?;
    }
    // A packed upload that is no AI traffic is none of ours, readable or not.
    for (at, name) in ["bad/gzip_reserved_flag", "bad/zlib_dictionary"].into_iter().enumerate() {
        let ((coding, body), id) = (packed(name)?, format!("packed-upload-{at}"));
        assert_eq!(call("/upload", &coding, &body).id(&id).send(envoy.address()).await?.status, 200, "{id}");
        stage.assert_whole(envoy, &id, &body).await?;
    }
    Ok(())
}

async fn monitor_sends_a_packed_attack_on_and_judges_it(stage: &Stage) -> anyhow::Result<()> {
    let (envoy, (coding, body), id) = (stage.monitor().await?, packed("ok/gzip_attack")?, "packed-monitor");
    let answer = call(OTHER_PATH, &coding, &body).cut(&[11], Duration::from_millis(1)).id(id).send(envoy.address()).await?;
    assert_eq!(answer.status, 200, "{}", answer.text());
    stage.assert_whole(envoy, id, &body).await?;
    assert_eq!(envoy.access_line(id).await?.field("verdict").as_deref(), Some("block"));
    Ok(())
}
