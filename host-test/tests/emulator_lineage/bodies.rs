//! Bodies of the gate's endpoints in the built plugin: what they take in memory, and the arguments as they are spelled.

use floodmark_host::emulator::{Process, Request};
use serde_json::{Value, json};

use crate::engines::{ADMIN, CHECK, FACT, Wasm, using};

fn post(wasm: &mut Wasm, path: &str, token: &str, body: &str) -> (u16, Value) {
    wasm.send(&Request::post_json(&format!("/floodmark/v1/{path}"), body.to_owned()).header("x-floodmark-token", token))
}

/// A VM's memory never shrinks. What all exchanges may hold of bodies is 24 MiB (docs/config.md); a body of the gate's endpoints may not take more, however many and
/// small its values are.
#[test]
fn no_body_takes_more_memory_than_bodies_may() {
    const MOST_BYTES: usize = 24 * 1024 * 1024;
    for item in [
        r#"{"":0}"#,
        r#"{"":{"":0}}"#,
        r#"[0]"#,
        r#"[[]]"#,
        r#"{"a":[{"":""}]}"#,
        r#""""#,
        "0",
        r#"{"record":""}"#,
        r#"{"content":"","channel":""}"#,
    ] {
        let mut wasm = Wasm::new();
        let before = wasm.0.memory_bytes();
        let calls = [
            ("lineage/check", CHECK, [r#"{"ancestors":["#, "]}"]),
            ("lineage/adopt", ADMIN, [r#"{"entries":["#, "]}"]),
            ("lineage/check", CHECK, [r#"{"call":{"tool":"x","arguments":{"a":["#, "]}}}"]),
        ];
        let values = item.matches(['{', '[', ',']).count() + 1;
        for (path, token, [open, close]) in calls {
            let body = |count: usize| [open, &vec![item; count].join(","), close].concat();
            // The most that is taken, which none of these endpoints has a use for.
            assert_eq!(post(&mut wasm, path, token, &body(65_500 / values)).0, 400, "{item} {open}");
            let (status, told) = post(&mut wasm, path, token, &body(999_900 / (item.len() + 1)));
            assert!(
                status == 400 && told["error"]["message"].as_str().unwrap().contains("more than 65536 JSON values"),
                "{item} {open}: {told}"
            );
        }
        let grown = wasm.0.memory_bytes() - before;
        println!("{item}: {grown} bytes");
        assert!(grown <= MOST_BYTES, "{item}: {grown} bytes");
    }
}

/// Numbers that readers round to one are not one to whoever approves them.
#[test]
fn an_approval_is_for_the_arguments_as_they_are_spelled() {
    let mut wasm = Wasm::with(&Process::default(), &json!({"lineage": {"no_record": "label"}}));
    let act = |arguments: &str| {
        let mut check = using("notes", "n1", FACT, &Value::Null, "side_effect");
        check["call"] = json!({"tool": "pay", "arguments": "ARGUMENTS"});
        check.to_string().replace("\"ARGUMENTS\"", arguments)
    };
    for [approved, other] in [
        [r#"{"iban":100000000000000000000}"#, r#"{"iban":100000000000000000999}"#],
        [r#"{"rate":0.1}"#, r#"{"rate":0.1000000000000000001}"#],
        [r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#],
    ] {
        let (_, told) = post(&mut wasm, "lineage/check", CHECK, &act(approved));
        assert_eq!((&told["decision"], &told["approval_status"]), (&json!("ask"), &json!("pending")), "{told}");
        assert_eq!(wasm.post("approvals", ADMIN, &json!({"id": told["approval"], "decision": "approve"})).0, 200);
        assert_eq!(post(&mut wasm, "lineage/check", CHECK, &act(other)).1["decision"], "ask", "{other}");
        assert_eq!(post(&mut wasm, "lineage/check", CHECK, &act(approved)).1["reason"], "approved", "{approved}");
    }
}
