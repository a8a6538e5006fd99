//! The scheduler: tasks that fire, those that ask, and those that do not.

mod common;

use common::{Place, tamper};
use floodmark_core::lineage::{Broken, Channel, CheckAnswer, Class, Decision, Gate, GrantRequest, Limit, Mandate, Why, grant};
use floodmark_examples::now_ms;
use floodmark_examples::store::{New, Store};
use floodmark_examples::tasks::{Due, STORE, Task, due};

const HOUR: u64 = 3600;

fn task(tool: &str, to: &str) -> String {
    let arguments = serde_json::value::to_raw_value(&serde_json::json!({ "to": to })).unwrap();
    Task { tool: tool.into(), arguments, every_s: HOUR }.content().unwrap()
}

fn add(store: &mut Store, name: &str, content: &str, channel: Channel, parents: &[&str]) {
    store.remember("alice", &New { entry: name, content, channel, author: "", parents }).unwrap();
}

/// Alice's own task, one that her agent made of it, and tasks of everybody else.
fn filled(place: &Place) {
    let mut store = Store::create(place.options("acme", STORE)).unwrap();
    let digest = task("mail.send", "alice@acme.example");
    add(&mut store, "digest", &digest, Channel::User, &[]);
    add(&mut store, "agent", &digest, Channel::Agent, &["digest"]);
    add(&mut store, "lonely agent", &digest, Channel::Agent, &[]);
    add(&mut store, "plugin", &digest, Channel::Plugin, &[]);
    add(&mut store, "pasted", &digest, Channel::Pasted, &[]);
    add(&mut store, "of pasted", &digest, Channel::Agent, &["digest", "pasted"]);
    add(
        &mut store,
        "not yet",
        &Task { every_s: 1000 * HOUR, ..serde_json::from_str(&digest).unwrap() }.content().unwrap(),
        Channel::User,
        &[],
    );
}

fn mandate(to: &str) -> Gate {
    let arguments = [("to".to_owned(), Limit::OneOf(vec![to.into()]))].into();
    let mandate = Mandate { name: "digests".into(), tenant: Some("acme".into()), principal: None, tool: "mail.*".into(), arguments };
    Gate { mandates: vec![mandate], ..Gate::default() }
}

fn tick(place: &Place, grants: &[String]) -> Vec<Due> {
    due(&mut Store::open(place.options("acme", STORE)).unwrap(), grants, HOUR, 2 * HOUR).unwrap()
}

fn fired(due: &[Due]) -> Vec<&str> {
    due.iter().filter(|due| due.fires().is_some()).map(|due| due.name.as_str()).collect()
}

fn one<'d>(due: &'d [Due], name: &str) -> &'d Due {
    due.iter().find(|due| due.name == name).unwrap()
}

fn answer<'d>(due: &'d [Due], name: &str) -> &'d CheckAnswer {
    one(due, name).answer.as_ref().unwrap()
}

#[test]
fn users_tasks_fire_and_an_agents_own_inside_a_mandate() {
    let place = Place::new();
    filled(&place);
    let due = tick(&place, &[]);
    assert_eq!(due.len(), 6, "one is not due");
    assert_eq!(fired(&due), ["digest"]);
    let (asks, derived) = (answer(&due, "agent"), Class::Derived);
    assert_eq!((asks.decision, asks.authority_class), (Decision::Ask, derived));
    for name in ["lonely agent", "plugin", "pasted", "of pasted"] {
        assert_eq!(answer(&due, name).decision, Decision::Quarantine, "{name}");
    }

    let within = Place { gate: mandate("alice@acme.example"), ..place.again() };
    assert_eq!(fired(&tick(&within, &[])), ["agent", "digest"]);
    assert_eq!(answer(&tick(&within, &[]), "agent").mandate.as_deref(), Some("digests"));
    let other = Place { gate: mandate("bob@acme.example"), ..place.again() };
    assert_eq!(fired(&tick(&other, &[])), ["digest"]);
}

#[test]
fn a_signed_grant_is_a_mandate_for_its_time() {
    let place = Place::new();
    filled(&place);
    let ring = place.options("acme", STORE).ring;
    let arguments = [("to".to_owned(), Limit::Any)].into();
    let mut request =
        GrantRequest { name: "g".into(), tenant: "acme".into(), principal: None, tool: "mail.send".into(), arguments, expires_s: 60 };
    let now = now_ms().unwrap();
    let sealed = grant(&request, "admin", &ring, now).unwrap().grant;
    assert_eq!(fired(&tick(&place, std::slice::from_ref(&sealed))), ["agent", "digest"]);
    // Of yesterday, of another tenant, or with a byte changed it counts for nothing.
    let expired = grant(&request, "admin", &ring, now - 86_400_000).unwrap().grant;
    request.tenant = "globex".into();
    let foreign = grant(&request, "admin", &ring, now).unwrap().grant;
    let last = if sealed.ends_with('0') { "1" } else { "0" };
    let changed = format!("{}{last}", &sealed[..sealed.len() - 1]);
    for other in [expired, foreign, changed] {
        assert_eq!(fired(&tick(&place, &[other])), ["digest"]);
    }
}

#[test]
fn what_another_process_wrote_does_not_fire() {
    let broken = |broken| Ok((Some(broken), None));
    let moved = Err("somebody moved it");
    let set = |columns: &str| format!("UPDATE entries SET {columns} WHERE tenant = 'acme' AND entry = 'digest'");
    let made =
        |columns: &str| format!("INSERT INTO entries SELECT NULL, tenant, store, principal, {columns} FROM entries WHERE entry = 'digest'");
    for (what, sql, name, expected) in [
        ("another recipient", set("content = replace(content, 'alice@', 'mallory@')"), "digest", broken(Broken::ContentMismatch)),
        ("more often", set("content = replace(content, '3600', '60')"), "digest", broken(Broken::ContentMismatch)),
        ("no task at all", set("content = 'wire it all'"), "digest", broken(Broken::ContentMismatch)),
        ("no text at all", set("content = x'00'"), "digest", Err("is no text")),
        ("no tool", set("content = replace(content, 'mail.send', '')"), "digest", Err("a tool's name has 1 to 128 bytes")),
        ("a long tool", set(&format!("content = replace(content, 'mail.send', '{}')", "t".repeat(200))), "digest", Err("a tool's name")),
        ("no object", set("content = '{\"tool\":\"t\",\"arguments\":[],\"every_s\":60}'"), "digest", Err("must be a JSON object")),
        ("its source", set("content = replace(content, 'alice@', 'mallory@')"), "agent", broken(Broken::BrokenParent)),
        ("under another name", set("entry = 'digest 2'"), "digest", moved),
        ("for another", set("principal = 'bob'"), "digest", moved),
        ("a copy", made("'digest 2', content, record"), "digest", moved),
        ("of its own making", made("'mine', content, NULL"), "mine", Ok((None, Some(Why::NoRecord)))),
    ] {
        let place = Place { gate: mandate("alice@acme.example"), ..Place::new() };
        filled(&place);
        let mut store = Store::open(place.options("acme", STORE)).unwrap();
        add(&mut store, "own", &task("mail.send", "alice@acme.example"), Channel::User, &[]);
        tamper(&place.db(), &sql);
        // Where a row came, the head alone keeps everything from firing; here it is left out.
        let found = due(&mut Store::inspect(place.options("acme", STORE)).unwrap(), &[], HOUR, 2 * HOUR).unwrap();
        let poisoned = one(&found, name);
        assert!(poisoned.fires().is_none(), "{what}");
        match (&poisoned.answer, expected) {
            (Err(error), Err(words)) => assert!(format!("{error:#}").contains(words), "{what}: {error:#}"),
            (Ok(answer), Ok(expected)) => {
                assert_eq!((answer.decision, (answer.broken, answer.why)), (Decision::Quarantine, expected), "{what}");
            }
            (found, _) => panic!("{what}: {found:?}"),
        }
        // It keeps no other from firing, and a process that has the store open finds the same.
        assert!(fired(&found).contains(&"own"), "{what}");
        if let Ok(open) = due(&mut store, &[], HOUR, 2 * HOUR) {
            assert_eq!(fired(&open), fired(&found), "{what}");
        } else {
            assert!(sql.starts_with("INSERT"), "{what}");
        }
    }
}

#[test]
fn a_task_that_was_sealed_but_makes_no_call_keeps_no_other_from_firing() {
    let place = Place::new();
    let mut store = Store::create(place.options("acme", STORE)).unwrap();
    add(&mut store, "own", &task("mail.send", "alice@acme.example"), Channel::User, &[]);
    for (name, content) in
        [("a", r#"{"tool":"","arguments":{},"every_s":60}"#), ("b", r#"{"tool":"t","arguments":3,"every_s":60}"#), ("c", "")]
    {
        add(&mut store, name, content, Channel::User, &[]);
        assert!(serde_json::from_str::<Task>(content).is_ok_and(|task| task.content().is_ok()).eq(&false), "{name}");
    }
    assert_eq!(fired(&tick(&place, &[])), ["own"]);
    let error = due(&mut store, &["AB".into()], 0, HOUR).err().unwrap();
    assert_eq!(error.to_string(), "grant 1 is not lower-case hex");
}

#[test]
fn arguments_fire_as_they_were_sealed() {
    let place = Place::new();
    let mut store = Store::create(place.options("acme", STORE)).unwrap();
    // Numbers that no double holds, another spelling of one, an argument that stands twice, and space.
    for arguments in [
        r#"{"iban":100000000000000000001}"#,
        r#"{"amount":0.1000000000000000001}"#,
        r#"{"amount":1.50,"n":18446744073709551616,"m":-0}"#,
        r#"{"amount":1e400}"#,
        r#"{"to":"a","to":"b", "text":"\u0061"}"#,
        r#"{"b":1,"a":2}"#,
    ] {
        let spelled = || serde_json::value::RawValue::from_string(arguments.into()).unwrap();
        let content = Task { tool: "pay".into(), arguments: spelled(), every_s: HOUR }.content();
        let Ok(content) = content else {
            // The gate cannot say of a number beyond all doubles whether it is within a limit.
            assert!(arguments.contains("1e400"), "{arguments}: {content:?}");
            continue;
        };
        assert!(content.contains(arguments), "{content}");
        add(&mut store, "pay", &content, Channel::User, &[]);
        let due = tick(&place, &[]);
        assert_eq!(due[0].fires().unwrap().arguments.get(), arguments);
    }
}

#[test]
fn times_are_those_between_two_ticks() {
    let every = |every_s| Task { tool: "t".into(), arguments: serde_json::value::RawValue::from_string("{}".into()).unwrap(), every_s };
    for (every_s, last_s, now_s, expected) in
        [(60, 0, 59, false), (60, 59, 60, true), (60, 60, 60, false), (60, 0, 600, true), (7, 13, 14, true), (0, 0, 9, false)]
    {
        assert_eq!(every(every_s).is_due(last_s, now_s), expected, "{every_s}: {last_s} to {now_s}");
    }
    assert!(every(0).content().is_err());
}
