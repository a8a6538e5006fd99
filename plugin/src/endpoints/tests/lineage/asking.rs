//! What is asked about: for exactly which call, by whom, and who may say yes.

use super::*;

const OTHER: &str = "other-token-other-token-other-token";
const LIMITED: &str = "limited-admin-limited-admin-limited";

/// Entries without a record are asked about, which is the shortest way to a question.
fn asking() -> Gateway {
    let token = |name: &str, token: &str, scope: &str, tenants: Value| json!({"name": name, "blake3": blake3::hash(token.as_bytes()).to_hex().as_str(), "scopes": [scope], "tenants": tenants});
    let more = [token("other", OTHER, "check", json!(["acme"])), token("globex-ops", LIMITED, "admin", json!(["globex", "umbrella"]))];
    configured(&json!({"no_record": "label"}), &more, &json!({}))
}

/// A side effect with arguments as they are spelled here.
fn act(arguments: &str) -> String {
    let mut check = using("n1", FACT, &Value::Null);
    check["effect"] = "side_effect".into();
    check["call"] = json!("CALL");
    check.to_string().replace(r#""CALL""#, &format!(r#"{{"tool":"pay","arguments":{arguments}}}"#))
}

fn decide(gateway: &Gateway, token: &str, id: &Value) -> u32 {
    gateway.call("approvals", token, &json!({"id": id, "decision": "approve"})).status
}

/// Whether it runs, and the approval that it used or waits for.
fn asked(gateway: &Gateway, token: &str, body: &str) -> (bool, Value) {
    let seen = gateway.call_raw("lineage/check", token, body);
    assert_eq!(seen.status, 200, "{seen:?}");
    (seen.json["decision"] == "run", seen.json["approval"].clone())
}

#[test]
fn an_approval_is_for_the_very_bytes_of_the_arguments() {
    let gateway = asking();
    for (approved, others) in [
        (
            r#"{"iban":100000000000000000000}"#,
            &[r#"{"iban":100000000000000000999}"#, r#"{"iban":1e20}"#, r#"{"iban":"100000000000000000000"}"#][..],
        ),
        (r#"{"amount":0.1}"#, &[r#"{"amount":0.1000000000000000001}"#, r#"{"amount":0.10}"#, r#"{"amount":1e-1}"#]),
        (r#"{"a":1,"b":"x"}"#, &[r#"{"b":"x","a":1}"#, r#"{"a":1, "b":"x"}"#, r#"{"a":1,"b":"\u0078"}"#, r#"{"a":1}"#, "{}", "null"]),
        ("{}", &[r#"{"":{}}"#, "{ }"]),
    ] {
        let (ran, id) = asked(&gateway, STORE, &act(approved));
        assert!(!ran && decide(&gateway, ADMIN, &id) == 200, "{approved}");
        for other in others {
            let (ran, own) = asked(&gateway, STORE, &act(other));
            assert!(!ran && own.is_string() && own != id, "{approved} {other}");
        }
        // White space around them and other spellings of the keys that lead there change nothing.
        let spaced = act(approved).replace(r#""arguments":"#, "\"ar\\u0067uments\" :\n ").replace(r#""call":"#, r#""c\u0061ll": "#);
        assert_eq!(asked(&gateway, STORE, &spaced), (true, id), "{approved}");
    }
    // Nor does an `arguments` that stands elsewhere, or none at all, pass for them.
    let none = act("{}").replace(r#","arguments":{}"#, "");
    let decoy = act("{\"x\":1}").replacen('{', r#"{"run":"arguments","grants":[],"#, 1);
    let ids = [&none, &decoy].map(|body| asked(&gateway, STORE, body));
    assert!(ids.iter().all(|(ran, id)| !ran && id.is_string()) && ids[0] != ids[1]);
}

#[test]
fn only_who_looks_after_a_tenant_decides_for_it() {
    let gateway = asking();
    let (_, acme) = asked(&gateway, STORE, &act("{}"));
    assert_eq!(gateway.call("approvals", LIMITED, &json!({"id": acme, "decision": "approve"})).code(), "forbidden");
    assert_eq!(decide(&gateway, LIMITED, &json!("0".repeat(32) + "-00000000")), 404, "what nobody asked for");
    assert!(!asked(&gateway, STORE, &act("{}")).0, "nothing was approved");
    for tenant in ["globex", "umbrella"] {
        let theirs = act("{}").replace("acme", tenant);
        let (_, id) = asked(&gateway, STORE, &theirs);
        assert_eq!(decide(&gateway, LIMITED, &id), 200);
        assert_eq!(asked(&gateway, STORE, &theirs), (true, id));
    }
    assert_eq!(decide(&gateway, ADMIN, &acme), 200, "who is limited to none decides for all");
    // A rule's approval has no tenant, so that no limit holds it.
    let answer = gateway.shared.state.as_ref().expect("state").approvals.ask(
        &gateway.host,
        &gateway.shared.metrics.approvals,
        crate::approvals::Request { caller: &[1; 8], run: &[2; 16], asked: &[3; 16], is_proven: true, tenant: crate::approvals::NO_TENANT },
        0,
    );
    let rule = json!(answer.id().expect("pending"));
    assert_eq!((decide(&gateway, LIMITED, &rule), decide(&gateway, ADMIN, &rule)), (403, 200));
}

#[test]
fn one_token_pushes_nothing_of_anothers_out() {
    let gateway = asking();
    let (_, id) = asked(&gateway, STORE, &act("{}"));
    for number in 0..6000 {
        gateway.host.clock_ns.set(number * 1_000_000);
        asked(&gateway, OTHER, &act("{}").replacen('{', &format!(r#"{{"run":"{number}","#), 1));
    }
    assert_eq!(decide(&gateway, ADMIN, &id), 200);
    assert!(!asked(&gateway, OTHER, &act("{}")).0, "it is for who asked");
    assert_eq!(asked(&gateway, STORE, &act("{}")), (true, id));
}

#[test]
fn what_names_no_call_cannot_be_approved() {
    let gateway = asking();
    let mut check = using("n1", FACT, &Value::Null);
    check["effect"] = "side_effect".into();
    for call in [None, Some(Value::Null)] {
        if let Some(call) = call {
            check["call"] = call;
        }
        let seen = gateway.call("lineage/check", STORE, &check).json;
        assert_eq!((&seen["decision"], &seen["approval"], &seen["approval_status"]), (&json!("ask"), &Value::Null, &Value::Null), "{seen}");
    }
    assert!(gateway.lines("floodmark approval=").is_empty());
}

#[test]
fn approvers_see_what_they_approve_by_its_digests() {
    let gateway = asking();
    let arguments = r#"{"to": "Ms Roe"}"#;
    let (_, id) = asked(&gateway, STORE, &act(arguments));
    decide(&gateway, ADMIN, &id);
    assert!(asked(&gateway, STORE, &act(arguments)).0);
    let lines = gateway.lines("floodmark approval=");
    let digests =
        format!(" content={} record=- arguments={}", blake3::hash(FACT.as_bytes()).to_hex(), blake3::hash(arguments.as_bytes()).to_hex());
    for (line, said) in lines.iter().filter(|line| line.contains("entry=")).zip(["asked", "used"]) {
        assert!(line.starts_with(&format!("floodmark approval={said} ")) && line.contains(&digests), "{line}\nwanted {digests}");
    }
    assert_eq!(lines.len(), 3);
}
