//! Nothing waits that need not wait: each side's next piece is sent only when the other has seen the last.

use std::io::{Read as _, Write as _};
use std::sync::mpsc;

use floodmark_host::client::Call;
use floodmark_host::upstream::{Ending, Upstream};

use crate::process::{BENIGN, CHAT, read_until, serve, wait_for};
use crate::wire::{client, upstream};

#[test]
fn events_reach_the_client_as_they_come() {
    let (seen, wait) = mpsc::channel::<()>();
    let (address, talking) = upstream(move |mut socket, _| {
        socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n").unwrap();
        for event in 0..3 {
            let text = format!("data: {event}\n\n");
            write!(socket, "{:x}\r\n{text}\r\n", text.len()).unwrap();
            wait.recv().unwrap();
        }
        socket.write_all(b"0\r\n\r\n").unwrap();
    });
    let gateway = serve(address);
    let mut socket =
        client(gateway.address, &format!("POST {CHAT} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{BENIGN}", BENIGN.len()));
    let head = read_until(&mut socket, "\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("text/event-stream"), "{head}");
    for event in 0..3 {
        assert!(read_until(&mut socket, "\n\n").ends_with(&format!("data: {event}\n\n")));
        seen.send(()).unwrap();
    }
    read_until(&mut socket, "0\r\n\r\n");
    talking.join().unwrap();
    assert_eq!(gateway.lines(1, |_| true)[0]["bytes_sent"], 3 * "data: 0\n\n".len());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_judged_reaches_the_upstream_as_it_comes() {
    let upstream = Upstream::start().await.unwrap();
    let gateway = serve(upstream.address());
    let mut socket =
        client(gateway.address, "POST /upload HTTP/1.1\r\nhost: x\r\nx-test-id: up\r\ntransfer-encoding: chunked\r\n\r\n5\r\nplain\r\n");
    let received = |body: &[u8], ending: Ending| {
        wait_for(|| upstream.journal().received("up").first().filter(|seen| seen.body == body && seen.ending == ending).map(drop));
    };
    received(b"plain", Ending::Open);
    socket.write_all(b"5\r\n text\r\n").unwrap();
    received(b"plain text", Ending::Open);
    socket.write_all(b"0\r\n\r\n").unwrap();
    assert!(read_until(&mut socket, "\r\n\r\n").starts_with("HTTP/1.1 200 OK"));
    received(b"plain text", Ending::Clean);
    // A client that leaves in the middle takes its request to the upstream with it.
    let socket = client(gateway.address, "POST /upload HTTP/1.1\r\nhost: x\r\nx-test-id: gone\r\ncontent-length: 9\r\n\r\nplain");
    wait_for(|| upstream.journal().received("gone").first().map(drop));
    drop(socket);
    wait_for(|| upstream.journal().received("gone").first().filter(|seen| seen.ending == Ending::Reset).map(drop));
    gateway.lines(2, |line| line["path"] == "/upload");
    assert_eq!(gateway.metric("gateway_requests_active").await, 0);
}

#[test]
fn trailers_of_answers_reach_clients_that_read_them() {
    let (address, talking) = upstream(|mut socket, head| {
        let head = head.to_ascii_lowercase();
        assert!(head.contains("te: trailers\r\n"), "{head}");
        let answer = "HTTP/1.1 200 OK\r\ntrailer: x-sum\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nx-sum: 7\r\n\r\n";
        socket.write_all(answer.as_bytes()).unwrap();
    });
    let gateway = serve(address);
    let mut socket = client(gateway.address, "GET / HTTP/1.1\r\nhost: x\r\nte: trailers\r\nconnection: te\r\n\r\n");
    read_until(&mut socket, "\r\n\r\n");
    let body = read_until(&mut socket, "\r\n\r\n").to_ascii_lowercase();
    assert_eq!(body, "2\r\nok\r\n0\r\nx-sum: 7\r\n\r\n");
    talking.join().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_is_asked_for_only_if_it_is_wanted() {
    let upstream = Upstream::start().await.unwrap();
    let gateway = serve(upstream.address());
    let head = |length: usize| format!("POST {CHAT} HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: {length}\r\n\r\n");
    let mut socket = client(gateway.address, &head(BENIGN.len()));
    assert_eq!(read_until(&mut socket, "\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    socket.write_all(BENIGN.as_bytes()).unwrap();
    assert!(read_until(&mut socket, "\r\n\r\n").starts_with("HTTP/1.1 200 OK"));
    let mut socket = client(gateway.address, &head(2_000_000));
    assert!(read_until(&mut socket, "\r\n\r\n").starts_with("HTTP/1.1 403 Forbidden"));
}

#[test]
fn answers_without_a_body_keep_their_length() {
    let (address, talking) = upstream(|mut socket, head| {
        assert!(head.starts_with("HEAD /models HTTP/1.1\r\n"), "{head}");
        socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1234\r\n\r\n").unwrap();
    });
    let gateway = serve(address);
    let mut socket = client(gateway.address, "HEAD /models HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("content-length: 1234\r\n"), "{answer}");
    assert!(answer.ends_with("\r\n\r\n"), "{answer}");
    talking.join().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn large_answers_pass_whole() {
    let body = vec![b'z'; 3_000_000];
    let sent = body.clone();
    let (address, talking) = upstream(move |mut socket, _| {
        write!(socket, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", sent.len()).unwrap();
        socket.write_all(&sent).unwrap();
    });
    let gateway = serve(address);
    let answer = Call::get("/file").send(gateway.address).await.unwrap();
    assert!(answer.body == body);
    talking.join().unwrap();
}
