//! Bodies: what is taken, and what each odd one is answered with.

use super::*;

const GOOD: &[u8] = br#"{"id":"00000000000000000000000000000000-00000000","decision":"approve"}"#;

fn refused(gateway: &Gateway, body: &[u8]) -> String {
    let seen = gateway.post(body, &[]);
    assert_eq!((seen.status, seen.code()), (400, "malformed"), "{}", String::from_utf8_lossy(body));
    seen.json["error"]["message"].as_str().expect("a message").to_owned()
}

#[test]
fn what_is_wrong_with_a_body_is_told_with_its_place() {
    let gateway = Gateway::new();
    let deep = format!("{}1{}", r#"{"a":"#.repeat(200), "}".repeat(200));
    let arrays = "[".repeat(60_000);
    for (body, wanted) in [
        (&b" \n"[..], "the body is empty"),
        (b"{", "the body: EOF while parsing"),
        (b"approve", "the body: expected value at line 1 column 1"),
        (&[GOOD, b" x"].concat(), "the body: trailing characters"),
        (b"[]", "the body: "),
        (b"null", "the body: "),
        (b"{}", "the body: missing field `id`"),
        (br#"{"id":"0"}"#, "the body: missing field `decision`"),
        (br#"{"id":7,"decision":"approve"}"#, "the body at id: invalid type"),
        (br#"{"id":"0","decision":"maybe"}"#, "the body at decision: unknown variant `maybe`, expected `approve` or `deny`"),
        (br#"{"id":"0","decision":"Approve"}"#, "the body at decision: unknown variant"),
        (br#"{"id":"0","decision":"approve","by":"me"}"#, "the body at by: unknown field `by`"),
        (br#"{"id":"0","id":"1","decision":"approve"}"#, "the body: the object that begins at byte 0 holds a key twice"),
        (br#"{"id":"0","\u0069d":"1","decision":"approve"}"#, "the body: the object that begins at byte 0 holds a key twice"),
        (b"{\"id\":\"\xff\",\"decision\":\"approve\"}", "the body: invalid utf-8 sequence of 1 bytes from index 7"),
        (b"\xef\xbb\xbf{}", "the body: expected value"),
        (deep.as_bytes(), "the body: "),
        (arrays.as_bytes(), "the body: "),
        (br#"{"id":"0","decision":"approve"}"#, "the body at id: must be 32 lower-case hex digits"),
    ] {
        let message = refused(&gateway, body);
        assert!(message.starts_with(wanted), "{}\ngave {message}\nwanted {wanted}", String::from_utf8_lossy(&body[..body.len().min(80)]));
    }
    assert_eq!(gateway.post(GOOD, &[]).code(), "not_found");
    assert!(gateway.host.logs.borrow().is_empty(), "nothing changed, nothing is logged");
}

#[test]
fn the_cap_holds_however_a_body_comes() {
    let gateway = Gateway::new();
    let headers = |more: &[(&str, &str)]| {
        let own = [("x-floodmark-token", ADMIN), ("content-type", "application/json")];
        request("POST", "/floodmark/v1/approvals", &[&own[..], more].concat())
    };
    let padded = |bytes: usize| [GOOD, &vec![b' '; bytes - GOOD.len()]].concat();
    let (fits, over) = (padded(65_536), padded(65_537));
    let pieces = |body: &'static [u8]| body.chunks(1000).collect::<Vec<_>>();
    let (fits, over): (&'static [u8], &'static [u8]) = (fits.leak(), over.leak());
    for trailers in [false, true] {
        assert_eq!(gateway.send(headers(&[]), &pieces(fits), trailers).map(|seen| seen.status), Some(404));
        assert_eq!(gateway.send(headers(&[("content-length", "65536")]), &pieces(fits), trailers).map(|seen| seen.status), Some(404));
        let seen = gateway.send(headers(&[]), &pieces(over), trailers).expect("an answer");
        assert_eq!(
            (seen.status, seen.code(), seen.json["error"]["message"].as_str()),
            (413, "too_large", Some("the body is over 65536 bytes"))
        );
    }
    // By its length, before any of it came.
    let mut filter = Filter::new(Rc::clone(&gateway.shared));
    *gateway.host.headers.borrow_mut() = headers(&[("content-length", "65537")]);
    gateway.host.replies.borrow_mut().clear();
    assert_eq!(filter.request_headers(&gateway.host, false), Flow::Pause);
    assert_eq!(gateway.host.replies.borrow()[0].status, 413);
    assert_eq!((filter.request_body(&gateway.host, 5, true), filter.request_trailers(&gateway.host)), (Flow::Pause, Flow::Pause));
    assert_eq!(gateway.host.replies.borrow().len(), 1);
}

#[test]
fn only_plain_json_is_taken() {
    let gateway = Gateway::new();
    let send = |more: &[(&str, &str)]| {
        let headers = request("POST", "/floodmark/v1/approvals", &[&[("x-floodmark-token", ADMIN)], more].concat());
        let seen = gateway.send(headers, &[GOOD], false).expect("an answer");
        (seen.status, seen.code().to_owned())
    };
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "",
        "application/jsonp",
        "text/json",
        "application/json; charset=utf-16",
        "application/json, text/plain",
    ] {
        assert_eq!(send(&[("content-type", kind)]), (415, "content_type".to_owned()), "{kind}");
    }
    assert_eq!(send(&[]), (415, "content_type".to_owned()));
    assert_eq!(send(&[("content-type", "application/json"), ("content-type", "text/plain")]).0, 415);
    for coding in ["gzip", "br", "identity, gzip", "x"] {
        assert_eq!(
            send(&[("content-type", "application/json"), ("content-encoding", coding)]),
            (415, "content_encoding".to_owned()),
            "{coding}"
        );
    }
    for (kind, coding) in [("application/json", "identity"), ("Application/JSON ; Charset=\"UTF-8\"", "")] {
        assert_eq!(send(&[("content-type", kind), ("content-encoding", coding)]).0, 404, "{kind}");
    }
}

#[test]
fn a_body_comes_where_it_is_taken_and_nowhere_else() {
    let gateway = Gateway::new();
    let health = |more: &[(&str, &str)], pieces: &[&[u8]], trailers| {
        let headers = request("GET", "/floodmark/v1/health", &[&[("x-floodmark-token", CHECK)], more].concat());
        let seen = gateway.send(headers, pieces, trailers).expect("an answer");
        (seen.status, seen.code().to_owned())
    };
    for announced in [("content-length", "2"), ("content-length", "x"), ("transfer-encoding", "chunked")] {
        assert_eq!(health(&[announced], &[b"{}"], false), (400, "unexpected_body".to_owned()), "{announced:?}");
    }
    // HTTP/2 need not say in the headers that nothing follows.
    assert_eq!((health(&[], &[b""], false).0, health(&[], &[], true).0, health(&[("content-length", "0")], &[], false).0), (200, 200, 200));
    let own = [("x-floodmark-token", ADMIN), ("content-type", "application/json")];
    for (pieces, trailers) in [(&[][..], false), (&[&b""[..]][..], false), (&[][..], true), (&[&b" "[..], b"\t"][..], true)] {
        let seen = gateway.send(request("POST", "/floodmark/v1/approvals", &own), pieces, trailers).expect("an answer");
        assert_eq!((seen.status, seen.code()), (400, "malformed"));
        assert_eq!(seen.json["error"]["message"], "the body is empty; send a JSON object");
    }
}

/// What is read of a body can take hundreds of times its bytes, so its values are counted before.
#[test]
fn a_body_holds_so_many_values_and_no_more() {
    let gateway = Gateway::with(&json!({"lineage": {}}));
    let post = |body: &str| {
        let headers = [("x-floodmark-token", ADMIN), ("content-type", "application/json")];
        gateway.send(request("POST", "/floodmark/v1/lineage/check", &headers), &[body.as_bytes()], false).expect("an answer")
    };
    let over = |seen: &Seen| {
        seen.status == 400
            && seen.json["error"]["message"]
                .as_str()
                .is_some_and(|message| message.starts_with("the body holds more than 65536 JSON values"))
    };
    // One for the list, one for each thing in it.
    let list = |item: &str, count: usize| format!("[{}]", vec![item; count].join(","));
    for (item, fits) in
        [("0", 65_535), ("[]", 32_767), ("{}", 32_767), (r#"{"":0}"#, 32_767), (r#"{"":[0]}"#, 21_845), (r#""[{,\"[{,\\""#, 65_535)]
    {
        assert!(!over(&post(&list(item, fits))), "{item}");
        assert!(over(&post(&list(item, fits + 1))), "{item}");
    }
    for text in
        [r#"{"tenant":"[,,,{\",,,\\\\"}"#.to_owned(), format!("\"{}\"", ",".repeat(900_000)), format!("\"{}", "\\\",".repeat(300_000))]
    {
        assert!(!over(&post(&text)), "in strings nothing counts");
    }
}
