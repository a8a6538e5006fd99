//! Bodies that are too large or no UTF-8: refused where AI traffic goes, passed and counted elsewhere.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use floodmark_host::bench::body::{Kind, chat};
use floodmark_host::client::{Call, Protocol};
use floodmark_host::demo::Seen;
use floodmark_host::envoy::Envoy;

use crate::stage::{Stage, assert_openai_refusal, checks};

checks![
    a_body_at_the_cap_is_judged_and_passes,
    declared_oversize_is_refused_before_anything_is_sent_on,
    chunked_oversize_is_refused_once_it_is_over_the_cap,
    oversize_elsewhere_passes_and_is_counted,
    oversize_in_monitor_passes_and_is_counted,
    invalid_utf8_is_refused_in_enforce,
    invalid_utf8_passes_monitor_and_is_counted,
    a_small_http2_window_does_no_harm,
    a_lump_on_top_of_a_held_start_passes,
];

/// As in envoy-config/*.yaml.
const CAP: usize = 1_000_000;
const PATH: &str = "/v1/chat/completions";
const PROTOCOLS: [Protocol; 2] = [Protocol::Http1, Protocol::Http2];

async fn a_body_at_the_cap_is_judged_and_passes(stage: &Stage) -> anyhow::Result<()> {
    let (envoy, body) = (stage.enforce().await?, chat(Kind::Benign, CAP));
    for protocol in PROTOCOLS {
        for chunked in [false, true] {
            let id = format!("at-the-cap-{protocol:?}-{chunked}");
            let mut call = Call::post(PATH, body.clone()).over(protocol).id(&id);
            if chunked {
                call = call.cut(&[65_536], Duration::ZERO);
            }
            let answer = call.send(envoy.address()).await?;
            assert_eq!(answer.status, 200, "{id}: {}", answer.text());
            assert_eq!(answer.header("x-floodmark-verdict"), Some("allow"), "{id}");
            stage.assert_whole(envoy, &id, body.as_bytes()).await?;
        }
    }
    Ok(())
}

async fn declared_oversize_is_refused_before_anything_is_sent_on(stage: &Stage) -> anyhow::Result<()> {
    let (envoy, body) = (stage.enforce().await?, chat(Kind::Benign, CAP + 1));
    for protocol in PROTOCOLS {
        let id = format!("oversize-declared-{protocol:?}");
        let answer = Call::post(PATH, body.clone()).over(protocol).id(&id).send(envoy.address()).await?;
        assert_openai_refusal(&answer, "wire.oversize", &id)?;
        assert_eq!(Seen::of(&stage.received(envoy, &id).await?), Seen::Nothing, "{id}");
    }
    Ok(())
}

async fn chunked_oversize_is_refused_once_it_is_over_the_cap(stage: &Stage) -> anyhow::Result<()> {
    let (envoy, body) = (stage.enforce().await?, chat(Kind::Benign, CAP + 200_000));
    for protocol in PROTOCOLS {
        let id = format!("oversize-chunked-{protocol:?}");
        let call = Call::post(PATH, body.clone()).over(protocol).cut(&[30_000], Duration::ZERO).id(&id);
        assert_openai_refusal(&call.send(envoy.address()).await?, "wire.oversize", &id)?;
        stage.assert_no_byte(envoy, &id).await?;
    }
    Ok(())
}

async fn oversize_elsewhere_passes_and_is_counted(stage: &Stage) -> anyhow::Result<()> {
    let envoy = stage.start(stage.config("enforce").await?).await?;
    // Longer than Envoy's own buffer, too: the plugin has to let go of it before that is full.
    let body = format!("{{\"rows\":[{}0]}}", "1234567,".repeat(400_000));
    for (protocol, chunked) in [(Protocol::Http1, false), (Protocol::Http1, true), (Protocol::Http2, true)] {
        let id = format!("oversize-elsewhere-{protocol:?}-{chunked}");
        let mut call = Call::post("/v1/rows", body.clone()).over(protocol).id(&id);
        if chunked {
            call = call.cut(&[30_000], Duration::ZERO);
        }
        let answer = call.send(envoy.address()).await?;
        assert_eq!(answer.status, 200, "{id}: {}", answer.text());
        stage.assert_whole(&envoy, &id, body.as_bytes()).await?;
    }
    assert_eq!(envoy.stat("wasmcustom.floodmark_passed_why=unread").await?, 3);
    assert_eq!(envoy.stat("wasmcustom.floodmark_issues_issue=oversize").await?, 3);
    Ok(())
}

async fn oversize_in_monitor_passes_and_is_counted(stage: &Stage) -> anyhow::Result<()> {
    let envoy = stage.start(stage.config("monitor").await?).await?;
    let body = chat(Kind::Benign, CAP * 3);
    for (at, chunked) in [false, true].into_iter().enumerate() {
        let id = format!("oversize-monitor-{at}");
        let mut call = Call::post(PATH, body.clone()).id(&id);
        if chunked {
            call = call.cut(&[30_000], Duration::ZERO);
        }
        assert_eq!(call.send(envoy.address()).await?.status, 200);
        stage.assert_whole(&envoy, &id, body.as_bytes()).await?;
    }
    assert_eq!(envoy.stat("wasmcustom.floodmark_issues_issue=oversize").await?, 2);
    assert_eq!(envoy.stat("wasmcustom.floodmark_would_block").await?, 2);
    Ok(())
}

fn invalid_utf8() -> Vec<u8> {
    b"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"caf\xe9, please\"}]}".to_vec()
}

async fn invalid_utf8_is_refused_in_enforce(stage: &Stage) -> anyhow::Result<()> {
    let (id, envoy) = ("utf8-enforce", stage.enforce().await?);
    let answer = Call::post(PATH, invalid_utf8()).id(id).send(envoy.address()).await?;
    assert_openai_refusal(&answer, "wire.invalid_utf8", id)?;
    stage.assert_no_byte(envoy, id).await
}

async fn invalid_utf8_passes_monitor_and_is_counted(stage: &Stage) -> anyhow::Result<()> {
    let (id, envoy) = ("utf8-monitor", stage.start(stage.config("monitor").await?).await?);
    assert_eq!(Call::post(PATH, invalid_utf8()).id(id).send(envoy.address()).await?.status, 200);
    stage.assert_whole(&envoy, id, &invalid_utf8()).await?;
    assert_eq!(envoy.stat("wasmcustom.floodmark_issues_issue=invalid_utf8").await?, 1);
    assert_eq!(envoy.stat("wasmcustom.floodmark_would_block").await?, 1);
    Ok(())
}

/// Hardening guides set this window, and it would be the limit for held HTTP/2 bodies if the route had none of its own.
async fn a_small_http2_window_does_no_harm(stage: &Stage) -> anyhow::Result<()> {
    let window = "codec_type: AUTO
                http2_protocol_options: {initial_stream_window_size: 65536}";
    let envoy = stage.start(stage.config("enforce").await?.replace("codec_type: AUTO", window)?).await?;
    let body = chat(Kind::Benign, 200_000);
    let answer = Call::post(PATH, body.clone()).over(Protocol::Http2).id("window").send(envoy.address()).await?;
    assert_eq!(answer.status, 200, "{}", answer.text());
    stage.assert_whole(&envoy, "window", body.as_bytes()).await
}

/// A body that is held up to just below the cap, and then a lump that Envoy reads in one go: the plugin lets go of it only after
/// Envoy has laid the one on the other. Without the route's own limit that is Envoy's 413, and a legitimate upload is lost.
async fn a_lump_on_top_of_a_held_start_passes(stage: &Stage) -> anyhow::Result<()> {
    const LIMIT: &str = "request_body_buffer_limit: 4194304";
    let config = stage.config("enforce").await?;
    for (id, config, status) in
        [("lump", config.clone(), "200"), ("lump-413", config.replace(LIMIT, "include_request_attempt_count: false")?, "413")]
    {
        let envoy = stage.start(config).await?;
        let first = send_lump(&envoy, id)?;
        assert!(first.starts_with(&format!("HTTP/1.1 {status} ")), "{id}: {first}");
    }
    let received = stage.upstream().await?.journal().received("lump");
    assert_eq!(Seen::of(&received), Seen::Whole(START + LUMP));
    Ok(())
}

const START: usize = 950_001;
const LUMP: usize = 1_048_576;

/// Sends the start, stops Envoy while the lump piles up in its socket, and returns the first line of the answer.
fn send_lump(envoy: &Envoy, id: &str) -> anyhow::Result<String> {
    let signal = |name: &str| Command::new("kill").args([name, &envoy.id().to_string()]).status();
    let mut socket = TcpStream::connect(envoy.address())?;
    socket.set_read_timeout(Some(Duration::from_secs(30)))?;
    let head = "POST /rows HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n";
    write!(socket, "{head}x-test-id: {id}\r\n\r\n{START:x}\r\n[{}\r\n", "0,".repeat(START / 2))?;
    // Long enough for Envoy to have read it, else the lump test sends an ordinary body.
    std::thread::sleep(Duration::from_millis(500));
    signal("-STOP")?;
    let mut writer = socket.try_clone()?;
    let lump = std::thread::spawn(move || write!(writer, "{LUMP:x}\r\n{}\r\n0\r\n\r\n", "0,".repeat(LUMP / 2)));
    std::thread::sleep(Duration::from_millis(500));
    signal("-CONT")?;
    let mut first = String::new();
    BufReader::new(socket).read_line(&mut first)?;
    // After a 413 the rest may meet a closed connection.
    let _ = lump.join();
    Ok(first)
}
