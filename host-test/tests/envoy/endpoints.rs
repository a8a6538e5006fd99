//! The operator's endpoints in real Envoy, over HTTP/1.1 and HTTP/2: who may do what, and what the upstream sees of it, which is nothing.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use anyhow::Context as _;
use floodmark_host::client::{Answer, Call, Protocol};
use floodmark_host::envoy::Envoy;
use floodmark_host::upstream::ID_HEADER;
use serde_json::json;

use crate::stage::{Stage, checks, with_trailers};

checks![
    every_spelling_stays_here_and_one_is_answered,
    targets_as_raw_bytes_stay_here,
    who_has_no_token_learns_nothing,
    methods_and_bodies_are_checked,
    a_token_reaches_no_upstream_in_any_mode,
    a_token_reaches_no_upstream_in_a_trailer,
    under_the_kill_switch_nothing_is_answered_and_no_token_passes,
    a_call_with_a_body_hangs_without_the_gateways_option,
];

pub const ADMIN: &str = "5f0c1f8a2c5b4a61b20f0a86c1f6d1a5-admin";
const CHECK: &str = "6a0c1f8a2c5b4a61b20f0a86c1f6d1a5-check";
pub const TOKEN: &str = "x-floodmark-token";
const BOTH: [Protocol; 2] = [Protocol::Http1, Protocol::Http2];
const HEALTH: &str = "/floodmark/v1/health";

/// The plugin's configuration with endpoints beside AI traffic: paths below `/off` and `/monitor` are in these modes.
fn beside(enabled: bool) -> String {
    let token = |name: &str, token: &str, scope: &str| json!({"name": name, "blake3": blake3::hash(token.as_bytes()).to_hex().as_str(), "scopes": [scope]});
    let with_mode = |mode: &str| json!({"match": {"path_prefix": format!("/{mode}")}, "settings": {"mode": mode}});
    json!({
        "version": 1,
        "enabled": enabled,
        "keys": [{"id": "k1", "secret": "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"}],
        "endpoints": {"tokens": [token("ops", ADMIN, "admin"), token("dashboard", CHECK, "check")]},
        "defaults": {"mode": "enforce"},
        "overrides": [with_mode("off"), with_mode("monitor")],
    })
    .to_string()
}

async fn start(stage: &Stage, enabled: bool, option: bool) -> anyhow::Result<Envoy> {
    let option = format!("allow_on_headers_stop_iteration: {option}");
    let config = stage.config("enforce").await?.replace("allow_on_headers_stop_iteration: false", &option)?;
    stage.start(config.with_plugin_text(&beside(enabled))?).await
}

fn code(answer: &Answer) -> anyhow::Result<String> {
    assert_eq!(answer.header("content-type"), Some("application/json"), "{}", answer.text());
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    Ok(answer.json()?["error"]["code"].as_str().unwrap_or("").to_owned())
}

async fn assert_unseen(stage: &Stage, envoy: &Envoy, id: &str) -> anyhow::Result<()> {
    let received = stage.received(envoy, id).await?;
    assert!(received.is_empty(), "{id}: the upstream got {received:?}");
    Ok(())
}

async fn every_spelling_stays_here_and_one_is_answered(stage: &Stage) -> anyhow::Result<()> {
    let envoy = start(stage, true, true).await?;
    for protocol in BOTH {
        for (number, (path, status, wanted)) in [
            (HEALTH, 200, ""),
            ("//floodmark/v1/health", 404, "path_spelling"),
            ("/floodmark//v1/health", 404, "path_spelling"),
            ("/floodmark/v1/%68ealth", 404, "path_spelling"),
            ("/%66loodmark/v1/health", 404, "path_spelling"),
            ("/floodmark%2Fv1%2fhealth", 404, "path_spelling"),
            ("/x/../floodmark/v1/health", 404, "path_spelling"),
            ("/x/%2e%2e/floodmark/v1/health", 404, "path_spelling"),
            ("/floodmark/v1/./health", 404, "path_spelling"),
            ("/FLOODMARK/v1/health", 404, "path_spelling"),
            ("/floodmark;a/v1/health", 404, "path_spelling"),
            ("/floodmark/v1/HEALTH", 404, "no_endpoint"),
            ("/floodmark/v1/health/", 404, "no_endpoint"),
            ("/floodmark/v1/chat/completions", 404, "no_endpoint"),
            ("/floodmark/v1/health?x=1", 400, "query"),
            ("/floodmark/v1/health?", 400, "query"),
        ]
        .into_iter()
        .enumerate()
        {
            let id = format!("endpoints-spelling-{protocol:?}-{number}");
            let answer = Call::get(path).over(protocol).id(&id).header(TOKEN, ADMIN).send(envoy.address()).await?;
            assert_eq!((answer.status, code(&answer)?.as_str()), (status, wanted), "{path}");
            assert_unseen(stage, &envoy, &id).await?;
        }
    }
    assert_eq!(envoy.stat("wasmcustom.floodmark_endpoints_status=200").await?, 2);
    assert_eq!(envoy.stat("wasmcustom.floodmark_host_errors").await?, 0);
    Ok(())
}

/// Sends bytes as they are and reads to the connection's end.
fn raw(address: SocketAddr, bytes: &[u8]) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(std::time::Duration::from_secs(20)))?;
    stream.write_all(bytes)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).context("the connection did not end")?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// What HTTP libraries will not send: whole URLs as to a proxy, backslashes, fragments, and a target that is no path.
async fn targets_as_raw_bytes_stay_here(stage: &Stage) -> anyhow::Result<()> {
    let envoy = start(stage, true, true).await?;
    let own = stage.upstream().await?.address();
    for (number, (target, wanted)) in [
        ("http://gateway.example/floodmark/v1/health".to_owned(), "HTTP/1.1 200 "),
        (format!("http://{own}/floodmark/v1/health"), "HTTP/1.1 200 "),
        ("http://gateway.example//floodmark/v1/health".to_owned(), "HTTP/1.1 404 "),
        ("http://gateway.example/x/../floodmark/v1/health".to_owned(), "HTTP/1.1 404 "),
        ("http://gateway.example/floodmark/v1/health?x".to_owned(), "HTTP/1.1 400 "),
        ("/floodmark\\v1\\health".to_owned(), "HTTP/1.1 404 "),
        ("/floodmark/v1/health#x".to_owned(), "HTTP/1.1 4"),
        ("floodmark/v1/health".to_owned(), "HTTP/1.1 4"),
        ("\\floodmark\\v1\\health".to_owned(), "HTTP/1.1 4"),
    ]
    .into_iter()
    .enumerate()
    {
        let id = format!("endpoints-raw-{number}");
        let request = format!("GET {target} HTTP/1.1\r\nhost: x\r\n{TOKEN}: {ADMIN}\r\n{ID_HEADER}: {id}\r\nconnection: close\r\n\r\n");
        let address = envoy.address();
        let answer = tokio::task::spawn_blocking(move || raw(address, request.as_bytes())).await??;
        assert!(answer.starts_with(wanted), "{target}: {answer}");
        assert_unseen(stage, &envoy, &id).await?;
    }
    Ok(())
}

async fn who_has_no_token_learns_nothing(stage: &Stage) -> anyhow::Result<()> {
    let envoy = start(stage, true, true).await?;
    for protocol in BOTH {
        for (number, tokens) in [
            &[][..],
            &[(TOKEN, "wrong-wrong-wrong-wrong-wrong-wrong")],
            &[(TOKEN, ADMIN), (TOKEN, CHECK)],
            &[(TOKEN, ADMIN), ("x_floodmark_token", ADMIN)],
            &[("x_floodmark_token", ADMIN)],
            &[("x-floodmark_token", ADMIN)],
            &[("authorization", ADMIN)],
        ]
        .into_iter()
        .enumerate()
        {
            for (path, post) in [(HEALTH, false), ("/floodmark/nowhere", false), ("/floodmark/v1/approvals", true)] {
                let id = format!("endpoints-token-{protocol:?}-{number}-{}", path.len());
                let mut call = if post { Call::post(path, "{}") } else { Call::get(path) }.over(protocol).id(&id);
                for (name, value) in tokens {
                    call = call.header(name, value);
                }
                let answer = call.send(envoy.address()).await?;
                assert_eq!((answer.status, code(&answer)?.as_str()), (401, "unauthorized"), "{tokens:?} {path}");
                assert_unseen(stage, &envoy, &id).await?;
            }
        }
        let id = format!("endpoints-scope-{protocol:?}");
        let call = Call::post("/floodmark/v1/approvals", "{}").over(protocol).id(&id).header(TOKEN, CHECK);
        let answer = call.send(envoy.address()).await?;
        assert_eq!((answer.status, code(&answer)?.as_str()), (403, "forbidden"));
        assert_unseen(stage, &envoy, &id).await?;
    }
    Ok(())
}

async fn methods_and_bodies_are_checked(stage: &Stage) -> anyhow::Result<()> {
    let envoy = start(stage, true, true).await?;
    let approvals = "/floodmark/v1/approvals";
    let good = r#"{"id":"00000000000000000000000000000000-00000000","decision":"approve"}"#;
    let large = format!("{good}{}", " ".repeat(70_000));
    let post = |body: &str| Call::post(approvals, body.to_owned());
    let calls: Vec<(&str, Call, u16, &str)> = vec![
        ("unknown", post(good), 404, "not_found"),
        ("pieces", post(good).cut(&[5], std::time::Duration::from_millis(2)), 404, "not_found"),
        ("trailers", post(good).trailer("x-sum", "1"), 404, "not_found"),
        ("get", Call::get(approvals), 405, "method"),
        ("post", Call::post(HEALTH, "{}"), 405, "method"),
        ("large", post(&large), 413, "too_large"),
        ("large-chunked", post(&large).cut(&[9_000], std::time::Duration::from_millis(1)), 413, "too_large"),
        ("large-trailers", post(&large).trailer("x-sum", "1"), 413, "too_large"),
        ("kind", post(good).header("content-type", "text/plain"), 415, "content_type"),
        ("packed", post(good).header("content-encoding", "gzip"), 415, "content_encoding"),
        ("broken", post("{\"id\":"), 400, "malformed"),
        ("double", post(r#"{"id":"a","id":"b","decision":"deny"}"#), 400, "malformed"),
        ("deep", post(&"[".repeat(30_000)), 400, "malformed"),
        ("empty", post(""), 400, "malformed"),
        ("empty-chunked", post("").cut(&[1], std::time::Duration::ZERO), 400, "malformed"),
    ];
    for protocol in BOTH {
        for (name, call, status, wanted) in &calls {
            let id = format!("endpoints-body-{protocol:?}-{name}");
            let call = call.clone().over(protocol).id(&id).header(TOKEN, ADMIN);
            let answer = call.send(envoy.address()).await.with_context(|| id.clone())?;
            assert_eq!((answer.status, code(&answer)?.as_str()), (*status, *wanted), "{id}: {}", answer.text());
            assert_unseen(stage, &envoy, &id).await?;
        }
        let answer = Call::head(HEALTH).over(protocol).header(TOKEN, ADMIN).send(envoy.address()).await?;
        assert_eq!((answer.status, answer.header("allow"), answer.body.len()), (405, Some("GET"), 0));
    }
    let with_body = "GET /floodmark/v1/health HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-floodmark-token: ";
    let request = format!("{with_body}{ADMIN}\r\ncontent-length: 2\r\n\r\n{{}}");
    let address = envoy.address();
    let answer = tokio::task::spawn_blocking(move || raw(address, request.as_bytes())).await??;
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("unexpected_body"), "{answer}");
    let bytes = [
        &b"POST /floodmark/v1/approvals HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n"[..],
        format!("{TOKEN}: {ADMIN}\r\ncontent-length: 11\r\n\r\n").as_bytes(),
        b"{\"id\":\"\xff\xfe\"}",
    ]
    .concat();
    let answer = tokio::task::spawn_blocking(move || raw(address, &bytes)).await??;
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("invalid utf-8"), "{answer}");
    assert_eq!(envoy.stat("wasmcustom.floodmark_host_errors").await?, 0);
    Ok(())
}

/// As a client sends it by mistake, with what an upstream could take for it.
fn with_tokens(call: Call) -> Call {
    call.header(TOKEN, ADMIN).header("x_floodmark_token", ADMIN).header("X-Floodmark_Token", CHECK).header(TOKEN, CHECK)
}

async fn assert_no_token(stage: &Stage, envoy: &Envoy, id: &str) -> anyhow::Result<()> {
    let received = stage.received(envoy, id).await?;
    assert_eq!(received.len(), 1, "{id}");
    let seen = format!("{:?}", received[0].headers.iter().map(|(name, value)| (name, String::from_utf8_lossy(value))).collect::<Vec<_>>());
    assert!(!seen.contains(ADMIN) && !seen.contains(CHECK) && !seen.contains("token"), "{id}: {seen}");
    Ok(())
}

async fn a_token_reaches_no_upstream_in_any_mode(stage: &Stage) -> anyhow::Result<()> {
    let envoy = start(stage, true, true).await?;
    // Without endpoints and in mode monitor, which touches no other header.
    let plain = stage.monitor().await?;
    let calm = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;
    for protocol in BOTH {
        for (gateway, name) in [(&envoy, "beside"), (plain, "plain")] {
            for path in
                ["/v1/chat/completions", "/off/v1/chat/completions", "/monitor/v1/chat/completions", "/floodmarks", "/floodmark/../x"]
            {
                let id = format!("endpoints-strip-{name}-{protocol:?}-{}", path.replace('/', "-"));
                let answer = with_tokens(Call::post(path, calm)).over(protocol).id(&id).send(gateway.address()).await?;
                assert_eq!(answer.status, 200, "{path}: {}", answer.text());
                assert_no_token(stage, gateway, &id).await?;
                let id = format!("{id}-get");
                with_tokens(Call::get(path)).over(protocol).id(&id).send(gateway.address()).await?;
                assert_no_token(stage, gateway, &id).await?;
            }
        }
    }
    Ok(())
}

async fn a_token_reaches_no_upstream_in_a_trailer(stage: &Stage) -> anyhow::Result<()> {
    let envoy = stage.start(with_trailers(stage.config("monitor").await?)?).await?;
    for protocol in BOTH {
        for path in ["/v1/chat/completions", "/upload"] {
            let id = format!("endpoints-trailer-{protocol:?}-{}", path.len());
            let call = Call::post(path, "{}").over(protocol).id(&id);
            let call = call.trailer(TOKEN, ADMIN).trailer("x_floodmark_token", ADMIN).trailer("x-sum", "1");
            assert_eq!(call.send(envoy.address()).await?.status, 200);
            let received = stage.received(&envoy, &id).await?;
            assert_eq!(received[0].trailers, [("x-sum".to_owned(), b"1".to_vec())], "{id}");
        }
    }
    assert_eq!(envoy.stat("wasmcustom.floodmark_host_errors").await?, 0);
    Ok(())
}

async fn under_the_kill_switch_nothing_is_answered_and_no_token_passes(stage: &Stage) -> anyhow::Result<()> {
    let envoy = start(stage, false, true).await?;
    for protocol in BOTH {
        let id = format!("endpoints-kill-{protocol:?}");
        for call in [Call::get(HEALTH), Call::post("/floodmark/v1/approvals", "{}"), Call::get("/Floodmark/x?y")] {
            let answer = call.over(protocol).id(&id).header(TOKEN, ADMIN).send(envoy.address()).await?;
            assert_eq!((answer.status, code(&answer)?.as_str()), (503, "disabled"));
        }
        assert_unseen(stage, &envoy, &id).await?;
        let id = format!("{id}-passing");
        let answer = with_tokens(Call::post("/v1/chat/completions", "{}")).over(protocol).id(&id).send(envoy.address()).await?;
        assert_eq!(answer.status, 200);
        assert_no_token(stage, &envoy, &id).await?;
    }
    Ok(())
}

/// As docs/endpoints.md says; nothing gets to the upstream then either.
async fn a_call_with_a_body_hangs_without_the_gateways_option(stage: &Stage) -> anyhow::Result<()> {
    let envoy = start(stage, true, false).await?;
    assert_eq!(Call::get(HEALTH).header(TOKEN, ADMIN).send(envoy.address()).await?.status, 200, "calls without a body need no option");
    let id = "endpoints-hang";
    let call = Call::post("/floodmark/v1/approvals", "{}").id(id).header(TOKEN, ADMIN).timeout(std::time::Duration::from_secs(2));
    let error = call.send(envoy.address()).await.expect_err("it hangs");
    assert!(format!("{error:#}").contains("within 2000 ms"), "{error:#}");
    assert!(stage.upstream().await?.journal().received(id).is_empty());
    Ok(())
}
