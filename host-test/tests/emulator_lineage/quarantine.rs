//! Quarantine, releases and approvals: what survives a VM, its loss and eviction, and what none of them makes better.

use floodmark_host::emulator::{Options, Process};
use serde_json::{Value, json};

use crate::engines::{ADMIN, CHECK, FACT, MINT, NOW_MS, ORDER, Wasm, entry, using};

fn digest(content: &str) -> String {
    blake3::hash(content.as_bytes()).to_hex().to_string()
}

/// An entry from the web that is like an instruction, and how it is asked about.
fn poisoned(wasm: &mut Wasm, effect: &str) -> Value {
    let record = wasm.ask("lineage/records", MINT, &entry("notes", "poison", "web", ORDER, &[]))["record"].clone();
    using("notes", "poison", ORDER, &record, effect)
}

fn held_back(answer: &Value) -> bool {
    (&answer["decision"], &answer["reason"]) == (&json!("quarantine"), &json!("untrusted"))
}

fn listed(wasm: &mut Wasm) -> Vec<Value> {
    let (status, json) = wasm.get("quarantine/acme", CHECK);
    assert_eq!((status, &json["tenant"]), (200, &json!("acme")));
    json["entries"].as_array().unwrap().clone()
}

fn release(wasm: &mut Wasm, more: &Value) -> Value {
    let mut body = json!({"tenant": "acme", "content_digest": digest(ORDER)});
    for (key, value) in more.as_object().unwrap() {
        body[key] = value.clone();
    }
    wasm.ask("quarantine", ADMIN, &body)
}

#[test]
fn the_same_entry_has_the_same_answer_whatever_is_forgotten() {
    let process = Process::default();
    let mut wasm = Wasm::with(&process, &json!({}));
    let check = poisoned(&mut wasm, "read");
    let first = wasm.ask("lineage/check", CHECK, &check);
    assert!(held_back(&first), "{first}");
    let note = json!({"content_digest": digest(ORDER), "reason": "untrusted", "principal": "alice", "store": "notes", "entry": "poison",
        "verified": true, "noted_ms": NOW_MS, "release": null});
    assert_eq!(listed(&mut wasm), std::slice::from_ref(&note));
    // The VM is lost, and what VMs share is not.
    wasm.0.reload().unwrap();
    assert_eq!((wasm.ask("lineage/check", CHECK, &check), listed(&mut wasm)), (first.clone(), vec![note.clone()]));
    // Everything is lost.
    let mut anew = Wasm::new();
    assert_eq!(listed(&mut anew), [json!({})][..0]);
    assert_eq!((anew.ask("lineage/check", CHECK, &check), listed(&mut anew)), (first.clone(), vec![note]));
    // So many others came that it has left the list, and the tables.
    for number in 0..200 {
        let other = using("notes", &format!("other {number} {}", "x".repeat(400)), &format!("{ORDER} {number}"), &Value::Null, "read");
        assert!(held_back(&wasm.ask("lineage/check", CHECK, &other)));
    }
    let notes = listed(&mut wasm);
    assert!(notes.len() > 10 && notes.iter().all(|note| note["entry"] != "poison"), "{}", notes.len());
    assert_eq!(wasm.ask("lineage/check", CHECK, &check), first);
    assert_eq!(listed(&mut wasm)[0]["entry"], "poison", "it is noted anew");
}

#[test]
fn a_release_makes_it_no_better_than_a_label_or_a_question() {
    let mut wasm = Wasm::new();
    let read = poisoned(&mut wasm, "read");
    let mut act = read.clone();
    act["effect"] = "side_effect".into();
    assert!(held_back(&wasm.ask("lineage/check", CHECK, &read)) && held_back(&wasm.ask("lineage/check", CHECK, &act)));
    wasm.0.take_logs();
    let released = release(&mut wasm, &json!({}));
    assert_eq!((&released["content_digest"], &released["expires_ms"]), (&json!(digest(ORDER)), &json!(0)));
    let logs = wasm.0.take_logs();
    assert_eq!(logs.iter().filter(|line| line.text.contains("lineage=released") && line.text.contains("token=ops")).count(), 1);
    assert_eq!(listed(&mut wasm)[0]["release"], released["release"]);
    let answer = wasm.ask("lineage/check", CHECK, &read);
    assert_eq!(
        (&answer["decision"], &answer["released"], &answer["authority_class"]),
        (&json!("label"), &json!(true), &json!(4)),
        "{answer}"
    );
    assert!(
        answer["label"].as_str().is_some_and(|label| label.contains("unverified source") && label.contains("do not follow")),
        "{answer}"
    );
    let answer = wasm.ask("lineage/check", CHECK, &act);
    assert_eq!((&answer["decision"], &answer["released"]), (&json!("ask"), &json!(true)), "{answer}");
    // A call inside a mandate is asked about all the same.
    act["call"] = json!({"tool": "pay", "arguments": {"to": "Ms Roe", "amount": 1}});
    assert_eq!(wasm.ask("lineage/check", CHECK, &act)["decision"], "ask");
    // Another text is another content.
    let mut other = read.clone();
    other["content"] = format!("{ORDER}!").into();
    let answer = wasm.ask("lineage/check", CHECK, &other);
    assert_eq!((&answer["decision"], &answer["broken"]), (&json!("quarantine"), &json!("content_mismatch")), "{answer}");
    // Nor is it what another tenant has.
    let mut theirs = using("notes", "poison", ORDER, &Value::Null, "read");
    theirs["tenant"] = "globex".into();
    assert!(held_back(&wasm.ask("lineage/check", CHECK, &theirs)));
}

/// A release says nothing of versions: what was superseded is no better for it, whether the list or the caller has the release.
#[test]
fn what_is_released_and_stale_never_runs() {
    let mut wasm = Wasm::new();
    let old = wasm.ask("lineage/records", MINT, &entry("notes", "seat", "user", ORDER, &[]))["record"].clone();
    wasm.ask("lineage/records", MINT, &entry("notes", "seat", "user", FACT, &[]));
    let mut check = using("notes", "seat", ORDER, &old, "side_effect");
    assert!(held_back(&wasm.ask("lineage/check", CHECK, &check)));
    let sealed = release(&mut wasm, &json!({}))["release"].clone();
    for given in [Value::Null, sealed] {
        check["release"] = given;
        let answer = wasm.ask("lineage/check", CHECK, &check);
        let found = ["decision", "released", "authority_class", "why"].map(|key| &answer[key]);
        assert_eq!(found, [&json!("ask"), &json!(true), &json!(4), &json!("stale")], "{answer}");
    }
}

#[test]
fn a_sealed_release_outlives_the_list_and_nothing_else_does() {
    let mut wasm = Wasm::new();
    let check = poisoned(&mut wasm, "read");
    let sealed = release(&mut wasm, &json!({"expires_s": 60}));
    assert_eq!(sealed["expires_ms"], json!(NOW_MS + 60_000));
    let theirs = wasm.ask("quarantine", ADMIN, &json!({"tenant": "globex", "content_digest": digest(ORDER)}))["release"].clone();
    // A gateway that knows nothing of it.
    let mut anew = Wasm::new();
    let mut with = |release: &Value| {
        let mut check = check.clone();
        check["release"] = release.clone();
        anew.post("lineage/check", CHECK, &check)
    };
    let (status, answer) = with(&sealed["release"]);
    assert_eq!((status, &answer["decision"], &answer["released"]), (200, &json!("label"), &json!(true)), "{answer}");
    let (status, answer) = with(&theirs);
    assert!(status == 200 && held_back(&answer) && answer["released"] == json!(false), "another tenant's: {answer}");
    // Every byte of it counts.
    let hex = sealed["release"].as_str().unwrap();
    for at in (0..hex.len()).step_by(7) {
        let mut other = hex.as_bytes().to_vec();
        other[at] = if other[at] == b'0' { b'1' } else { b'0' };
        let (status, answer) = with(&json!(String::from_utf8(other).unwrap()));
        assert!(status == 400 || status == 200 && held_back(&answer) && answer["released"] == json!(false), "{at}: {status} {answer}");
    }
    for odd in [&hex[2..], &hex[..hex.len() - 2], &[hex, "00"].concat(), &hex.to_uppercase(), &hex[1..], "", "zz"] {
        let (status, answer) = with(&json!(odd));
        assert!(status == 400 || status == 200 && held_back(&answer), "{odd}: {status} {answer}");
    }
    // Its time is over, here and in the list.
    for wasm in [&mut wasm, &mut anew] {
        wasm.0.set_time_ns((NOW_MS + 60_000) * 1_000_000);
        let mut check = check.clone();
        assert!(held_back(&wasm.ask("lineage/check", CHECK, &check)));
        check["release"] = sealed["release"].clone();
        assert!(held_back(&wasm.ask("lineage/check", CHECK, &check)));
    }
    // A new one takes its place.
    release(&mut wasm, &json!({}));
    assert_eq!(wasm.ask("lineage/check", CHECK, &check)["decision"], "label");
    for body in [
        json!({"tenant": "acme", "content_digest": digest(ORDER), "expires_s": 0}),
        json!({"tenant": "acme", "content_digest": digest(ORDER).to_uppercase()}),
        json!({"tenant": "acme", "content_digest": "9a"}),
        json!({"tenant": "", "content_digest": digest(ORDER)}),
        json!({"tenant": "a\n", "content_digest": digest(ORDER)}),
        json!({"content_digest": digest(ORDER)}),
    ] {
        assert_eq!(wasm.refused("quarantine", ADMIN, &body), (400, "malformed".to_owned()), "{body}");
    }
}

/// Flooding the list of a tenant takes away no release from it, and the lists of others none from theirs, however full they are.
#[test]
fn floods_wash_no_release_away() {
    let mut wasm = Wasm::new();
    let check = poisoned(&mut wasm, "read");
    release(&mut wasm, &json!({}));
    // As many releases as there is room for.
    let other = |number: usize| json!({"tenant": "acme", "content_digest": digest(&format!("{ORDER} {number}")), "expires_s": 60});
    let mut releases = 0;
    while wasm.post("quarantine", ADMIN, &other(releases)).0 == 200 {
        releases += 1;
        assert!(releases < 200, "one must be refused");
    }
    assert!(releases > 25, "{releases}");
    let (status, json) = wasm.post("quarantine", ADMIN, &other(releases));
    assert_eq!((status, &json["error"]["code"]), (409, &json!("conflict")));
    assert!(json["error"]["message"].as_str().unwrap().contains("`expires_s`"), "{json}");
    assert_eq!(wasm.counted("what=released"), releases as u64 + 1, "what is refused is given to nobody");
    for number in 0..100 {
        let mut other = using("notes", &format!("{number} {}", "x".repeat(500)), &format!("{ORDER} {number}"), &Value::Null, "read");
        wasm.ask("lineage/check", CHECK, &other);
        // Another tenant each time: more than there is room for in a set.
        other["tenant"] = format!("tenant {number}").into();
        wasm.ask("lineage/check", CHECK, &other);
    }
    assert_eq!(wasm.ask("lineage/check", CHECK, &check)["decision"], "label");
    let used = |wasm: &mut Wasm, number: usize| {
        wasm.ask("lineage/check", CHECK, &using("notes", "any", &format!("{ORDER} {number}"), &Value::Null, "read"))["decision"].clone()
    };
    assert!((0..releases).all(|number| used(&mut wasm, number) == "label"), "each of them holds");
    // Those with an end make room when it has come, and the one without stays.
    wasm.0.set_time_ns((NOW_MS + 60_000) * 1_000_000);
    for number in 0..100 {
        wasm.ask("lineage/check", CHECK, &using("notes", &"x".repeat(500), &format!("{ORDER} {number}!"), &Value::Null, "read"));
    }
    assert_eq!((wasm.ask("lineage/check", CHECK, &check)["decision"].clone(), used(&mut wasm, 0)), (json!("label"), json!("quarantine")));
    assert_eq!(wasm.post("quarantine", ADMIN, &other(0)).0, 200);
}

/// What is listed under a name that nobody verified is listed under the right one as soon as it is seen.
#[test]
fn verified_names_replace_those_that_somebody_said() {
    let mut wasm = Wasm::new();
    let check = poisoned(&mut wasm, "read");
    let mut said = using("payroll", "ceo", ORDER, &check["record"], "read");
    said["principal"] = "somebody".into();
    let names = |wasm: &mut Wasm| {
        let listed = listed(wasm);
        assert_eq!(listed.len(), 1);
        (listed[0]["verified"].clone(), listed[0]["principal"].clone(), listed[0]["store"].clone(), listed[0]["entry"].clone())
    };
    wasm.ask("lineage/check", CHECK, &said);
    assert_eq!(names(&mut wasm), (json!(false), json!("somebody"), json!("payroll"), json!("ceo")));
    // Its own entry, but not its principal.
    let mut other = check.clone();
    other["principal"] = "somebody".into();
    wasm.ask("lineage/check", CHECK, &other);
    assert_eq!(names(&mut wasm).0, json!(false));
    for check in [&check, &said] {
        wasm.ask("lineage/check", CHECK, check);
        assert_eq!(names(&mut wasm), (json!(true), json!("alice"), json!("notes"), json!("poison")));
    }
}

/// A side effect of what an agent made of a user's words.
fn asked(wasm: &mut Wasm) -> Value {
    let hash = wasm.ask("lineage/records", MINT, &entry("notes", "said", "user", FACT, &[]));
    let summary = entry("notes", "summary", "agent", "Rent: 900.", &[hash["hash"].as_str().unwrap()]);
    let record = wasm.ask("lineage/records", MINT, &summary)["record"].clone();
    let mut check = using("notes", "summary", "Rent: 900.", &record, "side_effect");
    check["ancestors"] = json!([{"record": hash["record"]}]);
    check["call"] = json!({"tool": "send_mail", "arguments": {"to": "bob", "text": "hi"}});
    check["run"] = "r-1".into();
    check
}

fn decide(wasm: &mut Wasm, id: &Value, decision: &str) -> u16 {
    wasm.post("approvals", ADMIN, &json!({"id": id, "decision": decision})).0
}

#[test]
fn what_is_asked_runs_once_after_it_was_approved() {
    let process = Process::default();
    let (mut wasm, mut other) = (Wasm::with(&process, &json!({})), Wasm::with(&process, &json!({})));
    let check = asked(&mut wasm);
    let answer = wasm.ask("lineage/check", CHECK, &check);
    assert_eq!(
        (&answer["decision"], &answer["authority_class"], &answer["approval_status"]),
        (&json!("ask"), &json!(3), &json!("pending")),
        "{answer}"
    );
    let id = answer["approval"].clone();
    assert_eq!(wasm.ask("lineage/check", CHECK, &check)["approval"], id, "it waits for the same approval");
    // Nothing else waits for it.
    let differing = [
        ("principal", json!("bob")),
        ("run", json!("r-2")),
        ("run", json!("")),
        ("call", json!({"tool": "send_mail", "arguments": {"to": "bob", "text": "hi!"}})),
        ("call", json!({"tool": "send_mails", "arguments": {"to": "bob", "text": "hi"}})),
        ("call", Value::Null),
    ];
    assert_eq!(decide(&mut other, &id, "approve"), 200);
    for (key, value) in &differing {
        let mut differs = check.clone();
        differs[key] = value.clone();
        let answer = other.ask("lineage/check", CHECK, &differs);
        assert!(answer["decision"] != json!("run") && answer["approval"] != id, "{key} {value}: {answer}");
    }
    let mut copied = check.clone();
    copied["content"] = "Rent: 901.".into();
    assert_eq!(other.ask("lineage/check", CHECK, &copied)["decision"], "quarantine");
    let mut cut = check.clone();
    cut["ancestors"] = json!([]);
    assert_eq!(other.ask("lineage/check", CHECK, &cut)["decision"], "quarantine");
    wasm.0.reload().unwrap();
    let answer = wasm.ask("lineage/check", CHECK, &check);
    assert_eq!(
        (&answer["decision"], &answer["reason"], &answer["approval"], &answer["approval_status"]),
        (&json!("run"), &json!("approved"), &id, &json!("used")),
        "{answer}"
    );
    let answer = other.ask("lineage/check", CHECK, &check);
    assert!(answer["decision"] == json!("ask") && answer["approval"] != id, "once: {answer}");
    let again = answer["approval"].clone();
    assert_eq!((decide(&mut wasm, &id, "approve"), decide(&mut wasm, &again, "deny")), (404, 200));
    let answer = other.ask("lineage/check", CHECK, &check);
    assert_eq!(
        (&answer["decision"], &answer["approval"], &answer["approval_status"]),
        (&json!("ask"), &again, &json!("denied")),
        "{answer}"
    );
    assert_eq!(wasm.0.metric("floodmark_approvals_what=used"), Some(1));
    let logs: Vec<String> = wasm.0.take_logs().into_iter().chain(other.0.take_logs()).map(|line| line.text).collect();
    for said in ["asked", "used"] {
        let line = logs.iter().find(|line| line.contains(&format!("floodmark approval={said} id="))).unwrap();
        assert!(line.contains(r#"tenant="acme" principal="alice" store="notes" entry="summary" tool="send_mail" content="#), "{line}");
    }
    // Its time is over.
    let expired = wasm.ask("lineage/check", CHECK, &{
        let mut check = check.clone();
        check["run"] = "r-3".into();
        check
    })["approval"]
        .clone();
    assert_eq!(decide(&mut wasm, &expired, "approve"), 200);
    wasm.0.set_time_ns((NOW_MS + 600_001) * 1_000_000);
    let answer = wasm.ask("lineage/check", CHECK, &{
        let mut check = check.clone();
        check["run"] = "r-3".into();
        check
    });
    assert!(answer["decision"] == json!("ask") && answer["approval"] != expired, "{answer}");
}

/// An approval that was given for what an agent wrote is none for the same text when it is class 4 and released.
#[test]
fn an_approval_is_for_the_class_that_it_was_asked_for() {
    let mut wasm = Wasm::new();
    let check = asked(&mut wasm);
    let id = wasm.ask("lineage/check", CHECK, &check)["approval"].clone();
    assert_eq!(decide(&mut wasm, &id, "approve"), 200);
    wasm.ask("quarantine", ADMIN, &json!({"tenant": "acme", "content_digest": digest("Rent: 900.")}));
    let mut cut = check.clone();
    cut["ancestors"] = json!([]);
    let answer = wasm.ask("lineage/check", CHECK, &cut);
    assert_eq!(
        (&answer["decision"], &answer["released"], &answer["broken"]),
        (&json!("ask"), &json!(true), &json!("missing_parent")),
        "{answer}"
    );
    assert_ne!(answer["approval"], id);
    assert_eq!(wasm.ask("lineage/check", CHECK, &check)["decision"], "run");
}

#[test]
fn grants_cover_calls_until_they_expire() {
    let mut wasm = Wasm::new();
    let mut check = asked(&mut wasm);
    let body = json!({"name": "mails", "tenant": "acme", "principal": "alice", "tool": "send_*", "arguments": {"to": {"one_of": ["bob"]}, "text": "any"}, "expires_s": 60});
    let granted = wasm.ask("lineage/grants", ADMIN, &body);
    assert_eq!(granted["expires_ms"], json!(NOW_MS + 60_000));
    let with = |check: &Value, grant: &Value| {
        let mut check = check.clone();
        check["grants"] = json!([grant]);
        check
    };
    let answer = wasm.ask("lineage/check", CHECK, &with(&check, &granted["grant"]));
    assert_eq!((&answer["decision"], &answer["mandate"]), (&json!("run"), &json!("mails")), "{answer}");
    for (key, value) in [
        ("tenant", json!("globex")),
        ("principal", json!("bob")),
        ("tool", json!("pay")),
        ("arguments", json!({"to": {"one_of": ["bob"]}})),
    ] {
        let mut other = body.clone();
        other[key] = value;
        let other = wasm.ask("lineage/grants", ADMIN, &other)["grant"].clone();
        let answer = wasm.ask("lineage/check", CHECK, &with(&check, &other));
        assert_eq!((&answer["decision"], &answer["mandate"]), (&json!("ask"), &Value::Null), "{key}: {answer}");
    }
    for (key, value) in [
        ("expires_s", json!(0)),
        ("expires_s", Value::Null),
        ("name", json!("")),
        ("arguments", json!({"to": {"one_of": []}})),
        ("granter", json!("me")),
    ] {
        let mut other = body.clone();
        other[key] = value;
        assert_eq!(wasm.refused("lineage/grants", ADMIN, &other), (400, "malformed".to_owned()), "{key}");
    }
    // Never for what is not trusted, released or not.
    let poison = poisoned(&mut wasm, "side_effect");
    check["call"]["arguments"]["to"] = "bob".into();
    let mut poison = with(&poison, &granted["grant"]);
    poison["call"] = check["call"].clone();
    assert!(held_back(&wasm.ask("lineage/check", CHECK, &poison)));
    wasm.0.set_time_ns((NOW_MS + 60_000) * 1_000_000);
    assert_eq!(wasm.ask("lineage/check", CHECK, &with(&check, &granted["grant"]))["decision"], "ask");
}

/// No answer that state would be needed for, and none that is better.
#[test]
fn without_shared_data_there_is_no_answer() {
    use floodmark_host::emulator::{Capability, Lack};
    let check = poisoned(&mut Wasm::new(), "read");
    let without = [(Capability::SharedData, Lack::Unimplemented)].into();
    let mut wasm = Wasm::start(&Process::default(), &json!({}), Options { without, ..Options::default() });
    for (path, token, body) in [
        ("lineage/check", CHECK, check),
        ("lineage/records", MINT, entry("notes", "n1", "user", FACT, &[])),
        (
            "lineage/adopt",
            ADMIN,
            json!({"tenant": "a", "principal": "b", "store": "c", "entries": [{"entry": "e", "content": "d", "channel": "user"}]}),
        ),
        ("quarantine", ADMIN, json!({"tenant": "acme", "content_digest": digest(ORDER)})),
    ] {
        assert_eq!(wasm.refused(path, token, &body), (503, "state_unavailable".to_owned()), "{path}");
    }
    assert_eq!(wasm.get("quarantine/acme", CHECK).0, 503);
    for what in ["what=minted", "what=released", "decision=quarantine", "decision=run"] {
        assert_eq!(wasm.counted(what), 0, "{what}");
    }
}
