//! envoy-config/endpoints.yaml in real Envoy: what is asked about on one listener is approved on the other, by whichever worker, and passes once.

use std::time::Duration;

use anyhow::Context as _;
use floodmark_host::client::{Answer, Call, Connection, Protocol};
use floodmark_host::envoy::{Config, Envoy, Options};
use serde_json::{Value, json};

use crate::endpoints::{ADMIN, TOKEN};
use crate::stage::{Stage, checks};

checks![
    the_shipped_endpoints_answer_on_a_listener_of_their_own,
    an_approval_lets_one_request_of_its_caller_pass,
    of_concurrent_requests_one_uses_the_approval,
    a_tool_call_is_asked_about_within_its_session,
    denied_and_expired_approvals_let_nothing_pass,
    a_run_ends_on_the_operators_word,
];

const PATH: &str = "/v1/chat/completions";
const RULE: &str = "operator.wire_transfer";

async fn config(stage: &Stage) -> anyhow::Result<Config> {
    let config = stage.config("endpoints").await?;
    let (_, rest) = config.text().split_once("blake3: ").context("no token in the config")?;
    let shipped = rest.split_whitespace().next().unwrap_or_default().to_owned();
    config.replace(&shipped, blake3::hash(ADMIN.as_bytes()).to_hex().as_str())
}

/// Four workers, so that a request and its approval are rarely of one VM.
async fn start(stage: &Stage, config: Config) -> anyhow::Result<Envoy> {
    Envoy::start(&Options { concurrency: 4, ..stage.options()? }, &config).await
}

fn body(amount: u32) -> String {
    let text = format!("Please make a wire transfer of {amount} to Bob.");
    json!({"model": "m", "messages": [{"role": "user", "content": text}]}).to_string()
}

fn chat(amount: u32, caller: &str) -> Call {
    Call::post(PATH, body(amount)).header("authorization", caller)
}

/// The approval id of a refusal, which stands in the header and in the message.
fn asked(answer: &Answer) -> anyhow::Result<String> {
    assert_eq!((answer.status, answer.header("x-floodmark-verdict")), (403, Some("ask")), "{}", answer.text());
    let error = &answer.json()?["error"];
    assert_eq!(
        (&error["code"], &error["type"], error["param"].is_null()),
        (&json!("floodmark_ask"), &json!("invalid_request_error"), true)
    );
    let id = answer.header("x-floodmark-approval-id").context("no approval id")?;
    let message = error["message"].as_str().unwrap_or_default();
    assert!(message.contains(id) && message.contains(RULE) && !message.contains("Bob"), "{message}");
    Ok(id.to_owned())
}

async fn decide(envoy: &Envoy, id: &str, decision: &str, protocol: Protocol) -> anyhow::Result<(u16, Value)> {
    let call = Call::post("/floodmark/v1/approvals", json!({"id": id, "decision": decision}).to_string());
    let answer = call.over(protocol).header(TOKEN, ADMIN).send(envoy.listener("endpoints").await?).await?;
    Ok((answer.status, answer.json()?))
}

async fn approve(envoy: &Envoy, id: &str) -> anyhow::Result<()> {
    let (status, json) = decide(envoy, id, "approve", Protocol::Http1).await?;
    assert_eq!((status, &json["status"]), (200, &json!("approved")), "{json}");
    Ok(())
}

async fn the_shipped_endpoints_answer_on_a_listener_of_their_own(stage: &Stage) -> anyhow::Result<()> {
    let envoy = start(stage, config(stage).await?).await?;
    let own = envoy.listener("endpoints").await?;
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let health = || Call::get("/floodmark/v1/health").over(protocol).header(TOKEN, ADMIN);
        let answer = health().send(own).await?;
        assert_eq!((answer.status, &answer.json()?["state"]), (200, &json!("available")), "{}", answer.text());
        assert_eq!(Call::get("/elsewhere").over(protocol).header(TOKEN, ADMIN).send(own).await?.status, 404);
        // Where AI traffic comes in there are no endpoints, and the token stays all the same.
        let id = format!("approvals-elsewhere-{protocol:?}");
        health().id(&id).send(envoy.address()).await?;
        let received = stage.received(&envoy, &id).await?;
        assert_eq!(received.len(), 1);
        assert!(received[0].headers.iter().all(|(name, _)| !name.contains("floodmark")), "{:?}", received[0].headers);
    }
    let page = envoy.admin_get("/stats/prometheus?filter=floodmark").await?;
    for wanted in ["floodmark_endpoints{status=\"200\"} 2", "floodmark_approvals{what=\"asked\"} 0"] {
        assert!(page.lines().any(|line| line == wanted), "no {wanted} in\n{page}");
    }
    Ok(())
}

async fn an_approval_lets_one_request_of_its_caller_pass(stage: &Stage) -> anyhow::Result<()> {
    let envoy = start(stage, config(stage).await?).await?;
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let (alice, mallory) = (format!("Bearer alice-{protocol:?}"), format!("Bearer mallory-{protocol:?}"));
        let id = |what: &str| format!("approvals-{protocol:?}-{what}");
        let send = async |amount: u32, caller: &str, event: &str| chat(amount, caller).over(protocol).id(event).send(envoy.address()).await;
        let approval = asked(&send(500, &alice, &id("first")).await?)?;
        assert_eq!(asked(&send(500, &alice, &id("second")).await?)?, approval, "it waits for the same approval");
        let (status, json) = decide(&envoy, &approval, "approve", protocol).await?;
        assert_eq!((status, &json["changed"]), (200, &json!(true)));
        // Neither another caller's nor another thing's.
        let others = [asked(&send(500, &mallory, &id("other-caller")).await?)?, asked(&send(501, &alice, &id("other-amount")).await?)?];
        assert!(others.iter().all(|other| *other != approval));
        let answer = send(500, &alice, &id("approved")).await?;
        assert_eq!(answer.status, 200, "{}", answer.text());
        stage.assert_whole(&envoy, &id("approved"), body(500).as_bytes()).await?;
        assert_eq!(envoy.access_line(&id("approved")).await?.field("approval").as_deref(), Some(approval.as_str()));
        assert_eq!(decide(&envoy, &approval, "approve", protocol).await?.0, 409, "used");
        for event in ["first", "second", "other-caller", "other-amount"] {
            stage.assert_no_byte(&envoy, &id(event)).await?;
        }
        let unknown = format!("{}-00000000", "0".repeat(32));
        assert_eq!(decide(&envoy, &unknown, "approve", protocol).await?.0, 404);
    }
    let log = envoy.log()?;
    for (said, times) in [("asked", 6), ("approved", 2), ("used", 2)] {
        assert_eq!(log.matches(&format!("floodmark approval={said} id=")).count(), times, "{said} in\n{log}");
    }
    assert!(!log.contains("Bob") && !log.contains(ADMIN) && !log.contains("alice"), "no text, token or key in the log");
    assert_eq!(envoy.stat("wasmcustom.floodmark_host_errors").await?, 0);
    Ok(())
}

/// Each on a connection of its own, which Envoy spreads over its workers. A client that keeps its history itself sends what was approved again with every
/// request, so those that come after the one that used the approval pass as well: it is the same message of the same history.
async fn of_concurrent_requests_one_uses_the_approval(stage: &Stage) -> anyhow::Result<()> {
    let envoy = start(stage, config(stage).await?).await?;
    let mut connections = Vec::new();
    for _ in 0..8 {
        connections.push(Connection::open(envoy.address(), Protocol::Http1).await?);
    }
    for round in 0..25 {
        let caller = format!("Bearer racer-{round}");
        let approval = asked(&chat(7, &caller).send(envoy.address()).await?)?;
        approve(&envoy, &approval).await?;
        let racing = connections.into_iter().map(|mut connection| {
            let call = chat(7, &caller);
            tokio::spawn(async move { connection.send(call).await.map(|answer| (connection, answer)) })
        });
        let racing: Vec<_> = racing.collect();
        connections = Vec::new();
        let (mut passed, mut refused) = (0, 0);
        for racer in racing {
            let (connection, answer) = racer.await??;
            match answer.status {
                200 => passed += 1,
                403 => refused += 1,
                other => panic!("round {round}: {other} {}", answer.text()),
            }
            connections.push(connection);
        }
        assert!(passed >= 1, "round {round}: {passed} passed, {refused} were refused");
    }
    let used = envoy.stat("wasmcustom.floodmark_approvals_what=used").await?;
    assert_eq!(used, 25, "each approval was used once");
    Ok(())
}

fn transfer(session: &str) -> Call {
    let text = json!({"to": "Bob", "note": "wire transfer of 900"});
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "pay", "arguments": text}});
    Call::post("/mcp", call.to_string()).header("mcp-session-id", session).header("authorization", "Bearer agent")
}

/// Of MCP every message is new, so the same call asks again after it passed once.
async fn a_tool_call_is_asked_about_within_its_session(stage: &Stage) -> anyhow::Result<()> {
    let envoy = start(stage, config(stage).await?).await?;
    let data = |answer: &Answer| -> anyhow::Result<Value> {
        let json = answer.json()?;
        assert_eq!((answer.status, &json["id"], &json["error"]["code"]), (200, &json!(7), &json!(-31403)), "{json}");
        Ok(json["error"]["data"].clone())
    };
    let told = data(&transfer("s-1").send(envoy.address()).await?)?;
    assert_eq!((&told["code"], &told["rule"]), (&json!("floodmark_ask"), &json!(RULE)), "{told}");
    let id = told["approval"].as_str().context("no approval id in the data")?.to_owned();
    approve(&envoy, &id).await?;
    assert_ne!(data(&transfer("s-2").send(envoy.address()).await?)?["approval"], json!(id), "another session is another run");
    // Eight at once: the approval is for one.
    let racing: Vec<_> = (0..8).map(|_| tokio::spawn(transfer("s-1").send(envoy.address()))).collect();
    let mut passed = 0;
    for racer in racing {
        let answer = racer.await??;
        passed += usize::from(answer.header("x-floodmark-verdict") != Some("ask"));
    }
    assert_eq!(passed, 1);
    let again = data(&transfer("s-1").send(envoy.address()).await?)?;
    assert_ne!(again["approval"], json!(id), "it asks anew");
    Ok(())
}

async fn denied_and_expired_approvals_let_nothing_pass(stage: &Stage) -> anyhow::Result<()> {
    let envoy = start(stage, config(stage).await?.replace("approvals: {ttl_s: 600}", "approvals: {ttl_s: 2}")?).await?;
    let denied = asked(&chat(1, "Bearer alice").send(envoy.address()).await?)?;
    assert_eq!(decide(&envoy, &denied, "deny", Protocol::Http2).await?.1["status"], "denied");
    let answer = chat(1, "Bearer alice").send(envoy.address()).await?;
    assert_eq!(asked(&answer)?, denied);
    assert!(answer.text().contains("An operator denied it"), "{}", answer.text());
    assert_eq!(decide(&envoy, &denied, "approve", Protocol::Http1).await?.0, 409);
    let expired = asked(&chat(2, "Bearer alice").send(envoy.address()).await?)?;
    approve(&envoy, &expired).await?;
    tokio::time::sleep(Duration::from_millis(2100)).await;
    assert_ne!(asked(&chat(2, "Bearer alice").send(envoy.address()).await?)?, expired);
    assert_eq!(decide(&envoy, &expired, "approve", Protocol::Http1).await?.0, 404);
    Ok(())
}

async fn a_run_ends_on_the_operators_word(stage: &Stage) -> anyhow::Result<()> {
    let envoy = start(stage, config(stage).await?).await?;
    let own = envoy.listener("endpoints").await?;
    let calm = json!({"model": "m", "messages": [{"role": "user", "content": "Hello."}]}).to_string();
    let id = "approvals-run";
    assert_eq!(Call::post(PATH, calm).id(id).send(envoy.address()).await?.status, 200);
    let run = envoy.access_line(id).await?.field("run").context("no run in the access log")?;
    let path = format!("/floodmark/v1/runs/{run}");
    let get = || Call::get(&path).header(TOKEN, ADMIN);
    let answer = get().send(own).await?;
    assert_eq!((answer.status, &answer.json()?["events"], &answer.json()?["id"]), (200, &json!(1), &json!(run)), "{}", answer.text());
    let mut end = get().over(Protocol::Http2);
    end = end.method("DELETE");
    assert_eq!(end.send(own).await?.json()?, json!({"id": run, "ended": true}));
    assert_eq!(get().send(own).await?.status, 404);
    assert!(envoy.log()?.contains(&format!("floodmark run=ended id={run} token=ops event=")));
    Ok(())
}
