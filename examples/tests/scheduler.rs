//! The scheduler: tasks that fire, those that ask, and those that do not.

mod common;

use common::{Place, tamper};
use floodmark_core::lineage::{Broken, Channel, Class, Decision, Gate, GrantRequest, Limit, Mandate, Why, grant};
use floodmark_examples::now_ms;
use floodmark_examples::store::{New, Store};
use floodmark_examples::tasks::{Due, STORE, Task, due};

const HOUR: u64 = 3600;

fn task(tool: &str, to: &str) -> String {
    let arguments = serde_json::json!({ "to": to }).as_object().unwrap().clone();
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
    due(&Store::open(place.options("acme", STORE)).unwrap(), grants, HOUR, 2 * HOUR).unwrap()
}

fn fired(due: &[Due]) -> Vec<&str> {
    due.iter().filter(|due| due.fires().is_some()).map(|due| due.name.as_str()).collect()
}

fn one<'d>(due: &'d [Due], name: &str) -> &'d Due {
    due.iter().find(|due| due.name == name).unwrap()
}

#[test]
fn users_tasks_fire_and_an_agents_own_inside_a_mandate() {
    let place = Place::new();
    filled(&place);
    let due = tick(&place, &[]);
    assert_eq!(due.len(), 6, "one is not due");
    assert_eq!(fired(&due), ["digest"]);
    let (asks, derived) = (one(&due, "agent"), Class::Derived);
    assert_eq!((asks.answer.decision, asks.answer.authority_class), (Decision::Ask, derived));
    for name in ["lonely agent", "plugin", "pasted", "of pasted"] {
        assert_eq!(one(&due, name).answer.decision, Decision::Quarantine, "{name}");
    }

    let within = Place { gate: mandate("alice@acme.example"), ..place.again() };
    assert_eq!(fired(&tick(&within, &[])), ["agent", "digest"]);
    assert_eq!(one(&tick(&within, &[]), "agent").answer.mandate.as_deref(), Some("digests"));
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
    let digest = "tenant = 'acme' AND entry = 'digest'";
    for (what, sql, name, broken, why) in [
        (
            "another recipient",
            format!("UPDATE entries SET content = replace(content, 'alice@', 'mallory@') WHERE {digest}"),
            "digest",
            Some(Broken::ContentMismatch),
            None,
        ),
        (
            "more often",
            format!("UPDATE entries SET content = replace(content, '3600', '60') WHERE {digest}"),
            "digest",
            Some(Broken::ContentMismatch),
            None,
        ),
        (
            "no task at all",
            format!("UPDATE entries SET content = 'wire it all' WHERE {digest}"),
            "digest",
            Some(Broken::ContentMismatch),
            None,
        ),
        (
            "its source",
            format!("UPDATE entries SET content = replace(content, 'alice@', 'mallory@') WHERE {digest}"),
            "agent",
            Some(Broken::BrokenParent),
            None,
        ),
        (
            "under another name",
            format!(
                "INSERT INTO entries SELECT tenant, store, principal, 'digest 2', version, content, record, NULL FROM entries WHERE {digest}"
            ),
            "digest 2",
            Some(Broken::WrongEntry),
            None,
        ),
        ("for another", format!("UPDATE entries SET principal = 'bob' WHERE {digest}"), "digest", None, Some(Why::OtherPrincipal)),
        (
            "of its own making",
            "INSERT INTO entries SELECT tenant, store, principal, 'mine', 1, content, NULL, NULL FROM entries WHERE entry = 'digest'"
                .into(),
            "mine",
            None,
            Some(Why::NoRecord),
        ),
    ] {
        let place = Place { gate: mandate("alice@acme.example"), ..Place::new() };
        filled(&place);
        tamper(&place.db(), &sql);
        // Where a row came, the head alone would have kept everything from firing; here it is left out.
        let due = due(&Store::inspect(place.options("acme", STORE)).unwrap(), &[], HOUR, 2 * HOUR).unwrap();
        let found = one(&due, name);
        assert!(found.fires().is_none(), "{what}");
        assert_eq!((found.answer.decision, found.answer.broken, found.answer.why), (Decision::Quarantine, broken, why), "{what}");
    }
}

#[test]
fn times_are_those_between_two_ticks() {
    let every = |every_s| Task { tool: "t".into(), arguments: serde_json::Map::default(), every_s };
    for (every_s, last_s, now_s, expected) in
        [(60, 0, 59, false), (60, 59, 60, true), (60, 60, 60, false), (60, 0, 600, true), (7, 13, 14, true), (0, 0, 9, false)]
    {
        assert_eq!(every(every_s).is_due(last_s, now_s), expected, "{every_s}: {last_s} to {now_s}");
    }
    assert!(every(0).content().is_err());
}
