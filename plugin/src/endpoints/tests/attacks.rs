//! Tokens and targets as attackers write them.

use super::*;

#[test]
fn only_one_whole_token_in_its_own_header_counts() {
    let gateway = Gateway::new();
    let long = "a".repeat(257);
    let both = format!("{ADMIN},{CHECK}");
    let padded = format!("{ADMIN} ");
    for tokens in [
        &[][..],
        &[("x-floodmark-token", "")],
        &[("x-floodmark-token", "x")],
        &[("x-floodmark-token", &ADMIN[1..])],
        &[("x-floodmark-token", &padded)],
        &[("x-floodmark-token", &long)],
        &[("x-floodmark-token", &both)],
        &[("x-floodmark-token", &ADMIN.to_uppercase())],
        &[("x-floodmark-token", blake3::hash(ADMIN.as_bytes()).to_hex().as_str())],
        &[("x-floodmark-token", ADMIN), ("x-floodmark-token", ADMIN)],
        &[("x-floodmark-token", ADMIN), ("x-floodmark-token", "x")],
        &[("x-floodmark-token", CHECK), ("x-floodmark-token", ADMIN)],
        &[("x-floodmark-token", ADMIN), ("x_floodmark_token", CHECK)],
        &[("x-floodmark-token", ADMIN), ("X-Floodmark-Token", ADMIN)],
        &[("x_floodmark_token", ADMIN)],
        &[("x-floodmark_token", ADMIN)],
        &[("authorization", ADMIN)],
        &[("authorization", &format!("Bearer {ADMIN}"))],
        &[("cookie", &format!("x-floodmark-token={ADMIN}"))],
    ] {
        for path in ["/floodmark/v1/health", "/floodmark/nowhere", "/floodmark/v1/health?x", "/Floodmark/v1/health"] {
            let seen = gateway.send(request("GET", path, tokens), &[], false).expect("an answer");
            assert_eq!((seen.status, seen.code()), (401, "unauthorized"), "{tokens:?} {path}: who has no token learns nothing");
            assert_eq!(seen.header("www-authenticate"), Some("x-floodmark-token"));
            let told = seen.json.to_string();
            assert!(!told.contains("admin-token") && !told.contains("check-token") && !told.contains("ops"), "{told}");
        }
    }
    let mut odd = request("GET", "/floodmark/v1/health", &[]);
    odd.push((b"x-floodmark-token".to_vec(), vec![0xff; 40]));
    assert_eq!(gateway.send(odd, &[], false).expect("an answer").status, 401);
    let upper = request("GET", "/floodmark/v1/health", &[("X-Floodmark-Token", ADMIN)]);
    assert_eq!(gateway.send(upper, &[], false).expect("an answer").status, 200, "names of headers have no case");
    assert!(gateway.host.logs.borrow().is_empty(), "a flood of wrong tokens fills no log");
}

/// Whose hash someone configured by mistake: `openssl rand -hex 4`, or of a file with nothing in it.
#[test]
fn a_token_that_can_be_guessed_opens_nothing() {
    for weak in ["", "changeme", &"a".repeat(31)] {
        let hash = blake3::hash(weak.as_bytes()).to_hex();
        let gateway = Gateway::with(&json!({"endpoints": {"tokens": [{"name": "ops", "blake3": hash.as_str(), "scopes": ["admin"]}]}}));
        let seen = gateway.ask("GET", "/floodmark/v1/health", weak);
        assert_eq!(seen.status, 401);
        assert!(seen.json["error"]["message"].as_str().is_some_and(|message| message.contains("32 to 256 bytes")), "{}", seen.json);
    }
}

/// One spelling is answered; all others that a server could take for it stay here, too.
#[test]
fn no_spelling_gets_to_an_endpoint_or_past_it() {
    let gateway = Gateway::new();
    for target in [
        "//floodmark/v1/health",
        "/floodmark//v1/health",
        "/floodmark/v1//health",
        "/%66loodmark/v1/health",
        "/floodmark/v1/%68ealth",
        "/floodmark%2fv1%2Fhealth",
        "/floodmark/v1/./health",
        "/floodmark/%2e/v1/health",
        "/floodmark/x/../v1/health",
        "/floodmark/x/%2E%2e/v1/health",
        "/v1/chat/completions/../../../floodmark/v1/health",
        "/../floodmark/v1/health",
        "/floodmark;a=b/v1/health",
        "/floodmark/v1/health;a",
        "/FLOODMARK/v1/health",
        "/Floodmark/V1/health",
        "/floodmark\\v1\\health",
        "\\floodmark\\v1\\health",
        "floodmark/v1/health",
        "/floodmark/v1/health#x",
        "http://ops.example/floodmark/v1/health",
        "https://user@ops.example:8443//floodmark/v1/health",
        "HTTP://x/floodmark/v1/health",
    ] {
        let seen = gateway.ask("GET", target, ADMIN);
        assert_eq!((seen.status, seen.code()), (404, "path_spelling"), "{target}");
    }
    for target in [
        "/floodmark/v1/health?",
        "/floodmark/v1/health?x=1",
        "/floodmark/v1/health?token=x",
        "/floodmark?/v1/health",
        "http://x/floodmark/?",
    ] {
        let seen = gateway.ask("GET", target, ADMIN);
        assert_eq!((seen.status, seen.code()), (400, "query"), "{target}");
    }
    assert_eq!(gateway.ask("GET", "/floodmark/V1/health", ADMIN).code(), "no_endpoint");
}

/// What only looks like one goes its way, without the token.
#[test]
fn other_paths_pass_and_no_token_with_them() {
    for settings in [json!({"mode": "off"}), json!({"mode": "monitor"}), json!({"mode": "enforce"})] {
        for enabled in [true, false] {
            let gateway = Gateway::with(&json!({"defaults": settings, "enabled": enabled}));
            for path in [
                "/",
                "/floodmarks/v1/health",
                "/floodmar",
                "/x/floodmark/v1/health",
                "/floodmark/../x",
                "/floodmark/%2e%2e/x",
                "/x?y=/floodmark/v1/health",
                "/%2566loodmark/v1/health",
                "http://floodmark/v1/health",
            ] {
                let tokens =
                    [("x-floodmark-token", ADMIN), ("X_Floodmark_Token", CHECK), ("x-floodmark_token", "x"), ("x-floodmark-token", "y")];
                assert_eq!(gateway.send(request("GET", path, &[&tokens[..], &[("accept", "*/*")]].concat()), &[], false), None, "{path}");
                let left = gateway.host.headers.borrow();
                let left: Vec<String> = left.iter().map(|(name, _)| String::from_utf8_lossy(name).to_ascii_lowercase()).collect();
                assert!(left.iter().all(|name| !name.replace('_', "-").contains("token")), "{settings} {path}: {left:?}");
                assert!(left.contains(&"accept".to_owned()));
            }
            assert_eq!(gateway.host.counted("floodmark_host_errors"), 0);
        }
    }
}

/// Nobody reads a token there, and an upstream could.
#[test]
fn a_token_in_a_trailer_opens_nothing_and_goes_no_further() {
    for more in [json!({}), json!({"defaults": {"mode": "monitor"}}), json!({"enabled": false})] {
        let gateway = Gateway::with(&more);
        let trailers = [("x-floodmark-token", ADMIN), ("x_floodmark_token", ADMIN), ("x-sum", "1")];
        let trailers = trailers.map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()));
        *gateway.host.trailers.borrow_mut() = trailers.to_vec();
        assert_eq!(gateway.send(request("POST", "/x", &[]), &[b"hello"], true), None);
        let left: Vec<_> = gateway.host.trailers.borrow().iter().map(|(name, _)| name.clone()).collect();
        assert_eq!(left, [b"x-sum"]);
    }
    let gateway = Gateway::new();
    *gateway.host.trailers.borrow_mut() = request("", "", &[("x-floodmark-token", ADMIN)]);
    let headers = request("POST", "/floodmark/v1/approvals", &[("content-type", "application/json"), ("trailer", "x-floodmark-token")]);
    assert_eq!(gateway.send(headers, &[b"{}"], true).expect("an answer").status, 401);
}

/// Nothing is known of headers that cannot be read, so every spelling goes.
#[test]
fn a_token_stays_here_when_headers_cannot_be_read() {
    struct Blind(Memory);
    let gateway = Gateway::with(&json!({"defaults": {"mode": "monitor"}}));
    let host = Blind(Memory::default());
    *host.0.headers.borrow_mut() = request("GET", "/", &[("x-floodmark-token", ADMIN), ("x_floodmark_token", ADMIN), ("accept", "*/*")]);
    host.0.broken.set(true);
    assert_eq!(Filter::new(Rc::clone(&gateway.shared)).request_headers(&host.0, true), Flow::Continue);
    let left: Vec<_> = host.0.headers.borrow().iter().map(|(name, _)| String::from_utf8_lossy(name).into_owned()).collect();
    assert_eq!(left, [":method", ":path", ":authority", "accept"]);
}
