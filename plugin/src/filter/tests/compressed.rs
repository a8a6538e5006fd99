//! Compressed bodies: judged unpacked, on listed paths and elsewhere, and refused when they are not what they say.

use super::*;

/// A case of testdata/wire/compressed: its content-encoding and its bytes.
fn compressed(name: &str) -> (String, Vec<u8>) {
    let path = format!("{}/../testdata/wire/compressed/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let case: serde_json::Value = serde_json::from_slice(&std::fs::read(path).expect("a case")).expect("JSON");
    let hex = case["body_hex"].as_str().expect("hex");
    let bytes = (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex")).collect();
    (case["content_encoding"].as_str().expect("a coding").to_owned(), bytes)
}

#[test]
fn a_compressed_body_is_judged_unpacked_wherever_it_goes() {
    for path in ["/chat/completions", "/elsewhere"] {
        for name in ["ok/gzip_attack", "ok/gzip_members", "ok/gzip_twice", "ok/deflate_raw", "bad/json_as_it_stands"] {
            let (coding, body) = compressed(name);
            let headers = post(path, &[("content-encoding", &coding)]);
            for settings in [ENFORCE, MONITOR] {
                let host = Memory::default();
                let mut filter = Filter::new(shared(&host, settings));
                // Cut so that the first piece says nothing yet.
                let outcome = send(&host, &mut filter, headers.clone(), &[&body[..3], &body[3..20], &body[20..]], false);
                assert_eq!(host.state("floodmark.verdict"), "block", "{name} {path}");
                assert_eq!(outcome.passed_bytes, if settings == ENFORCE { 0 } else { body.len() }, "{name} {path}");
            }
        }
        let (coding, body) = compressed("ok/gzip_calm");
        let (host, outcome, _) = one(ENFORCE, post(path, &[("content-encoding", &coding)]), &body);
        assert_eq!((outcome.passed_bytes, host.state("floodmark.verdict").as_str()), (body.len(), "allow"), "{path}");
    }
}

#[test]
fn a_broken_packing_is_refused_on_ai_paths_and_where_its_text_is_ai_traffic() {
    for (name, rule_elsewhere) in [
        ("bad/gzip_trailing", "wire.compression"),
        ("bad/gzip_blank_trailing", "wire.compression"),
        ("bad/zlib_check", "wire.compression"),
        ("bad/zlib_dictionary", ""),
    ] {
        let (coding, body) = compressed(name);
        let (host, outcome, _) = one(ENFORCE, post("/chat/completions", &[("content-encoding", &coding)]), &body);
        assert_eq!((outcome.passed_bytes, host.state("floodmark.rule").as_str()), (0, "wire.compression"), "{name}");
        let (host, outcome, _) = one(ENFORCE, post("/elsewhere", &[("content-encoding", &coding)]), &body);
        assert_eq!(host.state("floodmark.rule"), rule_elsewhere, "{name}");
        assert_eq!(outcome.passed_bytes == body.len(), rule_elsewhere.is_empty(), "{name}");
        assert_eq!(host.counted("floodmark_issues_issue=compression"), 1, "{name}");
    }
    // Packed files that are no JSON are not held back.
    let (coding, mut body) = compressed("ok/gzip_stored");
    let brace = body.iter().position(|&byte| byte == b'{').expect("stored as it is");
    body[brace] = b'x';
    let (host, outcome, _) = one(ENFORCE, post("/upload", &[("content-encoding", &coding)]), &body);
    assert_eq!((outcome.passed_bytes, host.counted("floodmark_passed_why=not_ai")), (body.len(), 1));
}

#[test]
fn a_body_over_the_cap_once_unpacked_is_oversize() {
    let (coding, body) = compressed("ok/gzip_calm");
    // Packed it is not over the cap, or by one byte.
    for cap in [body.len(), body.len() - 1] {
        let settings = format!(r#"{{"mode":"enforce","max_body_bytes":{cap}}}"#);
        for path in ["/chat/completions", "/elsewhere"] {
            let (host, outcome, _) = one(&settings, post(path, &[("content-encoding", &coding)]), &body);
            assert_eq!((outcome.passed_bytes, host.state("floodmark.rule").as_str()), (0, "wire.oversize"), "{path}, {cap}");
        }
    }
}

#[test]
fn a_packed_body_is_rejected_where_a_plain_one_is_redacted() {
    let (coding, body) = compressed("ok/gzip_attack");
    let settings = r#"{"mode":"enforce","action":"redact"}"#;
    let (host, outcome, _) = one(settings, post("/chat/completions", &[("content-encoding", &coding)]), &body);
    assert_eq!((outcome.passed_bytes, host.replies.borrow().len(), host.counted("floodmark_not_redacted")), (0, 1, 1));
}
