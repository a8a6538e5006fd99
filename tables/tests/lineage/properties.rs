//! Stores made at random: the same as a slow twin says, and nothing that is added to a lineage ever makes it better.

use floodmark_core::lineage::{Broken, Channel, Class, Digest, Why, record_hash};
use proptest::prelude::*;

use crate::{Entry, RING, Said, outcome, ring, verify};

/// What is done to an entry of a store after it was sealed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Harm {
    None,
    Content,
    Record,
    Gone,
    /// It was sealed with a key that is not in the ring.
    Key,
}

/// An entry of a store: parents are numbers of earlier entries.
#[derive(Clone, Debug)]
struct Plan {
    channel: Channel,
    approved: bool,
    alices: bool,
    parents: Vec<usize>,
    harm: Harm,
    content: String,
}

fn plan(number: usize) -> impl Strategy<Value = Plan> {
    let parents = proptest::collection::btree_set(0..number.max(1), 0..=number.min(3));
    let harm =
        prop_oneof![24 => Just(Harm::None), 1 => Just(Harm::Content), 1 => Just(Harm::Record), 1 => Just(Harm::Gone), 1 => Just(Harm::Key)];
    let channel = prop_oneof![3 => Just(Channel::User), 3 => Just(Channel::Agent), 2 => Just(Channel::ApprovedSource), 1 => (0..10usize).prop_map(|at| Channel::ALL[at])];
    let bits = (prop::bool::weighted(0.8), prop::bool::weighted(0.9));
    (channel, bits, parents, harm, "[a-z ]{0,12}").prop_map(move |(channel, (approved, alices), parents, harm, content)| {
        let parents = parents.into_iter().filter(|parent| *parent < number).collect();
        Plan { channel, approved, alices, parents, harm, content: format!("{number} {content}") }
    })
}

fn plans() -> impl Strategy<Value = Vec<Plan>> {
    (1..10usize).prop_flat_map(|entries| (0..entries).map(plan).collect::<Vec<_>>())
}

/// Seals a store in order, then does the harm.
fn store(plans: &[Plan]) -> Vec<Option<Entry>> {
    let mut sealed: Vec<Entry> = Vec::new();
    for (number, plan) in plans.iter().enumerate() {
        let parents: Vec<Digest> = plan.parents.iter().map(|parent| record_hash(&sealed[*parent].sealed)).collect();
        let author = if plan.approved { "docs.example" } else { "evil.example" };
        let principal = if plan.alices { "alice" } else { "bob" };
        let said =
            Said { principal, entry: &format!("e{number}"), channel: plan.channel, author, content: &plan.content, ..Said::default() };
        let other = ring(&["k9"]);
        sealed.push(said.seal_on(&parents, if plan.harm == Harm::Key { &other } else { &RING }));
    }
    let harmed = |(mut entry, plan): (Entry, &Plan)| {
        match plan.harm {
            Harm::None | Harm::Key => {}
            Harm::Content => entry.content.push('!'),
            Harm::Record => *entry.sealed.last_mut().expect("a tag") ^= 1,
            Harm::Gone => return None,
        }
        Some(entry)
    };
    sealed.into_iter().zip(plans).map(harmed).collect()
}

/// What the specification says of an entry, word by word and over and over again.
fn twin(plans: &[Plan], number: usize) -> (Class, Option<Why>, bool) {
    let plan = &plans[number];
    match plan.harm {
        Harm::Key => return (Class::Untrusted, Some(Why::UnknownKey), false),
        Harm::Content | Harm::Record => return (Class::Untrusted, None, true),
        Harm::None | Harm::Gone => {}
    }
    let own = match plan.channel {
        Channel::User => Class::User,
        Channel::ApprovedSource if plan.approved => Class::Approved,
        Channel::Agent if !plan.parents.is_empty() => Class::Derived,
        _ => Class::Untrusted,
    };
    let mut found = if plan.alices { (own, None, false) } else { (Class::Untrusted, Some(Why::OtherPrincipal), false) };
    // A record names its parents in the order of their hashes, and the first that has a reason gives it; here any may.
    for parent in &plan.parents {
        // A changed record has another hash, so whoever named it misses it.
        let missing = matches!(plans[*parent].harm, Harm::Gone | Harm::Record);
        let (class, why, broken) = if missing { (Class::Untrusted, None, true) } else { twin(plans, *parent) };
        found = (found.0.max(class), found.1.or(why), found.2 || broken);
    }
    if found.2 { (Class::Untrusted, found.1, true) } else { found }
}

/// The worse, the greater.
fn rank((class, _, broken): (Class, Option<Why>, Option<Broken>)) -> u8 {
    if broken.is_some() { 5 } else { class.number() }
}

fn ranks(plans: &[Plan]) -> Vec<Option<u8>> {
    let store = store(plans);
    let ancestors: Vec<Entry> = store.iter().flatten().cloned().collect();
    let rank = |(number, entry): (usize, &Option<Entry>)| {
        let entry = entry.as_ref()?;
        Some(rank(outcome(&verify(Said { entry: &format!("e{number}"), ..Said::default() }, entry, &ancestors))))
    };
    store.iter().enumerate().map(rank).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn like_the_slow_twin(plans in plans()) {
        let store = store(&plans);
        let ancestors: Vec<Entry> = store.iter().flatten().cloned().collect();
        for (number, entry) in store.iter().enumerate() {
            let Some(entry) = entry else { continue };
            let (class, why, broken) = outcome(&verify(Said { entry: &format!("e{number}"), ..Said::default() }, entry, &ancestors));
            let expected = twin(&plans, number);
            prop_assert_eq!((class, why.is_some(), broken.is_some()), (expected.0, expected.1.is_some(), expected.2), "e{}", number);
        }
    }

    /// Monotone authority: one parent more never betters any entry. An agent's first parent is the one exception, and by the table: without any it is class 4.
    #[test]
    fn parents_only_lower(plans in plans(), child in any::<prop::sample::Index>(), parent in any::<prop::sample::Index>()) {
        let before = ranks(&plans);
        let mut more = plans.clone();
        let child = child.index(plans.len());
        prop_assume!(child > 0 && !(plans[child].channel == Channel::Agent && plans[child].parents.is_empty()));
        let parent = parent.index(child);
        if !more[child].parents.contains(&parent) {
            more[child].parents.push(parent);
        }
        for (number, (before, after)) in before.iter().zip(ranks(&more)).enumerate() {
            prop_assert!(after >= *before, "e{}", number);
        }
    }

    /// Another channel that is no better, another author or another principal betters no entry.
    #[test]
    fn worse_sources_only_lower(plans in plans(), which in any::<prop::sample::Index>(), how in 0..4u8) {
        let before = ranks(&plans);
        let mut worse = plans.clone();
        let plan = &mut worse[which.index(plans.len())];
        match how {
            0 => plan.channel = Channel::Web,
            1 => plan.channel = Channel::Unknown,
            2 => plan.approved = false,
            _ => plan.alices = false,
        }
        for (number, (before, after)) in before.iter().zip(ranks(&worse)).enumerate() {
            prop_assert!(after >= *before, "e{}", number);
        }
    }

    /// What an entry says changes no class, whoever's.
    #[test]
    fn texts_change_nothing(plans in plans(), which in any::<prop::sample::Index>(), text in "\\PC{0,60}") {
        let before = ranks(&plans);
        let mut reworded = plans.clone();
        reworded[which.index(plans.len())].content = text;
        prop_assert_eq!(ranks(&reworded), before);
    }
}
