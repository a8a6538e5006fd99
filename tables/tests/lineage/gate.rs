//! What comes of a check besides its class: mandates, grants, releases, entries without a record, and requests and configurations that cannot be.

use floodmark_core::lineage::{
    Channel, CheckAnswer, CheckRequest, Class, Decision, Digest, Gate, GrantRequest, LABEL, MintRequest, NoRecord, Reason, ReleaseRequest,
    Why, check, grant, mint, record_hash, release,
};
use serde_json::{Value, json};

use crate::{FACT, GATE, INSTRUCTION, JUDGE, NOW_MS, RING, Said, ask, entry, request, ring};

/// An agent's entry of class 3 that would make this call, with what else the request has.
fn derived(call: Value, more: Value, gate: &Gate) -> CheckAnswer {
    let parent = entry(1, Channel::User, &[]);
    let said = Said { channel: Channel::Agent, ..Said::default() };
    let mut request = request(said, &said.seal(&[&parent], &RING), &[parent], "side_effect");
    if !call.is_null() {
        request["call"] = call;
    }
    for (key, value) in more.as_object().expect("an object") {
        request[key] = value.clone();
    }
    ask(&request, gate, None)
}

fn gate(value: Value) -> Gate {
    let gate: Gate = serde_json::from_value(value).expect("a gate");
    assert_eq!(gate.check(), Ok(()));
    gate
}

/// Calls, and whether this mandate holds them.
fn mandate() -> Value {
    json!({"name": "standup", "tenant": "acme", "principal": "alice", "tool": "calendar.*",
        "arguments": {"title": "any", "room": {"one_of": ["A1", "B2"]}, "minutes": {"max": 30}}})
}

fn good_call() -> Value {
    json!({"tool": "calendar.create", "arguments": {"room": "A1", "minutes": 30}})
}

fn calls() -> Vec<(Value, bool)> {
    let call = |arguments: Value| json!({"tool": "calendar.create", "arguments": arguments});
    // The good arguments with another one.
    let but = |key: &str, value: Value| {
        let mut arguments = json!({"title": "x", "room": "A1", "minutes": 30});
        arguments[key] = value;
        call(arguments)
    };
    let tool = |tool: &str| json!({"tool": tool, "arguments": {"room": "A1", "minutes": 30}});
    let mut calls = vec![
        (tool("calendar.create"), true),
        (tool("calendar."), true),
        (tool("calendar"), false),
        (tool("my.calendar.create"), false),
        (tool("Calendar.create"), false),
        (call(json!({"title": "x", "room": "A1", "minutes": 30})), true),
        (call(json!({"title": {"deep": [1, null]}, "room": "B2", "minutes": 29.5})), true),
        (call(json!({"title": null, "room": "A1", "minutes": -5})), true),
        // What is limited must be there: whatever a tool does without it, nobody limited that.
        (call(json!({})), false),
        (json!({"tool": "calendar.create"}), false),
        (call(json!({"title": "x"})), false),
        (call(json!({"title": "x", "room": "A1"})), false),
        (call(json!({"title": "x", "minutes": 30})), false),
        (but("room", json!("a1")), false),
        (but("room", json!("A1 ")), false),
        (but("room", json!(["A1"])), false),
        (but("room", Value::Null), false),
        (but("minutes", json!(30.000001)), false),
        (but("minutes", json!(31)), false),
        // Tools give back what they took at a negative amount.
        (but("minutes", json!(-30)), true),
        (but("minutes", json!(-30.5)), false),
        (but("minutes", json!("5")), false),
        (but("minutes", json!(true)), false),
        (but("minutes", Value::Null), false),
        (but("attendees", json!([])), false),
        (but("Title", json!("x")), false),
    ];
    let many: serde_json::Map<String, Value> = (0..40).map(|number| (format!("a{number}"), json!(1))).collect();
    calls.push((call(Value::Object(many)), false));
    calls
}

#[test]
fn mandates_of_the_configuration() {
    let gate = gate(json!({"mandates": [{"name": "nothing", "tool": "none", "arguments": {}}, mandate()]}));
    for (call, inside) in calls() {
        let answer = derived(call.clone(), json!({}), &gate);
        let expected = if inside { (Decision::Run, Some("standup")) } else { (Decision::Ask, None) };
        assert_eq!((answer.decision, answer.mandate.as_deref()), expected, "{call}");
        assert_eq!(answer.authority_class, Class::Derived);
    }
    assert_eq!(derived(Value::Null, json!({}), &gate).decision, Decision::Ask);
    // Whoever it is not for.
    for (key, name) in [("tenant", "other"), ("principal", "bob")] {
        let mut other = mandate();
        other[key] = json!(name);
        assert_eq!(derived(good_call(), json!({}), &crate::gate::gate(json!({"mandates": [other]}))).decision, Decision::Ask);
    }
    // Nobody named is everybody.
    let all = crate::gate::gate(json!({"mandates": [{"name": "all", "tool": "*"}]}));
    assert_eq!(derived(json!({"tool": "anything"}), json!({}), &all).mandate.as_deref(), Some("all"));
}

/// Numbers that a double does not hold are not compared with one.
#[test]
fn numbers_beyond_doubles() {
    let gate = gate(json!({"mandates": [{"name": "m", "tool": "t", "arguments": {"n": {"max": 9007199254740992.0}}}]}));
    let inside = |text: &str| {
        let call: Value = serde_json::from_str(&format!(r#"{{"tool": "t", "arguments": {{"n": {text}}}}}"#)).expect("JSON");
        derived(call, json!({}), &gate).decision == Decision::Run
    };
    assert!(inside("9007199254740992") && inside("-9007199254740992") && inside("9007199254740991.0"));
    assert!(!inside("9007199254740993") && !inside("18446744073709551615") && !inside("1e300") && !inside("-9007199254740993"));
    // A reader of doubles takes each of these for the greatest that fits.
    for text in ["9007199254740993.0", "9007199254740992.5", "-9007199254740993.0", "9.007199254740993e15", "90071992547409930e-1"] {
        assert!(!inside(text), "{text}");
    }
    // However large a number is allowed.
    let gate = crate::gate::gate(json!({"mandates": [{"name": "m", "tool": "t", "arguments": {"n": {"max": 1e300}}}]}));
    for (text, decision) in
        [("7", Decision::Run), ("1e20", Decision::Ask), ("100000000000000000000", Decision::Ask), ("-1e16", Decision::Ask)]
    {
        let call: Value = serde_json::from_str(&format!(r#"{{"tool": "t", "arguments": {{"n": {text}}}}}"#)).expect("JSON");
        assert_eq!(derived(call, json!({}), &gate).decision, decision, "{text}");
    }
}

/// An argument that stands twice must fit twice: which of the two a tool reads nobody knows.
#[test]
fn an_argument_twice() {
    let gate = gate(json!({"mandates": [{"name": "m", "tool": "t", "arguments": {"room": {"one_of": ["A1"]}}}]}));
    let parent = entry(1, Channel::User, &[]);
    let said = Said { channel: Channel::Agent, ..Said::default() };
    let mut asked = request(said, &said.seal(&[&parent], &RING), &[parent], "side_effect");
    asked["call"] = json!("CALL");
    for (arguments, decision) in [
        (r#"{"room": "A1"}"#, Decision::Run),
        (r#"{"room": "A1", "room": "A1"}"#, Decision::Run),
        (r#"{"room": "A1", "room": "C3"}"#, Decision::Ask),
        (r#"{"room": "C3", "room": "A1"}"#, Decision::Ask),
    ] {
        let text = asked.to_string().replace(r#""CALL""#, &format!(r#"{{"tool": "t", "arguments": {arguments}}}"#));
        let asked: CheckRequest = serde_json::from_str(&text).expect("a request");
        assert_eq!(check(&asked, &gate, &RING, &JUDGE, None, NOW_MS).expect("an answer").decision, decision, "{arguments}");
    }
    // Again and again, and behind that another one, which is not forgotten for it.
    let many = format!("{{{}\"evil\": 1}}", "\"room\": \"A1\", ".repeat(40));
    let text = asked.to_string().replace(r#""CALL""#, &format!(r#"{{"tool": "t", "arguments": {many}}}"#));
    let asked: CheckRequest = serde_json::from_str(&text).expect("a request");
    assert_eq!(check(&asked, &gate, &RING, &JUDGE, None, NOW_MS).expect("an answer").decision, Decision::Ask);
}

fn granted(change: impl Fn(&mut Value), now_ms: u64, ring: &floodmark_core::lineage::KeyRing) -> String {
    let mut request = mandate();
    request["expires_s"] = json!(60);
    change(&mut request);
    let request: GrantRequest = serde_json::from_value(request).expect("a request");
    let answer = grant(&request, "ops", ring, now_ms).expect("a grant");
    assert_eq!(answer.expires_ms, now_ms + request.expires_s * 1000);
    answer.grant
}

#[test]
fn sealed_grants() {
    let good = granted(|_| (), NOW_MS, &RING);
    for (call, inside) in calls() {
        let answer = derived(call.clone(), json!({"grants": [good]}), &GATE);
        let expected = if inside { (Decision::Run, Some("standup")) } else { (Decision::Ask, None) };
        assert_eq!((answer.decision, answer.mandate.as_deref()), expected, "{call}");
    }
    let call = good_call;
    let decision = |grants: Value| derived(call(), json!({"grants": grants}), &GATE).decision;
    let minute = 60_000;
    let worthless = [
        granted(|request| request["tenant"] = json!("other"), NOW_MS, &RING),
        granted(|request| request["principal"] = json!("bob"), NOW_MS, &RING),
        // It expired this very millisecond.
        granted(|_| (), NOW_MS - minute, &RING),
        granted(|_| (), NOW_MS, &ring(&["k9"])),
        good.replace("6163", "6263"),
        format!("{}00", &good[..good.len() - 2]),
        String::new(),
    ];
    for grant in &worthless {
        assert_eq!(decision(json!([grant])), Decision::Ask, "{grant}");
    }
    assert_eq!(decision(json!([granted(|_| (), NOW_MS - minute + 1, &RING)])), Decision::Run);
    assert_eq!(decision(json!([granted(|request| request["principal"] = Value::Null, NOW_MS, &RING)])), Decision::Run);
    // The good one among worthless ones.
    assert_eq!(decision(json!([worthless[0], good, worthless[2]])), Decision::Run);
    // No grant makes more of class 4 or of what is broken, nor does one of the configuration.
    let web = Said { channel: Channel::Web, ..Said::default() };
    let mut asked = request(web, &web.seal(&[], &RING), &[], "side_effect");
    asked["call"] = call();
    asked["grants"] = json!([good]);
    let all = gate(json!({"mandates": [{"name": "all", "tool": "*", "arguments": {"room": "any", "minutes": "any"}}]}));
    let answer = ask(&asked, &all, None);
    assert_eq!((answer.decision, answer.reason, answer.mandate), (Decision::Quarantine, Some(Reason::Untrusted), None));
}

#[test]
fn releases() {
    let released = |tenant: &str, content: &str, expires_s: Option<u64>, now_ms| {
        let request = json!({"tenant": tenant, "content_digest": Digest::of(content.as_bytes()), "expires_s": expires_s});
        let request: ReleaseRequest = serde_json::from_value(request).expect("a request");
        release(&request, "ops", &RING, now_ms).expect("a release").release
    };
    let web = Said { channel: Channel::Web, content: INSTRUCTION, ..Said::default() };
    let asked = |effect: &str, release: &str| {
        let mut asked = request(web, &web.seal(&[], &RING), &[], effect);
        asked["release"] = json!(release);
        let answer = ask(&asked, &GATE, None);
        (answer.decision, answer.reason, answer.released)
    };
    for good in [released("acme", INSTRUCTION, None, 5), released("acme", INSTRUCTION, Some(60), NOW_MS - 59_999)] {
        assert_eq!(asked("read", &good), (Decision::Label, None, true));
        assert_eq!(asked("side_effect", &good), (Decision::Ask, None, true));
    }
    let good = released("acme", INSTRUCTION, None, NOW_MS);
    for worthless in [
        released("other", INSTRUCTION, None, NOW_MS),
        released("acme", FACT, None, NOW_MS),
        released("acme", INSTRUCTION, Some(60), NOW_MS - 60_000),
        good.replace("6f7073", "6f7074"),
        String::new(),
    ] {
        assert_eq!(asked("read", &worthless), (Decision::Quarantine, Some(Reason::Untrusted), false));
    }
    // A broken lineage is released too: the administrator looked at the content.
    let mut broken = request(web, &web.seal_on(&[Digest([1; 32])], &RING), &[], "side_effect");
    broken["release"] = json!(good);
    assert_eq!(ask(&broken, &GATE, None).decision, Decision::Ask);
    // Where nothing is held back there is nothing to release, and a release makes nothing worse.
    let user = Said { content: INSTRUCTION, ..Said::default() };
    let mut trusted = request(user, &user.seal(&[], &RING), &[], "side_effect");
    trusted["release"] = json!(good);
    let answer = ask(&trusted, &GATE, None);
    assert_eq!((answer.decision, answer.released), (Decision::Run, false));
}

#[test]
fn without_a_record() {
    let asked = |content, effect: &str, no_record| {
        let said = Said { content, ..Said::default() };
        let mut asked = request(said, &said.seal(&[], &RING), &[], effect);
        asked.as_object_mut().expect("an object").remove("record");
        let answer = ask(&asked, &Gate { no_record, ..GATE.clone() }, None);
        assert_eq!(
            (answer.authority_class, answer.why, answer.broken, answer.record_hash),
            (Class::Untrusted, Some(Why::NoRecord), None, None)
        );
        assert_eq!(answer.label, (answer.decision == Decision::Label).then_some(LABEL));
        (answer.decision, answer.reason)
    };
    let quarantine = (Decision::Quarantine, Some(Reason::Untrusted));
    assert_eq!(asked(FACT, "read", NoRecord::Enforce), (Decision::Label, None));
    assert_eq!(asked(INSTRUCTION, "read", NoRecord::Enforce), quarantine);
    assert_eq!(asked(FACT, "side_effect", NoRecord::Enforce), quarantine);
    assert_eq!(asked(FACT, "read", NoRecord::Label), (Decision::Label, None));
    assert_eq!(asked(INSTRUCTION, "read", NoRecord::Label), (Decision::Label, None));
    assert_eq!(asked(FACT, "side_effect", NoRecord::Label), (Decision::Ask, None));
    // Leniency is for entries that have none, and not for those with a bad one.
    let lenient = Gate { no_record: NoRecord::Label, ..GATE.clone() };
    let web = Said { channel: Channel::Web, ..Said::default() };
    assert_eq!(ask(&request(web, &web.seal(&[], &RING), &[], "side_effect"), &lenient, None).decision, Decision::Quarantine);
    let mut no_hex = request(web, &web.seal(&[], &RING), &[], "read");
    no_hex["record"] = json!("");
    assert_eq!(ask(&no_hex, &lenient, None).decision, Decision::Quarantine);
}

#[test]
fn minting_and_checking() {
    let minted = |value: Value, version| {
        let request: MintRequest = serde_json::from_value(value).expect("a request");
        mint(&request, &GATE, &RING, version, NOW_MS)
    };
    let user =
        minted(json!({"tenant": "acme", "principal": "alice", "store": "notes", "channel": "user", "content": FACT}), 3).expect("a record");
    let digest = Digest::of(FACT.as_bytes());
    assert_eq!((user.entry.as_str(), user.version, user.content_digest), (digest.hex().as_str(), 3, digest));
    let mut bytes = Vec::new();
    assert!(floodmark_core::lineage::decode_hex(&user.record, &mut bytes));
    assert_eq!(record_hash(&bytes), user.hash);
    // Parents in any order, and one twice.
    let other = minted(json!({"tenant": "acme", "principal": "alice", "store": "notes", "channel": "user", "content": "Another fact."}), 1)
        .expect("a record");
    let summary = |parents: [&Digest; 3]| {
        let request = json!({"tenant": "acme", "principal": "alice", "store": "notes", "entry": "s", "channel": "agent", "content": "Both.", "parents": parents});
        minted(request, 1).expect("a record")
    };
    let made = summary([&user.hash, &other.hash, &user.hash]);
    assert_eq!(made, summary([&other.hash, &other.hash, &user.hash]));
    let request = json!({
        "tenant": "acme", "principal": "alice", "store": "notes", "entry": "s", "content": "Both.", "record": made.record, "effect": "read",
        "ancestors": [{"record": other.record}, {"record": user.record, "content": FACT}],
    });
    let answer = ask(&request, &GATE, None);
    assert_eq!((answer.decision, answer.authority_class, answer.version), (Decision::Run, Class::Derived, Some(1)));
    let answer = serde_json::to_value(&answer).expect("JSON");
    let expected = json!({
        "decision": "run", "reason": null, "authority_class": 3, "why": null, "broken": null, "instruction_like": false, "likeness": null, "mandate": null,
        "released": false, "label": null, "content_digest": Digest::of(b"Both."), "record_hash": made.hash,
    });
    assert_eq!(answer, expected);
    for (key, value, path) in [
        ("tenant", json!(""), "tenant"),
        ("principal", json!("a\nb"), "principal"),
        ("store", json!("s".repeat(129)), "store"),
        ("entry", json!("e".repeat(513)), "entry"),
        ("author", json!("a".repeat(257)), "author"),
        ("parents", json!(vec![Digest([1; 32]); 65]), "parents"),
    ] {
        let mut request = json!({"tenant": "acme", "principal": "alice", "store": "notes", "channel": "user", "content": FACT});
        request[key] = value;
        let error = minted(request, 1).expect_err(path);
        assert_eq!(error.path, path);
        assert!(error.problem.contains("takes "), "{}", error.problem);
    }
}

#[test]
fn checks_that_cannot_be_answered() {
    let said = Said::default();
    let good = request(said, &said.seal(&[], &RING), &[], "read");
    for (key, value, path) in [
        ("tenant", json!(""), "tenant"),
        ("principal", json!("p".repeat(257)), "principal"),
        ("store", json!("\u{80}"), "store"),
        ("entry", json!(""), "entry"),
        ("call", json!({"tool": ""}), "call.tool"),
        ("grants", json!(["AB"]), "grants[0]"),
        ("grants", json!(["00", "0"]), "grants[1]"),
        ("grants", json!(vec!["00"; 33]), "grants"),
        ("release", json!("zz"), "release"),
    ] {
        let mut request = good.clone();
        request[key] = value;
        let request: CheckRequest = serde_json::from_value(request).expect("a request");
        assert_eq!(check(&request, &GATE, &RING, &JUDGE, None, NOW_MS).expect_err(path).path, path);
    }
    for (seconds, problem) in [(0, "must be at least 1"), (u64::MAX, "is too large"), (u64::MAX / 1000, "is too large")] {
        let request = ReleaseRequest { tenant: "acme".to_owned(), content_digest: Digest([0; 32]), expires_s: Some(seconds) };
        let error = release(&request, "ops", &RING, NOW_MS).expect_err(problem);
        assert_eq!((error.path.as_str(), error.problem.as_str()), ("expires_s", problem));
    }
}

#[test]
fn configurations_that_cannot_be() {
    let long = "x".repeat(300);
    for (value, path) in [
        (json!({"approved_sources": ["a", ""]}), "approved_sources[1]"),
        (json!({"approved_sources": vec!["a"; 257]}), "approved_sources"),
        (json!({"groups": [{"tenant": "", "principals": []}]}), "groups[0].tenant"),
        (json!({"groups": [{"tenant": "t", "principals": ["a", long]}]}), "groups[0].principals[1]"),
        (json!({"mandates": [{"name": "a\u{0}", "tool": "t"}]}), "mandates[0].name"),
        (json!({"mandates": [{"name": "a", "tool": ""}]}), "mandates[0].tool"),
        (json!({"mandates": [{"name": "a", "tool": "t", "tenant": ""}]}), "mandates[0].tenant"),
        (json!({"mandates": [{"name": "a", "tool": "t", "arguments": {"x": {"one_of": []}}}]}), "mandates[0].arguments.x"),
        (json!({"mandates": [{"name": "a", "tool": "t", "arguments": {"x": {"one_of": ["\n"]}}}]}), "mandates[0].arguments.x"),
        (json!({"policy": ""}), "policy"),
    ] {
        let gate: Gate = serde_json::from_value(value).expect("a gate");
        let (key, problem) = gate.check().expect_err(path);
        assert_eq!(key, path);
        assert!(!problem.is_empty());
    }
    assert_eq!(Gate::default().check(), Ok(()));
}
