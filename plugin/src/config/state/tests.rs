//! Refusals that say where and what, and never show a secret.

use super::*;
use crate::config::parse;

const SECRET: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

fn with_keys(rest: &str) -> String {
    format!(r#"{{"version":1,"keys":[{{"id":"k1","secret":"{SECRET}"}}]{rest}}}"#)
}

fn refused(text: &str) -> String {
    parse(text.as_bytes()).expect_err(text).to_string()
}

#[test]
fn what_is_remembered_hangs_on_the_keys() {
    assert!(parse(br#"{"version":1}"#).expect("valid").state.is_none());
    let rules = parse(with_keys("").as_bytes()).expect("valid");
    assert_eq!(rules.state, Some(State::default()));
    assert_eq!((State::default().runs, State::default().half_life_s), (32_768, 3600));
    let expected = blake3::derive_key("floodmark 2026-11-30 run", &core::array::from_fn::<u8, 32, _>(|at| at as u8));
    assert_eq!(rules.keys[0].derive("run").bytes(), &expected);
    assert!(parse(with_keys(r#","state":{"enabled":false}"#).as_bytes()).expect("valid").state.is_none());
    assert_eq!(parse(with_keys(r#","state":{"ttl_s":60}"#).as_bytes()).expect("valid").state.map(|state| state.ttl_s), Some(60));
    assert_eq!(format!("{:?}", rules.keys), "[Secret(k1)]");
    assert!(!format!("{rules:?}").contains("00010203"), "nothing shows a secret");
}

#[test]
fn errors_name_the_key_and_what_would_be_right() {
    let keys = |keys: &str| format!(r#"{{"version":1,"keys":{keys}}}"#);
    let one = |id: &str, secret: &str| format!(r#"{{"id":"{id}","secret":"{secret}"}}"#);
    let session = |session: &str| with_keys(&format!(r#","defaults":{{"session":{session}}}"#));
    let nine = |entry: &str| format!("[{}]", [entry; 9].join(","));
    let distinct: Vec<String> = (0..9).map(|at| one(&format!("k{at}"), SECRET)).collect();
    for (text, path, word) in [
        (r#"{"version":1,"state":{}}"#.to_owned(), "at state:", "needs `keys`"),
        (keys(&format!("[{}]", distinct.join(","))), "at keys:", "at most 8"),
        (keys(&format!("[{}]", one("", SECRET))), "at keys[0].id:", "1 to 64"),
        (keys(&format!("[{}]", one("K", SECRET))), "at keys[0].id:", "a-z"),
        (keys(&format!("[{},{}]", one("a", SECRET), one("a", SECRET))), "at keys[1].id:", "another key's"),
        (keys(&format!("[{}]", one("a", &SECRET[1..]))), "at keys[0].secret:", "64 hex digits"),
        (keys(&format!("[{}]", one("a", &"ab".repeat(32)))), "at keys[0].secret:", "again and again"),
        (keys(&format!("[{{\"id\":\"a\",\"secret\":\"{SECRET}\",\"x\":1}}]")), "at keys[0].x:", "unknown field"),
        (keys(r#"[{"id":"a"}]"#), "at keys[0]:", "missing field `secret`"),
        (keys(&format!("\"{SECRET}\"")), "at keys:", "it is not shown here"),
        (keys(&format!("[\"{SECRET}\"]")), "at keys[0]:", "it is not shown here"),
        (with_keys(r#","state":{"runs":7}"#), "at state.runs:", "8 to 1048576"),
        (with_keys(r#","state":{"callers":1048577}"#), "at state.callers:", "8 to 1048576"),
        (with_keys(r#","state":{"versions":7}"#), "at state.versions:", "8 to 1048576"),
        (with_keys(r#","state":{"versions":1048577}"#), "at state.versions:", "8 to 1048576"),
        (with_keys(r#","state":{"ttl_s":59}"#), "at state.ttl_s:", "60 to 2592000"),
        (with_keys(r#","state":{"half_life_s":0}"#), "at state.half_life_s:", "60 to 2592000"),
        (with_keys(r#","state":{"size":1}"#), "at state.size:", "unknown field"),
        (session(r#"{"caller":[]}"#), "at defaults.session.caller:", "one caller's"),
        (session(&format!(r#"{{"caller":{}}}"#, nine(r#"{"from":"address"}"#))), "at defaults.session.caller:", "at most 8"),
        (session(r#"{"caller":[{"from":"header"}]}"#), "at defaults.session.caller[0].name:", "is missing"),
        (session(r#"{"caller":[{"from":"header","name":":path"}]}"#), "at defaults.session.caller[0].name:", "a header's name"),
        (session(r#"{"caller":[{"from":"address","name":"x"}]}"#), "at defaults.session.caller[0].name:", "leave it out"),
        (session(r#"{"caller":[{"from":"cookie"}]}"#), "at defaults.session.caller[0].from:", "`certificate`"),
        (session(r#"{"sources":[{"from":"mcp_session"},{"from":"metadata"}]}"#), "at defaults.session.sources[1].name:", "is missing"),
        (session(r#"{"sources":[{"from":"metadata","name":""}]}"#), "at defaults.session.sources[0].name:", "1 to 128 bytes"),
        (session(r#"{"sources":[{"from":"conversation","name":"x"}]}"#), "at defaults.session.sources[0].name:", "leave it out"),
        (session(&format!(r#"{{"sources":{}}}"#, nine(r#"{"from":"mcp_session"}"#))), "at defaults.session.sources:", "at most 8"),
        (session(r#"{"unseen_assistant":"block"}"#), "at defaults.session.unseen_assistant:", "`flag`"),
    ] {
        let line = refused(&text);
        assert!(line.contains(path) && line.contains(word), "{text}\ngave {line}\nwanted {path} and {word}");
        assert!(!line.contains("00010203") && !line.contains("abab"), "a secret is shown: {line}");
    }
    assert!(parse(session(r#"{"sources":[]}"#).as_bytes()).is_ok(), "caller and first turn alone");
}
