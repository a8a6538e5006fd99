//! What is harmless passes unchanged.

use std::time::Duration;

use floodmark_host::bench::body::{Kind, chat};
use floodmark_host::client::{Call, Connection, Protocol};
use floodmark_host::demo::Seen;
use floodmark_host::upstream::{REPLY_HEADER, Upstream};

use crate::process::{BENIGN, CHAT, serve};

#[tokio::test(flavor = "multi_thread")]
async fn benign_bodies_pass_byte_for_byte_however_they_are_cut() {
    let upstream = Upstream::start().await.unwrap();
    let gateway = serve(upstream.address());
    let large = chat(Kind::Benign, 200_000);
    for (at, body) in [BENIGN, &large].into_iter().enumerate() {
        let call = Call::post(CHAT, body.to_owned());
        let calls = [
            call.clone(),
            call.clone().cut(&[7, 1000], Duration::ZERO),
            call.clone().cut(&[100_000], Duration::from_millis(1)).trailer("x-sum", "7"),
        ];
        for (way, call) in calls.into_iter().enumerate() {
            let id = format!("benign-{at}-{way}");
            let answer = call.id(&id).send(gateway.address).await.unwrap();
            assert_eq!((answer.status, answer.header("x-floodmark-verdict")), (200, Some("allow")), "{id}: {}", answer.text());
            assert_eq!(answer.json().unwrap()["object"], "chat.completion", "{id}");
            let received = upstream.journal().received(&id);
            assert_eq!((received.len(), Seen::of(&received)), (1, Seen::Whole(body.len())), "{id}");
            assert!(received[0].body == body.as_bytes(), "{id}");
            let trailers: &[(String, Vec<u8>)] = &[("x-sum".to_owned(), b"7".to_vec())];
            assert_eq!(received[0].trailers, if way == 2 { trailers } else { &[] }, "{id}");
            let line = gateway.line(&id);
            assert_eq!(
                (&line["status"], &line["details"], &line["verdict"]),
                (&200.into(), &"via_upstream".into(), &"allow".into()),
                "{line}"
            );
            assert_eq!((&line["bytes_received"], &line["path"]), (&body.len().into(), &CHAT.into()), "{line}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_pass_but_for_those_of_one_connection() {
    let upstream = Upstream::start().await.unwrap();
    let gateway = serve(upstream.address());
    let call = Call::post(&format!("{CHAT}?key=secret"), BENIGN).host("gateway.test").id("headers").header("authorization", "Bearer k");
    let call = call.header("connection", "x-mine").header("x-mine", "1").header("keep-alive", "timeout=5").header("upgrade", "h2c");
    let call = call.header("x-floodmark-verdict", "allow").header("x-twice", "1").header("x-twice", "2").header("te", "trailers");
    let answer = call.header(REPLY_HEADER, "x-floodmark-verdict=theirs").send(gateway.address).await.unwrap();
    let ours: Vec<_> = answer.headers.iter().filter(|(name, _)| name == "x-floodmark-verdict").collect();
    assert_eq!(ours, [&("x-floodmark-verdict".to_owned(), "allow".to_owned())]);
    let received = &upstream.journal().received("headers")[0];
    let values = |name: &str| {
        received.headers.iter().filter(|(n, _)| n == name).map(|(_, v)| String::from_utf8_lossy(v).into_owned()).collect::<Vec<_>>()
    };
    assert_eq!(received.path, format!("{CHAT}?key=secret"));
    assert_eq!((values("authorization"), values("x-twice")), (vec!["Bearer k".to_owned()], vec!["1".to_owned(), "2".to_owned()]));
    assert_eq!(
        (values("host"), values("via"), values("te")),
        (vec![upstream.address().to_string()], vec!["1.1 floodmark".to_owned()], vec!["trailers".to_owned()])
    );
    for gone in ["x-mine", "keep-alive", "upgrade", "x-floodmark-verdict", "transfer-encoding"] {
        assert_eq!(values(gone), [""; 0], "{gone}");
    }
    assert_eq!(gateway.line("headers")["path"], CHAT, "queries may hold secrets");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_serves_many_requests() {
    let upstream = Upstream::start().await.unwrap();
    let gateway = serve(upstream.address());
    let mut connection = Connection::open(gateway.address, Protocol::Http1).await.unwrap();
    for round in 0..5 {
        for (id, status) in [("keep-get", 200), ("keep-post", 200), ("keep-attack", 403)] {
            let id = format!("{id}-{round}");
            let call = match status {
                403 => Call::post(CHAT, crate::process::attack()),
                _ if id.starts_with("keep-get") => Call::get("/models"),
                _ => Call::post(CHAT, BENIGN),
            };
            assert_eq!(connection.send(call.id(&id)).await.unwrap().status, status, "{id}");
        }
    }
    assert_eq!(gateway.metric("gateway_requests{status=\"200\"}").await, 10);
    assert_eq!(gateway.metric("gateway_requests{status=\"403\"}").await, 5);
}
