//! Attacks are refused and the upstream learns nothing of them; limits and metrics.

use std::time::Duration;

use floodmark_host::bench::body::{Kind, chat};
use floodmark_host::client::Call;
use floodmark_host::upstream::Upstream;

use crate::process::{BENIGN, CHAT, attack, serve, serve_with};
use crate::support::trapping_plugin_path;

#[tokio::test(flavor = "multi_thread")]
async fn an_attack_is_refused_and_the_upstream_sees_nothing_of_it() {
    let upstream = Upstream::start().await.unwrap();
    let gateway = serve(upstream.address());
    let call = Call::post(CHAT, attack());
    let calls = [call.clone(), call.clone().cut(&[150], Duration::from_millis(1)), call.clone().trailer("x-sum", "7")];
    for (way, call) in calls.into_iter().enumerate() {
        let id = format!("attack-{way}");
        let answer = call.id(&id).send(gateway.address).await.unwrap();
        assert_eq!((answer.status, answer.header("content-type")), (403, Some("application/json")), "{}", answer.text());
        assert_eq!(answer.json().unwrap()["error"]["code"], "floodmark_blocked");
        assert_eq!((answer.header("x-floodmark-verdict"), answer.header("x-floodmark-event-id")), (Some("block"), Some(id.as_str())));
        assert!(upstream.journal().received(&id).is_empty(), "not even headers");
        let line = gateway.line(&id);
        assert_eq!((&line["status"], &line["verdict"], &line["event_id"]), (&403.into(), &"block".into(), &id.as_str().into()), "{line}");
        let rule = line["rule"].as_str().unwrap();
        assert_eq!(line["details"], format!("floodmark_blocked{{{rule}}}"));
    }
    assert_eq!(gateway.metric("floodmark_judged{verdict=\"block\",mode=\"enforce\"}").await, 3);
    assert_eq!(gateway.metric("floodmark_rejected").await, 3);
    assert_eq!(gateway.metric("gateway_requests_active").await, 0);
    assert!(gateway.metric("gateway_plugin_memory_bytes{worker=\"1\"}").await > 0);
    assert_eq!(Call::get("/ready").send(gateway.admin).await.unwrap().text(), "ready\n");
    assert_eq!(Call::get("/").send(gateway.admin).await.unwrap().status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn monitor_mode_and_plain_json_configs_let_the_same_pass() {
    let upstream = Upstream::start().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("floodmark.json");
    std::fs::write(&config, r#"{"version": 1}"#).unwrap();
    let gateway = serve_with(upstream.address(), &["--config", config.to_str().unwrap()]);
    let answer = Call::post(CHAT, attack()).id("monitor").send(gateway.address).await.unwrap();
    assert_eq!((answer.status, answer.header("x-floodmark-verdict")), (200, None));
    assert!(upstream.journal().received("monitor")[0].body == attack());
    assert_eq!(gateway.metric("floodmark_would_block").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_over_a_limit_are_refused_and_the_client_reads_why() {
    let upstream = Upstream::start().await.unwrap();
    let gateway = serve_with(upstream.address(), &["--max-held-bytes", "100000"]);
    // The plugin's own cap is a million bytes: the declared length is refused before a byte is read, by the plugin.
    let declared = Call::post(CHAT, chat(Kind::Benign, 5_000_000)).id("declared").send(gateway.address).await.unwrap();
    assert_eq!((declared.status, gateway.line("declared")["rule"].as_str()), (403, Some("wire.oversize")));
    // Below that, but more than this gateway is told to keep.
    let call = Call::post(CHAT, chat(Kind::Benign, 900_000)).cut(&[30_000], Duration::ZERO).id("held");
    let held = call.send(gateway.address).await.unwrap();
    assert_eq!((held.status, held.text().as_str()), (413, "Payload Too Large"));
    assert_eq!(gateway.line("held")["details"], "request_payload_too_large");
    assert!(["declared", "held"].iter().all(|id| upstream.journal().received(id).is_empty()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_traps_is_started_anew() {
    let upstream = Upstream::start().await.unwrap();
    let wasm = trapping_plugin_path().display().to_string();
    let gateway = serve_with(upstream.address(), &["--wasm", &wasm, "--workers", "1"]);
    for callback in ["headers", "body"] {
        let id = format!("trap-{callback}");
        let trapped = Call::post(CHAT, BENIGN).header("x-floodmark-test-trap", callback).id(&id).send(gateway.address).await.unwrap();
        assert_eq!((trapped.status, trapped.json().unwrap()["error"]["code"].as_str()), (503, Some("wasm_fail_stream")));
        assert_eq!(gateway.line(&id)["details"], "wasm_fail_stream");
        let mut tries = 0;
        while Call::post(CHAT, attack()).send(gateway.address).await.unwrap().status != 403 {
            tries += 1;
            assert!(tries < 500, "no reload");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert!(upstream.journal().received(&id).is_empty());
    }
    assert_eq!(gateway.metric("gateway_plugin_traps").await, 2);
    assert_eq!(gateway.metric("floodmark_rejected").await, 2, "counters outlive a VM");
}
