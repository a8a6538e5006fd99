//! What goes wrong is told: upstreams that fail, clients that stop, and arguments that cannot be.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use floodmark_host::bench::body::{Kind, chat};
use floodmark_host::client::{Answer, Call};
use floodmark_host::upstream::Upstream;

use crate::process::{BENIGN, CHAT, read_until, refused, serve, serve_with};
use crate::support::{plugin_path, repository};
use crate::wire::{client, upstream};

fn assert_failed(answer: &Answer, status: u16, code: &str) {
    let body = answer.json().unwrap();
    assert_eq!(
        (answer.status, body["error"]["code"].as_str(), body["error"]["type"].as_str()),
        (status, Some(code), Some("gateway_error"))
    );
    assert!(body["error"]["message"].as_str().is_some_and(|message| !message.is_empty()));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_is_not_there_is_502() {
    let nobody = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap();
    let gateway = serve(nobody);
    let answer = Call::post(CHAT, BENIGN).id("gone").send(gateway.address).await.unwrap();
    assert_failed(&answer, 502, "upstream_unreachable");
    let line = gateway.line("gone");
    assert_eq!((&line["status"], &line["details"], &line["verdict"]), (&502.into(), &"upstream_unreachable".into(), &"allow".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_breaks_off_is_502_or_a_broken_answer() {
    let (address, talking) = upstream(|socket, _| drop(socket));
    let gateway = serve(address);
    let answer = Call::post(CHAT, BENIGN).send(gateway.address).await.unwrap();
    assert_failed(&answer, 502, "upstream_broke_off");
    talking.join().unwrap();

    let (address, talking) = upstream(|mut socket, _| socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf").unwrap());
    let gateway = serve(address);
    let error = Call::get("/half").id("half").send(gateway.address).await.unwrap_err();
    assert!(format!("{error:#}").contains("broke off"), "half an answer must not look whole: {error:#}");
    assert_eq!(gateway.line("half")["details"], "upstream_broke_off");
    talking.join().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_says_nothing_is_504() {
    let (address, talking) = upstream(|mut socket, _| socket.read_to_end(&mut Vec::new()).unwrap_or_default());
    let gateway = serve_with(address, &["--timeout", "1"]);
    let answer = Call::post(CHAT, BENIGN).send(gateway.address).await.unwrap();
    assert_failed(&answer, 504, "upstream_response_timeout");
    assert_eq!(talking.join().unwrap(), BENIGN.len(), "the request had reached it, and its connection was closed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_stops_in_its_body_is_408() {
    let upstream = Upstream::start().await.unwrap();
    let gateway = serve_with(upstream.address(), &["--timeout", "1"]);
    let mut socket = client(gateway.address, &format!("POST {CHAT} HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{{\"mess"));
    assert!(read_until(&mut socket, "\r\n\r\n").starts_with("HTTP/1.1 408 Request Timeout"));
    assert_eq!(gateway.metric("gateway_requests_active").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_request_too_many_is_503() {
    let upstream = Upstream::start().await.unwrap();
    let gateway = serve_with(upstream.address(), &["--max-requests", "1"]);
    let mut first = client(gateway.address, &format!("POST {CHAT} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", BENIGN.len()));
    while gateway.metric("gateway_requests_active").await == 0 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let second = Call::post(CHAT, BENIGN).send(gateway.address).await.unwrap();
    assert_failed(&second, 503, "too_many_requests_at_once");
    first.write_all(BENIGN.as_bytes()).unwrap();
    assert!(read_until(&mut first, "\r\n\r\n").starts_with("HTTP/1.1 200 OK"));
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_leave_at_once_leave_nothing_behind() {
    const CLIENTS: usize = 50;
    let upstream = Upstream::start().await.unwrap();
    let gateway = serve_with(upstream.address(), &["--workers", "1"]);
    // The one VM has work for a while, so that the others leave while they still wait to enter it.
    let busy = Call::post(CHAT, chat(Kind::Attack, 1_000_000));
    let busy = tokio::spawn(busy.send(gateway.address));
    for at in 0..CLIENTS {
        let request = if at % 2 == 0 { "GET / HTTP/1.1" } else { "POST / HTTP/1.1\r\ncontent-length: 9" };
        drop(client(gateway.address, &format!("{request}\r\nhost: x\r\nx-request-id: left\r\n\r\n")));
    }
    assert_eq!(busy.await.unwrap().unwrap().status, 403);
    // One that left before its request was read has no line.
    gateway.lines(CLIENTS / 2, |line| line["request_id"] == "left");
    while gateway.metric("gateway_requests_active").await > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert_eq!(gateway.metric("gateway_plugin_streams{worker=\"0\"}").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_are_none_are_400_or_405() {
    let upstream = Upstream::start().await.unwrap();
    let gateway = serve(upstream.address());
    for (text, start) in [
        ("CONNECT a.test:443 HTTP/1.1\r\nhost: a.test\r\n\r\n", "HTTP/1.1 405 Method Not Allowed\r\n"),
        ("GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n"),
        ("nonsense\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n"),
    ] {
        let head = read_until(&mut client(gateway.address, text), "\r\n\r\n");
        assert!(head.starts_with(start), "{text:?}: {head}");
    }
}

#[test]
fn arguments_that_cannot_be_are_refused_with_the_reason() {
    let (wasm, config) = (plugin_path().display().to_string(), repository("envoy-config/enforce.yaml").display().to_string());
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (bad, text) = (file("bad.json", r#"{"version":1,"defaults":{"reply":{"status":99}}}"#), file("text.wasm", "<html>"));
    let (taken, other) = (TcpListener::bind(("127.0.0.1", 0)).unwrap(), "127.0.0.1:0");
    let taken = taken.local_addr().unwrap().to_string();
    let run = |config: &str, wasm: &str, listen: &str, upstream: &str| {
        refused(&["--config", config, "--wasm", wasm, "--listen", listen, "--upstream", upstream, "--workers", "1"])
    };
    let upstream = "http://127.0.0.1:1";
    for ((code, said), part) in [
        (run(&bad, &wasm, other, upstream), "configuration refused at defaults.reply.status: 99"),
        (run("gone.json", &wasm, other, upstream), "cannot read the configuration gone.json"),
        (run(&config, "gone.wasm", other, upstream), "cannot read the plugin gone.wasm; cargo xtask wasm builds it"),
        (run(&config, &text, other, upstream), "not a wasm module that this host can read"),
        (run(&config, &wasm, "nowhere", upstream), "--listen \"nowhere\" is no address; write host:port"),
        (run(&config, &wasm, &taken, upstream), "cannot listen on"),
        (run(&config, &wasm, other, "https://api.example.com"), "speaks TLS, which this gateway does not"),
        (run(&config, &wasm, other, "ftp://a.test"), "does not begin with http://"),
    ] {
        assert_eq!(code, Some(1), "{said}");
        let last = said.lines().last().unwrap_or_default();
        assert!(last.starts_with("floodmark-host: ") && last.contains(part), "{part:?} is not in {said}");
    }
    let (code, said) = refused(&["--config", &config, "--listen", other, "--upstream", upstream, "--workers", "0"]);
    assert!(code == Some(2) && said.contains("--workers"), "{said}");
}
