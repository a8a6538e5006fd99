//! The walk over numbers: the oracle's cases, a slow twin over any graph, and how often the walk looks at what.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;
use serde::Deserialize;

use super::super::class::{Broken, Class, Outcome, Why};
use super::super::walk::{Graph, walk};
use super::super::{Decision, Effect, Reason, decide};

/// What nodes are by themselves, and their links: to a node, or to nothing.
#[derive(Debug)]
struct Plain {
    own: Vec<Outcome>,
    links: Vec<Vec<Option<usize>>>,
    /// How often each node was entered.
    entered: Vec<usize>,
    /// How often a link was followed.
    followed: core::cell::Cell<usize>,
}

impl Plain {
    fn new(own: Vec<Outcome>, links: Vec<Vec<Option<usize>>>) -> Self {
        Plain { entered: vec![0; own.len()], own, links, followed: core::cell::Cell::new(0) }
    }

    fn walk(&mut self, start: usize) -> Outcome {
        let nodes = self.own.len();
        walk(self, nodes, start)
    }
}

impl Graph for Plain {
    fn enter(&mut self, node: usize) -> (Outcome, usize) {
        self.entered[node] += 1;
        (self.own[node], self.links[node].len())
    }

    fn parent(&self, node: usize, link: usize) -> Option<usize> {
        self.followed.set(self.followed.get() + 1);
        self.links[node][link]
    }
}

/// What can be reached from each node with one link or more, by trying until nothing changes.
fn reachable(graph: &Plain) -> Vec<Vec<bool>> {
    let nodes = graph.own.len();
    let mut reach = vec![vec![false; nodes]; nodes];
    loop {
        let before = reach.clone();
        for (node, links) in graph.links.iter().enumerate() {
            for parent in links.iter().flatten() {
                reach[node][*parent] = true;
                for further in 0..nodes {
                    reach[node][further] |= before[*parent][further];
                }
            }
        }
        if reach == before {
            return reach;
        }
    }
}

/// Class and whether it is broken, from the words of the specification: the worst class of all that is reached; broken when any of these is, lacks a parent, or
/// reaches itself.
fn twin(graph: &Plain, start: usize) -> (Class, bool) {
    let reach = reachable(graph);
    let all: Vec<usize> = (0..graph.own.len()).filter(|node| *node == start || reach[start][*node]).collect();
    let is_broken = |node: &usize| graph.own[*node].broken.is_some() || graph.links[*node].contains(&None) || reach[*node][*node];
    let broken = all.iter().any(is_broken);
    let class = all.iter().map(|node| graph.own[*node].class).max().unwrap();
    (if broken { Class::Untrusted } else { class }, broken)
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        6 => Just(Outcome::class(Class::User)),
        3 => Just(Outcome::class(Class::Approved)),
        6 => Just(Outcome::class(Class::Derived)),
        3 => Just(Outcome::class(Class::Untrusted)),
        1 => Just(Outcome::why(Why::OtherPrincipal)),
        1 => Just(Outcome::broken(Broken::HashMismatch)),
    ]
}

/// Any graph: circles, links to oneself, the same link twice, links to nothing.
fn graph() -> impl Strategy<Value = Plain> {
    (1..14usize).prop_flat_map(|nodes| {
        let link = prop_oneof![30 => (0..nodes).prop_map(Some), 1 => Just(None)];
        let links = proptest::collection::vec(proptest::collection::vec(link, 0..3), nodes);
        (proptest::collection::vec(outcome(), nodes), links).prop_map(|(own, links)| Plain::new(own, links))
    })
}

/// The same without circles: links go to smaller numbers only.
fn acyclic() -> impl Strategy<Value = Plain> {
    graph().prop_map(|mut graph| {
        for (node, links) in graph.links.iter_mut().enumerate() {
            links.retain(|link| link.is_none_or(|parent| parent < node));
        }
        graph
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn like_the_slow_twin(mut graph in prop_oneof![graph(), acyclic()]) {
        for start in 0..graph.own.len() {
            let found = graph.walk(start);
            prop_assert_eq!((found.class, found.broken.is_some()), twin(&graph, start), "from {}", start);
        }
    }

    /// No node is entered twice, and no link followed twice.
    #[test]
    fn everything_once(mut graph in graph(), start in any::<prop::sample::Index>()) {
        let start = start.index(graph.own.len());
        graph.walk(start);
        let links: usize = graph.links.iter().zip(&graph.entered).map(|(links, entered)| links.len() * entered).sum();
        prop_assert!(graph.entered.iter().all(|entered| *entered <= 1));
        prop_assert_eq!(graph.followed.get(), links);
        let reach = reachable(&graph);
        for (node, entered) in graph.entered.iter().enumerate() {
            prop_assert_eq!(*entered == 1, node == start || reach[start][node], "{}", node);
        }
    }

    /// One link more never makes anything better.
    #[test]
    fn links_only_lower(mut graph in graph(), child in any::<prop::sample::Index>(), parent in any::<prop::sample::Index>()) {
        let nodes = graph.own.len();
        let before: Vec<Outcome> = (0..nodes).map(|start| graph.walk(start)).collect();
        graph.links[child.index(nodes)].push(Some(parent.index(nodes)));
        for (start, before) in before.iter().enumerate() {
            let after = graph.walk(start);
            prop_assert!(after.class >= before.class && (before.broken.is_none() || after.broken.is_some()));
        }
    }
}

/// A chain as deep as any may be, and as many records with as many parents each as may be: each record and link once, and no recursion to overflow.
#[test]
fn deep_and_wide() {
    const NODES: usize = crate::limits::MAX_LINEAGE_RECORDS;
    let own = || {
        let mut own = vec![Outcome::class(Class::Derived); NODES];
        own[NODES - 1] = Outcome::class(Class::User);
        own
    };
    let mut deep = Plain::new(own(), (0..NODES).map(|node| if node + 1 < NODES { vec![Some(node + 1)] } else { vec![] }).collect());
    assert_eq!(deep.walk(0), Outcome::class(Class::Derived));
    assert_eq!(deep.followed.get(), NODES - 1);
    // With the last linked to the first, the longest circle.
    deep.links[NODES - 1].push(Some(0));
    assert_eq!(deep.walk(0).broken, Some(Broken::BrokenParent));
    assert_eq!(deep.walk(NODES - 1).broken, Some(Broken::BrokenParent));
    let wide = |node: usize| (1..=64).map(|more| node + more).filter(|parent| *parent < NODES).map(Some).collect();
    let mut wide = Plain::new(own(), (0..NODES).map(wide).collect());
    assert_eq!(wide.walk(0), Outcome::class(Class::Derived));
    assert!(wide.entered.iter().all(|entered| *entered == 1));
    assert_eq!(wide.followed.get(), wide.links.iter().map(Vec::len).sum::<usize>());
}

#[derive(Deserialize)]
struct Oracle {
    gate_table: Vec<Row>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Row {
    authority_class: usize,
    broken: Option<String>,
    instruction_like: bool,
    effect: Effect,
    in_mandate: bool,
    expect: String,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    approved_sources: Vec<String>,
    entries: Vec<Entry>,
    tamper: Vec<Tamper>,
    expect: BTreeMap<String, Expected>,
}

#[derive(Deserialize)]
struct Entry {
    id: String,
    channel: String,
    author: String,
    parents: Vec<String>,
}

#[derive(Deserialize)]
struct Tamper {
    id: String,
    how: String,
}

#[derive(Deserialize)]
struct Expected {
    authority_class: u8,
    broken: Option<String>,
}

fn oracle() -> Oracle {
    serde_json::from_str(include_str!("../../../../testdata/lineage/oracle.json")).unwrap()
}

/// The oracle's cases as graphs of numbers, where its circles are real ones.
#[test]
fn the_oracle_in_numbers() {
    let (mut entries, mut circles) = (0, 0);
    for case in oracle().cases {
        let how = |id: &str| case.tamper.iter().find(|tamper| tamper.id == id).map(|tamper| tamper.how.as_str());
        let own = |entry: &Entry| match (how(&entry.id), entry.channel.as_str()) {
            (Some("content_changed"), _) => Outcome::broken(Broken::ContentMismatch),
            (Some("record_changed"), _) => Outcome::broken(Broken::HashMismatch),
            (_, "user") => Outcome::class(Class::User),
            (_, "approved_source") if case.approved_sources.contains(&entry.author) => Outcome::class(Class::Approved),
            (_, "agent") if !entry.parents.is_empty() => Outcome::class(Class::Derived),
            _ => Outcome::class(Class::Untrusted),
        };
        let number = |id: &String| case.entries.iter().position(|entry| entry.id == *id).filter(|_| how(id) != Some("deleted"));
        let links = case.entries.iter().map(|entry| entry.parents.iter().map(number).collect()).collect();
        let mut graph = Plain::new(case.entries.iter().map(own).collect(), links);
        for (start, entry) in case.entries.iter().enumerate().filter(|(_, entry)| how(&entry.id) != Some("deleted")) {
            let (found, expected) = (graph.walk(start), &case.expect[&entry.id]);
            assert_eq!(found.class.number(), expected.authority_class, "{} of {}", entry.id, case.name);
            assert_eq!(found.broken.is_some(), expected.broken.is_some(), "{} of {}", entry.id, case.name);
            entries += 1;
            circles += usize::from(found.broken == Some(Broken::Cycle));
        }
    }
    // All that it expects anything of; of a circle of two each end is one, or has one for a parent.
    assert_eq!((entries, circles), (810, 1));
}

#[test]
fn the_oracles_table() {
    let classes = [Class::User, Class::Approved, Class::Derived, Class::Untrusted];
    let table = oracle().gate_table;
    assert_eq!(table.len(), 160);
    for row in table {
        let broken = row.broken.as_ref().map(|_| Broken::HashMismatch);
        let found = decide(classes[row.authority_class - 1], broken, row.instruction_like, row.effect, row.in_mandate);
        let expected = match row.expect.as_str() {
            "run" => (Decision::Run, None),
            "allow_with_label" => (Decision::Label, None),
            "ask_user" => (Decision::Ask, None),
            "quarantine_broken_lineage" => (Decision::Quarantine, Some(Reason::BrokenLineage)),
            "quarantine_untrusted" => (Decision::Quarantine, Some(Reason::Untrusted)),
            other => panic!("the oracle says {other}"),
        };
        assert_eq!(found, expected);
    }
}
