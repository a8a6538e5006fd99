//! Newest versions: whose they are, which entries have one, and what no flood washes out.

use super::*;

fn minted(gateway: &Gateway, entry: &Value) -> Value {
    let seen = gateway.call("lineage/records", STORE, entry);
    assert_eq!(seen.status, 200, "{seen:?}");
    seen.json
}

fn with(mut value: Value, key: &str, other: Value) -> Value {
    value[key] = other;
    value
}

fn why(gateway: &Gateway, check: &Value) -> Value {
    let seen = gateway.call("lineage/check", STORE, check);
    assert_eq!(seen.status, 200, "{seen:?}");
    seen.json["why"].clone()
}

/// What the tables of versions hold, in shared data.
fn kept(gateway: &Gateway) -> usize {
    gateway.host.shared.lock().expect("not poisoned").values.keys().filter(|key| key.contains("/versions/")).count()
}

/// One tenant: entries whose old record was superseded, and then a flood of new ones.
#[test]
fn no_flood_of_new_entries_lets_a_superseded_record_run() {
    for gateway in [gateway(), configured(&json!({}), &[], &json!({"state": {"versions": 65_536}}))] {
        let now = std::cell::Cell::new(1_000);
        let mint = |name: &str| {
            now.set(now.get() + 1);
            gateway.host.clock_ns.set(now.get() * 1_000_000);
            minted(&gateway, &entry(name))["record"].clone()
        };
        let names: Vec<String> = (0..400).map(|number| format!("seat {number}")).collect();
        let old: Vec<Value> = names.iter().map(|name| mint(name)).collect();
        names.iter().for_each(|name| drop(mint(name)));
        (0..20_000).for_each(|number| drop(mint(&format!("flood {number}"))));
        let ran = names.iter().zip(&old).filter(|(name, record)| why(&gateway, &using(name, FACT, record)) != "stale").count();
        assert_eq!(ran, 0, "of 400");
    }
}

/// In the smallest table there is, every mint finds room all the same, and the entry that was made last is known.
#[test]
fn no_mint_fails_for_lack_of_room() {
    let gateway = configured(&json!({}), &[], &json!({"state": {"versions": 8}}));
    for tenant in ["acme", "globex", "umbrella"] {
        for number in 0..20 {
            gateway.host.clock_ns.set(number * 1_000_000_000);
            let one = with(entry(&format!("{number}")), "tenant", json!(tenant));
            let check = |record: &Value| with(using(&format!("{number}"), FACT, record), "tenant", json!(tenant));
            let [old, new] = [(); 2].map(|()| minted(&gateway, &one)["record"].clone());
            assert_eq!((why(&gateway, &check(&old)), why(&gateway, &check(&new))), (json!("stale"), Value::Null), "{tenant} {number}");
        }
    }
    assert_eq!(gateway.host.counted("floodmark_state_lost_table=versions"), 0, "nothing is said to be lost that was not");
}

/// An entry that is used stays, at one write an hour.
#[test]
fn what_is_checked_stays_longer_than_what_is_not() {
    const HOUR_NS: u64 = 3_600_000_000_000;
    let gateway = configured(&json!({}), &[], &json!({"state": {"versions": 8}}));
    let at = |hours: u64| gateway.host.clock_ns.set(hours * HOUR_NS + 1_000_000_000);
    let writes = || {
        gateway
            .host
            .shared
            .lock()
            .expect("not poisoned")
            .values
            .iter()
            .filter(|(key, _)| key.contains("/versions/"))
            .map(|(_, (_, version))| *version)
            .sum::<u32>()
    };
    at(0);
    let used = minted(&gateway, &entry("used"))["record"].clone();
    for number in 0..3 {
        at(1 + number);
        minted(&gateway, &entry(&format!("other {number}")));
    }
    let before = writes();
    at(5);
    for _ in 0..10 {
        assert_eq!(why(&gateway, &using("used", FACT, &used)), Value::Null);
    }
    assert_eq!(writes(), before + 1, "one write");
    // A tenant has four of a set, and this one the three that were not used.
    for number in 3..6 {
        at(3 + number);
        minted(&gateway, &entry(&format!("other {number}")));
    }
    gateway.host.clock_ns.set(9 * HOUR_NS);
    minted(&gateway, &entry("used"));
    assert_eq!(why(&gateway, &using("used", FACT, &used)), "stale", "its version was still known, so the next superseded it");
}

#[test]
fn nobody_makes_another_principals_entry_stale() {
    let gateway = configured(&json!({"groups": [{"tenant": "acme", "principals": ["carol", "dave"]}]}), &[], &json!({}));
    let own = minted(&gateway, &entry("n1"))["record"].clone();
    let theirs = minted(&gateway, &with(with(entry("n1"), "principal", json!("bob")), "version", json!(5000)));
    assert_eq!(theirs["version"], 5000);
    assert_eq!(why(&gateway, &using("n1", FACT, &own)), Value::Null);
    // Nor by presenting one's own record as if it were of the other.
    assert_eq!(why(&gateway, &using("n1", FACT, &theirs["record"])), "other_principal");
    assert_eq!(why(&gateway, &using("n1", FACT, &own)), Value::Null);
    assert_eq!(minted(&gateway, &entry("n1"))["version"], 1, "bob's are not counted on");
    // Those of a group share theirs.
    let carols = minted(&gateway, &with(entry("n1"), "principal", json!("carol")));
    let daves = minted(&gateway, &with(entry("n1"), "principal", json!("dave")));
    assert!(carols["version"].as_u64() < daves["version"].as_u64(), "{carols} {daves}");
    for principal in ["carol", "dave"] {
        let check = |record: &Value| why(&gateway, &with(using("n1", FACT, record), "principal", json!(principal)));
        assert_eq!((check(&carols["record"]), check(&daves["record"])), (json!("stale"), Value::Null));
    }
}

/// A store without keys knows its entries by their text: one text is one entry, and has no versions.
#[test]
fn entries_without_keys_have_no_versions() {
    let gateway = gateway();
    let unnamed = |mut value: Value| {
        value.as_object_mut().expect("an object").remove("entry");
        value
    };
    let named = json!(blake3::hash(FACT.as_bytes()).to_hex().as_str());
    let mut records = vec![];
    for version in [json!(7), json!(3), Value::Null] {
        records.push(minted(&gateway, &with(unnamed(entry("")), "version", version.clone()))["record"].clone());
        records.push(minted(&gateway, &with(with(entry(""), "entry", named.clone()), "version", version))["record"].clone());
    }
    let twice = json!({"content": FACT, "channel": "user"});
    let adopted =
        gateway.call("lineage/adopt", ADMIN, &json!({"tenant": "acme", "principal": "alice", "store": "notes", "entries": [twice, twice]}));
    records.extend(adopted.json["records"].as_array().expect("a list").iter().map(|told| told["record"].clone()));
    assert_eq!(records.len(), 8);
    for record in records.iter().chain(&records) {
        let seen = gateway.call("lineage/check", STORE, &unnamed(using("", FACT, record))).json;
        assert_eq!((&seen["why"], &seen["decision"]), (&Value::Null, &json!("run")), "{seen}");
    }
    assert_eq!(kept(&gateway), 0, "nothing is remembered of them");
}

/// A version that is asked for cannot be so high that none comes after it.
#[test]
fn a_version_may_be_a_day_ahead_and_no_more() {
    let gateway = gateway();
    const DAY_MS: u64 = 86_400_000;
    gateway.host.clock_ns.set(5_000_000_000);
    let ask = |version: u64| gateway.call("lineage/records", STORE, &with(entry("n1"), "version", json!(version)));
    for version in [5001 + DAY_MS, (1 << 53) - 1, u64::MAX] {
        let seen = ask(version);
        let message = seen.json["error"]["message"].as_str().unwrap_or_default();
        assert_eq!((seen.status, message), (400, "the body at version: must be at most a day ahead of the time in Unix milliseconds"));
    }
    assert_eq!(kept(&gateway), 0);
    assert_eq!(ask(5000 + DAY_MS).status, 200);
    assert_eq!(minted(&gateway, &entry("n1"))["version"], 5001 + DAY_MS, "there is always a next one");
}
